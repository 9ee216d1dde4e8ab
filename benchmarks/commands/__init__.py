"""The command ``python -m benchmarks``: list of recipes and benchmarks, runs, reports, docs."""
