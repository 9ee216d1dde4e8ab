"""What a recipe is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn_hashnlp.experiments._table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Settings = Any  # an instance of a frozen dataclass; each recipe has its own
Result = dict[str, Any]
Tell = Callable[[str], None]
Move = Callable[[int, int], None]


def say_nothing(_line: str) -> None:
    """Do nothing with a line."""


def stay(_done: int, _total: int) -> None:
    """Move no bar."""


@dataclass(frozen=True)
class Run:
    """One run of a recipe: what it is told besides its settings.

    Parameters
    ----------
    seed : int
        Of everything random: the same seed gives the same results, times apart.
    folder : Path
        For what a run keeps between its steps, such as arrays and checkpoints. It is there; it holds what an
        interrupted run of the same settings and seed has left, and goes when the run is finished.
    known : sequence of dict, default=()
        Results that an interrupted run of the same settings and seed has given: the first ones, in their order.
    tell : callable, default says nothing
        Takes a line about what is going on.
    move : callable, default does nothing
        Takes how much of the whole run is done, and how much there is in all.

    Examples
    --------
    >>> from pathlib import Path
    >>> Run(seed=0, folder=Path("kept")).known
    ()
    """

    seed: int
    folder: Path
    known: Sequence[Result] = ()
    tell: Tell = field(default=say_nothing, repr=False)
    move: Move = field(default=stay, repr=False)


def part_of(run: Run, done: int, total: int, *, n_fits: int = 1) -> Callable[[float], None]:
    """Return a function by which trainings within one result move the bar of the whole run."""
    begun = 0

    def moved(share: float) -> None:
        nonlocal begun
        begun += share == 0
        run.move(round(1000 * (done + (begun - 1 + share) / n_fits)), 1000 * total)

    return moved


@dataclass(frozen=True)
class Recipe:
    """An experiment that one command repeats.

    Its functions stand at the top of a module: a run can be sent to another process.

    Parameters
    ----------
    name : str
        What it is called by.
    summary : str
        One line: what it shows.
    description : str
        What it does, after whom, what differs from there, and how long it takes.
    settings : instance of a frozen dataclass
        What can be changed, with its values in the experiment. Fields are int, float, bool, str or tuples of str or of
        int; their metadata hold ``"help"``, and ``"place": True`` where they say where and not what (a folder, a
        device): these are not written into results, and results that differ in nothing else are the same.
    quick : instance of the same dataclass
        Values for a trial that takes seconds and proves nothing.
    run : callable
        Takes settings and a ``Run``, and yields the results after ``Run.known`` as they are there: dicts that JSON can
        hold. Those of the same settings and seed are the same, times apart. What it imports it imports inside, so that
        a list of recipes costs nothing.
    n_results : callable
        Takes settings and returns how many results a whole run has.
    report : callable
        Turns results, as they were yielded or as they were read back, into tables. Results of all recipes with the same
        function are reported together; they may be of several seeds and settings, and of unfinished runs.
    plot : callable, default=None
        Takes results, as ``report`` does, and an empty figure of matplotlib, and draws. None draws nothing.
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
    run: Callable[[Settings, Run], Iterator[Result]] = field(repr=False)
    n_results: Callable[[Settings], int] = field(repr=False)
    report: Callable[[Sequence[Result]], list[Table]] = field(repr=False)
    plot: Callable[[Sequence[Result], Figure], None] | None = field(default=None, repr=False)
    packages: Sequence[str] = ("sklearn-hashnlp", "numpy", "torch")
