"""Options of the commands of ``hashnlp sentences``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def _read_weight(value: str | None) -> Any:
    if value is None or value == "auto":
        return value
    try:
        weight = float(value)
    except ValueError:
        weight = -1.0
    if not 0 <= weight <= 1:
        raise typer.BadParameter(f"expected a number from 0 to 1, or auto; got {value!r}.")
    return weight


EncoderFolder = Annotated[
    Path, typer.Option("--model", "-m", metavar="DIR", help="Folder of the encoder, of hashnlp sentences train.")
]
ContextWeight = Annotated[
    str | None,
    typer.Option(
        metavar="WEIGHT",
        help="Compare texts by spelling (towards 0) or by the use of their words (towards 1); auto depends on the "
        "length of a text. Default: the encoder's.",
        callback=_read_weight,
    ),
]
Threads = Annotated[int, typer.Option("--n-jobs", "-j", min=1, help="Number of threads.")]
