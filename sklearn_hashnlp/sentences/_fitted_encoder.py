"""A trained sentence encoder: vectors, similarities, and its state as values and arrays."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_array, check_is_fitted

from sklearn_hashnlp._sklearn import ArrayTransformerMixin, level_of_user
from sklearn_hashnlp._threads import effective_n_jobs, map_in_order
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.nn._sentence_network import ContextWeight, SentenceNetwork
from sklearn_hashnlp.nn._word_batch import WordVectors
from sklearn_hashnlp.sentences._batches import pad_sentences, take_rows
from sklearn_hashnlp.sentences._net import SentenceNet, net_from_state
from sklearn_hashnlp.sentences._paragraphs import truncate_words
from sklearn_hashnlp.sentences._projections import CachedProjections
from sklearn_hashnlp.sentences._reader import WORD_SPLITTER, SentenceReader
from sklearn_hashnlp.sentences._training import TrainingState
from sklearn_hashnlp.sentences._vector_regression import VectorRegression
from sklearn_hashnlp.text._documents import as_documents, in_chunks
from sklearn_hashnlp.text._word_projections import encode_words
from sklearn_hashnlp.training._estimator import FittedNet, History
from sklearn_hashnlp.training._settings import Seeds
from sklearn_hashnlp.training._torch_scope import plain_torch

_CHUNK_CHARACTERS = 2**21  # some 400,000 words, some 30,000 of them distinct
_REGRESSION = "regression."  # begins the names of its arrays
_WORDS_AT_ONCE = 2**12  # embedded
_BATCH_WORDS = 2**14  # with the padding: many words of a batch are the same, and memory is bounded


class FittedSentenceEncoder(ClassNamePrefixFeaturesOutMixin, ArrayTransformerMixin, FittedNet):  # type: ignore[misc]  # scikit-learn has no types
    """The methods of :class:`SGNNSentenceEncoder` that need what ``fit`` has learned."""

    context_weight: ContextWeight
    vector_weight: float
    n_jobs: int | None
    max_words: int
    _net: SentenceNet
    log_: list[dict[str, Any]]
    waiting_share_: float
    _reader: SentenceReader
    _seeds: Seeds
    _trained_on: int | None  # checksum of the training paragraphs
    _training_state: TrainingState | None  # where a training stands that can be resumed
    _regression: VectorRegression | None = None  # of an encoder that was fitted to vectors, with or without a net
    _measures = ("train_loss", "dur")
    _net_from_state = staticmethod(net_from_state)

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Compute sentence vectors.

        Parameters
        ----------
        X : iterable of str
            Sentences or short texts: a list, tuple or generator, a numpy array, a column of pandas, polars or Arrow.
            They are not split into sentences, but truncated to ``max_words`` words, with a warning.

        Returns
        -------
        ndarray of shape (n_texts, dim), dtype float32
            Unit vectors; zeros for a text without words. A row does not depend on the other texts, but for rounding
            errors (1e-6), nor on ``n_jobs``; rows of equal texts are equal.

        Raises
        ------
        ValueError
            If ``X`` is a single string or a table, or a text is NaN or holds a lone surrogate; or if ``context_weight``
            is not a weight, or weighs a part that the encoder was not fitted with.
        TypeError
            If a text is not a ``str``.
        """
        return self._encode(X)

    def _encode(self, X: Any) -> NDArray[np.float32]:
        """Compute sentence vectors as an array, whatever container ``set_output`` has set for :meth:`transform`."""
        check_is_fitted(self)
        name = type(self).__name__
        longest, parts, indices = 0, [], []
        seen: dict[str, int] = {}  # equal texts have one vector: in another batch its last bits would differ
        encode = self._sentence_encoder(name)
        for first, chunk in in_chunks(as_documents(X, caller=name), n_characters=_CHUNK_CHARACTERS):
            words, rows = encode_words(chunk, first=first, featurizer=WORD_SPLITTER, caller=name)
            longest = max(longest, int(np.diff(rows.offsets).max(initial=0)))
            n_seen = len(seen)
            indices.append(np.array([seen.setdefault(text, len(seen)) for text in chunk]))
            distinct, firsts = np.unique(indices[-1], return_index=True)
            rows = take_rows(rows, firsts[distinct >= n_seen])
            parts.append(encode(words, truncate_words(rows, self.max_words)))
        if longest > self.max_words:
            warnings.warn(
                f"{name}: the longest text has {longest:,} words; texts are truncated to {self.max_words:,} words. Set "
                "max_words, or split texts into sentences and take the mean of their vectors.",
                stacklevel=level_of_user(),
            )
        vectors = np.concatenate(parts) if parts else np.empty((0, self._n_features_out), dtype=np.float32)
        return vectors if sum(map(len, indices)) == len(vectors) else vectors[np.concatenate(indices)]

    def _sentence_encoder(self, name: str) -> Callable[[list[str], Ragged], NDArray[np.float32]]:
        """Return the function that encodes sentences, given as distinct words and rows of word ids."""
        regression, n_jobs = self._regression, self.n_jobs
        regress = None if regression is None else partial(regression.encode, n_threads=effective_n_jobs(n_jobs))
        if regress is not None and not hasattr(self, "net_"):
            return regress
        weight = _check_weight(self.context_weight, self.net_.module_.network, caller=name)

        def embed(words: list[str], rows: Ragged) -> NDArray[np.float32]:
            with plain_torch(torch.device(self.net_.device).type):
                return encode_sentences(
                    self.net_, self._reader, words, rows, weight, max_words=self.max_words, n_jobs=n_jobs
                )

        if regress is None:
            return embed
        share = _check_vector_weight(self.vector_weight, caller=name)
        return lambda words, rows: concatenate(regress(words, rows), embed(words, rows), share)

    def similarity(self, A: Any, B: Any) -> NDArray[np.float32]:
        """Compute the cosine similarities of pairs of texts.

        Parameters
        ----------
        A, B : iterable of str
            The first and the second text of each pair.

        Returns
        -------
        ndarray of shape (n_pairs,), dtype float32
            Cosine similarities, from -1 to 1; 0 where a text has no words.

        Raises
        ------
        ValueError, TypeError
            As :meth:`transform`; or if ``A`` and ``B`` have different lengths.
        """
        left, right = self._encode(A), self._encode(B)
        if len(left) != len(right):
            raise ValueError(
                f"{type(self).__name__}.similarity compares pairs of texts, and needs as many in A as in B. Got "
                f"{len(left)} and {len(right)}. For all pairs: encoder.transform(A) @ encoder.transform(B).T."
            )
        similarities: NDArray[np.float32] = np.einsum("ij,ij->i", left, right)
        return similarities.clip(-1, 1)  # rounding errors exceed 1

    def most_similar(self, queries: Any, texts: Any, k: int = 10) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Find the most similar texts of each query.

        Parameters
        ----------
        queries : iterable of str, or ndarray or data frame of shape (n_queries, dim)
            The texts to search for, or their vectors.
        texts : iterable of str, or ndarray or data frame of shape (n_texts, dim)
            The texts to search, or their vectors, computed once by :meth:`transform` for many searches. Vectors of
            another length than 1, such as means of vectors, are normalized.
        k : int, default=10
            Number of texts to return for each query; all if there are fewer.

        Returns
        -------
        indices : ndarray of shape (n_queries, k), dtype int64
            Indices of the texts, the most similar first; of equally similar texts the earlier comes first.
        similarities : ndarray of shape (n_queries, k), dtype float32
            Their cosine similarities, from -1 to 1.

        Raises
        ------
        ValueError, TypeError
            As :meth:`transform`; or if ``k`` is not a positive integer, or vectors have another number of columns, NaN
            or infinite values.
        """
        if not isinstance(k, int | np.integer) or k < 1:
            raise ValueError(f"{type(self).__name__}.most_similar: k must be an integer of 1 or more, got {k!r}.")
        check_is_fitted(self)
        query_vectors, vectors = self._vectors(queries, "queries"), self._vectors(texts, "texts")
        shape = len(query_vectors), min(k, len(vectors))
        indices, similarities = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.float32)
        # In parts, so that few scores are in memory at once.
        n_parts = max(1, -(-len(query_vectors) * max(len(vectors), 1) // 2**26))
        for part in np.array_split(np.arange(len(query_vectors)), n_parts):
            for row, scores in zip(part, query_vectors[part] @ vectors.T, strict=True):
                indices[row], similarities[row] = _nearest(query_vectors[row], vectors, scores, k)
        return indices, similarities

    def _vectors(self, X: Any, name: str) -> NDArray[np.float32]:
        """Return the vectors of texts, or rows of numbers as such vectors."""
        if len(getattr(X, "shape", ())) != 2 or (rows := np.asarray(X)).dtype.kind not in "fiu":
            return self._encode(X)
        vectors: NDArray[np.float32] = check_array(
            rows, dtype=np.float32, order="C", ensure_min_samples=0, input_name=name
        )  # in C order, as the last bits of sums depend on it
        if vectors.shape[1] != self._n_features_out:
            raise ValueError(
                f"{type(self).__name__}.most_similar: the vectors of {name} have {vectors.shape[1]} columns and this "
                f"encoder's have {self._n_features_out}. Compute them with its transform."
            )
        norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        norms[norms == 0] = 1
        if (np.abs(norms - 1) > 1e-5).any():
            vectors = vectors / norms[:, None]
        return vectors

    @property
    def _n_features_out(self) -> int:
        of_regression = 0 if self._regression is None else self._regression.dim
        if of_regression and not hasattr(self, "net_"):
            return of_regression
        return of_regression + int(self.net_.module_.network.dim)

    def _hold(self, net: SentenceNet, reader: SentenceReader, history: list[dict[str, Any]]) -> None:
        self._reader = reader
        self._keep_net(net, history)

    def _forget(self) -> None:
        """Remove what was learned before."""
        for name in ("_net", "waiting_share_", "_reader", "_seeds", "_trained_on"):
            self.__dict__.pop(name, None)
        self.log_, self._regression = [], None

    def _hold_regression(self, regression: VectorRegression, history: list[dict[str, Any]]) -> None:
        """Set what was learned from vectors, beside a net or without one."""
        self._regression, self._training_state = regression, None
        self.history_ = History(history)
        self._count_parameters()

    def _keep_net(self, net: Any, history: list[dict[str, Any]]) -> None:
        super()._keep_net(net, history)
        self._count_parameters()

    def _count_parameters(self) -> None:
        network = self.net_.module_.network if hasattr(self, "net_") else None
        self.n_parameters_ = sum(parameter.numel() for parameter in network.parameters()) if network else 0
        self.n_parameters_ += 0 if self._regression is None else self._regression.coefficients.size

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return everything learned, as JSON values and as arrays."""
        check_is_fitted(self)
        values: dict[str, Any] = {"history": self.history_, "log": self.log_}
        arrays: dict[str, NDArray[Any]] = {}
        if self._regression is not None:
            values["regression"], of_regression = self._regression.to_state()
            arrays = {f"{_REGRESSION}{name}": array for name, array in of_regression.items()}
        if not hasattr(self, "net_"):
            return values, arrays
        net_values, net_arrays = self.net_.to_state()
        reader_values, reader_arrays = self._reader.to_state()
        arrays |= net_arrays | {f"reader.{name}": array for name, array in reader_arrays.items()}
        return net_values | values | {
            "reader": reader_values,
            "seeds": list(self._seeds),
            "trained_on": self._trained_on,
            "waiting_share": self.waiting_share_,
        }, arrays

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Load what :meth:`_get_model_state` returned, whatever the parameters are by now."""
        self.log_, self._regression = values["log"], None
        if "reader" in values:
            of_reader = {name[7:]: array for name, array in arrays.items() if name.startswith("reader.")}
            reader = SentenceReader.from_state(values["reader"], of_reader)
            self._seeds, self._trained_on = Seeds(*values["seeds"]), values["trained_on"]
            self.waiting_share_, self._training_state = values["waiting_share"], None
            of_net = {name: array for name, array in arrays.items() if not name.startswith(_REGRESSION)}
            self._hold(net_from_state(values, of_net, values["history"]), reader, [])
        if "regression" in values:
            n = len(_REGRESSION)
            of_regression = {name[n:]: array for name, array in arrays.items() if name.startswith(_REGRESSION)}
            regression = VectorRegression.from_state(values["regression"], of_regression)
            self._hold_regression(regression, values["history"])

    def _get_training_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]] | None:
        state = self._training_state
        if self._regression is not None:
            return None
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


def _check_vector_weight(weight: Any, *, caller: str) -> float:
    """Check the weight of the vectors that were learned, which may have been set after training."""
    if not (isinstance(weight, Real) and 0 <= float(weight) <= 1):
        raise ValueError(
            f"The 'vector_weight' parameter of {caller} must be a number from 0 to 1. Got {weight!r} instead."
        )
    return float(weight)


def concatenate(first: NDArray[np.float32], second: NDArray[np.float32], weight: float) -> NDArray[np.float32]:
    """Concatenate unit vectors so that cosine similarities are averaged, with a weight of the first."""
    parts: NDArray[np.float32] = np.hstack(
        (np.float32(math.sqrt(weight)) * first, np.float32(math.sqrt(1 - weight)) * second)
    )
    lengths = np.sqrt(np.einsum("ij,ij->i", parts, parts))
    parts /= np.where(lengths > 0, lengths, 1)[:, np.newaxis]
    return parts


def _nearest(
    query: NDArray[np.float32],  # (dim,)
    vectors: NDArray[np.float32],  # (n, dim)
    scores: NDArray[np.float32],  # (n,): of a matrix product
    k: int,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the rows of the k highest similarities, of equal ones the first rows, and the similarities."""
    # A matrix product rounds at the edges of its blocks otherwise: it selects rows, whose similarities are then summed
    # one by one, in the same order.
    rows = np.arange(len(scores))
    if k < len(scores):
        tolerance = 2 * len(query) * np.finfo(np.float32).eps
        rows = np.flatnonzero(scores >= np.partition(scores, -k)[-k] - tolerance)
    similarities = np.einsum("ij,j->i", vectors[rows], query).clip(-1, 1)  # rounding errors exceed 1
    best = np.argsort(-similarities, kind="stable")[:k]
    return rows[best], similarities[best]


def encode_sentences(
    net: SentenceNet,
    reader: SentenceReader,
    words: list[str],
    rows: Ragged,  # (n_sentences,): of word ids
    context_weight: ContextWeight,
    *,
    max_words: int,
    n_jobs: int | None,
) -> NDArray[np.float32]:
    """Compute sentence vectors, in batches of similar length."""
    network = net.module_.network
    vectors = np.zeros((len(rows.offsets) - 1, network.dim), dtype=np.float32)
    if not words:
        return vectors
    rows = truncate_words(rows, max_words)
    device = torch.device(net.device)
    n_threads = effective_n_jobs(n_jobs) if device.type == "cpu" else 1
    word_vectors = _embed_words(network, reader, words, device, n_threads)
    lengths = np.diff(rows.offsets)
    order = np.argsort(lengths, kind="stable")
    batches = _split_batches(order[np.searchsorted(lengths[order], 1) :], lengths)
    encode = partial(_encode_batch, network, word_vectors, rows, reader.weights(words), device, context_weight)
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


def _encode_batch(
    network: SentenceNetwork,
    word_vectors: WordVectors,
    rows: Ragged,
    weights: NDArray[np.float32],
    device: torch.device,
    context_weight: ContextWeight,
    indices: NDArray[np.int64],
) -> NDArray[np.float32]:
    with plain_torch(device.type), torch.inference_mode():
        words, word_weights = (tensor.to(device) for tensor in pad_sentences(take_rows(rows, indices), weights))
        vectors = network.embed_sentences(word_vectors, words, word_weights, context_weight)
        encoded: NDArray[np.float32] = vectors.float().cpu().numpy()
    return encoded
