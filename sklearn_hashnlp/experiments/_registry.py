"""All recipes, by name."""

from __future__ import annotations

from sklearn_hashnlp.experiments._recipe import Recipe
from sklearn_hashnlp.experiments.recipes._accuracy_distribution import ACCURACY_DISTRIBUTION
from sklearn_hashnlp.experiments.recipes._brown import BROWN
from sklearn_hashnlp.experiments.recipes._collisions import COLLISIONS
from sklearn_hashnlp.experiments.recipes._compare_embeddings import COMPARE_EMBEDDINGS
from sklearn_hashnlp.experiments.recipes._fewer_parameters import FEWER_PARAMETERS
from sklearn_hashnlp.experiments.recipes._hash_embeddings import HASH_EMBEDDING_RECIPES
from sklearn_hashnlp.experiments.recipes._hsigmoid_ptb import HSIGMOID_PTB
from sklearn_hashnlp.experiments.recipes._nplm import NPLM
from sklearn_hashnlp.experiments.recipes._ptb_table import PTB_TABLE
from sklearn_hashnlp.experiments.recipes._reversal import REVERSAL, REVERSAL_SGD

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
        NPLM,
        PTB_TABLE,
        BROWN,
    )
}


def get_recipe(name: str) -> Recipe:
    """Return the recipe with a given name.

    Parameters
    ----------
    name : str
        One of the keys of ``RECIPES``.

    Returns
    -------
    Recipe
        The recipe.

    Raises
    ------
    ValueError
        If there is no recipe with that name.

    Examples
    --------
    >>> from sklearn_hashnlp.experiments import get_recipe
    >>> get_recipe("reversal").name
    'reversal'
    """
    if name not in RECIPES:
        hint = f" For a recipe of your own: --recipe {name}, or load_recipe({name!r})." if ":" in name else ""
        raise ValueError(f"There is no experiment {name!r}; there are: {', '.join(sorted(RECIPES))}.{hint}")
    return RECIPES[name]
