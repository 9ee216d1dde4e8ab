"""The n-gram specifications of fitted transformers, including scikit-learn's."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from numbers import Integral
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion

from sklearn_hashnlp.text._ngram_spec import NgramSpec

# Methods with which a subclass can change the analyzer; a specification cannot represent that.
_OVERRIDABLE = (
    *("build_analyzer", "build_preprocessor", "build_tokenizer", "get_stop_words"),
    *("_char_ngrams", "_char_wb_ngrams", "_word_ngrams", "_get_hasher", "decode"),
)
_SHARED = (
    *("lowercase", "strip_accents", "token_pattern", "ngram_range", "analyzer"),
    *("n_features", "binary", "norm", "alternate_sign"),
)

_PARAMETERS = (
    *_SHARED,
    "input",
    "encoding",
    "decode_error",
    "preprocessor",
    "tokenizer",
    "stop_words",
    "dtype",
)


def specs_of(transformer: Any) -> list[NgramSpec]:
    """Return the specifications of a fitted transformer, or raise a TypeError or ValueError."""
    if isinstance(transformer, FrozenEstimator):
        return specs_of(transformer.estimator)
    if isinstance(transformer, FeatureUnion):
        parts = transformer._iter()
        return [
            _part(spec, name, weight) for name, part, weight in parts for spec in specs_of(part)
        ]
    name = type(transformer).__name__
    owner = next((cls for cls in type(transformer).__mro__ if "transform" in vars(cls)), object)
    if not hasattr(transformer, "ngram_specs") and not isinstance(transformer, HashingVectorizer):
        refuse_columns(transformer)
        raise TypeError(f"A {name} has no n-gram specification.")
    if owner.__module__.partition(".")[0] not in ("sklearn", "sklearn_hashnlp"):
        raise TypeError(f"A {name} has no n-gram specification: its transform is code.")
    return (
        transformer.ngram_specs()
        if hasattr(transformer, "ngram_specs")
        else [hashing_spec(transformer)]
    )


def refuse_columns(transformer: Any) -> None:
    """Raise an error for a transformer of a data frame."""
    from sklearn.compose import ColumnTransformer  # which takes time to import

    if isinstance(transformer, ColumnTransformer):
        raise TypeError(
            "A ColumnTransformer takes a data frame, and only models of texts alone can be "
            "explained or exported. Train a TextClassifier on the column of texts for that."
        )


@lru_cache(maxsize=64, typed=True)
def _part(spec: NgramSpec, name: str, weight: Any) -> NgramSpec:
    return replace(
        spec,
        name=spec.name or name,
        weight=spec.weight * (1.0 if weight is None else float(weight)),
    )


def hashing_spec(vectorizer: HashingVectorizer) -> NgramSpec:
    """Return the specification of a HashingVectorizer, or raise a ValueError if it has none."""
    cls: Any = type(vectorizer)
    values = [getattr(vectorizer, name) for name in _PARAMETERS]
    try:
        return _hashing_spec(cls, *values)
    except TypeError:  # a list cannot be looked up in a cache
        return _hashing_spec.__wrapped__(cls, *values)


@lru_cache(maxsize=64, typed=True)
def _hashing_spec(cls: Any, *values: Any) -> NgramSpec:
    name, vectorizer = cls.__name__, SimpleNamespace(**dict(zip(_PARAMETERS, values, strict=True)))
    is_word = vectorizer.analyzer == "word"
    if vectorizer.input != "content":
        raise ValueError(
            f"A {name} with input={vectorizer.input!r} has no n-gram specification: it reads files."
        )
    for parameter in ("preprocessor", "tokenizer"):
        if getattr(vectorizer, parameter) is not None and (is_word or parameter == "preprocessor"):
            raise ValueError(
                f"A {name} with a {parameter} has no n-gram specification: it is code."
            )
    methods = (
        name for name in _OVERRIDABLE if getattr(cls, name) is not getattr(HashingVectorizer, name)
    )
    if (method := next(methods, None)) is not None:
        raise ValueError(f"A {name} with its own {method} has no n-gram specification.")
    stop_words = (
        HashingVectorizer(stop_words=vectorizer.stop_words).get_stop_words() if is_word else None
    )
    low, high = (int(n) if isinstance(n, Integral) else n for n in vectorizer.ngram_range)
    try:
        return NgramSpec(
            ngram_range=(low, high),
            n_features=int(vectorizer.n_features),
            token_pattern=vectorizer.token_pattern if is_word else None,
            strip_accents=vectorizer.strip_accents or None,
            stop_words=tuple(sorted(word for word in stop_words or () if isinstance(word, str))),
            decode=(vectorizer.encoding, vectorizer.decode_error),
            dtype=np.dtype(vectorizer.dtype).name,
            analyzer=vectorizer.analyzer,
            lowercase=bool(vectorizer.lowercase),
            alternate_sign=bool(vectorizer.alternate_sign),
            binary=bool(vectorizer.binary),
            norm=vectorizer.norm,
        )
    except (TypeError, ValueError) as error:
        raise ValueError(f"A {name} has no n-gram specification: {error}") from error


def as_scikit_learn(spec: NgramSpec) -> HashingVectorizer:
    """Return the HashingVectorizer with the specification, for texts of type ``str``."""
    values = {name: getattr(spec, name) for name in _SHARED}
    return HashingVectorizer(
        stop_words=list(spec.stop_words) or None, dtype=np.dtype(spec.dtype).type, **values
    )
