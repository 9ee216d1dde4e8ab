"""The command ``python -m benchmarks``: the list of recipes and benchmarks, runs, reports, and pages of the docs."""
