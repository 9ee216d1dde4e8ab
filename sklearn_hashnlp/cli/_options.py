"""The options that several commands share, each written once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Device(StrEnum):
    """Where to compute."""

    cpu = "cpu"
    cuda = "cuda"
    auto = "auto"


class FileFormat(StrEnum):
    """The formats of labelled files."""

    csv = "csv"
    tsv = "tsv"
    jsonl = "jsonl"
    fasttext = "fasttext"


class Features(StrEnum):
    """Which n-grams a text is taken apart into."""

    words = "words"
    words_and_characters = "words+characters"
    characters = "characters"


class Precision(StrEnum):
    """How exactly a saved model holds its tables."""

    float32 = "float32"
    float16 = "float16"
    int8 = "int8"


LabelledFile = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="Texts with labels: .csv, .tsv (the first line names the columns), .jsonl or fastText's .txt; also .gz, "
        ".bz2, .xz, .zip.",
        show_default=False,
    ),
]


def _refuse_no_threads(n_jobs: int | None) -> int | None:
    if n_jobs == 0:
        raise typer.BadParameter("0 threads do no work; give 1 or more, or -1 for all.")
    return n_jobs


ModelFolder = Annotated[
    Path, typer.Option("--model", "-m", metavar="DIR", help="Folder of the model.", show_default=False)
]
Format = Annotated[
    FileFormat | None,
    typer.Option("--format", help="Format of DATA, where its name does not tell.", show_default=False),
]
TextColumn = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Column with the texts. Else: text, sentence, ...", show_default=False),
]
LabelColumn = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Column with the labels. Else: label, class, ...", show_default=False),
]
Quoted = Annotated[
    bool, typer.Option("--quotes/--no-quotes", help="Whether quotes in CSV and TSV enclose fields, or are characters.")
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Same seed and data, same model.")]
ComputeDevice = Annotated[Device, typer.Option(help="Where to train; auto takes a GPU where there is one.")]
TextFeatures = Annotated[
    Features,
    typer.Option(
        "--features",
        help="What to look at: words and pairs of words, n-grams of characters within words (for misspelt or inflected "
        "words, or to tell languages apart), or both, which takes longer.",
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--n-jobs",
        "-j",
        help="Threads that turn texts into n-grams; without it: all processors.",
        show_default=False,
        callback=_refuse_no_threads,
    ),
]
SavedPrecision = Annotated[
    Precision,
    typer.Option(
        "--precision",
        help="How exactly to save the tables of the model: float16 takes half the space of float32 and int8 a quarter, "
        "with nearly the same answers.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else there.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no hints.")]
