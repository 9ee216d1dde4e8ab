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
    """Prints results on stdout and everything else on stderr."""

    def __init__(self, *, as_json: bool, quiet: bool) -> None:
        self.as_json = as_json
        self.quiet = quiet
        # Labels and paths are printed as they are: no [bold] and no :smile: is ever looked for in them.
        plain: dict[str, Any] = {"markup": False, "emoji": False, "highlight": False, "soft_wrap": True}
        self._notes = Console(stderr=True, quiet=quiet, **plain)
        self._results = Console(quiet=quiet or as_json, **plain)

    def note(self, text: str, *, style: str | None = None) -> None:
        """Print a line about what is going on, on stderr."""
        self._notes.print(text, style=style)

    def show(self, *parts: RenderableType, style: str | None = None) -> None:
        """Print a result for people on stdout."""
        self._results.print(*parts, style=style)

    def put_json(self, value: Any) -> None:
        """Print a result for machines: one line on stdout."""
        sys.stdout.write(f"{json.dumps(value)}\n")

    def progress(self, time_left: ProgressColumn | None = None) -> Progress:
        """Make a progress display on stderr; without a terminal there or when quiet it shows nothing."""
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
    """Add a bar and return the function that moves it."""
    task = progress.add_task(description, total=None)

    def move(done: int, total: int) -> None:
        progress.update(task, completed=done, total=total)

    return move


def command_name() -> str:
    """Return how the user called this command, for hints that can be pasted."""
    called = sys.argv[0]
    if Path(called).stem != "hashnlp":
        return "hashnlp"
    found = shutil.which("hashnlp")
    return "hashnlp" if found is not None and Path(found).resolve() == Path(called).resolve() else called
