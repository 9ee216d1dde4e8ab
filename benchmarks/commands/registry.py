"""All recipes, by name."""

from __future__ import annotations

from benchmarks.recipes.accuracy_distribution import ACCURACY_DISTRIBUTION
from benchmarks.recipes.brown import BROWN
from benchmarks.recipes.collisions.recipe import COLLISIONS
from benchmarks.recipes.compare_embeddings import COMPARE_EMBEDDINGS
from benchmarks.recipes.fewer_parameters import FEWER_PARAMETERS
from benchmarks.recipes.hash_embeddings import HASH_EMBEDDING_RECIPES
from benchmarks.recipes.hsigmoid_ptb import HSIGMOID_PTB
from benchmarks.recipes.ngram_memory.recipe import NGRAM_MEMORY
from benchmarks.recipes.nplm import NPLM
from benchmarks.recipes.ptb_table import PTB_TABLE
from benchmarks.recipes.reversal.recipe import REVERSAL, REVERSAL_SGD
from benchmarks.recipes.sentence_report import SENTENCE_REPORT
from benchmarks.runner.load_recipe import load_recipe
from benchmarks.runner.recipe import Recipe

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        *HASH_EMBEDDING_RECIPES,
        FEWER_PARAMETERS,
        ACCURACY_DISTRIBUTION,
        COMPARE_EMBEDDINGS,
        COLLISIONS,
        REVERSAL,
        REVERSAL_SGD,
        HSIGMOID_PTB,
        *NGRAM_MEMORY,
        NPLM,
        PTB_TABLE,
        BROWN,
        SENTENCE_REPORT,
    )
}


def get_recipe(name: str) -> Recipe:
    """Return the recipe with a given name, or import one of the user's own, ``MODULE:NAME``."""
    if ":" in name:
        recipe = load_recipe(name)
        if recipe.name in RECIPES:
            raise ValueError(
                f"There is another experiment {recipe.name!r}; give the recipe of {name} another "
                "name."
            )
        return recipe
    if name not in RECIPES:
        raise ValueError(
            f"There is no experiment {name!r}; there are: {', '.join(sorted(RECIPES))}. Recipes of "
            "your own are named as MODULE:NAME."
        )
    return RECIPES[name]
