"""Sentence encoders and saved vectors: the options of the commands, and loading."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

EncoderFolder = Annotated[
    Path,
    typer.Option(
        "--model", "-m", metavar="DIR", help="Folder of the encoder, of hashnlp sentences train."
    ),
]
Threads = Annotated[int, typer.Option("--n-jobs", "-j", min=1, help="Number of threads.")]


def load_encoder(folder: Path, *, n_jobs: int) -> Any:
    """Load a sentence encoder; raise an error for another model."""
    from sklearn_hashnlp.persistence import load_model

    model: Any = load_model(folder)
    if not hasattr(model, "most_similar") or not hasattr(model, "transform"):
        raise ValueError(
            f"{folder} is a {type(model).__name__}, not a sentence encoder; expected a folder of "
            "hashnlp sentences train."
        )
    model.n_jobs = n_jobs
    return model


def load_pretrained(folder: Path) -> Any:
    """Load a sentence encoder for vectors without the spelling of words, or return its name."""
    if not folder.exists():
        from sklearn_hashnlp import sentences

        try:
            sentences.load_pretrained(str(folder))  # type: ignore[arg-type]  # it checks the name
        except ValueError as error:
            raise FileNotFoundError(f"There is no folder {str(folder)!r}. {error}") from error
        return str(folder)
    encoder = load_encoder(folder, n_jobs=-1)
    if getattr(encoder, "context_weight", 0) != 0:
        encoder.set_params(context_weight=1.0)
    return encoder
