"""Recipes: experiments that one command repeats."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.runner.mean_table import mean_table
from benchmarks.runner.settings import check_settings
from benchmarks.runner.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Settings = Any  # an instance of a frozen dataclass; each recipe has its own
Result = dict[str, Any]
Log = Callable[[str], None]
Progress = Callable[[int, int], None]


def no_log(_line: str) -> None:
    """Ignore a line."""


def no_progress(_done: int, _total: int) -> None:
    """Ignore the progress."""


@dataclass(frozen=True)
class Run:
    """One run of a recipe: its seed, folder and callbacks.

    Parameters
    ----------
    seed : int
        Seed of all random numbers: runs with the same seed give the same results, except for times.
    folder : Path
        Existing folder for intermediate files, such as arrays and checkpoints. It holds the files of an interrupted
        run of the same settings and seed, and is deleted when the run has finished.
    previous : sequence of dict, default=()
        The first results of an interrupted run of the same settings and seed, in order. The run resumes after them.
    log : callable, default ignores the line
        Called with one line of text, such as the loss of an epoch.
    progress : callable, default ignores the progress
        Called with the amount of work that is done and the total, both of the whole run.

    Examples
    --------
    >>> from pathlib import Path
    >>> from benchmarks.runner import Run
    >>> Run(seed=0, folder=Path("run")).previous
    ()
    """

    seed: int
    folder: Path
    previous: Sequence[Result] = ()
    log: Log = field(default=no_log, repr=False)
    progress: Progress = field(default=no_progress, repr=False)


def fit_progress(run: Run, done: int, total: int, *, n_fits: int = 1) -> Callable[[float], None]:
    """Return a callback that turns the progress of the fits of one result, from 0 to 1 each, into that of the run."""
    started = 0

    def update(share: float) -> None:
        nonlocal started
        started += share == 0
        run.progress(round(1000 * (done + (started - 1 + share) / n_fits)), 1000 * total)

    return update


def one_result(_settings: Settings) -> int:
    """Return the number of results of a run that yields one."""
    return 1


@dataclass(frozen=True)
class Recipe:
    """An experiment that one command repeats.

    ``python -m benchmarks run my_module:MY_RECIPE`` runs a recipe of your own. All functions of a recipe must
    be defined at the top level of a module, so that a run can be sent to another process.

    Parameters
    ----------
    name : str
        Name on the command line.
    summary : str
        One line that says what the experiment shows.
    description : str
        What the experiment does, which publication it repeats, how it differs from it, and how long it takes.
    settings : instance of a frozen dataclass
        Settings of the experiment with their default values. Fields are int, float, bool, str or tuples of str or of
        int. Their metadata hold ``"help"``, and ``"recorded": False`` for settings that do not change the results (a
        folder, a device): these are not written into results.
    run : callable
        Called with settings and a ``Run``; yields the results after ``Run.previous`` as soon as each is there: dicts
        that JSON can hold, the same for the same settings and seed, except for times. It imports numpy, torch and the
        like in its body, so that listing the recipes is fast.
    quick : instance of the same dataclass, default=None
        Settings of a smoke test that takes seconds. None means ``settings``.
    n_results : callable, default returns 1
        Called with settings; returns the number of results of a whole run.
    report : callable, default makes a table of means
        Called with results, as they were yielded or read from a file; returns tables. Recipes with the same function
        are reported together. Results may have several seeds and settings, and may belong to unfinished runs. The
        default makes a table with the mean and the standard deviation over seeds of each number in the results.
    plot : callable, default=None
        Called with results, as ``report`` is, and an empty matplotlib figure to draw into. None draws nothing.
    packages : sequence of str
        Installed packages whose versions are written into the results.

    Raises
    ------
    TypeError
        If the settings are not an instance of a frozen dataclass, if ``quick`` is of another class, or if a function
        cannot be called.
    ValueError
        If the recipe has no name, or a setting has a type that the command line cannot parse.

    See Also
    --------
    load_recipe : Import a recipe of your own.

    Examples
    --------
    >>> from benchmarks.runner import get_recipe
    >>> recipe = get_recipe("reversal")
    >>> recipe.settings.n_symbols, recipe.settings.epochs
    (1000, 20)
    """

    name: str
    summary: str
    description: str
    settings: Settings = field(repr=False)
    run: Callable[[Settings, Run], Iterator[Result]] = field(repr=False)
    quick: Settings = field(default=None, repr=False)
    n_results: Callable[[Settings], int] = field(default=one_result, repr=False)
    report: Callable[[Sequence[Result]], list[Table]] = field(default=mean_table, repr=False)
    plot: Callable[[Sequence[Result], Figure], None] | None = field(default=None, repr=False)
    packages: Sequence[str] = ("sklearn-hashnlp", "numpy", "torch")

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or self.name.startswith("-"):
            raise ValueError(f"Recipe: name must be a string for the command line, got {self.name!r}.")
        owner = f"The recipe {self.name!r}"
        if self.quick is None:
            object.__setattr__(self, "quick", self.settings)
        check_settings(self.settings, owner)
        if type(self.quick) is not type(self.settings):
            raise TypeError(
                f"{owner}: quick must be of the class of its settings, {type(self.settings).__name__}, got "
                f"{self.quick!r}."
            )
        for role in ("run", "n_results", "report"):
            if not callable(getattr(self, role)):
                raise TypeError(f"{owner}: {role} must be a function, got {getattr(self, role)!r}.")
