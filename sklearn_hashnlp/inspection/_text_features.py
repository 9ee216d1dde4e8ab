"""The columns of a text with their n-grams, through any vectorizer, union or pipeline that keeps columns apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import Binarizer, MaxAbsScaler, Normalizer, StandardScaler

from sklearn_hashnlp._text_marks import BEGIN, END
from sklearn_hashnlp.inspection._aligned_text import Span
from sklearn_hashnlp.inspection._ngrams import COUNTING_VECTORIZERS, columns_of, find_ngrams
from sklearn_hashnlp.text import AutoNgramVectorizer, NgramVectorUnion

_KEEP_COLUMNS = (TfidfTransformer, Normalizer, MaxAbsScaler, StandardScaler, Binarizer)
_MARKS = ((BEGIN.strip(), "<s>"), (END.strip(), "</s>"))


class Feature(NamedTuple):
    """An n-gram of a text, or the vector of a pretrained model."""

    ngram: str
    kind: str  # of the vectorizer in a union, such as "words"; "" without a union
    column: int  # -1 for a vector, which has several
    share: float  # of the value of its column
    spans: list[Span | None]  # one for each occurrence; None where it is unknown


Row: TypeAlias = csr_matrix


def text_features(transformer: Any, text: str) -> tuple[list[Feature], Row]:
    """Return the features of a text, and its row; ``transformer`` turns texts into rows."""
    features, row = _features(transformer, text, "")
    present = dict.fromkeys(row.indices.tolist())
    features = [feature for feature in features if feature.column < 0 or feature.column in present]
    vectors = _vector_columns(transformer, row)
    named = {feature.column for feature in features} | set(vectors)
    features += [Feature(f"column {column}", "", column, 1.0, [None]) for column in present if column not in named]
    return features, row


def vector_columns(transformer: Any, row: Row) -> range:
    """Return the columns of a row that are the vector of a pretrained model."""
    return _vector_columns(transformer, row)


def _features(transformer: Any, text: str, kind: str) -> tuple[list[Feature], Row]:
    transformer = _unwrapped(transformer)
    if isinstance(transformer, Pipeline):
        return _features_of_steps([step for _, step in transformer.steps], text, kind)
    row = _one_row(transformer.transform([text]))
    if isinstance(transformer, AutoNgramVectorizer):
        return _features_of_auto(transformer, text), row
    if isinstance(transformer, NgramVectorUnion):
        features, _ = _features(transformer.vectorizer_, text, kind)
        name = f"vector of {type(_unwrapped(transformer.encoder)).__name__}"
        return [*features, Feature(name, "vector", -1, 1.0, [None])], row
    if isinstance(transformer, FeatureUnion):
        return _features_of_union(transformer, text), row
    if isinstance(transformer, COUNTING_VECTORIZERS):
        return _counted_features(transformer, text, kind), row
    raise TypeError(
        f"explain cannot tell which n-grams are in the columns of a {type(transformer).__name__}. Expected a "
        "vectorizer of sklearn_hashnlp.text or of scikit-learn, a FeatureUnion or a Pipeline of them, and after it "
        "only steps that keep columns apart, such as TfidfTransformer."
    )


def _features_of_steps(steps: Sequence[Any], text: str, kind: str) -> tuple[list[Feature], Row]:
    steps = [step for step in steps if step not in (None, "passthrough")]
    features, row = _features(steps[0], text, kind)
    for step in map(_unwrapped, steps[1:]):
        transformed = _one_row(step.transform(row))
        if isinstance(step, SelectorMixin):
            new_column = {int(old): new for new, old in enumerate(step.get_support(indices=True))}
            features = [
                feature._replace(column=new_column[feature.column])
                for feature in features
                if feature.column in new_column
            ]
        elif not isinstance(step, _KEEP_COLUMNS):
            raise TypeError(
                f"explain cannot follow n-grams through a {type(step).__name__}, whose columns depend on many columns "
                f"before it. Steps between vectorizer and classifier may be a feature selector or one of "
                f"{', '.join(cls.__name__ for cls in _KEEP_COLUMNS)}."
            )
        row = transformed
    return features, row


def _features_of_union(union: FeatureUnion, text: str) -> list[Feature]:
    features: list[Feature] = []
    n_columns = 0
    for name, transformer, _ in union._iter():
        part, row = _features(transformer, text, name)
        features += [feature._replace(column=feature.column + n_columns) for feature in part]
        n_columns += row.shape[1]
    return features


def _features_of_auto(vectorizer: AutoNgramVectorizer, text: str) -> list[Feature]:
    """Return words, with tokens that mark the ends of the text, and characters where they are counted."""
    half = vectorizer.n_features // 2
    words = _counted_features(vectorizer._words(half), f"{BEGIN}{text}{END}", "words", offset=len(BEGIN))
    words = [
        feature._replace(
            ngram=_with_names_of_marks(feature.ngram), spans=[_clipped(span, len(text)) for span in feature.spans]
        )
        for feature in words
    ]
    if getattr(vectorizer, "features_", "words") == "words":
        return words
    characters = _counted_features(vectorizer._characters(half), text, "characters")
    return words + [feature._replace(column=feature.column + half) for feature in characters]


def _counted_features(vectorizer: Any, text: str, kind: str, offset: int = 0) -> list[Feature]:
    """Return the n-grams of a vectorizer; those in one column share its value by their counts."""
    if getattr(vectorizer, "input", "content") != "content":
        raise ValueError(
            f"explain needs a text, but this {type(vectorizer).__name__} reads files, input={vectorizer.input!r}. Set "
            "input='content'."
        )
    found = find_ngrams(vectorizer, text)
    columns, signs = columns_of(vectorizer, list(found))
    counts = signs * np.array([len(spans) for spans in found.values()], dtype=np.int64)
    totals: dict[int, int] = {}
    for column, count in zip(columns.tolist(), counts.tolist(), strict=True):
        totals[column] = totals.get(column, 0) + count
    return [
        Feature(ngram, kind, column, count / totals[column] if totals[column] else 0.0, _moved(spans, offset))
        for (ngram, spans), column, count in zip(found.items(), columns.tolist(), counts.tolist(), strict=True)
        if column >= 0
    ]


def _moved(spans: list[Span | None], offset: int) -> list[Span | None]:
    return [None if span is None else (span[0] - offset, span[1] - offset) for span in spans]


def _clipped(span: Span | None, length: int) -> Span | None:
    """Return the part of a span that is within the text; None if it is empty."""
    if span is None:
        return None
    begin, end = max(span[0], 0), min(span[1], length)
    return (begin, end) if begin < end else None


def _with_names_of_marks(ngram: str) -> str:
    for mark, name in _MARKS:
        ngram = ngram.replace(mark, name)
    return ngram


def _unwrapped(estimator: Any) -> Any:
    return estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator


def _one_row(rows: Any) -> Row:
    row = csr_matrix(rows) if issparse(rows) else csr_matrix(np.atleast_2d(np.asarray(rows)))
    row.sort_indices()
    return row


def _vector_columns(transformer: Any, row: Row) -> range:
    transformer = _unwrapped(transformer)
    if isinstance(transformer, Pipeline) and len(transformer.steps) == 1:
        transformer = _unwrapped(transformer.steps[0][1])
    if not isinstance(transformer, NgramVectorUnion):
        return range(0)
    n_columns = transformer.vectorizer_.transform([""]).shape[1]
    return range(n_columns, row.shape[1])
