"""A self-governing neural network in numpy alone: a part of export_predictor's files.

Texts are converted to counts of hashed n-grams, these to bits by sign random projections, and dense
layers with integer weights compute the scores: bits and labels equal the exported pipeline's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from sklearn_hashnlp.classifiers.export._standalone_common import (
    _check_texts,
    _class_probabilities,
    _mix,
    _murmur3,
    _read_content,
    _run_program,
    _unpack_labels,
)

_CACHE_SIZE = 4096  # of the coefficients of columns, and of the bits of words
_BLOCK = 1024  # columns per matrix product


def predict(texts: Iterable[str]) -> Any:
    """Predict the labels: an array, or an indicator matrix in multi-label classification."""
    scores, model = _scores(texts), _model()
    if model["multilabel"]:
        return (scores > 0).astype(np.int64)
    return _classes()[scores.argmax(axis=1)]


def predict_proba(texts: Iterable[str]) -> Any:
    """Estimate the probability of each label for each text, of shape (n_texts, n_classes)."""
    return _class_probabilities(_scores(texts), _model())


def _scores(texts: Iterable[str]) -> Any:
    scores = [
        _score(_project(_check_text(text, position)))
        for position, text in enumerate(_check_texts(texts))
    ]
    return np.array(scores).reshape(len(scores), len(_model()["labels"]["values"]))


def _check_text(text: str, position: int) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"Text {position} holds a lone surrogate, which UTF-8 cannot encode: {error}."
        ) from error
    return text


# Texts to counts of hashed n-grams.


def _words(text: str) -> list[str]:
    featurizer = _model()["featurizer"]
    text = text.lower() if featurizer["lowercase"] else text
    return (
        re.findall(r"\w+|[^\w\s]", text) if featurizer["split"] == "punctuation" else text.split()
    )


def _ngrams(text: str) -> Counter[str]:
    featurizer = _model()["featurizer"]
    low, high = featurizer["ngram_range"]
    words = _words(text)
    counts: Counter[str] = Counter()
    if featurizer["analyzer"] == "skipgram":
        for n in range(low, min(high, len(words)) + 1):
            for start in range(len(words) - n + 1):
                others = words[start + 1 : start + n + featurizer["max_skip"]]
                counts.update(
                    " ".join([words[start], *rest]) for rest in combinations(others, n - 1)
                )
        return counts
    for word, count in Counter(words).items():
        marked = f"<{word}>"
        for n in range(low, min(high, len(marked)) + 1):
            for start in range(len(marked) - n + 1):
                counts[marked[start : start + n]] += count
    return counts


def _columns(text: str) -> tuple[Any, Any]:
    """Return the sorted columns of a text's n-grams, and their values."""
    featurizer = _model()["featurizer"]
    counts = _ngrams(text)
    if not counts:
        return np.empty(0, dtype=np.int64), np.empty(0)
    hashes = _murmur3([ngram.encode() for ngram in counts])[0].astype(np.int64)
    values = np.array(list(counts.values()))
    if featurizer["alternate_sign"]:
        values = np.where(hashes < 0, -values, values)
    columns, inverse = np.unique(np.abs(hashes) % featurizer["n_features"], return_inverse=True)
    sums = np.bincount(inverse.ravel(), weights=values)  # exact: sums of integers
    return columns, np.ones(len(sums)) if featurizer["binary"] else sums


# Counts to bits: sign random projections.


def _hash_words(columns: Any, keys: list[int], n_words: int) -> Any:
    """Return a sequence of 32-bit hashes of each column: an array of shape (n_columns, n_words)."""
    low, high = (
        (columns & 0xFFFFFFFF).astype(np.uint32),
        (columns >> 32 & 0xFFFFFFFF).astype(np.uint32),
    )
    state, step = (_mix(_mix(low ^ np.uint32(key)) ^ high)[:, np.newaxis] for key in keys)
    return _mix(state + np.arange(n_words, dtype=np.uint32) * (step | np.uint32(1)))


def _signs(columns: Any, n: int) -> Any:
    words = _hash_words(columns, _model()["projector"]["keys"][:2], -(-n // 32))
    bits = words[:, :, np.newaxis] >> np.arange(32, dtype=np.uint32) & np.uint32(1)
    return (2 * bits.astype(np.int8) - 1).reshape(len(columns), -1)[:, :n]


def _coefficients(columns: Any) -> Any:
    projector = _model()["projector"]
    n, keys = projector["n"], projector["keys"]
    if projector["hyperplanes"] == "sign":
        coefficients = _signs(columns, n)
    else:
        indices = _hash_words(columns, keys[:2], -(-n // 4)).astype("<u4").view(np.uint8)[:, :n]
        coefficients = _model()["quantiles"][indices]
    if projector["threshold"] < 2**32:
        coefficients = coefficients * (_hash_words(columns, keys[2:], n) < projector["threshold"])
    return coefficients


_column_cache: dict[int, Any] = {}
_word_cache: dict[str, Any] = {}


def _rows_of(columns: Any) -> Any:
    """Look up the coefficients of distinct columns in the cache, and compute missing ones."""
    # Keeps its own references: another thread may clear the cache at any time.
    rows: dict[int, Any] = {column: _column_cache.get(column) for column in columns.tolist()}
    missing = [column for column, row in rows.items() if row is None]
    if missing:
        computed = dict(zip(missing, _coefficients(np.array(missing, dtype=np.int64)), strict=True))
        if len(_column_cache) + len(missing) > _CACHE_SIZE:
            _column_cache.clear()
        _column_cache.update(computed)
        rows |= computed
    return np.stack(list(rows.values()))


@cache
def _tie_bits() -> Any:
    return _signs(np.array([-1]), _model()["projector"]["n"])[0] > 0


def _bits(text: str) -> Any:
    """Return the signs of a text's random projections, as 0 and 1 or as -1 and 1."""
    projector = _model()["projector"]
    columns, values = _columns(text)
    bits = np.zeros(projector["n"], dtype=bool)
    if values.any():
        sums = np.zeros(projector["n"])
        for start in range(0, len(columns), _BLOCK):
            part = slice(start, start + _BLOCK)
            # exact: integers below 2**53
            sums += values[part] @ _rows_of(columns[part]).astype(np.float64)
        bits = (sums > 0) | (sums == 0) & _tie_bits()
    return 2 * bits.astype(np.float64) - 1 if projector["sign"] else bits.astype(np.float64)


def _project(text: str) -> Any:
    """Return the row of a text: its bits, or the mean of its words' bits."""
    if _model()["level"] == "document":
        return _bits(text)
    words = _words(text)
    total = np.zeros(_model()["projector"]["n"])
    for word, count in Counter(words).items():
        bits = _word_cache.get(word)
        if bits is None:
            bits = _bits(word)
            if len(_word_cache) >= _CACHE_SIZE:
                _word_cache.clear()
            _word_cache[word] = bits
        total += count * bits
    return (total / max(len(words), 1)).astype(np.float32).astype(np.float64)


# Rows to scores.


def _score(row: Any) -> Any:
    *hidden, last = _model()["layers"]
    activations = np.zeros(_model()["n_inputs"])  # padded to whole bytes if bits are packed
    activations[: len(row)] = np.rint(4096 * row)
    for weight, bias, multiplier, shift in hidden:
        sums = (weight @ activations).astype(np.int64) + bias
        activations = np.maximum(sums * multiplier + (1 << (shift - 1)) >> shift, 0).astype(
            np.float64
        )
    weight, bias, scale, _ = last
    return ((weight @ activations).astype(np.int64) + bias) * scale


# The model itself.


@cache
def _model() -> dict[str, Any]:
    """Read the model from the last string of this file."""
    model, content = _read_content(_MODEL, _CHECKSUM)

    def take(dtype: str, *shape: int) -> Any:
        nonlocal content
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        array, content = np.frombuffer(content[:size], dtype).reshape(shape), content[size:]
        return array

    model["quantiles"] = take("i1", 256)
    layers = []
    for number, (n_outputs, n_inputs, shift) in enumerate(model["layers"], 1):
        weight = take("i1", n_outputs, n_inputs).astype(np.float64)  # exact products, and fast ones
        factor = "<f8" if number == len(model["layers"]) else "<i4"
        layers.append((weight, take("<i8", n_outputs), take(factor, n_outputs), shift))
    return model | {"layers": layers}


@cache
def _classes() -> Any:
    return _unpack_labels(_model()["labels"])


def __getattr__(name: str) -> Any:
    if name == "CLASSES":
        return _classes()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_CHECKSUM = 0
_MODEL = ""

if __name__ == "__main__":
    _run_program(predict, predict_proba, _classes)
