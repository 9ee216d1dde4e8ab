"""The vectors of sentences by a trained net."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sklearn_hashnlp._threads import effective_n_jobs, map_in_order
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.nn._sentence_network import ContextWeight, SentenceNetwork
from sklearn_hashnlp.nn._sgnn_transformer import WordVectors
from sklearn_hashnlp.sentences._paragraph_batches import pad_sentences, take_rows
from sklearn_hashnlp.sentences._sentence_net import SentenceNet
from sklearn_hashnlp.sentences._sentence_reader import CachedProjections, SentenceReader
from sklearn_hashnlp.training._torch_scope import plain_torch

_WORDS_AT_ONCE = 2**12  # embedded
_BATCH_WORDS = 2**14  # with the padding: many words of a batch are the same, and memory is bounded


def check_weight(weight: Any, network: SentenceNetwork, *, caller: str) -> ContextWeight:
    """Check the weight of the second part, which may have been set after training."""
    if weight != "auto" and not (isinstance(weight, Real) and 0 <= float(weight) <= 1):
        raise ValueError(
            f"The 'context_weight' parameter of {caller} must be a number from 0 to 1, or 'auto'. "
            f"Got {weight!r} instead."
        )
    for learned, lacking in ((0, network.transformer), (1, network.spelling)):
        if lacking is None and weight != learned:
            raise ValueError(
                f"{caller} was fitted with context_weight={learned} and has no other part to "
                f"weigh. Got context_weight={weight!r}. Fit it with a weight between 0 and 1, or "
                f"set context_weight={learned}."
            )
    return "auto" if weight == "auto" else float(weight)


def encode_sentences(
    net: SentenceNet,
    reader: SentenceReader,
    words: list[str],
    rows: Ragged,  # (n_sentences,): of word ids
    *,
    context_weight: ContextWeight,
    n_jobs: int | None,
) -> NDArray[np.float32]:
    """Compute sentence vectors, in batches of similar length."""
    network, device = net.module_.network, torch.device(net.device)
    vectors = np.zeros((len(rows.offsets) - 1, network.dim), dtype=np.float32)
    if not words:
        return vectors
    n_threads = effective_n_jobs(n_jobs) if device.type == "cpu" else 1
    lengths = np.diff(rows.offsets)
    order = np.argsort(lengths, kind="stable")
    batches = _split_batches(order[np.searchsorted(lengths[order], 1) :], lengths)
    with plain_torch(device.type):
        word_vectors = _embed_words(network, reader, words, device, n_threads)
        weights = reader.frequencies.weights(words)

        def encode(batch: NDArray[np.int64]) -> NDArray[np.float32]:
            with plain_torch(device.type), torch.inference_mode():
                ids, word_weights = (
                    tensor.to(device) for tensor in pad_sentences(take_rows(rows, batch), weights)
                )
                encoded = network.embed_sentences(word_vectors, ids, word_weights, context_weight)
                return np.asarray(encoded.float().cpu().numpy())

        for batch, batch_vectors in zip(
            batches, map_in_order(encode, batches, n_threads), strict=True
        ):
            vectors[batch] = batch_vectors
    return vectors


def _embed_words(
    network: SentenceNetwork,
    reader: SentenceReader,
    words: list[str],
    device: torch.device,
    n_threads: int,
) -> WordVectors:
    """Compute the vectors of words."""
    projections = CachedProjections(
        words,
        np.zeros(len(words), dtype=np.int64),
        reader.featurizer,
        reader.projector,
        max_bytes=0,
    )

    def embed(start: int) -> WordVectors:
        rows = projections.rows(np.arange(start, min(start + _WORDS_AT_ONCE, len(words))))
        with plain_torch(device.type), torch.inference_mode():
            return network.embed_words(torch.from_numpy(rows).to(device))

    parts = list(map_in_order(embed, range(0, len(words), _WORDS_AT_ONCE), n_threads))
    return WordVectors(
        *(None if some[0] is None else torch.cat(some) for some in zip(*parts, strict=True))
    )


def _split_batches(order: NDArray[np.int64], lengths: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Split sentences, sorted by length, into batches of few words with the padding."""
    batches = []
    while len(order):
        # n sentences are padded to the length of the last.
        n_words = np.arange(1, len(order) + 1) * lengths[order]
        size = max(1, int(np.searchsorted(n_words, _BATCH_WORDS, side="right")))
        batches.append(order[:size])
        order = order[size:]
    return batches
