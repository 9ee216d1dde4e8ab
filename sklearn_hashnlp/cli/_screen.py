"""Where a command prints what: results, notes for people, and JSON for machines."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn


class Screen:
    """Prints results on stdout and everything else on stderr.

    With JSON, stdout holds JSON only and results for people are not printed at all.

    Parameters
    ----------
    as_json : bool
        Whether results are for machines.
    quiet : bool
        Whether progress, hints and summaries are left out.
    """

    def __init__(self, *, as_json: bool, quiet: bool) -> None:
        self.as_json = as_json
        self.quiet = quiet
        # Labels and paths are printed as they are: no [bold] and no :smile: is ever looked for in them.
        plain: dict[str, Any] = {"markup": False, "emoji": False, "highlight": False, "soft_wrap": True}
        self._notes = Console(stderr=True, quiet=quiet, **plain)
        self._results = Console(quiet=quiet or as_json, **plain)

    def note(self, text: str, *, style: str | None = None) -> None:
        """Print a line about what is going on, on stderr.

        Parameters
        ----------
        text : str
            The line.
        style : str, default=None
            As rich writes it, such as ``"dim"``.
        """
        self._notes.print(text, style=style)

    def show(self, *parts: RenderableType, style: str | None = None) -> None:
        """Print a result for people on stdout.

        Parameters
        ----------
        *parts : str or rich renderable
            What to print.
        style : str, default=None
            As rich writes it.
        """
        self._results.print(*parts, style=style)

    def put_json(self, value: Any) -> None:
        """Print a result for machines: one line on stdout.

        Parameters
        ----------
        value : object
            Anything that JSON can hold.
        """
        sys.stdout.write(f"{json.dumps(value)}\n")

    def progress(self, time_left: ProgressColumn | None = None) -> Progress:
        """Make a progress display on stderr; without a terminal there or when quiet it shows nothing.

        Parameters
        ----------
        time_left : ProgressColumn, default=None
            The column that tells the time left. None is rich's, which goes by the last half minute.

        Returns
        -------
        rich.progress.Progress
            A context manager.
        """
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn() if time_left is None else time_left,
        )
        hidden = self.quiet or not self._notes.is_terminal
        # Left alone, rich would send what is printed on stdout to the console of the bar, which is stderr.
        return Progress(*columns, console=self._notes, transient=True, disable=hidden, redirect_stdout=False)


def bar(progress: Progress, description: str) -> Callable[[int, int], None]:
    """Add a bar and return the function that moves it.

    Parameters
    ----------
    progress : rich.progress.Progress
        The display.
    description : str
        What stands before the bar.

    Returns
    -------
    callable
        Takes what is done and what there is in all.
    """
    task = progress.add_task(description, total=None)

    def move(done: int, total: int) -> None:
        progress.update(task, completed=done, total=total)

    return move


def command_name() -> str:
    """Tell how the user called this command, for hints that can be pasted.

    Returns
    -------
    str
        ``"hashnlp"``, or the path by which it was called where it is not on the search path.
    """
    called = sys.argv[0]
    if Path(called).stem != "hashnlp":
        return "hashnlp"
    found = shutil.which("hashnlp")
    return "hashnlp" if found is not None and Path(found).resolve() == Path(called).resolve() else called
