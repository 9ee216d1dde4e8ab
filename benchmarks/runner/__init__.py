"""Runs of experiments: recipes with settings and seeds, results as JSON lines, and tables."""

from benchmarks.runner.load_recipe import load_recipe
from benchmarks.runner.recipe import Recipe, Run
from benchmarks.runner.run import run_recipe
from benchmarks.runner.table import Table

__all__ = ["Recipe", "Run", "Table", "load_recipe", "run_recipe"]
