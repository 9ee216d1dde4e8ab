"""Sentence encoders that are trained once and kept, and what their training was like."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sklearn_hashnlp.sentences import SGNNSentenceEncoder

from . import sentence_tasks
from .sentence_tasks import Pairs

OTHERS = ("callbacks", "checkpoint_dir", "checkpoint_every", "monitor", "resume", "sentence_splitter", "verbose")


def train_encoder(
    paragraphs: Sequence[str], settings: dict[str, Any], *, seed: int, folder: Path, watched: Pairs | None
) -> tuple[SGNNSentenceEncoder, dict[str, Any]]:
    """Train an encoder, or go on with the one in the folder.

    Parameters
    ----------
    paragraphs : sequence of str
        What to learn from.
    settings : dict
        Of the encoder.
    seed : int
        Of everything.
    folder : Path
        Where it is kept.
    watched : Pairs or None
        The pairs by whose rank correlation the best weights are chosen; None takes the last ones.

    Returns
    -------
    encoder : SGNNSentenceEncoder
        Trained.
    training : dict
        All settings, the share of the time in which a step waited for its batch, parameters, the curve, and seconds;
        no seconds if the folder held something, since they would be those of a part only.
    """
    is_new = not folder.exists()
    # Without a second stage there is no training to take up, and an encoder is soon made again.
    kept = {} if settings.get("max_epochs") == 0 else {"checkpoint_dir": folder, "resume": True}
    start = time.perf_counter()
    encoder = SGNNSentenceEncoder(
        **settings,
        monitor=None if watched is None else lambda model: sentence_tasks.correlation(model, watched),
        **kept,
        random_state=seed,
        verbose=2,
    ).fit(paragraphs)
    training = {
        "settings": decisive(encoder),
        "waiting share": encoder.waiting_share_,
        "parameters": encoder.n_parameters_,
        "log": encoder.log_,
    }
    return encoder, training | ({"seconds": time.perf_counter() - start} if is_new else {})


def decisive(encoder: SGNNSentenceEncoder) -> dict[str, Any]:
    """Give the parameters that decide what is learned."""
    return {name: value for name, value in encoder.get_params(deep=False).items() if name not in OTHERS}
