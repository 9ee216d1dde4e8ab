"""Benchmarks of language models, word vectors and sentence encoders."""
