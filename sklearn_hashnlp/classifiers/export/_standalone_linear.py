"""A linear classifier over hash embeddings in numpy alone: a part of export_predictor's files.

Texts are converted to counts of hashed n-grams, these to the sum of their hash embeddings, and a
linear layer computes the scores. Hashes equal the exported pipeline's, and sums are computed in
float32 in the same order.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from sklearn_hashnlp.classifiers.export._standalone_common import (
    _check_texts,
    _class_probabilities,
    _map_weights,
    _mix,
    _murmur3,
    _read_content,
    _run_program,
    _take_arrays,
    _unpack_labels,
)

# Of a header of another structure, or with other values.
DAMAGE = (
    AttributeError,
    IndexError,
    KeyError,
    MemoryError,
    OverflowError,
    RecursionError,
    SyntaxError,
    TypeError,
)
_MAX_CHARACTERS = 2**16  # of the texts whose n-grams are hashed together


class LinearTextPredictor:
    """A classifier of texts from a header of parameters and the arrays of its weights."""

    def __init__(self, header: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.header = header
        _check_header(header)
        _check_arrays(header, arrays)
        self.classes_ = _unpack_labels(header["labels"])
        self.multilabel = bool(header["multilabel"])
        self._arrays = arrays
        self._weight = arrays["weight"].astype(np.float64).T
        self._vectorizers = [_Vectorizer(options) for options in header["vectorizers"]]
        if "half" in header:  # what all training texts have says nothing
            importance, vectors = self._look_up(arrays["common_columns"].astype(np.int64))
            self._base = self._square(arrays["common_values"][:, np.newaxis] * importance, vectors)

    def predict(self, texts: Iterable[str | bytes]) -> Any:
        """Predict the label of each text; multilabel results are lists or an indicator matrix."""
        scores = self.scores(texts)
        if not self.multilabel:
            return self.classes_[scores.argmax(axis=1)]
        indicator = (scores > 0).astype(np.int64)
        if not self.header["label_lists"]:
            return indicator
        lists = np.empty(len(indicator), dtype=object)
        for index, row in enumerate(indicator):
            lists[index] = self.classes_[row > 0].tolist()
        return lists

    def predict_proba(self, texts: Iterable[str | bytes]) -> Any:
        """Estimate the probability of each label for each text, of shape (n_texts, n_classes)."""
        return _class_probabilities(self.scores(texts), self.header)

    def scores(self, texts: Iterable[str | bytes]) -> Any:
        """Compute the scores of texts: an array of shape (n_texts, n_classes)."""
        rows = [
            row
            for part in _in_parts(_check_texts(texts, (str, bytes)))
            for row in self._embed(*part)
        ]
        vectors, squares = [vector for vector, _ in rows], np.array([square for _, square in rows])
        documents = np.array(vectors, dtype=np.float64).reshape(len(vectors), len(self._weight))
        # Rounded to float32, they do not depend on the order in which the layer adds up.
        scores = (
            (documents @ self._weight + self._arrays["bias"]).astype(np.float32).astype(np.float64)
        )
        # the weights themselves are read only where they are used
        if not np.isfinite(scores).all():
            raise ValueError(
                "The weights are damaged: scores are infinite or NaN. Copy the model again."
            )
        if "half" not in self.header:
            return scores
        # The fewer known n-grams, the nearer are scores to those of the shares of the labels.
        rest, half = (squares - self._base)[:, np.newaxis], self.header["half"]
        # A difference that only comes from rounding counts as 0.
        lengths = np.sqrt(np.where(rest > 1e-9 * self._base, rest, 0.0))
        cubes = lengths * lengths * lengths
        share = np.divide(
            cubes, cubes + half * half * half, out=np.zeros_like(cubes), where=lengths > 0
        )
        return np.where(share < 1, share * scores + (1 - share) * self._arrays["prior"], scores)

    def _embed(self, first: int, texts: list[str | bytes]) -> Iterator[tuple[Any, float]]:
        """Yield each text's vector and the sum of its squared weights without unknown n-grams."""
        parts, offset = [], 0
        for vectorizer in self._vectorizers:
            columns, signs, owners = vectorizer.hash_ngrams(first, texts)
            parts.append(
                (vectorizer, columns + offset, signs, owners, *self._look_up(columns + offset))
            )
            offset += vectorizer.n_features + vectorizer.options["padding"]
        for index in range(len(texts)):
            weights, pool = [], []
            for vectorizer, columns, signs, owners, importance, vectors in parts:
                first_of, counts = vectorizer.count(columns, signs, owners[index])
                weights.append(counts[:, np.newaxis] * importance[first_of])
                pool.append(vectors[first_of])
            both = np.concatenate(weights), np.concatenate(pool)
            yield self._sum(*both), self._square(*both)

    def _square(self, weights: Any, pool: Any) -> float:
        """Return the sum of the squared weights of the n-grams that have a row of the pool."""
        if not self.header["bag"]["append_weight"] or self.header["bag"]["variant"] == "standard":
            weights = weights * pool[:, :, :4].any(axis=2)
        squares = np.add.accumulate((weights.astype(np.float64) ** 2).ravel())
        return float(squares[-1]) / weights.shape[1] if len(squares) else 0.0

    def _look_up(self, columns: Any) -> tuple[Any, Any]:
        """Return the importance weights of columns, (n, k), and the rows of the pool, (n, k, d)."""
        bag = self.header["bag"]
        ids = (columns & 0xFFFFFFFF).astype(np.uint32)
        first, *others = [[np.uint64(number) for number in pair] for pair in bag["constants"]]
        mixed = _mix(ids).astype(np.uint64)
        standard = bag["variant"] == "standard"
        n_rows = bag["num_embeddings"]
        rows = _slots(mixed, first, n_rows) if bag["hash_rows"] else columns
        if standard:
            vectors = self._rows_of("pool", rows, 0.0)[:, np.newaxis]
            return np.ones((len(columns), 1), dtype=np.float32), vectors
        if bag["variant"] == "paper":
            mixed = _mix(rows.astype(np.uint32)).astype(np.uint64)
        slots = np.stack([_slots(mixed, pair, bag["num_buckets"]) for pair in others], axis=1)
        importance = self._rows_of("importance", rows, bag["importance_init"])
        vectors = self._rows_of("pool", slots.ravel(), 0.0)
        return importance, vectors.reshape(*slots.shape, vectors.shape[1])

    def _rows_of(self, name: str, rows: Any, initial: float) -> Any:
        """Return rows of a table, of which only those may be stored that were trained."""
        values, stored = self._arrays[name], self._arrays.get(f"{name}.rows")
        if stored is None:
            return self._decode(name, values[rows])
        if not len(stored):
            return np.full((len(rows), values.shape[1]), initial, dtype=np.float32)
        at = np.minimum(np.searchsorted(stored, rows), len(stored) - 1)
        found = (stored[at] == rows)[:, np.newaxis]
        return np.where(found, self._decode(name, values[at]), np.float32(initial))

    def _decode(self, name: str, values: Any) -> Any:
        """Return values of a table in float32; levels of eight bits are denser near zero."""
        if values.dtype != np.int8:
            return values.astype(np.float32, copy=False)
        roots = values / np.float32(127)
        return roots * np.abs(roots) * self._arrays[f"{name}.scale"]

    def _sum(
        self,
        weights: Any,  # (n, k): importance times count
        vectors: Any,  # (n, k, d)
    ) -> Any:
        """Return the vector of a document."""
        bag = self.header["bag"]
        n_hashes, standard = weights.shape[1], bag["variant"] == "standard"
        if bag["aggregation"] == "median" and not standard:
            parts = [_add_up(np.median(vectors * weights[:, :, np.newaxis], axis=1))]
        elif bag["aggregation"] == "concat" and not standard:
            parts = [_add_up(weights[:, i : i + 1] * vectors[:, i]) for i in range(n_hashes)]
        else:
            parts = [_add_up(weights.reshape(-1, 1) * vectors.reshape(-1, vectors.shape[2]))]
        if bag["append_weight"] and not standard:
            parts.append(_add_up(weights))
        document = np.concatenate(parts)
        if bag["normalize"] is None:
            return document
        sizes = weights * weights if bag["normalize"] == "l2" else np.abs(weights)
        norm = _add_up(sizes.T.reshape(-1, 1))[0] * np.float32(1 / n_hashes)
        norm = np.sqrt(norm) if bag["normalize"] == "l2" else norm
        return document / (norm if norm > 0 else np.float32(1))


def _in_parts(texts: list[str | bytes]) -> Iterator[tuple[int, list[str | bytes]]]:
    """Yield texts in parts, each with the index of its first text."""
    first = size = 0
    for index, text in enumerate(texts, 1):
        size += len(text)
        if size >= _MAX_CHARACTERS or index == len(texts):
            yield first, texts[first:index]
            first, size = index, 0


def _slots(mixed: Any, constants: list[Any], size: int) -> Any:
    high = (mixed * constants[0] + constants[1]) >> np.uint64(32)
    return (high * np.uint64(size) >> np.uint64(32)).astype(np.int64)


def _add_up(values: Any) -> Any:
    """Add up the rows of a matrix of float32, one after the other."""
    if not len(values):
        return np.zeros(values.shape[1], dtype=np.float32)
    return np.add.accumulate(values.astype(np.float32, copy=False), axis=0)[-1]


_NUMBER = (int, float)
# The types, or the values, of the parts of a header.
_PARTS: dict[str, Any] = {
    "multilabel": (bool,),
    "label_lists": (bool,),
    "link": ["identity", "log_sigmoid"],
    "inverse_temperature": _NUMBER,
}
_BAG_PARTS: dict[str, Any] = {
    "num_embeddings": (int,),
    "num_buckets": (int,),
    "append_weight": (bool,),
    "hash_rows": (bool,),
    "variant": ["improved", "paper", "standard"],
    "aggregation": ["sum", "concat", "median"],
    "normalize": [None, "l1", "l2"],
    "importance_init": _NUMBER,
}
_VECTORIZER_PARTS: dict[str, Any] = {
    "scheme": ["murmur3"],
    "analyzer": ["word", "char", "char_wb"],
    "lowercase": (bool,),
    "stop_words": (list,),
    "around": (list,),
    "decode": (list,),
    "strip_accents": [None, "ascii", "unicode"],
    "norm": [None, "l1", "l2"],
    "binary": (bool,),
    "damped": (bool,),
    "n_features": (int,),
    "padding": (int,),
    "alternate_sign": (bool,),
    "weight": _NUMBER,
}


def _check_header(header: dict[str, Any]) -> None:
    """Raise a ValueError or KeyError for a header with missing parts or parts of another kind."""
    _check_parts(header, _PARTS)
    _check_parts(header["bag"], _BAG_PARTS)
    for vectorizer in header["vectorizers"]:
        _check_parts(vectorizer, _VECTORIZER_PARTS)
        low, high = vectorizer["ngram_range"]
        columns, empty = vectorizer["n_features"], vectorizer["padding"]
        if (
            type(low) is not int
            or type(high) is not int
            or low < 1
            or not 1 <= columns < 2**31
            or empty < 0
        ):
            raise ValueError(
                f"a vectorizer has n-grams of {low} to {high}, {columns} columns and {empty} empty "
                "ones"
            )
        for name in ("around", "decode"):
            if len(vectorizer[name]) != 2 or not all(
                isinstance(option, str) for option in vectorizer[name]
            ):
                raise ValueError(f"the part {name!r} of the header is {vectorizer[name]!r:.60}")
    if not header["vectorizers"]:
        raise ValueError("the header has no vectorizer")
    half = header.get("half", 0.0)
    if not isinstance(half, float) or not 0 <= half < math.inf:
        raise ValueError(f"the part 'half' of the header is {half!r:.60}")


def _check_parts(values: dict[str, Any], parts: dict[str, Any]) -> None:
    for name, known in parts.items():
        value = values[name]
        if isinstance(known, tuple) and not isinstance(value, known):
            raise ValueError(f"the part {name!r} of the header is {value!r:.60}")
        if isinstance(known, list) and value not in known:
            raise ValueError(f"the part {name!r} of the header is {value!r:.60}, none of {known}")


def _check_arrays(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Raise a ValueError for arrays that do not fit together or have values that are not finite."""
    bag, n_classes = header["bag"], len(header["labels"]["values"])
    k, dim = len(bag["constants"]) - 1, arrays["pool"].shape[-1]
    standard = bag["variant"] == "standard"
    pairs = bag["constants"]
    if k < 1 or not all(len(pair) == 2 and min(pair) >= 0 and max(pair) < 2**64 for pair in pairs):
        raise ValueError("the constants of the hash functions are not pairs of 64-bit integers")
    if not 1 <= bag["num_embeddings"] < 2**32 or not 1 <= bag["num_buckets"] < 2**32:
        raise ValueError(f"{bag['num_embeddings']} and {bag['num_buckets']} are no numbers of rows")
    tables = {"pool": (bag["num_embeddings"] if standard else bag["num_buckets"], dim)}
    tables |= {} if standard else {"importance": (bag["num_embeddings"], k)}
    width = dim if standard or bag["aggregation"] != "concat" else k * dim
    width += k if bag["append_weight"] and not standard else 0
    shapes = {"weight": (n_classes, width), "bias": (n_classes,)}
    n_columns = sum(
        vectorizer["n_features"] + vectorizer["padding"] for vectorizer in header["vectorizers"]
    )
    if "half" in header:
        if not _are_rows(arrays["common_columns"], n_columns):
            raise ValueError(f"the common columns are not ascending integers below {n_columns}")
        shapes |= {"prior": (n_classes,), "common_values": arrays["common_columns"].shape}
    for name, (n_rows, n_elements) in tables.items():
        stored = arrays.get(f"{name}.rows")
        if stored is not None and not _are_rows(stored, n_rows):
            raise ValueError(f"the rows of {name!r} are not ascending integers below {n_rows}")
        shapes[name] = (n_rows if stored is None else len(stored), n_elements)
        if arrays[name].dtype == np.int8:
            shapes[f"{name}.scale"] = (n_elements,)
    for name, shape in shapes.items():
        array = arrays[name]
        if array.shape != shape or not (
            array.dtype.kind == "f" or (array.dtype == np.int8 and name in tables)
        ):
            raise ValueError(
                f"{name!r} must be numbers of shape {shape}, got {array.dtype} of {array.shape}"
            )
        if name in ("prior", "common_values") and not np.isfinite(array).all():
            raise ValueError(f"{name!r} has infinite values or NaN")
    if not bag["hash_rows"] and n_columns > bag["num_embeddings"]:
        raise ValueError(f"{bag['num_embeddings']} rows are fewer than {n_columns} columns")


def _are_rows(rows: Any, n_rows: int) -> bool:
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        return False
    return len(rows) == 0 or bool(
        rows[0] >= 0 and rows[-1] < n_rows and (rows[1:] > rows[:-1]).all()
    )


class _Vectorizer:
    """The n-grams of texts, hashed and counted as by scikit-learn's HashingVectorizer."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.n_features = int(options["n_features"])
        self._find_words = (
            re.compile(options["token_pattern"]).findall if options["analyzer"] == "word" else None
        )
        self._stop_words = frozenset(options["stop_words"])

    def hash_ngrams(self, first: int, texts: list[str | bytes]) -> tuple[Any, Any, list[Any]]:
        """Return columns and signs of distinct n-grams, and the indices of each text's n-grams."""
        index_of: dict[str, int] = {}
        owners = []
        for text in texts:
            indices = [index_of.setdefault(ngram, len(index_of)) for ngram in self.ngrams(text)]
            owners.append(np.array(indices, dtype=np.int64))
        try:
            encoded = [ngram.encode() for ngram in index_of]
        except UnicodeEncodeError:
            self._refuse_surrogates(first, texts)
            raise
        hashes = _murmur3(encoded)[0].astype(np.int64)
        return np.abs(hashes) % self.n_features, np.where(hashes < 0, -1, 1), owners

    def count(self, columns: Any, signs: Any, indices: Any) -> tuple[Any, Any]:
        """Return an n-gram's index and the value for each column of a text, in column order."""
        _, at, inverse = np.unique(columns[indices], return_index=True, return_inverse=True)
        weights = signs[indices] if self.options["alternate_sign"] else None
        values = np.bincount(inverse.ravel(), weights=weights, minlength=len(at)).astype(np.float64)
        values = np.ones_like(values) if self.options["binary"] else values
        if self.options["norm"] is not None and values.any():
            values = values / (
                np.abs(values).sum() if self.options["norm"] == "l1" else np.sqrt((values**2).sum())
            )
        if self.options["damped"]:
            values = np.array([1 + math.log(value) for value in values.tolist()])
        return indices[at], (values.astype(np.float32) * self.options["weight"]).astype(np.float32)

    def ngrams(self, text: str | bytes) -> list[str]:
        """Return the n-grams of a text."""
        string = text.decode(*self.options["decode"]) if isinstance(text, bytes) else text
        begin, end = self.options["around"]
        string = begin + (string.lower() if self.options["lowercase"] else string) + end
        string = _strip_accents(string, self.options["strip_accents"])
        low, high = self.options["ngram_range"]
        if self._find_words is not None:
            words = [word for word in self._find_words(string) if word not in self._stop_words]
            ngrams = list(words) if low == 1 else []
            for n in range(max(low, 2), min(high, len(words)) + 1):
                ngrams += [
                    " ".join(words[start : start + n]) for start in range(len(words) - n + 1)
                ]
            return ngrams
        if self.options["analyzer"] == "char":
            string = re.sub(r"\s\s+", " ", string)
            lengths = range(low, min(high, len(string)) + 1)
            return [
                string[start : start + n] for n in lengths for start in range(len(string) - n + 1)
            ]
        ngrams = []
        for word in string.split():
            marked = f" {word} "
            for n in range(low, high + 1):
                ngrams += [
                    marked[start : start + n] for start in range(max(len(marked) - n, 0) + 1)
                ]
                if n >= len(marked):  # a short word counts once
                    break
        return ngrams

    def _refuse_surrogates(self, first: int, texts: list[str | bytes]) -> None:
        for position, text in enumerate(texts, first):
            for ngram in self.ngrams(text):
                try:
                    ngram.encode()
                except UnicodeEncodeError as error:
                    raise ValueError(
                        f"Document {position} holds the lone surrogate {ngram[error.start]!r} "
                        f"inside the n-gram {ngram!r}, which UTF-8 cannot encode. Repair it with "
                        "text.encode('utf-8', 'replace').decode('utf-8')."
                    ) from error


def _strip_accents(text: str, how: str | None) -> str:
    if how is None or text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    if how == "ascii":
        return decomposed.encode("ascii", "ignore").decode("ascii")
    return "".join(character for character in decomposed if not unicodedata.combining(character))


# The model of an exported file.


def predict(texts: Iterable[str | bytes]) -> Any:
    """Predict the label of each text; multilabel results are lists or an indicator matrix."""
    return _model().predict(texts)


def predict_proba(texts: Iterable[str | bytes]) -> Any:
    """Estimate the probability of each label for each text, of shape (n_texts, n_classes)."""
    return _model().predict_proba(texts)


def _classes() -> Any:
    return _model().classes_


def __getattr__(name: str) -> Any:
    if name == "CLASSES":
        return _classes()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _model() -> LinearTextPredictor:
    """Read the model from the last string of this file, or map it from a file beside it."""
    if _MODEL:
        header, content = _read_content(_MODEL, _CHECKSUM)
        return LinearTextPredictor(
            header, _take_arrays(header["arrays"], np.frombuffer(content, dtype=np.uint8))
        )
    return _read_predictor(Path(__file__).with_name("weights.bin"))


def _read_predictor(path: Path) -> LinearTextPredictor:
    """Read a predictor from a file of weights, or raise a ValueError that names it."""
    try:
        header, buffer = _map_weights(path)
        return LinearTextPredictor(header, _take_arrays(header["arrays"], buffer))
    except (*DAMAGE, ValueError, re.error) as error:
        raise ValueError(
            f"{path} is damaged: {error!r}. Copy it again, or export the model again."
        ) from error


_CHECKSUM = 0
_MODEL = ""

if __name__ == "__main__":
    _run_program(predict, predict_proba, _classes)
