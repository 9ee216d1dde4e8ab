"""Published experiments as recipes: named functions with settings, whose results are JSON lines."""

from sklearn_hashnlp.experiments._recipe import Recipe
from sklearn_hashnlp.experiments._recipes import RECIPES, get_recipe
from sklearn_hashnlp.experiments._run_recipe import run_recipe

__all__ = ["RECIPES", "Recipe", "get_recipe", "run_recipe"]
