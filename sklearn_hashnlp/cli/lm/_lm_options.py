"""Options of the commands of ``hashnlp lm``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

Search: TypeAlias = Literal["exact", "greedy"]

SentenceFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="Sentences, one per line; also .gz, .bz2, .xz, .zip.")
]
Prompts = Annotated[
    Path | None, typer.Argument(metavar="FILE", help="Beginnings of sentences, one a line. Default: stdin.")
]
LanguageModelFolder = Annotated[
    Path,
    typer.Option(
        "--model",
        "-m",
        metavar="DIR",
        help="Folder of the model, or of one epoch of a checkpoint folder, such as checkpoints/epoch-00003; or an ARPA "
        "file (.arpa, also compressed: .arpa.gz, .arpa.bz2, .arpa.xz, .arpa.zip).",
    ),
]
MaxLength = Annotated[int, typer.Option("--max-length", min=1, help="Maximum number of words of a sentence.")]
SampleSeed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        min=0,
        max=2**32 - 1,
        help="Random seed: same seed, same sentences. Default: other sentences each time.",
    ),
]
WordSearch = Annotated[
    Search,
    typer.Option(
        "--search",
        help="exact: the most probable word. greedy: the more probable branch at each node of the tree, which is "
        "faster and may give another word.",
    ),
]


def check_search(search: Search, top: int | None) -> None:
    """Raise an error for multiple words of a greedy search."""
    if top is not None and search == "greedy":
        raise typer.BadParameter("--top uses exact search; remove --search greedy.")
