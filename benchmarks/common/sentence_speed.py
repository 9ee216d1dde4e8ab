"""How fast an encoder makes vectors, and how fast if every occurrence of a word were projected by itself."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import Ragged, _project_rows
from sklearn_hashnlp.sentences import SGNNSentenceEncoder
from sklearn_hashnlp.sentences._fitted_encoder import encode_sentences

from .timing import seconds_of_turns, sides_of_turn, times_as_long

ONCE, BY_ITSELF = "each different word once", "each word by itself"
SIDES = (ONCE, BY_ITSELF)


def measure(encoder: SGNNSentenceEncoder, sentences: Sequence[str], turns: int) -> dict[str, Any]:
    """Time both sides by turns; the vectors of both are the same but for rounding."""
    few = sentences[:50]
    difference = np.abs(run_side(ONCE, encoder, few) - run_side(BY_ITSELF, encoder, few)).max()
    seconds: dict[str, list[float]] = {side: [] for side in SIDES}
    for turn in range(turns):
        for side in sides_of_turn(SIDES, turn):
            start = time.perf_counter()
            run_side(side, encoder, sentences)
            seconds[side].append(time.perf_counter() - start)
    words, rows = encoder._reader.number(list(sentences), first=0, caller="The benchmark")
    return {
        "sentences": len(sentences),
        "words": len(rows.values),
        "different words": len(words),
        "largest difference": float(difference),
        "seconds": {side: seconds_of_turns(found) for side, found in seconds.items()},
        "sentences/s": {side: len(sentences) / float(np.median(found)) for side, found in seconds.items()},
        "times as long": times_as_long(seconds[BY_ITSELF], seconds[ONCE]),
    }


def run_side(side: str, encoder: SGNNSentenceEncoder, sentences: Sequence[str]) -> NDArray[np.float32]:
    if side == ONCE:
        return encoder.transform(sentences)
    reader = encoder._reader
    words, rows = reader.number(list(sentences), first=0, caller="The benchmark")
    every = [words[number] for number in rows.values.tolist()]
    numbered = Ragged(np.arange(len(every)), rows.offsets)
    # A word that stands several times in a sentence shares its weight out, as it does where it has one number.
    places = np.repeat(np.arange(len(rows.offsets) - 1), np.diff(rows.offsets)) * len(words) + rows.values
    _, which, counts = np.unique(places, return_inverse=True, return_counts=True)
    shares = (reader.weights(every) / counts[which]).astype(np.float32)
    stand_in: Any = SimpleNamespace(
        featurizer=reader.featurizer, projector=reader.projector, weights=lambda _words: shares
    )
    # The projector finds equal rows as well.
    with patch.object(_project_rows, "first_equal_rows", lambda indptr, *_values: np.arange(len(indptr) - 1)):
        return encode_sentences(
            encoder.net_, stand_in, every, numbered, max_words=encoder.max_words, n_jobs=encoder.n_jobs
        )
