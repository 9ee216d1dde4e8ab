"""The columns of n-grams, through vectorizers, unions and pipelines that keep columns separate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp.inspection._aligned_text import Span
from sklearn_hashnlp.inspection._ngrams import (
    COUNTING_VECTORIZERS,
    columns_of,
    find_ngrams,
    parts_of_fasttext,
)
from sklearn_hashnlp.text._fasttext_vectorizer import FastTextVectorizer
from sklearn_hashnlp.text._ngram_spec import NgramSpec
from sklearn_hashnlp.text._ngram_vector_union import NgramVectorUnion
from sklearn_hashnlp.text._specs_of import refuse_columns, specs_of


class Feature(NamedTuple):
    """An n-gram of a text, or the vector of a pretrained model."""

    ngram: str
    kind: str  # name of the vectorizer in a union, such as "words"; "" without a union
    column: int  # -1 for a vector, which has several
    share: float  # share of the column's value
    spans: list[Span | None]  # one per occurrence; None if it is unknown


class Source(NamedTuple):
    """A specification, or a vectorizer without one, and the position of its columns in a union."""

    kind: str
    vectorizer: Any
    first: int = 0  # its first column
    scale: float = 1.0  # value of an n-gram that occurs once

    def find(self, text: str) -> dict[str, list[Span | None]]:
        """Return the n-grams of a text with a span for each occurrence."""
        return find_ngrams(self.vectorizer, text)

    def columns_of(self, ngrams: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the column of each n-gram, -1 if it has none, and the sign of its counts."""
        columns, signs = columns_of(self.vectorizer, ngrams)
        return np.where(columns < 0, columns, columns + self.first), signs

    def name_of(self, ngram: str) -> str:
        """Return an n-gram with names for the ends of the text."""
        marks = self.vectorizer.around if isinstance(self.vectorizer, NgramSpec) else ()
        for mark, name in zip(marks, ("<s>", "</s>"), strict=False):
            ngram = ngram.replace(mark.strip(), name) if mark else ngram
        return ngram


class TextColumns(NamedTuple):
    """Sources of the columns of a transformer, and the columns of a pretrained model's vector."""

    sources: list[Source]
    n_columns: int
    vector: str  # name of the pretrained model; "" if there is none
    vector_columns: range

    @classmethod
    def of(cls, transformer: Any) -> TextColumns:
        """Find the vectorizers in a fitted transformer of texts."""
        transformer = _unwrapped(transformer)
        if isinstance(transformer, Pipeline):
            return _of_steps([step for _, step in transformer.steps])
        if isinstance(transformer, FeatureUnion):
            return _of_union(transformer)
        if isinstance(transformer, NgramVectorUnion):
            inner = cls.of(transformer.vectorizer_)
            n_columns = transformer.transform([""]).shape[1]
            encoders = [type(_unwrapped(encoder)).__name__ for encoder in transformer.encoders]
            name = f"vector of {' and '.join(encoders)}"
            return inner._replace(
                n_columns=n_columns, vector=name, vector_columns=range(inner.n_columns, n_columns)
            )
        if isinstance(transformer, FastTextVectorizer):
            check_is_fitted(transformer)
            parts = parts_of_fasttext(transformer)
            return cls(
                [Source(part.kind, part) for part in parts], transformer.n_features_, "", range(0)
            )
        refuse_columns(transformer)
        try:
            specs = specs_of(transformer)
        except (TypeError, ValueError) as error:
            if not isinstance(transformer, COUNTING_VECTORIZERS):
                raise TypeError(
                    f"The n-grams in the columns of a {type(transformer).__name__} are unknown: "
                    f"{error} Expected a vectorizer of sklearn_hashnlp.text, scikit-learn's "
                    "HashingVectorizer, or a FeatureUnion of them. For other vectorizers use a "
                    "tool such as eli5 or shap."
                ) from error
            specs = []
        if specs and all(spec.scheme == "murmur3" for spec in specs):
            return _of_specs(specs)
        if getattr(transformer, "input", "content") != "content":
            raise ValueError(
                f"N-grams are found in texts, but this {type(transformer).__name__} reads files, "
                f"input={transformer.input!r}. Set input='content'."
            )
        return cls([Source("", transformer)], transformer.transform([""]).shape[1], "", range(0))

    def features(self, text: str) -> list[Feature]:
        """Return a text's n-grams with a column; n-grams in one column share its value by count."""
        placed = []
        totals: dict[int, int] = {}
        for source in self.sources:
            spans_of = source.find(text)
            columns, signs = source.columns_of(list(spans_of))
            for (ngram, spans), column, sign in zip(
                spans_of.items(), columns.tolist(), signs.tolist(), strict=True
            ):
                if column >= 0:
                    totals[column] = totals.get(column, 0) + sign * len(spans)
                    placed.append(
                        (source.name_of(ngram), source.kind, column, sign * len(spans), spans)
                    )
        return [
            Feature(name, kind, column, count / totals[column] if totals[column] else 0.0, spans)
            for name, kind, column, count, spans in placed
        ]


def text_features(transformer: Any, text: str) -> tuple[list[Feature], csr_matrix, range]:
    """Return the features of a text, its row, and the columns of a pretrained model's vector."""
    columns = TextColumns.of(transformer)
    rows = transformer.transform([text])
    row = csr_matrix(rows) if issparse(rows) else csr_matrix(np.atleast_2d(np.asarray(rows)))
    row.sort_indices()
    present = dict.fromkeys(row.indices.tolist())
    features = [feature for feature in columns.features(text) if feature.column in present]
    named = {feature.column for feature in features}
    if columns.vector:
        features.append(Feature(columns.vector, "vector", -1, 1.0, [None]))
    unnamed = [
        column for column in present if column not in named and column not in columns.vector_columns
    ]
    features += [Feature(column_name(column), "", column, 1.0, [None]) for column in unnamed]
    return features, row, columns.vector_columns


def column_name(column: int) -> str:
    """Return the name of a column without a known n-gram."""
    return f"column {column}"


def _of_specs(specs: Sequence[NgramSpec]) -> TextColumns:
    sources: list[Source] = []
    n_columns = 0
    for spec in specs:
        sources.append(Source(spec.name, spec, n_columns, spec.weight))
        n_columns += spec.n_features + spec.padding
    return TextColumns(sources, n_columns, "", range(0))


def _of_steps(steps: Sequence[Any]) -> TextColumns:
    if len(steps) > 1:
        raise TypeError(
            f"N-grams are not followed through a {type(steps[1]).__name__}: the vectorizer must be "
            "the only step before the classifier. For pipelines with other steps use a tool such "
            "as eli5 or shap."
        )
    return TextColumns.of(steps[0])


def _of_union(union: FeatureUnion) -> TextColumns:
    sources: list[Source] = []
    n_columns = 0
    vector = ""
    vector_columns = range(0)
    for name, transformer, weight in union._iter():
        part = TextColumns.of(transformer)
        for source in part.sources:
            scale = source.scale * (1.0 if weight is None else weight)
            first = n_columns + source.first
            sources.append(source._replace(kind=source.kind or name, first=first, scale=scale))
        if part.vector:
            vector = part.vector
            vector_columns = range(
                n_columns + part.vector_columns.start, n_columns + part.vector_columns.stop
            )
        n_columns += part.n_columns
    return TextColumns(sources, n_columns, vector, vector_columns)


def _unwrapped(estimator: Any) -> Any:
    return estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator
