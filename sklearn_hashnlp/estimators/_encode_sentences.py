"""Vectors of many sentences: of like length together, each different word of them projected once."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from joblib import effective_n_jobs
from numpy.typing import NDArray

from sklearn_hashnlp.estimators._cached_projections import CachedProjections
from sklearn_hashnlp.estimators._make_word_batch import make_word_batch
from sklearn_hashnlp.estimators._paragraph_batches import take_rows
from sklearn_hashnlp.estimators._paragraphs import cut_words
from sklearn_hashnlp.estimators._sentence_net import SentenceNet
from sklearn_hashnlp.estimators._sentence_reader import SentenceReader
from sklearn_hashnlp.estimators._training import plain_torch
from sklearn_hashnlp.kernels import Ragged
from sklearn_hashnlp.text._in_threads import in_threads

_PLACES = 2**14  # words of a batch, with the padding: enough that many are the same, few enough for the memory


def encode_sentences(
    net: SentenceNet, reader: SentenceReader, words: list[str], rows: Ragged, *, max_words: int, n_jobs: int | None
) -> NDArray[np.float32]:
    """Make the vectors of sentences."""
    network = net.module_.network
    vectors = np.zeros((len(rows.offsets) - 1, network.dim), dtype=np.float32)
    if not words:
        return vectors
    rows = cut_words(rows, max_words)
    once = np.ones(len(words), dtype=np.int64)
    projections = CachedProjections(words, once, reader.featurizer, reader.projector, max_bytes=2**40)
    lengths, device = np.diff(rows.offsets), torch.device(net.device)
    order = np.argsort(lengths, kind="stable")
    batches = _batches(order[np.searchsorted(lengths[order], 1) :], lengths)
    encode = partial(_encode, net, rows, reader.weights(words), projections, device)
    n_threads = effective_n_jobs(n_jobs) if device.type == "cpu" else 1
    for chosen, found in zip(batches, in_threads(encode, batches, n_threads), strict=True):
        vectors[chosen] = found
    return vectors


def _batches(order: NDArray[np.int64], lengths: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Cut an order by rising length into batches that have few places each."""
    batches = []
    while len(order):
        # With n sentences, the places are n times the length of the last.
        places = np.arange(1, len(order) + 1) * lengths[order]
        size = max(1, int(np.searchsorted(places, _PLACES, side="right")))
        batches.append(order[:size])
        order = order[size:]
    return batches


def _encode(
    net: SentenceNet,
    rows: Ragged,
    weights: NDArray[np.float32],
    projections: CachedProjections,
    device: torch.device,
    chosen: NDArray[np.int64],
) -> NDArray[np.float32]:
    with plain_torch(device.type), torch.inference_mode():
        batch = make_word_batch(take_rows(rows, chosen), weights, projections).to(device)
        vectors: NDArray[np.float32] = net.module_(batch).float().cpu().numpy()
    return vectors
