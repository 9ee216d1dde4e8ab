"""Options of all benchmarks, and the JSON file that each writes."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.common.data import DataFolder
from benchmarks.common.fasttext_peers import HEIRS
from benchmarks.runner.run import environment

__all__ = [
    "FOLDER",
    "BenchmarkParser",
    "add_fasttext",
    "environment",
    "read_result",
    "write_result",
]

FOLDER = Path(__file__).parents[1] / "results"
_LABELED = (
    "ag_news/ and the other data sets, each with train.csv and test.csv, columns label and text"
)


class BenchmarkParser(argparse.ArgumentParser):
    """Parser of benchmark options; ``content`` names the files to read, ``result`` the JSON."""

    def __init__(self, description: str | None, result: str, content: str = _LABELED) -> None:
        super().__init__(
            description=description, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        self.result = result
        data = os.environ.get("HASHNLP_DATA")
        text = f"folder that holds {content} (default: the variable HASHNLP_DATA)"
        self.add_argument("--data", type=Path, default=data, help=text)
        self.add_argument(
            "--rows",
            type=int,
            help="sample this number of rows or lines of each file, for a test run without a JSON",
        )
        text = f"the JSON (default: {result} in benchmarks/results)"
        self.add_argument("--output", type=Path, help=text)

    def add_choices(self, option: str, choices: Iterable[str], of: str = "") -> None:
        """Add an option that takes some of these names; all are the default."""
        names = list(choices)
        self.add_argument(option, nargs="*", choices=names, default=names, help=f"{of}default: all")

    def add_again(self) -> None:
        """Add the option to measure what the JSON holds already."""
        self.add_argument(
            "--again", action="store_true", help="measure again even if the JSON has the results"
        )

    def read(
        self, arguments: Sequence[str] | None
    ) -> tuple[argparse.Namespace, DataFolder, Path | None]:
        """Return the options, the data and the file to write: None for a test run with --rows."""
        options = self.parse_args(arguments)
        return options, self.data_of(options), self.output_of(options)

    def data_of(self, options: argparse.Namespace) -> DataFolder:
        """Return the folder of the data, which must be named."""
        if options.data is None:
            self.error("name the data folder with --data or in HASHNLP_DATA")
        return DataFolder(Path(options.data), options.rows)

    def output_of(self, options: argparse.Namespace) -> Path | None:
        """Return the file to write."""
        if options.output is None and options.rows is None:
            return FOLDER / self.result
        output: Path | None = options.output
        return output


def add_fasttext(parser: argparse.ArgumentParser, *, heirs: bool = True) -> None:
    """Add the options for the folder of fastText, and for its successors to measure beside it."""
    text = (
        "folder that holds fastText, or to install it into, each package in a folder named after "
        "it (default: temporary ones)"
    )
    parser.add_argument("--fasttext", type=Path, metavar="DIR", help=text)
    if heirs:
        text = "packages that read the files of fastText; default: all"
        parser.add_argument("--heirs", nargs="*", choices=HEIRS, default=list(HEIRS), help=text)


def read_result(path: Path | None) -> dict[str, Any]:
    """Read the JSON of a benchmark; empty if there is none."""
    if path is None or not path.exists():
        return {}
    result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return result


def write_result(path: Path | None, result: dict[str, Any]) -> None:
    """Write the JSON of a benchmark at once, so that a kill leaves the file before or after it."""
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    unfinished.replace(path)
