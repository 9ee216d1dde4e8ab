"""Options shared by commands, alone and in groups."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer


class OptionGroup:
    """Shared options: one argument, which ``reporting_errors`` expands into options."""


FileFormat: TypeAlias = Literal["csv", "tsv", "jsonl", "fasttext"]


def _check_n_jobs(n_jobs: int | None) -> int | None:
    if n_jobs == 0:
        raise typer.BadParameter("expected 1 or more threads, or -1 for all cores; got 0.")
    return n_jobs


def _read_delimiter(delimiter: str | None) -> str | None:
    if delimiter in ("\\t", "tab"):
        return "\t"
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise typer.BadParameter(f"expected one character, such as ';', or tab; got {delimiter!r}.")
    return delimiter


def _check_encoding(encoding: str) -> str:
    from sklearn_hashnlp.datasets import TextReader

    try:
        TextReader(BytesIO(), encoding=encoding)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    return encoding


LabelledFile = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="Labeled texts: .csv or .tsv with a header, .jsonl or fastText's .txt; also "
        "compressed as .gz, .bz2, .xz, "
        ".zip.",
    ),
]
TextFile = Annotated[
    Path | None,
    typer.Argument(metavar="FILE", help="Texts, one per line, or a table. Default: stdin."),
]
ModelFolder = Annotated[
    Path, typer.Option("--model", "-m", metavar="DIR", help="Folder of the model.")
]
Encoding = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Encoding of the files, such as cp1252, which Excel writes, or utf-16.",
        callback=_check_encoding,
    ),
]
Seed = Annotated[
    int, typer.Option(min=0, max=2**32 - 1, help="Random seed: same seed and data, same model.")
]
ComputeDevice = Annotated[
    Literal["cpu", "cuda", "auto"],
    typer.Option(help="Where to train; auto uses a GPU if there is one."),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--n-jobs",
        "-j",
        help="Threads for vectorizing. Default: all cores.",
        callback=_check_n_jobs,
    ),
]
SavedPrecision = Annotated[
    Literal["float32", "float16", "int8"],
    typer.Option(
        "--precision",
        help="Precision of the saved tables: float16 takes half the space of float32 and int8 a "
        "quarter, with nearly "
        "the same predictions.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print only JSON on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress and no hints.")]


@dataclass(frozen=True)
class LineOptions(OptionGroup):
    """The options to read lines of files, or of stdin."""

    encoding: Encoding = "utf-8"
    errors: Literal["strict", "replace"] = typer.Option(
        "strict",
        help="Bytes that are not in the encoding: stop with an error, or replace them by U+FFFD.",
    )


@dataclass(frozen=True)
class TextOptions(OptionGroup):
    """The options to read a file of texts."""

    file_format: Literal["lines", FileFormat] | None = typer.Option(
        None, "--format", help="Format of FILE. Default: from its extension, or lines."
    )
    text_column: str | None = typer.Option(
        None, metavar="NAME", help="Column of the texts. Default: text, sentence, ..."
    )
    delimiter: str | None = typer.Option(
        None,
        metavar="CHAR",
        help="Character between the fields of CSV and TSV, such as ';'. Default: a comma, or a "
        "tab.",
        callback=_read_delimiter,
    )
    quoted: bool = typer.Option(
        True, "--quotes/--no-quotes", help="Whether quotes enclose fields of CSV and TSV."
    )
    escapechar: str | None = typer.Option(
        None,
        metavar="CHAR",
        help="Character before a quote, delimiter or line break inside a field of CSV and TSV, "
        "such as '\\', as "
        "Spark and MySQL write it. Default: a quote in a quoted field is written twice.",
    )
    label_prefix: str = typer.Option(
        "__label__",
        metavar="TEXT",
        help="Prefix of the words that are labels, in fastText's format.",
    )
    encoding: Encoding = "utf-8"
    errors: Literal["strict", "replace", "skip"] = typer.Option(
        "strict",
        help="Bytes that are not in the encoding: stop with an error, or replace them by U+FFFD; "
        "skip excludes "
        "rows with such bytes, and all others that cannot be read.",
    )


@dataclass(frozen=True)
class LabelledOptions(TextOptions):
    """The options to read a labeled file."""

    file_format: FileFormat | None = typer.Option(
        None, "--format", help="Format of DATA. Default: from its extension."
    )
    label_column: str | None = typer.Option(
        None, metavar="NAME", help="Column of the labels. Default: label, class, ..."
    )
    label_separator: str | None = typer.Option(
        None,
        metavar="TEXT",
        help="Separator of multiple labels in a field of CSV, TSV or JSON lines, such as ','. "
        "Default: one label.",
    )
