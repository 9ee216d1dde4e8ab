"""Loading of sentence encoders, and the vectors of batches of lines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sklearn_hashnlp import SGNNSentenceEncoder


def load_encoder(folder: Path, *, context_weight: Any, n_jobs: int) -> SGNNSentenceEncoder:
    """Load a sentence encoder; raise an error for another model."""
    from sklearn_hashnlp import SGNNSentenceEncoder
    from sklearn_hashnlp.persistence import load_model

    model: Any = load_model(folder)
    if not isinstance(model, SGNNSentenceEncoder):
        raise ValueError(
            f"{folder} is a {type(model).__name__}, not a sentence encoder; expected a folder of hashnlp sentences "
            "train."
        )
    model.set_params(n_jobs=n_jobs)
    return model if context_weight is None else model.set_params(context_weight=context_weight)


def load_pretrained(folder: Path) -> SGNNSentenceEncoder:
    """Load a sentence encoder for vectors without the spelling of words, which n-grams represent."""
    encoder = load_encoder(folder, context_weight=None, n_jobs=-1)
    has_context = encoder.context_weight != 0
    return encoder.set_params(vector_weight=1.0, **({"context_weight": 1.0} if has_context else {}))
