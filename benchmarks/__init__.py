"""Experiments and benchmarks of sklearn-hashnlp: what they measure, run and report."""
