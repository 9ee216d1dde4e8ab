"""What a recipe is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

Settings = Any  # an instance of a frozen dataclass; each recipe has its own
Result = dict[str, Any]
Tell = Callable[[str], None]
Move = Callable[[int, int], None]


@dataclass(frozen=True)
class Recipe:
    """An experiment that one command repeats.

    Parameters
    ----------
    name : str
        What it is called by.
    summary : str
        One line: what it shows.
    description : str
        What it does, after whom, what differs from there, and how long it takes.
    settings : instance of a frozen dataclass
        What can be changed, with its values in the experiment. Fields are int, float, str or tuples of str; their
        metadata may hold ``"help"``.
    quick : instance of the same dataclass
        Values for a trial that takes seconds and proves nothing.
    run : callable
        Takes settings, a seed, a function that tells a line and one that moves a bar (done, in all), and yields results
        as they are there: dicts that JSON can hold. Those of the same settings and seed are the same, times apart.
        What it imports it imports inside, so that a list of recipes costs nothing.
    report : callable
        Turns results, as they were yielded or as they were read back, into lines of text.
    packages : sequence of str
        Installed packages whose versions belong to the results.

    Examples
    --------
    >>> from sklearn_hashnlp.experiments import get_recipe
    >>> recipe = get_recipe("reversal")
    >>> recipe.settings.n_symbols, recipe.settings.passes
    (1000, 20)
    """

    name: str
    summary: str
    description: str
    settings: Settings = field(repr=False)
    quick: Settings = field(repr=False)
    run: Callable[[Settings, int, Tell, Move], Iterator[Result]] = field(repr=False)
    report: Callable[[Sequence[Result]], list[str]] = field(repr=False)
    packages: Sequence[str] = ("sklearn-hashnlp", "numpy", "torch")
