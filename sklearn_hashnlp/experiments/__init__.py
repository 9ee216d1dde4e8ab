"""Published experiments as recipes with settings, reports, and results as JSON lines."""

from sklearn_hashnlp.experiments._load_recipe import load_recipe
from sklearn_hashnlp.experiments._recipe import Recipe, Run
from sklearn_hashnlp.experiments._registry import RECIPES, get_recipe
from sklearn_hashnlp.experiments._run import run_recipe
from sklearn_hashnlp.experiments._table import Table

__all__ = ["RECIPES", "Recipe", "Run", "Table", "get_recipe", "load_recipe", "run_recipe"]
