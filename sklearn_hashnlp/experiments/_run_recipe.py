"""A recipe run, and its results as lines that stand for themselves."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from sklearn_hashnlp.experiments._recipe import Move, Recipe, Result, Run, Settings, Tell, say_nothing, stay
from sklearn_hashnlp.experiments._settings import settings_as_json
from sklearn_hashnlp.experiments._surroundings import surroundings


def run_recipe(
    recipe: Recipe,
    *,
    settings: Settings = None,
    seed: int = 0,
    known: Sequence[Result] = (),
    folder: Path | None = None,
    tell: Tell = say_nothing,
    move: Move = stay,
) -> Iterator[Result]:
    """Run an experiment.

    Parameters
    ----------
    recipe : Recipe
        Which one.
    settings : instance of the recipe's dataclass, default=None
        None are those of the experiment.
    seed : int, default=0
        Of everything random: the same seed gives the same results, times apart.
    known : sequence of dict, default=()
        The first results of an interrupted run of the same settings and seed, in order; only those after them are
        yielded.
    folder : Path, default=None
        For what the run keeps between its steps; it is there, and may hold what the interrupted run has left. None is a
        temporary one.
    tell : callable, default says nothing
        Takes a line about what is going on.
    move : callable, default does nothing
        Takes how much of the whole run is done, and how much there is in all.

    Yields
    ------
    dict
        A result as soon as it is there, with all that says where it comes from: ``recipe``, ``seed``, ``settings``
        (those that say what and not where), ``step`` (its place in the run, from 0), ``date``, ``machine`` and
        ``versions``. JSON can hold it.

    Raises
    ------
    RuntimeError
        If the recipe has not as many results as it says.

    Examples
    --------
    >>> from sklearn_hashnlp.experiments import get_recipe, run_recipe
    >>> recipe = get_recipe("reversal")
    >>> results = list(run_recipe(recipe, settings=recipe.quick))
    >>> results[0]["recipe"], results[0]["part"], results[0]["output"]
    ('reversal', 'fixed strings', 'softmax')
    """
    settings = recipe.settings if settings is None else settings
    source = {"recipe": recipe.name, "seed": seed, "settings": settings_as_json(settings)}
    place = surroundings(*recipe.packages)
    step = len(known)
    with ExitStack() as stack:
        kept = Path(stack.enter_context(tempfile.TemporaryDirectory())) if folder is None else folder
        for result in recipe.run(settings, Run(seed=seed, folder=kept, known=known, tell=tell, move=move)):
            yield {**source, "step": step, **result, **place}
            step += 1
    if step != recipe.n_results(settings):
        raise RuntimeError(
            f"The experiment {recipe.name!r} says that a run with these settings has {recipe.n_results(settings)} "
            f"results, and gave {step}."
        )
