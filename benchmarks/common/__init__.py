"""Helpers of the benchmark scripts."""
