"""A trained sentence encoder: its vectors, its state as values and arrays, and its score."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp._threads import effective_n_jobs, map_in_order
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.nn._sentence_network import ContextWeight, SentenceNetwork
from sklearn_hashnlp.nn._word_batch import WordVectors
from sklearn_hashnlp.sentences._paragraph_batches import pad_sentences, take_rows
from sklearn_hashnlp.sentences._sentence_net import SentenceNet, TrainingState, net_from_state
from sklearn_hashnlp.sentences._sentence_reader import CachedProjections, SentenceReader
from sklearn_hashnlp.sentences._sentence_vectors import SentenceVectors
from sklearn_hashnlp.training._estimator import FittedNet
from sklearn_hashnlp.training._settings import Seeds
from sklearn_hashnlp.training._torch_scope import plain_torch

_WORDS_AT_ONCE = 2**12  # embedded
_BATCH_WORDS = 2**14  # with the padding: many words of a batch are the same, and memory is bounded


class FittedSentenceEncoder(SentenceVectors, FittedNet):
    """The methods of :class:`SGNNSentenceEncoder` that need the state learned by ``fit``."""

    context_weight: ContextWeight
    _net: SentenceNet
    log_: list[dict[str, Any]]
    waiting_share_: float
    _reader: SentenceReader
    _seeds: Seeds
    _trained_on: int  # checksum of the training paragraphs
    _training_state: TrainingState | None  # progress of a training that can be resumed
    _measures = ("train_loss", "dur")
    _net_from_state = staticmethod(net_from_state)

    def _sentence_encoder(self) -> Callable[[list[str], Ragged], NDArray[np.float32]]:
        weight = _check_weight(self.context_weight, self.net_.module_.network, caller=type(self).__name__)

        def encode(words: list[str], rows: Ragged) -> NDArray[np.float32]:
            with plain_torch(torch.device(self.net_.device).type):
                return encode_sentences(self.net_, self._reader, words, rows, weight, n_jobs=self.n_jobs)

        return encode

    @property
    def _n_features_out(self) -> int:
        return int(self.net_.module_.network.dim)

    def _hold(self, net: SentenceNet, reader: SentenceReader, history: list[dict[str, Any]]) -> None:
        self._reader = reader
        self._keep_net(net, history)

    def _share_state(self, other: FittedSentenceEncoder) -> None:
        """Set the fitted attributes of another encoder, and share its net."""
        self.log_, self.waiting_share_, self._seeds = other.log_, other.waiting_share_, other._seeds
        self._trained_on, self._training_state = other._trained_on, other._training_state
        self._hold(other.net_, other._reader, list(other.history_))

    def _keep_net(self, net: Any, history: list[dict[str, Any]]) -> None:
        super()._keep_net(net, history)
        self.n_parameters_ = sum(parameter.numel() for parameter in net.module_.network.parameters())

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return everything learned, as JSON values and as arrays."""
        check_is_fitted(self)
        net_values, net_arrays = self.net_.to_state()
        reader_values, reader_arrays = self._reader.to_state()
        arrays = net_arrays | {f"reader.{name}": array for name, array in reader_arrays.items()}
        return net_values | {
            "history": self.history_,
            "log": self.log_,
            "reader": reader_values,
            "seeds": list(self._seeds),
            "trained_on": self._trained_on,
            "waiting_share": self.waiting_share_,
        }, arrays

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Load the state that :meth:`_get_model_state` returned; the parameters may have changed since."""
        prefix = "reader."
        of_reader = {name.removeprefix(prefix): arrays[name] for name in arrays if name.startswith(prefix)}
        self.log_, self.waiting_share_, self._training_state = values["log"], values["waiting_share"], None
        self._seeds, self._trained_on = Seeds(*values["seeds"]), values["trained_on"]
        reader = SentenceReader.from_state(values["reader"], of_reader)
        self._hold(net_from_state(values, arrays, values["history"]), reader, [])

    def _get_training_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]] | None:
        state = self._training_state
        if state is None and not self.net_.optimizer_.state:
            return None
        values, arrays = self.net_.to_training_state()
        course, best = (None, {}) if state is None else state.to_state()
        return values | {"course": course}, arrays | best

    def _set_training_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._set_training_state(values, arrays)
        self._training_state = None if values["course"] is None else TrainingState.from_state(values["course"], arrays)


def _check_weight(weight: Any, network: SentenceNetwork, *, caller: str) -> ContextWeight:
    """Check the weight of the second part, which may have been set after training."""
    if weight != "auto" and not (isinstance(weight, Real) and 0 <= float(weight) <= 1):
        raise ValueError(
            f"The 'context_weight' parameter of {caller} must be a number from 0 to 1, or 'auto'. Got {weight!r} "
            "instead."
        )
    for learned, lacking in ((0, network.transformer), (1, network.spelling)):
        if lacking is None and weight != learned:
            raise ValueError(
                f"{caller} was fitted with context_weight={learned} and has no other part to weigh. Got "
                f"context_weight={weight!r}. Fit it with a weight between 0 and 1, or set context_weight={learned}."
            )
    return "auto" if weight == "auto" else float(weight)


def encode_sentences(
    net: SentenceNet,
    reader: SentenceReader,
    words: list[str],
    rows: Ragged,  # (n_sentences,): of word ids
    context_weight: ContextWeight,
    *,
    n_jobs: int | None,
) -> NDArray[np.float32]:
    """Compute sentence vectors, in batches of similar length."""
    network, device = net.module_.network, torch.device(net.device)
    vectors = np.zeros((len(rows.offsets) - 1, network.dim), dtype=np.float32)
    if not words:
        return vectors
    n_threads = effective_n_jobs(n_jobs) if device.type == "cpu" else 1
    word_vectors, weights = _embed_words(network, reader, words, device, n_threads), reader.frequencies.weights(words)
    lengths = np.diff(rows.offsets)
    order = np.argsort(lengths, kind="stable")
    batches = _split_batches(order[np.searchsorted(lengths[order], 1) :], lengths)

    def encode(batch: NDArray[np.int64]) -> NDArray[np.float32]:
        with plain_torch(device.type), torch.inference_mode():
            ids, word_weights = (tensor.to(device) for tensor in pad_sentences(take_rows(rows, batch), weights))
            encoded = network.embed_sentences(word_vectors, ids, word_weights, context_weight)
            return np.asarray(encoded.float().cpu().numpy())

    for batch, batch_vectors in zip(batches, map_in_order(encode, batches, n_threads), strict=True):
        vectors[batch] = batch_vectors
    return vectors


def _embed_words(
    network: SentenceNetwork, reader: SentenceReader, words: list[str], device: torch.device, n_threads: int
) -> WordVectors:
    """Compute the vectors of words."""
    projections = CachedProjections(
        words, np.zeros(len(words), dtype=np.int64), reader.featurizer, reader.projector, max_bytes=0
    )

    def embed(start: int) -> WordVectors:
        rows = projections.rows(np.arange(start, min(start + _WORDS_AT_ONCE, len(words))))
        with plain_torch(device.type), torch.inference_mode():
            return network.embed_words(torch.from_numpy(rows).to(device))

    parts = list(map_in_order(embed, range(0, len(words), _WORDS_AT_ONCE), n_threads))
    return WordVectors(*(None if some[0] is None else torch.cat(some) for some in zip(*parts, strict=True)))


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


def score_of(estimator: Any) -> float:
    """Return the validation score of an encoder."""
    score = estimator.scoring(estimator)
    try:
        return float(score)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{type(estimator).__name__}: scoring must return a number, higher is better; got {score!r:.60} "
            f"({type(score).__name__})."
        ) from error
