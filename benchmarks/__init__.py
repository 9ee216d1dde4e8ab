"""Experiments and benchmarks of sklearn-hashnlp."""
