"""Vectors of texts as columns of a linear classifier: a part of some of export_predictor's files.

The vector of a text is a sum of coefficients of its words, of the character n-grams of these, and
of pairs of neighboring words. Hashes equal the encoder's; sums are computed in float32 in the same
order, so that vectors are equal up to the rounding of their length.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from sklearn_hashnlp.classifiers.export._standalone_common import _check_texts, _murmur3
from sklearn_hashnlp.classifiers.export._standalone_linear import (
    _NUMBER,
    LinearTextPredictor,
    _add_up,
    _check_parts,
)

_SEEDS = (0x9747B28C, 0)  # of the upper and the lower half of the fingerprint of a word
_split_words = re.compile(r"\w+|[^\w\s]").findall

_ENCODER_PARTS: dict[str, Any] = {
    "n_words": (int,),
    "ngram_range": (list,),
    "unknown_weight": _NUMBER,
    "character_weight": _NUMBER,
    "norm_power": _NUMBER,
    "max_words": (int, type(None)),
}


class EncodedTextPredictor(LinearTextPredictor):
    """A classifier of texts that has vectors of encoders as columns after those of n-grams."""

    def __init__(self, header: dict[str, Any], arrays: dict[str, Any]) -> None:
        self._encoders = [
            _TextEncoder(options, arrays, f"encoders.{number}")
            for number, options in enumerate(header.get("encoders", []))
        ]
        if self._encoders:
            if not 0 <= header["vector_weight"] < math.inf:
                raise ValueError(f"the vectors have a weight of {header['vector_weight']!r:.60}")
            # Tables are hashed and checked as if these columns were empty ones after the others.
            *others, last = header["vectorizers"]
            padding = last["padding"] + sum(len(encoder.mean) for encoder in self._encoders)
            header = {**header, "vectorizers": [*others, {**last, "padding": padding}]}
        super().__init__(header, arrays)

    def scores(self, texts: Iterable[str | bytes]) -> Any:
        """Compute the scores of texts: an array of shape (n_texts, n_classes)."""
        return super().scores(_check_texts(texts) if self._encoders else texts)

    def _embed(self, first: int, texts: list[Any]) -> Iterator[tuple[Any, float]]:
        """Yield each text's vector and the sum of its squared weights without unknown n-grams."""
        if not self._encoders:
            yield from super()._embed(first, texts)
            return
        parts, offset = [], 0
        for vectorizer in self._vectorizers:
            columns, signs, owners = vectorizer.hash_ngrams(first, texts)
            parts.append(
                (vectorizer, columns + offset, signs, owners, *self._look_up(columns + offset))
            )
            offset += vectorizer.n_features + vectorizer.options["padding"]
        vectors = np.hstack([encoder.encode(texts) for encoder in self._encoders])
        importance_of_vector, pool_of_vector = self._look_up(
            np.arange(offset - vectors.shape[1], offset)
        )
        for index, vector in enumerate(vectors):
            weights, pool, values = [], [], []
            for vectorizer, columns, signs, owners, importance, rows in parts:
                first_of, counts = vectorizer.count(columns, signs, owners[index])
                weights.append(counts[:, np.newaxis] * importance[first_of])
                pool.append(rows[first_of])
                values.append(counts)
            squares = np.square(np.concatenate(values))
            total = np.add.reduceat(squares, [0])[0] if len(squares) else 0.0  # as scipy sums
            length = self.header["vector_weight"] * math.sqrt(total)
            scaled = (vector * length).astype(np.float32)
            weights.append(scaled[:, np.newaxis] * importance_of_vector)
            both = np.concatenate(weights), np.concatenate([*pool, pool_of_vector])
            yield self._sum(*both), self._square(*both)


class _TextEncoder:
    """Unit vectors of texts by coefficients of n-grams."""

    def __init__(self, options: dict[str, Any], arrays: dict[str, Any], name: str) -> None:
        self.mean = arrays[f"{name}.mean"]
        self._options = options
        self._weights = arrays[f"{name}.weights"]
        self._table = arrays[f"{name}.coefficients"]
        self._scale: Any = arrays.get(f"{name}.coefficients.scale")
        fingerprints = arrays[f"{name}.fingerprints"]
        self._check(fingerprints, name)
        self._order = np.argsort(fingerprints, kind="stable")
        self._ascending = fingerprints[self._order]

    def encode(self, texts: list[str]) -> Any:
        """Return the vectors of texts: an array of shape (n_texts, n_columns)."""
        index_of: dict[str, int] = {}
        ids = []
        for text in texts:
            words = _split_words(text.lower())[: self._options["max_words"]]
            ids.append([index_of.setdefault(word, len(index_of)) for word in words])
        hashes = _hash_units([word.encode() for word in index_of])
        rows = self._find(hashes)
        rows = np.where(rows < self._options["n_words"], rows, -1)
        unknown = np.float32(self._options["unknown_weight"])
        weights = np.where(rows >= 0, self._weights[rows], unknown)
        vectors = self._word_vectors(list(index_of), rows)
        encoded = np.zeros((len(texts), len(self.mean)), dtype=np.float32)
        for vector, words in zip(encoded, ids, strict=True):
            if words:
                vector[:] = self._text_vector(words, hashes, weights, vectors)
        return encoded

    def _text_vector(self, ids: list[int], hashes: Any, weights: Any, vectors: Any) -> Any:
        """Return the vector of a text of some words, of which each and each pair counts once."""
        distinct = np.array(list(dict.fromkeys(ids)))
        weights = weights[distinct]
        terms = [weights[:, np.newaxis] * vectors[distinct]]
        if len(self._weights) > self._options["n_words"]:
            pairs = _hash_pairs(hashes[ids[:-1]], hashes[ids[1:]]).tolist()
            rows = self._find(np.array(list(dict.fromkeys(pairs)), dtype=np.uint64))
            rows = rows[rows >= 0]
            terms.append(self._weights[rows, np.newaxis] * self._rows(rows))
        square = float(np.add.accumulate(weights.astype(np.float64) ** 2)[-1])
        scale = np.float32(max(square, 1.0) ** (-self._options["norm_power"] / 2))
        vector = _add_up(np.concatenate(terms)) * scale + self.mean
        length = np.sqrt((vector * vector).sum())
        return vector / (length if length > 0 else np.float32(1))

    def _word_vectors(self, words: list[str], rows: Any) -> Any:
        """Return the sums of the rows of words, or -1, and of those of their character n-grams."""
        of_words = np.flatnonzero(rows >= 0)
        owners, found = [of_words], [rows[of_words]]
        weights = [np.ones(len(of_words), dtype=np.float32)]
        if len(self._weights) > self._options["n_words"]:
            owner, hashes = _hash_characters(words, *self._options["ngram_range"])
            ngrams = self._find(hashes)
            owner, ngrams = owner[ngrams >= 0], ngrams[ngrams >= 0]
            own = self._weights[ngrams]
            totals = np.bincount(owner, own.astype(np.float64) ** 2, minlength=len(words))
            factors = self._options["character_weight"] / np.sqrt(np.where(totals > 0, totals, 1))
            owners.append(owner)
            found.append(ngrams)
            weights.append(factors.astype(np.float32)[owner] * own)
        order = np.argsort(np.concatenate(owners), kind="stable")  # a word before its n-grams
        all_rows = np.concatenate(found)[order]
        factor = np.concatenate(weights)[order, np.newaxis]
        ends = np.cumsum(np.bincount(np.concatenate(owners), minlength=len(words))).tolist()
        vectors = np.empty((len(words), len(self.mean)), dtype=np.float32)
        for index, (begin, end) in enumerate(zip([0, *ends], ends, strict=False)):
            vectors[index] = _add_up(factor[begin:end] * self._rows(all_rows[begin:end]))
        return vectors

    def _find(self, hashes: Any) -> Any:
        """Return the rows of n-grams, -1 for those that are not known."""
        at = np.minimum(np.searchsorted(self._ascending, hashes), len(self._ascending) - 1)
        return np.where(self._ascending[at] == hashes, self._order[at], -1)

    def _rows(self, rows: Any) -> Any:
        """Return rows of the coefficients in float32."""
        values = self._table[rows]
        if values.dtype == np.uint8:  # two codes of 4 bits
            codes = np.concatenate([values & 15, values >> 4], axis=1)[:, : len(self.mean)]
            return (codes.astype(np.float32) - 8) * self._scale[rows, np.newaxis]
        if values.dtype == np.int8:
            roots = values / np.float32(127)
            return roots * np.abs(roots) * self._scale
        return values.astype(np.float32, copy=False)

    def _check(self, fingerprints: Any, name: str) -> None:
        """Raise a ValueError or KeyError for options and arrays that do not fit together."""
        options, n_rows, n_columns = self._options, len(fingerprints), len(self.mean)
        _check_parts(options, _ENCODER_PARTS)
        low, high = options["ngram_range"]
        numbers = [options[part] for part, kinds in _ENCODER_PARTS.items() if kinds is _NUMBER]
        if (
            not 0 <= options["n_words"] <= n_rows
            or not 1 <= low <= high
            or (1 if options["max_words"] is None else options["max_words"]) < 1
            or not all(0 <= number < math.inf for number in numbers)
        ):
            raise ValueError(f"{name!r} in the header is {options!r:.200}")
        kind = self._table.dtype
        if not n_rows or kind.str[1:] not in ("f4", "f2", "i1", "u1"):
            raise ValueError(f"{name!r} has {n_rows} n-grams and coefficients of {kind}")
        width = -(-n_columns // 2) if kind == np.uint8 else n_columns
        arrays: dict[str, tuple[Any, tuple[int, ...], Any]] = {
            "fingerprints": (fingerprints, (n_rows,), np.uint64),
            "weights": (self._weights, (n_rows,), np.float32),
            "coefficients": (self._table, (n_rows, width), kind),
            "mean": (self.mean, (n_columns,), np.float32),
        }
        if kind.kind != "f":
            n_scales = n_rows if kind == np.uint8 else n_columns
            arrays["coefficients.scale"] = self._scale, (n_scales,), np.float32
        for part, (array, shape, dtype) in arrays.items():
            if array.shape != shape or array.dtype != dtype:
                raise ValueError(f"'{name}.{part}' must be of shape {shape} and type {dtype}")


# 64-bit fingerprints.


def _hash_units(units: list[bytes]) -> Any:
    """Hash byte strings to 64 bits, by two seeds."""
    high, low = _murmur3(units, _SEEDS).view(np.uint32).astype(np.uint64)
    return high << np.uint64(32) | low


def _hash_characters(words: list[str], low: int, high: int) -> tuple[Any, Any]:
    """Hash the character n-grams of words between "<" and ">"; return owners and hashes."""
    marked = [f"<{word}>" for word in words]
    lengths = np.fromiter(map(len, marked), dtype=np.int64, count=len(marked))
    characters, which = np.unique(
        np.frombuffer("".join(marked).encode("utf-32-le"), dtype="<u4"), return_inverse=True
    )
    units = _hash_units([chr(character).encode() for character in characters.tolist()])
    units = units[which.ravel()]
    ends = np.repeat(np.cumsum(lengths), lengths)
    starts, state = np.arange(len(units)), np.zeros(len(units), dtype=np.uint64)
    places, hashes, n = [starts[:0]], [state[:0]], 0
    while n < high and len(starts):
        long = starts + n < ends[starts]
        starts = starts[long]
        state = _step(state[long] ^ units[starts + n])
        n += 1
        if n >= low:
            places.append(starts)
            hashes.append(state)
    order = np.argsort(np.concatenate(places), kind="stable")  # by start, then by length
    owners = np.repeat(np.arange(len(words)), lengths)
    return owners[np.concatenate(places)[order]], np.concatenate(hashes)[order]


def _hash_pairs(first: Any, second: Any) -> Any:
    """Hash pairs of words with fingerprints."""
    return _finish(_step(first) ^ second)


def _step(seeds: Any) -> Any:
    """Return the first number of SplitMix64 for each seed."""
    return _finish(seeds + np.uint64(0x9E3779B97F4A7C15))


def _finish(words: Any) -> Any:
    words = (words ^ words >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ words >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return words ^ words >> np.uint64(31)
