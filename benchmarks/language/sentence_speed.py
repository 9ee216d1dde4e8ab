"""Speed of a sentence encoder, with each distinct word projected once and with every occurrence projected."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.timing import median_ratio, order_of_round, summarize_seconds
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels.projections import _project_rows
from sklearn_hashnlp.sentences import SGNNSentenceEncoder
from sklearn_hashnlp.sentences._fitted_encoder import encode_sentences

ONCE, BY_ITSELF = "each distinct word once", "every occurrence of a word"
METHODS = (ONCE, BY_ITSELF)


def measure(encoder: SGNNSentenceEncoder, sentences: Sequence[str], rounds: int) -> dict[str, Any]:
    """Time both methods alternately; their vectors are equal up to rounding."""
    few = sentences[:50]
    difference = np.abs(encode(ONCE, encoder, few) - encode(BY_ITSELF, encoder, few)).max()
    seconds: dict[str, list[float]] = {method: [] for method in METHODS}
    for round_ in range(rounds):
        for method in order_of_round(METHODS, round_):
            start = time.perf_counter()
            encode(method, encoder, sentences)
            seconds[method].append(time.perf_counter() - start)
    words, rows = encoder._reader.word_ids(list(sentences), first=0, caller="The benchmark")
    return {
        "sentences": len(sentences),
        "words": len(rows.values),
        "different words": len(words),
        "largest difference": float(difference),
        "seconds": {method: summarize_seconds(measured) for method, measured in seconds.items()},
        "sentences/s": {method: len(sentences) / float(np.median(measured)) for method, measured in seconds.items()},
        "times as long": median_ratio(seconds[BY_ITSELF], seconds[ONCE]),
    }


def encode(method: str, encoder: SGNNSentenceEncoder, sentences: Sequence[str]) -> NDArray[np.float32]:
    if method == ONCE:
        return encoder.transform(sentences)
    reader = encoder._reader
    words, rows = reader.word_ids(list(sentences), first=0, caller="The benchmark")
    every = [words[number] for number in rows.values.tolist()]
    numbered = Ragged(np.arange(len(every)), rows.offsets)
    # The occurrences of a word in a sentence share its weight, as with one id per distinct word.
    cells = np.repeat(np.arange(len(rows.offsets) - 1), np.diff(rows.offsets)) * len(words) + rows.values
    _, which, counts = np.unique(cells, return_inverse=True, return_counts=True)
    shares = (reader.weights(every) / counts[which]).astype(np.float32)
    stand_in: Any = SimpleNamespace(
        featurizer=reader.featurizer, projector=reader.projector, weights=lambda _words: shares
    )
    # The projector deduplicates equal rows too.
    with patch.object(_project_rows, "first_equal_rows", lambda indptr, *_values: np.arange(len(indptr) - 1)):
        return encode_sentences(
            encoder.net_,
            stand_in,
            every,
            numbered,
            encoder.context_weight,
            max_words=encoder.max_words,
            n_jobs=encoder.n_jobs,
        )
