"""The columns of n-grams, through vectorizers, unions and pipelines that keep columns separate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import Binarizer, MaxAbsScaler, Normalizer, StandardScaler
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp.inspection._aligned_text import Span
from sklearn_hashnlp.inspection._ngrams import COUNTING_VECTORIZERS, columns_of, find_ngrams, parts_of_fasttext
from sklearn_hashnlp.text._fasttext_vectorizer import FastTextVectorizer
from sklearn_hashnlp.text._ngram_spec import NgramSpec
from sklearn_hashnlp.text._ngram_vector_union import NgramVectorUnion
from sklearn_hashnlp.text._specs_of import refuse_columns, specs_of

_KEEP_COLUMNS = (TfidfTransformer, Normalizer, MaxAbsScaler, StandardScaler, Binarizer)


class Feature(NamedTuple):
    """An n-gram of a text, or the vector of a pretrained model."""

    ngram: str
    kind: str  # name of the vectorizer in a union, such as "words"; "" without a union
    column: int  # -1 for a vector, which has several
    share: float  # share of the column's value
    spans: list[Span | None]  # one per occurrence; None if it is unknown


# An offset of columns, new indices of some columns, or the scale of each column.
Move: TypeAlias = int | Mapping[int, int] | NDArray[np.float64]


class Source(NamedTuple):
    """A specification, or a vectorizer without one, and the final position of its columns."""

    kind: str
    vectorizer: Any
    moves: tuple[Move, ...] = ()  # changes of its columns by later steps
    scale: float = 1.0  # value of an n-gram that occurs once

    def find(self, text: str) -> dict[str, list[Span | None]]:
        """Return the n-grams of a text with a span for each occurrence."""
        return find_ngrams(self.vectorizer, text)

    def columns_of(self, ngrams: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the column of each n-gram, -1 if it has none, and the sign of its counts."""
        return columns_of(self.vectorizer, ngrams) if not self.moves else self.values_of(ngrams)[:2]

    def values_of(self, ngrams: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return column, sign and value of each n-gram for a single occurrence, before rows are normalized."""
        columns, signs = columns_of(self.vectorizer, ngrams)
        values = np.full(len(ngrams), self.scale)
        if getattr(self.vectorizer, "use_idf", False):  # of a TfidfVectorizer
            values *= self.vectorizer.idf_[columns]
        for move in self.moves:
            if isinstance(move, int):
                columns = np.where(columns < 0, columns, columns + move)
            elif isinstance(move, np.ndarray):
                values = values * move[columns]  # the values of column -1 are not used
            else:
                columns = np.array([move.get(column, -1) for column in columns.tolist()], dtype=np.int64)
        return columns, signs, values

    def name_of(self, ngram: str) -> str:
        """Return an n-gram with names for the ends of the text."""
        marks = self.vectorizer.around if isinstance(self.vectorizer, NgramSpec) else ()
        for mark, name in zip(marks, ("<s>", "</s>"), strict=False):
            ngram = ngram.replace(mark.strip(), name) if mark else ngram
        return ngram

    def moved(self, move: Move) -> Source:
        """Return the source with another change of its columns."""
        return self._replace(moves=(*self.moves, move))


class TextColumns(NamedTuple):
    """All sources of the columns of a transformer, and the columns of a pretrained model's vector."""

    sources: list[Source]
    n_columns: int
    vector: str  # name of the pretrained model; "" if there is none
    vector_columns: range

    @classmethod
    def of(cls, transformer: Any) -> TextColumns:
        """Find the vectorizers in a fitted transformer of texts."""
        transformer = _unwrapped(transformer)
        if isinstance(transformer, Pipeline):
            return _of_steps([step for _, step in transformer.steps if step not in (None, "passthrough")])
        if isinstance(transformer, FeatureUnion):
            return _of_union(transformer)
        if isinstance(transformer, NgramVectorUnion):
            inner = cls.of(transformer.vectorizer_)
            n_columns = transformer.transform([""]).shape[1]
            name = f"vector of {type(_unwrapped(transformer.encoder)).__name__}"
            return inner._replace(n_columns=n_columns, vector=name, vector_columns=range(inner.n_columns, n_columns))
        if isinstance(transformer, FastTextVectorizer):
            check_is_fitted(transformer)
            parts = parts_of_fasttext(transformer)
            return cls([Source(part.kind, part) for part in parts], transformer.n_features_, "", range(0))
        refuse_columns(transformer)
        try:
            specs = specs_of(transformer)
        except (TypeError, ValueError) as error:
            if not isinstance(transformer, COUNTING_VECTORIZERS):
                raise TypeError(
                    f"The n-grams in the columns of a {type(transformer).__name__} are unknown: {error} Expected a "
                    "vectorizer of sklearn_hashnlp.text or of scikit-learn, a FeatureUnion or a Pipeline of them, and "
                    "after it only steps that keep columns apart, such as TfidfTransformer."
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
        """Return the n-grams of a text with a column; n-grams in one column share its value by their counts."""
        placed = []
        totals: dict[int, int] = {}
        for source in self.sources:
            spans_of = source.find(text)
            columns, signs = source.columns_of(list(spans_of))
            for (ngram, spans), column, sign in zip(spans_of.items(), columns.tolist(), signs.tolist(), strict=True):
                if column >= 0:
                    totals[column] = totals.get(column, 0) + sign * len(spans)
                    placed.append((source.name_of(ngram), source.kind, column, sign * len(spans), spans))
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
    unnamed = [column for column in present if column not in named and column not in columns.vector_columns]
    features += [Feature(column_name(column), "", column, 1.0, [None]) for column in unnamed]
    return features, row, columns.vector_columns


def column_name(column: int) -> str:
    """Return the name of a column without a known n-gram."""
    return f"column {column}"


def _of_specs(specs: Sequence[NgramSpec]) -> TextColumns:
    sources: list[Source] = []
    n_columns = 0
    for spec in specs:
        moves = (n_columns,) if n_columns else ()
        sources.append(Source(spec.name, spec, moves, scale=spec.weight))
        n_columns += spec.n_features + spec.padding
    return TextColumns(sources, n_columns, "", range(0))


def _of_steps(steps: Sequence[Any]) -> TextColumns:
    columns = TextColumns.of(steps[0])
    for step in map(_unwrapped, steps[1:]):
        if isinstance(step, SelectorMixin):
            support = step.get_support(indices=True).tolist()
            new_column = {old: new for new, old in enumerate(support)}
            vector = [new_column[column] for column in columns.vector_columns if column in new_column]
            columns = TextColumns(
                [source.moved(new_column) for source in columns.sources],
                len(support),
                columns.vector if vector else "",
                range(vector[0], vector[-1] + 1) if vector else range(0),
            )
        elif not isinstance(step, _KEEP_COLUMNS):
            raise TypeError(
                f"N-grams cannot be followed through a {type(step).__name__}, whose columns depend on many columns "
                "before it. Steps between vectorizer and classifier may be a feature selector or one of "
                f"{', '.join(cls.__name__ for cls in _KEEP_COLUMNS)}."
            )
        elif (scales := _scales_of(step)) is not None:
            columns = columns._replace(sources=[source.moved(scales) for source in columns.sources])
    return columns


def _scales_of(step: Any) -> NDArray[np.float64] | None:
    """Return the factor of each column; None if it is one, depends on the row, or is not fitted."""
    if isinstance(step, TfidfTransformer):
        return np.asarray(step.idf_, dtype=np.float64) if step.use_idf and hasattr(step, "idf_") else None
    scale = getattr(step, "scale_", None) if isinstance(step, MaxAbsScaler | StandardScaler) else None
    return None if scale is None else 1 / np.asarray(scale, dtype=np.float64)


def _of_union(union: FeatureUnion) -> TextColumns:
    sources: list[Source] = []
    n_columns, vector, vector_columns = 0, "", range(0)
    for name, transformer, weight in union._iter():
        part = TextColumns.of(transformer)
        for source in part.sources:
            scale = source.scale * (1.0 if weight is None else weight)
            sources.append(source.moved(n_columns)._replace(kind=source.kind or name, scale=scale))
        if part.vector:
            vector = part.vector
            vector_columns = range(n_columns + part.vector_columns.start, n_columns + part.vector_columns.stop)
        n_columns += part.n_columns
    return TextColumns(sources, n_columns, vector, vector_columns)


def _unwrapped(estimator: Any) -> Any:
    return estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator
