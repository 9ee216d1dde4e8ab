"""Published experiments as recipes with settings, reports, and results as JSON lines."""

from benchmarks.runner.load_recipe import load_recipe
from benchmarks.runner.recipe import Recipe, Run
from benchmarks.runner.registry import RECIPES, get_recipe
from benchmarks.runner.run import run_recipe
from benchmarks.runner.table import Table

__all__ = ["RECIPES", "Recipe", "Run", "Table", "get_recipe", "load_recipe", "run_recipe"]
