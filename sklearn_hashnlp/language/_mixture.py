"""Linear interpolation of language models: common word ids, weights by EM, bins of contexts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp._idf import map_distinct
from sklearn_hashnlp.language._base_language_model import BaseLanguageModel
from sklearn_hashnlp.language._corpus import Sentences
from sklearn_hashnlp.language._tokenizer import FarContext, Tokenizer, WordWindows

_MAX_ITER = 1000
_TOLERANCE = 1e-9  # change of the mean log-likelihood per word
_OF_OTHERS = 1e-9  # total weight of the other models if one alone is the best
_ROWS = 2**20  # contexts per block


def em_weights(
    log_probs: NDArray[np.float64],  # (n_words, n_models)
    weights: NDArray[np.float64],  # (n_models,): initial weights; a weight of 0 stays 0
) -> tuple[NDArray[np.float64], list[float]]:
    """Return the maximum-likelihood weights, and the mean log-likelihood before each iteration."""
    highest = log_probs.max(axis=1, keepdims=True)
    probs = np.exp(log_probs - highest)
    scores: list[float] = []
    while True:
        joint = probs * weights
        totals = joint.sum(axis=1, keepdims=True)
        scores.append(float(np.log(totals).mean() + highest.mean()))
        if len(scores) == _MAX_ITER or (len(scores) > 1 and scores[-1] - scores[-2] < _TOLERANCE):
            return _no_worse_than_alone(log_probs, weights / weights.sum(), scores[-1]), scores
        weights = (joint / totals).mean(axis=0)


def _no_worse_than_alone(
    log_probs: NDArray[np.float64], weights: NDArray[np.float64], score: float
) -> NDArray[np.float64]:
    """Return a weight near one for a model that is better alone: EM converges too slowly."""
    alone = np.where(weights > 0, log_probs.mean(axis=0), -np.inf)
    best = int(alone.argmax())
    if alone[best] <= score:
        return weights
    near = _OF_OTHERS * weights  # not 0: another text may have words that only these models predict
    near[best] += 1 - _OF_OTHERS
    return near


def em_weights_by_bin(
    log_probs: NDArray[np.float64],  # (n_words, n_models)
    bins: NDArray[np.uint8],  # (n_words,)
    n_bins: int,
) -> NDArray[np.float64]:
    """Return the weights of each bin, for bins without words the weights of the whole text."""
    n_models = log_probs.shape[1]
    overall, _ = em_weights(log_probs, np.full(n_models, 1 / n_models))
    weights = np.tile(overall, (n_bins, 1))
    if n_bins > 1:
        for bin_ in np.unique(bins):
            weights[bin_], _ = em_weights(log_probs[bins == bin_], np.full(n_models, 1 / n_models))
    return weights


def interpolate(
    log_probs: list[NDArray[np.float64]],  # one per model, each of shape (n, ...)
    weights: NDArray[np.float64],  # (n, n_models)
) -> NDArray[np.float64]:
    """Return the logarithm of the weighted sum of probabilities."""
    shape = (-1, *[1] * (log_probs[0].ndim - 1))
    with np.errstate(divide="ignore"):  # weights and probabilities may be 0
        terms = [
            one + np.log(weights[:, index]).reshape(shape) for index, one in enumerate(log_probs)
        ]
        highest = np.maximum(np.maximum.reduce(terms), np.finfo(np.float64).min)
        total = np.exp(terms[0] - highest)
        for term in terms[1:]:
            total += np.exp(term - highest)
        result: NDArray[np.float64] = highest + np.log(total)
    return result


@dataclass(frozen=True)
class ContextBins:
    """Bins of contexts by their frequency in a training text."""

    length: int  # words per context
    # (n_contexts,): sorted; contexts share keys if their ids exceed 64 bits
    keys: NDArray[np.int64]
    counts: NDArray[np.int64]  # (n_contexts,)

    @classmethod
    def count(cls, windows: WordWindows, n_ids: int) -> ContextBins:
        """Count the contexts of a text."""
        keys, counts = np.unique(_keys(windows, n_ids), return_counts=True)
        return cls(windows.order - 1, keys, counts)

    @property
    def n_bins(self) -> int:
        """Number of bins; the last one is for contexts that do not occur in the text."""
        return int(self._bins(np.zeros(1, dtype=np.int64))[0]) + 1

    def of_text(self, windows: WordWindows, n_ids: int) -> NDArray[np.uint8]:
        """Return the bin of each window's context."""
        return self._find(_keys(windows, n_ids))

    def of_contexts(self, contexts: NDArray[np.int64], n_ids: int) -> NDArray[np.uint8]:
        """Return the bin of each context."""
        return self._find(_key(contexts, n_ids))

    def check(self) -> None:
        """Raise an error for arrays that :meth:`count` cannot have returned."""
        arrays = (self.keys, self.counts)
        if any(
            array.dtype != np.int64 or array.shape != (len(self.keys),) for array in arrays
        ) or not len(self.keys):
            raise ValueError("Expected as many int64 counts as contexts.")
        if self.length < 1 or (np.diff(self.keys) <= 0).any() or (self.counts <= 0).any():
            raise ValueError("Expected ascending contexts with positive counts.")

    def _find(self, keys: NDArray[np.int64]) -> NDArray[np.uint8]:
        indices = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return self._bins(np.where(self.keys[indices] == keys, self.counts[indices], 0))

    def _bins(self, counts: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return frequency bins: the negative log of the relative frequency, rounded up."""
        total = int(self.counts.sum())
        return map_distinct(
            lambda count: math.ceil(math.log((1 + total) / (1 + count))), counts
        ).astype(np.uint8)


@dataclass(frozen=True)
class MixedText:
    """A text or contexts, encoded for each model, and the bins of the weights."""

    parts: list[Any]  # one per model
    bins: NDArray[np.uint8]  # (n,): one per predicted word
    offsets: NDArray[np.int64] | None = None  # first word of each sentence of a text

    def __len__(self) -> int:
        return len(self.bins)

    def __getitem__(self, rows: Any) -> MixedText:
        return MixedText([part[rows] for part in self.parts], self.bins[rows])


@dataclass(frozen=True)
class Members:
    """Fitted models that read the same sentences and predict the word ids of the first model."""

    models: list[BaseLanguageModel]
    # each model's ids of the first model's words; None if they are equal
    columns: list[NDArray[np.int64] | None]
    tokenizer: Tokenizer
    bins: ContextBins | None = None

    @classmethod
    def of(cls, models: list[BaseLanguageModel], *, caller: str) -> Members:
        """Check that models can be mixed."""
        first = models[0]._tokenizer
        for index, model in enumerate(models):
            tokens = model._tokenizer.special_tokens
            if tokens != first.special_tokens:
                raise ValueError(
                    f"{caller} mixes models with the same special_tokens, and "
                    f"{_describe(model, index)} has {', '.join(tokens)}, and "
                    f"{_describe(models[0], 0)} {', '.join(first.special_tokens)}."
                )
        columns = [_own_columns(models, index, caller) for index in range(len(models))]
        for index, model in enumerate(models):
            if model._tokenizer.padding != "full":
                raise ValueError(
                    f"{caller} mixes models that predict every word of a sentence; "
                    f"{_describe(model, index)} does not, with "
                    f"padding={model._tokenizer.padding!r}. Fit it with padding='full'."
                )
        order = max(model._tokenizer.order for model in models)
        tokenizer = replace(
            first, id_map=None, order=order, word_encoder=None, caller=caller, far=FarContext()
        )
        return cls(models, columns, tokenizer)

    def with_bins(self, corpus: Sentences, length: int) -> Members:
        """Return the models with bins of the contexts in a training text."""
        tokenizer = replace(self.tokenizer, order=length + 1)
        return replace(self, bins=ContextBins.count(tokenizer.windows(corpus), self._n_ids))

    def encode_text(self, corpus: Sentences) -> MixedText:
        """Encode a text for each model."""
        parts = [model._encode_text(corpus) for model in self.models]
        bins = np.zeros(len(parts[0]), dtype=np.uint8)
        if self.bins is not None:
            bins = self.bins.of_text(
                replace(self.tokenizer, order=self.bins.length + 1).windows(corpus), self._n_ids
            )
        return MixedText(parts, bins, parts[0].offsets)

    def encode_contexts(self, beginnings: list[list[str]]) -> MixedText:
        """Encode starts of sentences for each model; models within sentences read only the last."""
        across = [model.reads_across_sentences_ for model in self.models]
        own = list(map(self._last_sentence, beginnings)) if any(across) else beginnings
        pairs = zip(self.models, across, strict=True)
        parts = [
            model._encode_contexts(beginnings if reads_all else own) for model, reads_all in pairs
        ]
        bins = np.zeros(len(beginnings), dtype=np.uint8)
        if self.bins is not None:
            tokenizer = replace(self.tokenizer, order=self.bins.length + 1)
            bins = self.bins.of_contexts(tokenizer.encode_contexts(own), self._n_ids)
        return MixedText(parts, bins)

    def log_prob(self, text: MixedText) -> list[NDArray[np.float64]]:
        """Return each model's log-probability of every word of a text."""
        return [model._log_prob(part) for model, part in zip(self.models, text.parts, strict=True)]

    def log_probs(self, contexts: MixedText) -> list[NDArray[np.float64]]:
        """Return each model's log-probabilities of all words after contexts."""
        results = (
            model._log_probs(part) for model, part in zip(self.models, contexts.parts, strict=True)
        )
        pairs = zip(results, self.columns, strict=True)
        return [
            log_probs if columns is None else log_probs[:, columns] for log_probs, columns in pairs
        ]

    def ids_of_first(self, index: int, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Map the word ids drawn by a model to ids of the first model."""
        columns = self.columns[index]
        return ids if columns is None else np.argsort(columns)[ids]

    def _last_sentence(self, words: list[str]) -> list[str]:
        ends = [
            index
            for index, word in enumerate(words, start=1)
            if word == self.tokenizer.special_tokens.end
        ]
        return words[ends[-1] :] if ends else words

    @property
    def _n_ids(self) -> int:
        return len(self.tokenizer.vocabulary)


def _own_columns(
    models: list[BaseLanguageModel], index: int, caller: str
) -> NDArray[np.int64] | None:
    """Return a model's ids of the words that the first predicts; check that both have the same."""
    first, model = (one._tokenizer.vocabulary for one in (models[0], models[index]))
    if first.words == model.words:
        return None
    for words, others, has, lacks in ((first, model, 0, index), (model, first, index, 0)):
        missing = next((word for word in words.words if word not in others.word_to_id), None)
        if missing is not None:
            raise ValueError(
                f"{caller} mixes models with the same words, and {missing!r} is a word of "
                f"{_describe(models[has], has)} but not of {_describe(models[lacks], lacks)}. Fit "
                "all of them with vocabulary=first.vocabulary_, that of the first."
            )
    return np.array([model.word_to_id[word] for word in first.words[:-1]])


def _describe(model: BaseLanguageModel, index: int) -> str:
    return f"models[{index}], {type(model).__name__},"


def _keys(windows: WordWindows, n_ids: int) -> NDArray[np.int64]:
    """Return an integer for each context, computed in blocks."""
    keys = np.empty(len(windows), dtype=np.int64)
    for start in range(0, len(windows), _ROWS):
        rows = np.arange(start, min(start + _ROWS, len(windows)))
        keys[rows] = _key(windows.take(rows)[0], n_ids)
    return keys


def _key(contexts: NDArray[Any], n_ids: int) -> NDArray[np.int64]:
    key = np.zeros(len(contexts), dtype=np.int64)
    for ids in contexts.T:
        key = key * n_ids + ids  # wraps around
    return key
