"""collision_report and suggest_buckets: the n-grams of texts that a model cannot distinguish."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.pipeline import Pipeline

from sklearn_hashnlp.classifiers import HashEmbeddingClassifier, TextClassifier
from sklearn_hashnlp.classifiers._make_text_classifier import build_pipeline
from sklearn_hashnlp.inspection._collision_counts import (
    N_COLUMNS,
    TableSizes,
    count_collisions,
    expected_pairs,
    ids_by_constants,
    pair_probability,
    seeded_constants,
    sharing_probability,
)
from sklearn_hashnlp.inspection._ngrams import FastTextPart
from sklearn_hashnlp.inspection._text_columns import Source, TextColumns
from sklearn_hashnlp.text import AutoNgramVectorizer, CharNgramFeaturizer
from sklearn_hashnlp.text._count_ngrams import count_ngrams
from sklearn_hashnlp.text._documents import as_documents
from sklearn_hashnlp.text._ngram_spec import NgramSpec

_BATCH = 2000
_MAX_BUCKETS = 2**30
_KINDS = ("components", "embedding")


class CollisionRow(NamedTuple):
    """Expected and counted n-grams of one kind of collision."""

    kind: str
    expected_pairs: float
    counted_pairs: int
    expected_share: float  # share of the n-grams that collide with another
    counted_share: float


class CollisionReport:
    """N-grams of texts that collide; see :func:`collision_report`.

    In a notebook it is displayed as a table; ``print`` shows the table as text.

    Attributes
    ----------
    n_texts : int
        Number of texts.
    n_ngrams : int
        Number of distinct n-grams in them.
    rows : list of CollisionRow
        A named tuple for each kind of collision: ``kind``, ``expected_pairs`` and ``counted_pairs`` of colliding
        n-grams, ``expected_share`` and ``counted_share`` of the n-grams that collide with another. The kinds are
        ``"column"``, and with hash embeddings ``"importance weights"``, ``"components"`` and ``"embedding"``.
    """

    def __init__(self, n_texts: int, ids: dict[str, NDArray[np.int64]], model: _CollisionModel) -> None:
        self.n_texts = n_texts
        self._ids = ids
        self._model = model
        self.n_ngrams = len(model.source_of)
        self.rows = [self._row(kind, self.n_ngrams) for kind in ids]

    def curve(self, kind: str = "embedding", n_points: int = 8) -> list[tuple[int, CollisionRow]]:
        """Return the collisions for increasing numbers of n-grams.

        Parameters
        ----------
        kind : str, default="embedding"
            Kind of collision, as in ``rows``.
        n_points : int, default=8
            Number of points; each has twice as many n-grams as the previous one.

        Returns
        -------
        list of (int, CollisionRow)
            Numbers of n-grams in ascending order, with their collisions.
        """
        if kind not in self._ids:
            raise ValueError(f"This report has the kinds of collisions {', '.join(self._ids)}; got {kind!r}.")
        sizes = sorted({max(2, self.n_ngrams >> power) for power in range(n_points)} - set(range(2)))
        return [(size, self._row(kind, size)) for size in sizes if size <= self.n_ngrams]

    def _row(self, kind: str, n_ngrams: int) -> CollisionRow:
        n_pairs, n_sharing = count_collisions(self._ids[kind][:n_ngrams]) if n_ngrams else (0, 0)
        pairs, share = self._model.expected(kind, n_ngrams)
        return CollisionRow(kind, pairs, n_pairs, share, n_sharing / max(n_ngrams, 1))

    def __repr__(self) -> str:
        return f"<CollisionReport of {self.n_texts:,} texts with {self.n_ngrams:,} n-grams>"

    def _cells(self) -> list[list[str]]:
        return [
            [
                row.kind,
                f"{row.expected_pairs:,.1f}",
                f"{row.counted_pairs:,}",
                f"{row.expected_share:.4%}",
                f"{row.counted_share:.4%}",
            ]
            for row in self.rows
        ]

    def __str__(self) -> str:
        table = [_HEADER, *self._cells()]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join([cells[0].ljust(widths[0]), *map(str.rjust, cells[1:], widths[1:])]).rstrip() for cells in table
        ]
        return "\n".join([f"{self.n_ngrams:,} distinct n-grams in {self.n_texts:,} texts", *lines])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(cell)}</th>" for cell in _HEADER)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>" for cells in self._cells()
        )
        title = f"{self.n_ngrams:,} distinct n-grams in {self.n_texts:,} texts"
        return f"<table><caption>{title}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


_HEADER = ["n-grams with the same", "pairs expected", "counted", "share expected", "counted"]


class _CollisionModel(NamedTuple):
    """The sizes that determine the expected number of collisions."""

    source_of: NDArray[np.int64]  # (n_ngrams,): index of the vectorizer of each n-gram
    n_columns: list[int]  # one per vectorizer
    probabilities: dict[str, float]  # probability that two columns collide, by kind

    def expected(self, kind: str, n_ngrams: int) -> tuple[float, float]:
        """Return the expected number of pairs, and the share of n-grams that collide with another."""
        sizes = np.bincount(self.source_of[:n_ngrams], minlength=len(self.n_columns)).tolist()
        columns = list(zip(sizes, self.n_columns, strict=True))
        pairs = sum(expected_pairs(size, 1 / n) for size, n in columns)
        share = sum(size * sharing_probability(size, 1 / n) for size, n in columns if size) / max(n_ngrams, 1)
        probability = self.probabilities[kind]
        if not probability:
            return pairs, share
        pairs += (expected_pairs(n_ngrams, 1.0) - pairs) * probability
        return pairs, 1 - (1 - share) * (1 - sharing_probability(n_ngrams, probability))


def collision_report(texts: Iterable[str], model: Any = None) -> CollisionReport:
    """Count the n-grams of texts that a model cannot distinguish, and compute their expected number.

    Parameters
    ----------
    texts : iterable of str
        The texts whose n-grams are counted; read once.
    model : classifier or vectorizer of texts, default=None
        A :class:`~sklearn_hashnlp.classifiers.TextClassifier`, a pipeline of hashing vectorizers and a
        :class:`~sklearn_hashnlp.classifiers.HashEmbeddingClassifier` or another classifier, a fitted search over these,
        or a vectorizer. Unfitted models have hash functions with a fixed seed. None is ``TextClassifier()``.

    Returns
    -------
    CollisionReport
        Pairs and shares of n-grams with the same column of the vectorizer; and, with hash embeddings, of n-grams with
        the same row of the importance table, the same component vectors, or both. N-grams with both share all
        parameters, so no classifier can distinguish them.

    Raises
    ------
    TypeError
        If a vectorizer of the model does not hash.

    Notes
    -----
    Two n-grams have the same of n columns with probability 1/n; and, in different columns, the same embedding with
    1 / (n_embeddings * n_buckets**n_hashes) in the improved variant, 1 / n_embeddings in the paper's. N-grams are
    identified by a hash of 31 bits: about 230 pairs of a million n-grams have the same hash.

    Examples
    --------
    >>> from sklearn_hashnlp import TextClassifier
    >>> from sklearn_hashnlp.datasets import load_stdlib_docstrings
    >>> from sklearn_hashnlp.inspection import collision_report
    >>> texts = load_stdlib_docstrings().data[:200]
    >>> model = TextClassifier(features="words", n_buckets=1000, n_embeddings=1000)
    >>> report = collision_report(texts, model)
    >>> components, embedding = report.rows[2:]
    >>> components.counted_share > 0.9, embedding.counted_share < 0.05
    (True, True)
    """
    documents = list(as_documents(texts, caller="collision_report"))
    steps, classifier = _parts_of(TextClassifier() if model is None else model)
    sources = TextColumns.of(_decided(steps, documents)).sources
    ids = [_hashes_of(source, documents) for source in sources]
    n_columns = [int(source.vectorizer.n_features) for source in sources]
    firsts = [source.first for source in sources]
    columns = [hashes % n + first for hashes, n, first in zip(ids, n_columns, firsts, strict=True)]
    column = np.concatenate([np.empty(0, dtype=np.int64), *columns])
    source_of = np.repeat(np.arange(len(sources)), list(map(len, ids)))
    order = np.random.default_rng(0).permutation(len(column))  # so that the first ones are a sample
    kinds, probabilities = {"column": column[order]}, {"column": 0.0}
    if isinstance(classifier, HashEmbeddingClassifier):
        for kind, values in _embedding_kinds(classifier, column[order]).items():
            kinds[kind], probabilities[kind] = values
    return CollisionReport(len(documents), kinds, _CollisionModel(source_of[order], n_columns, probabilities))


def suggest_buckets(
    texts: Iterable[str], max_collision: float = 0.01, *, vectorizer: Any = None, n_hashes: int = 1
) -> int:
    """Suggest a number of buckets for which few n-grams of texts share all of their buckets with another.

    Parameters
    ----------
    texts : iterable of str
        The texts whose n-grams are counted; read once.
    max_collision : float, default=0.01
        Maximum expected share of the distinct n-grams that collide with another, between 0 and 1.
    vectorizer : hashing vectorizer, union or pipeline of them, or classifier of texts, default=None
        The vectorizer of the n-grams. None is an :class:`~sklearn_hashnlp.text.AutoNgramVectorizer`, as in
        :class:`~sklearn_hashnlp.classifiers.TextClassifier`.
    n_hashes : int, default=1
        Number of buckets of an n-gram, ``n_hashes`` of a classifier. With 1 the result is also a good ``n_features`` of
        a hashing vectorizer.

    Returns
    -------
    int
        A power of two, at most 2**30: ``n_buckets`` of a classifier.

    Raises
    ------
    ValueError
        If 2**30 buckets are too few.

    Notes
    -----
    Of V n-grams, a share of ``1 - (1 - n_buckets**-n_hashes) ** (V - 1)`` is expected to have all buckets in common
    with another n-gram. In the improved variant of hash embeddings such n-grams still differ by their importance
    weights, so a smaller model with fewer buckets is often as accurate.

    Examples
    --------
    >>> from sklearn_hashnlp.inspection import suggest_buckets
    >>> texts = ["to be or not to be", "that is the question"]
    >>> suggest_buckets(texts), suggest_buckets(texts, n_hashes=2)
    (16384, 128)
    """
    if not isinstance(max_collision, int | float | np.floating) or not 0 < max_collision < 1:
        raise ValueError(f"max_collision must be a share between 0 and 1, such as 0.01; got {max_collision!r}.")
    if not isinstance(n_hashes, int | np.integer) or n_hashes < 1:
        raise ValueError(f"n_hashes must be an integer of at least 1, got {n_hashes!r}.")
    documents = list(as_documents(texts, caller="suggest_buckets"))
    steps, _ = _parts_of(AutoNgramVectorizer() if vectorizer is None else vectorizer)
    sources = TextColumns.of(_decided(steps, documents)).sources
    n_ngrams = sum(len(_hashes_of(source, documents)) for source in sources)
    if n_ngrams < 2:
        return 2
    probability = -math.expm1(math.log1p(-max_collision) / (n_ngrams - 1))
    n_buckets: int = 1 << math.ceil(-math.log2(probability) / n_hashes)
    if n_buckets > _MAX_BUCKETS:
        raise ValueError(
            f"suggest_buckets: {n_ngrams:,} n-grams need more than 2**30 buckets for max_collision={max_collision!r}. "
            f"Set a larger max_collision, or n_hashes={n_hashes + 1}."
        )
    return max(n_buckets, 2)


def _parts_of(model: Any) -> tuple[Any, Any]:
    """Return the steps that convert texts to rows, and the classifier or None; fitted or not."""
    if hasattr(model, "best_estimator_"):  # a fitted search
        return _parts_of(model.best_estimator_)
    if isinstance(model, TextClassifier):
        is_fitted = hasattr(model, "pipeline_")
        model = model.pipeline_ if is_fitted else build_pipeline(model.get_params(deep=False))
    if isinstance(model, Pipeline) and hasattr(model.steps[-1][1], "predict"):
        return Pipeline(model.steps[:-1]), model.steps[-1][1]
    return model, None


def _decided(steps: Any, documents: list[Any]) -> Any:
    """Return the steps, with a vectorizer fitted if its n-grams depend on the texts."""
    first = steps.steps[0][1] if isinstance(steps, Pipeline) else steps
    if isinstance(first, AutoNgramVectorizer) and not hasattr(first, "features_"):
        return clone(first).fit(documents)
    return steps


def _hashes_of(source: Source, documents: Sequence[Any]) -> NDArray[np.int64]:
    """Return the distinct n-grams of texts as hashes of 31 bits."""
    vectorizer = source.vectorizer
    if not isinstance(vectorizer, NgramSpec | HashingVectorizer | CharNgramFeaturizer):
        shown = vectorizer.vectorizer if isinstance(vectorizer, FastTextPart) else vectorizer
        raise TypeError(
            f"Collisions are those of hashed n-grams, but a {type(shown).__name__} has a vocabulary. Expected a "
            "HashingNgramVectorizer, CharNgramFeaturizer or AutoNgramVectorizer, or a model with one."
        )
    wide: dict[str, Any] = {"n_features": N_COLUMNS, "norm": None, "alternate_sign": False}
    hashes = np.empty(0, dtype=np.int64)
    for first in range(0, len(documents), _BATCH):
        texts = documents[first : first + _BATCH]
        if isinstance(vectorizer, NgramSpec):
            counts = count_ngrams(texts, [replace(vectorizer, **wide)])
        else:
            counts = clone(vectorizer).set_params(**wide).transform(texts)
        hashes = np.union1d(hashes, counts.indices.astype(np.int64))
    return hashes


def _embedding_kinds(
    classifier: HashEmbeddingClassifier, columns: NDArray[np.int64]
) -> dict[str, tuple[NDArray[np.int64], float]]:
    """Return ids that are equal if columns collide in a hash embedding, and the probability of a collision."""
    sizes = TableSizes(int(classifier.n_embeddings), int(classifier.n_buckets), int(classifier.n_hashes))
    spec = classifier._model.spec if hasattr(classifier, "classes_") else None
    constants = seeded_constants(sizes, 0) if spec is None else np.array(spec.constants, dtype=np.uint64)
    rows = ids_by_constants("paper", sizes, columns, constants)["embedding"], 1 / sizes.n_embeddings
    if classifier.variant == "standard":
        return {"embedding": rows}
    ids = ids_by_constants(classifier.variant, sizes, columns, constants)
    others = {kind: (ids[kind], pair_probability(classifier.variant, kind, sizes)) for kind in _KINDS}
    return {"importance weights": rows} | others
