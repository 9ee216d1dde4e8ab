"""Output of commands: results and JSON on stdout, notes and progress bars on stderr."""

from __future__ import annotations

import json
import math
import re
import shlex
import shutil
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn_hashnlp.cli._options import Json, OptionGroup, Quiet

if TYPE_CHECKING:  # rich is imported where something is printed with it: predict does without
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

_MAX_WIDTH = 10_000  # of tables in files and pipes
_MAX_PLAIN = 10**8  # larger perplexities are printed in scientific notation


class Screen(OptionGroup):
    """Print results on stdout and everything else on stderr."""

    def __init__(self, *, as_json: Json = False, quiet: Quiet = False) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self._warned: set[str] = set()

    @cached_property
    def _notes(self) -> Console:
        return _plain_console(stderr=True, quiet=self.quiet)

    @cached_property
    def _results(self) -> Console:
        console = _plain_console(quiet=self.quiet or self.as_json)
        if not console.is_terminal:
            console.width = _MAX_WIDTH
        return console

    def note(self, text: str, *, style: str | None = None) -> None:
        """Print a note on stderr."""
        self._notes.print(text, style=style)

    def next_step(self, purpose: str, *commands: str, path: Path) -> None:
        """Print the next commands of a user, as notes that can be pasted."""
        if self.as_json:
            return
        self.note(f"\nNext, {purpose}:")
        for command in commands:
            self.note(
                f"  {command.format(hashnlp=command_name(), path=shlex.quote(str(path)))}",
                style="bold",
            )

    @contextmanager
    def warnings_as_notes(self) -> Iterator[None]:
        """Print warnings, as notes of one line, each once."""

        def show(message: object, *_others: object, **_options: object) -> None:
            what = str(message).rpartition(": ")[2]  # the file and the estimator may both say it
            if what not in self._warned:
                self._warned.add(what)
                self.note(f"Warning: {message}")

        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = show
            yield

    def show(self, *parts: RenderableType, style: str | None = None) -> None:
        """Print a result on stdout, unless the output is JSON."""
        self._results.print(*parts, style=style)

    def result(
        self, report: dict[str, Any], lines: Iterable[RenderableType], figure: str | None = None
    ) -> None:
        """Print the result of a command: as JSON, one figure when quiet, or as lines."""
        if self.as_json:
            self.show_json(report)
        elif not self.quiet:
            for line in lines:
                self.show(line)
        elif figure is not None:
            print(figure)

    def show_json(self, value: Any) -> None:
        """Print a value as one line of JSON on stdout."""
        sys.stdout.write(f"{json.dumps(value)}\n")

    @contextmanager
    def bar(self, description: str) -> Iterator[Callable[..., None]]:
        """Show a progress bar on stderr, if it is a terminal; yield its update function."""
        if self.quiet or not self._notes.is_terminal:
            yield lambda *_arguments: None
            return
        from rich.markup import escape
        from rich.progress import Progress

        # By default, rich redirects stdout to the console of the bar, which is stderr.
        with Progress(console=self._notes, transient=True, redirect_stdout=False) as progress:
            task = progress.add_task(escape(description), total=None)

            def update(done: int, total: int | None, text: str | None = None) -> None:
                progress.update(task, completed=done, total=total, description=text)

            yield update


def _plain_console(**options: Any) -> Console:
    """Return a console that prints labels and paths as they are, without markup."""
    from rich.console import Console

    return Console(markup=False, emoji=False, highlight=False, soft_wrap=True, **options)


def plain_table(*columns: str, title: str | None = None) -> Table:
    """Return a table without lines; columns with ">" before the name are aligned to the right."""
    from rich.table import Table

    table = Table(
        box=None, pad_edge=False, title=title, title_justify="left", show_header=any(columns)
    )
    for name in columns:
        table.add_column(
            name.removeprefix(">"), justify="right" if name.startswith(">") else "left"
        )
    return table


def bold(text: str) -> Text:
    """Return a line in bold."""
    from rich.text import Text

    return Text(text, style="bold")


def counted(number: int, noun: str) -> str:
    """Format a number of things: ``1 text``, ``2,000 texts``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def format_perplexity(loss: float, n_digits: int = 2) -> str:
    """Format the perplexity of a mean loss per word."""
    perplexity = math.exp(min(loss, 700.0))  # within the range of float64
    return f"{perplexity:.{n_digits}f}" if perplexity < _MAX_PLAIN else f"{perplexity:.1e}"


def one_field(value: object) -> str:
    """Replace tabs and line breaks, which separate the fields of the output."""
    return re.sub(r"[\t\n\r]", " ", str(value))


def command_name() -> str:
    """Return the command as the user called it, for hints that can be pasted."""
    command = sys.argv[0]
    if Path(command).parts[-2:] == ("sklearn_hashnlp", "__main__.py"):
        return "python -m sklearn_hashnlp"
    if Path(command).stem != "hashnlp":
        return "hashnlp"
    on_path = shutil.which("hashnlp")
    return (
        "hashnlp"
        if on_path is not None and Path(on_path).resolve() == Path(command).resolve()
        else command
    )
