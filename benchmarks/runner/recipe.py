"""Recipes: experiments that one command repeats."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
    """One run of a recipe: its seed, folder and callbacks."""

    seed: int  # of all random numbers: the same seed gives the same results, except for times
    folder: Path  # for intermediate files; kept when a run is interrupted, deleted at the end
    previous: Sequence[Result] = ()  # the first results of an interrupted run, in order
    log: Log = field(default=no_log, repr=False)  # called with a line of text
    # Called with the work that is done and the total
    progress: Progress = field(default=no_progress, repr=False)


def fit_progress(run: Run, done: int, total: int, *, n_fits: int = 1) -> Callable[[float], None]:
    """Return a callback that converts the progress of a result's fits, 0 to 1, into the run's."""
    started = 0

    def update(share: float) -> None:
        nonlocal started
        started += share == 0
        run.progress(round(1000 * (done + (started - 1 + share) / n_fits)), 1000 * total)

    return update


def report_epochs(run: Run) -> Callable[[float, int, Sequence[Mapping[str, Any]]], None]:
    """Return a language model's callback that reports training progress as the run's."""

    def report(done: float, n_epochs: int, history: Sequence[Mapping[str, Any]]) -> None:
        epoch = history[-1]
        run.progress(round(1000 * done), 1000 * n_epochs)
        if "dur" in epoch:
            figures = "".join(
                f"   {name.replace('_', ' ')} {epoch[name]:.4f}"
                for name in ("train_loss", "valid_loss")
                if name in epoch
            )
            run.log(f"Epoch {epoch['epoch']}/{n_epochs}{figures}   {epoch['dur']:.1f} s")

    return report


def one_result(_settings: Settings) -> int:
    """Return the number of results of a run that yields one."""
    return 1


@dataclass(frozen=True)
class Recipe:
    """An experiment that one command repeats.

    All functions must be defined at the top level of a module, so that a run can be sent to another
    process. ``run`` imports numpy, torch and the like in its body, so that listing the recipes is
    fast.

    Examples
    --------
    >>> from benchmarks.commands.registry import get_recipe
    >>> recipe = get_recipe("reversal")
    >>> recipe.settings.n_symbols, recipe.settings.epochs
    (1000, 20)
    """

    name: str  # on the command line
    summary: str  # one line
    description: str  # with the publication, the differences from it, and the running time
    # an instance of a frozen dataclass, with the default values
    settings: Settings = field(repr=False)
    # Yields the results after ``Run.previous`` as soon as each is there: dicts that JSON can hold.
    run: Callable[[Settings, Run], Iterator[Result]] = field(repr=False)
    # Settings of a trial run of seconds; None: ``settings``
    quick: Settings = field(default=None, repr=False)
    n_results: Callable[[Settings], int] = field(default=one_result, repr=False)  # of a whole run
    # Called with results of any seeds and settings, of unfinished runs too; recipes with the same
    # one share tables.
    report: Callable[[Sequence[Result]], list[Table]] = field(default=mean_table, repr=False)
    plot: Callable[[Sequence[Result], Figure], None] | None = field(default=None, repr=False)
    # Packages whose versions are written into results
    packages: Sequence[str] = ("sklearn-hashnlp", "numpy", "torch")

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or self.name.startswith("-"):
            raise ValueError(
                f"Recipe: name must be a string for the command line, got {self.name!r}."
            )
        owner = f"The recipe {self.name!r}"
        if self.quick is None:
            object.__setattr__(self, "quick", self.settings)
        check_settings(self.settings, owner)
        if type(self.quick) is not type(self.settings):
            raise TypeError(
                f"{owner}: quick must be of the class of its settings, "
                f"{type(self.settings).__name__}, got {self.quick!r}."
            )
        for role in ("run", "n_results", "report"):
            if not callable(getattr(self, role)):
                raise TypeError(f"{owner}: {role} must be a function, got {getattr(self, role)!r}.")
