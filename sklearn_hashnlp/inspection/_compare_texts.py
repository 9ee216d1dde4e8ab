"""compare_texts: whether new texts differ from those of the training, without labels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import gammaln
from sklearn import config_context
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp._sklearn import check_fitted
from sklearn_hashnlp.classifiers import HashEmbeddingClassifier, TextClassifier
from sklearn_hashnlp.classifiers._training_summary import TrainingSummary, histograms
from sklearn_hashnlp.classifiers.export._linear_predictor import FolderPredictor
from sklearn_hashnlp.classifiers.hash_embedding._known_columns import (
    KnownColumns,
)
from sklearn_hashnlp.classifiers.hash_embedding._sparse_rows import SparseRows
from sklearn_hashnlp.inspection._text_columns import TextColumns
from sklearn_hashnlp.inspection._text_comparison import (
    LARGEST_PROBABILITY,
    ROW_LENGTH,
    UNKNOWN_NGRAM,
    UNKNOWN_NGRAMS,
    UNKNOWN_TEXTS,
    Measure,
    TextComparison,
)
from sklearn_hashnlp.text._documents import as_documents

_MIN_TEXTS = 20
_MAX_NGRAMS = 10
_CHARACTERS = "characters"
_TINY = 1e-100  # of which the square is not zero


def compare_texts(model: Any, texts: Iterable[str], *, level: float = 0.05) -> TextComparison:
    r"""Test whether texts differ from those a classifier was trained on: drift, without labels.

    A model that was trained by ``fit`` remembers a few quantiles of training texts that were left
    out of the training when their labels were predicted. New texts are compared with them: the
    share of texts and of n-grams that the model does not know, an unknown n-gram that many of them
    have, the lengths of their rows, the expected shares of the labels, and the mean of the largest
    probability.

    Parameters
    ----------
    model : estimator
        Fitted classifier of strings: a :class:`~sklearn_hashnlp.classifiers.TextClassifier`, or a
        :class:`~sklearn.pipeline.Pipeline` of a vectorizer and a
        :class:`~sklearn_hashnlp.classifiers.HashEmbeddingClassifier`, also loaded ones.
    texts : iterable of str
        New texts, at least 20. Some hundreds are needed to notice that a tenth of them is of
        another kind.
    level : float, default=0.05
        Probability of a false alarm, if the texts are of the kind of the training texts. Choose
        less if you compare texts every day.

    Returns
    -------
    TextComparison
        ``alarm``, a bool; the measures with their p-values; the shares of the labels; the most
        typical unknown n-grams; and advice.

    Raises
    ------
    TypeError
        If the model is of another kind, ``level`` is no number, or a text is not a ``str``.
    ValueError
        If there are fewer than 20 texts, ``level`` is not between 0 and 1, or the model remembers
        nothing: it was trained by ``partial_fit`` alone or merged, with ``calibrate=False`` or
        ``loss="hsigmoid"``, or on few texts (less than 30, or 200 with stochastic gradients).

    See Also
    --------
    explain : Explain the prediction for one text.

    Notes
    -----
    The p-values are corrected for their number by Holm's method. They assume that the training
    texts are a random sample, independent of each other: of texts from a few sources, or of
    another time, even harmless differences are noticed. When ``partial_fit`` continues the
    training, it predicts the labels of its texts before it learns them, and adds these texts to
    what is remembered; earlier ones weigh less, by the fourth power of the number of texts learned
    then and now. Of multilabel models probabilities are not compared: those of left-out texts are
    too uncertain. What the model ignores, such as upper case with ``lowercase=True``, is no
    difference.

    Examples
    --------
    >>> from sklearn_hashnlp import TextClassifier
    >>> from sklearn_hashnlp.datasets import load_stdlib_docstrings
    >>> from sklearn_hashnlp.inspection import compare_texts
    >>> from sklearn.model_selection import train_test_split
    >>> texts, labels = load_stdlib_docstrings(return_X_y=True)
    >>> train, new, y, _ = train_test_split(
    ...     texts, labels, test_size=250, random_state=0
    ... )
    >>> model = TextClassifier(features="words", random_state=0).fit(train, y)
    >>> compare_texts(model, new).alarm
    False
    >>> comparison = compare_texts(model, [text[:20] for text in new])
    >>> comparison.alarm
    True
    >>> comparison.measures[3].name
    'row length'
    """
    classifier, steps = _steps_of(model)
    if not hasattr(level, "__float__"):
        raise TypeError(f"compare_texts: level must be a number, got {level!r}.")
    if not 0 < level < 1:
        raise ValueError(f"compare_texts: level must be between 0 and 1, got {level!r}.")
    documents = list(as_documents(texts, caller="compare_texts"))
    if len(documents) < _MIN_TEXTS:
        raise ValueError(
            f"compare_texts needs at least {_MIN_TEXTS} texts, got {len(documents)}: of fewer no "
            "shares and means can be tested."
        )
    summary, multilabel = classifier._calibration.summary, classifier._loss.multilabel
    if summary is None:
        raise ValueError(
            "compare_texts needs a model that remembers its training texts, and this "
            f"{type(model).__name__} does not: it was trained by partial_fit alone, was merged or "
            "saved by an older version, has calibrate=False or loss='hsigmoid', or had too few "
            "training texts. Call fit with at least 200 texts."
        )
    with config_context(transform_output="default"):  # a frame cannot hold a sparse matrix
        matrix = steps.transform(documents)
    rows, probabilities = classifier._rows(matrix), classifier.predict_proba(matrix)
    known = KnownColumns.of(classifier._model.tables, rows)
    values = np.stack([known.unknown_shares, known.lengths, probabilities.max(axis=1)], axis=1)
    columns, n_texts_of = np.unique(rows.indices[~known.is_known], return_counts=True)
    shares = {} if multilabel else _label_shares(summary, probabilities, classifier.classes_)
    return TextComparison.of(
        _measures(summary, values, int(n_texts_of.max(initial=0)), shares),
        level=level,
        n_texts=len(documents),
        summary=summary,
        label_shares=shares,
        unknown_ngrams=_named(steps, documents, rows, columns, n_texts_of),
        cumulative=_cumulative(summary, histograms(values, summary.quantiles)),
    )


def _steps_of(model: Any) -> tuple[HashEmbeddingClassifier, Pipeline]:
    """Return the classifier of a fitted model, and the steps before it."""
    pipeline = model
    if isinstance(model, TextClassifier):
        check_fitted(model, "pipeline_")
        pipeline = model.pipeline_
    is_pipeline = isinstance(pipeline, Pipeline) and len(pipeline.steps) > 1
    if not (is_pipeline and isinstance(pipeline.steps[-1][1], HashEmbeddingClassifier)):
        is_loaded = isinstance(model, FolderPredictor)
        remedy = (
            "Load it without predict_only" if is_loaded else "Of a search pass its best_estimator_"
        )
        raise TypeError(
            "compare_texts needs a fitted classifier of strings, a TextClassifier or a Pipeline of "
            f"a vectorizer and a HashEmbeddingClassifier; got a {type(model).__name__}. {remedy}."
        )
    check_is_fitted(pipeline.steps[-1][1])
    return pipeline.steps[-1][1], Pipeline(pipeline.steps[:-1])


def _measures(
    summary: TrainingSummary,
    values: NDArray[np.float64],  # (n_texts, 3), as in a summary
    largest_count: int,  # texts with the most frequent unknown n-gram
    shares: dict[Any, tuple[float, float]],  # of labels; empty for multilabel models
) -> list[Measure]:
    n_texts, n_training = len(values), summary.n_rows
    counts = histograms(values, summary.quantiles)
    n_unknown = int(np.count_nonzero(values[:, 1] == 0))
    p_unknown = p_of_unknown_texts(round(summary.n_unknown), n_training, n_unknown, n_texts)
    p_recurring = 1.0
    if largest_count:
        p_recurring = min(
            1.0, expected_unknown(largest_count, n_texts, summary.spectrum, summary.n_trained)
        )
    measures = [
        Measure(UNKNOWN_TEXTS, summary.n_unknown / n_training, n_unknown / n_texts, p_unknown),
        _of_value(UNKNOWN_NGRAMS, summary, 0, values, counts),
        Measure(
            UNKNOWN_NGRAM,
            _expected_count(summary, n_texts, largest_count) / n_texts,
            largest_count / n_texts,
            p_recurring,
        ),
        _of_value(ROW_LENGTH, summary, 1, values, counts),
    ]
    if shares:
        new = np.array([share for _, share in shares.values()])
        p_labels = p_of_shares(summary.shares, summary.sizes, new, n_texts)
        label, pair = list(shares.items())[int(p_labels.argmin())]
        p_top = p_of_lower_mean(summary.means[:, 2], summary.sizes, summary.deviation, values[:, 2])
        measures += [
            Measure(f"label {label}", *pair, float(p_labels.min())),
            Measure(LARGEST_PROBABILITY, summary.mean(2), float(values[:, 2].mean()), p_top),
        ]
    p_values = corrected(np.array([measure.p_value for measure in measures]))
    return [
        measure._replace(p_value=p_value)
        for measure, p_value in zip(measures, p_values.tolist(), strict=True)
    ]


def _of_value(
    name: str,
    summary: TrainingSummary,
    value: int,
    values: NDArray[np.float64],
    counts: NDArray[np.float64],
) -> Measure:
    p_value = p_of_histogram(summary.counts[value], counts[value])
    return Measure(name, summary.mean(value), float(values[:, value].mean()), p_value)


def _expected_count(summary: TrainingSummary, n_texts: int, found: int) -> int:
    """Return the largest count of an unknown n-gram that is more likely than not without drift.

    It is at least ``found`` if larger counts than the spectrum has are likely.
    """
    counts = range(1, min(n_texts, len(summary.spectrum)) + 1)
    expected = (
        expected_unknown(count, n_texts, summary.spectrum, summary.n_trained) for count in counts
    )
    likely = max(
        (count for count, number in zip(counts, expected, strict=True) if number > 0.5), default=0
    )
    return max(likely, found) if likely == len(summary.spectrum) else likely


def _label_shares(
    summary: TrainingSummary, probabilities: NDArray[np.float64], classes: NDArray[Any]
) -> dict[Any, tuple[float, float]]:
    before = np.average(summary.shares, axis=0, weights=summary.sizes)
    pairs = zip(before.tolist(), probabilities.mean(axis=0).tolist(), strict=True)
    return dict(zip(classes.tolist(), pairs, strict=True))


def _cumulative(
    summary: TrainingSummary, counts: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    """Return for each value the cumulative shares of training texts and of new texts."""
    names = (UNKNOWN_NGRAMS, ROW_LENGTH, LARGEST_PROBABILITY)
    sums = [np.cumsum(one, axis=1) for one in (summary.counts, counts)]
    start = np.zeros((2, 1))
    return {
        name: np.hstack([start, [one[index] / one[index, -1] for one in sums]])
        for index, name in enumerate(names)
    }


def _named(
    steps: Pipeline,
    documents: list[str],
    rows: SparseRows,
    columns: NDArray[np.int64],  # (n_columns,): unknown
    n_texts_of: NDArray[np.int64],  # (n_columns,)
) -> list[tuple[str, int]]:
    """Return the unknown n-grams of most texts; of characters only where words are not counted."""
    sources = TextColumns.of(steps).sources
    firsts = np.array([source.first for source in sources])
    of_words = np.array([source.kind != _CHARACTERS for source in sources])
    is_word = of_words[np.searchsorted(firsts, columns, side="right") - 1]
    if is_word.any():
        columns, n_texts_of = columns[is_word], n_texts_of[is_word]
    found = []
    for index in np.argsort(-n_texts_of, kind="stable")[:_MAX_NGRAMS].tolist():
        column = int(columns[index])
        at = int(np.flatnonzero(rows.indices == column)[0])
        text = documents[int(np.searchsorted(rows.indptr, at, side="right")) - 1]
        names = [
            feature.ngram
            for feature in TextColumns.of(steps).features(text)
            if feature.column == column
        ]
        found += [(name, int(n_texts_of[index])) for name in names[:1]]
    return found


def p_of_histogram(training: NDArray[np.float64], new: NDArray[np.float64]) -> float:
    """Test by chi-square whether two histograms are samples of one distribution.

    Bins between quantiles notice a few new texts that are all extreme, of which a rank test sees
    little.
    """
    table = np.stack([training, new])
    table = table[:, table.any(axis=0)]
    return float(stats.chi2_contingency(table).pvalue) if table.shape[1] > 1 else 1.0


def p_of_lower_mean(
    folds: NDArray[np.float64],
    sizes: NDArray[np.float64],
    deviation: float,
    new: NDArray[np.float64],
) -> float:
    """Test whether new values have a lower mean than those of the folds.

    A higher mean is no drift: the models of a cross-validation have fewer training rows.
    """
    # Of few new values the variance is less certain than that of the training.
    of_new = max(deviation**2, float(new.var())) / len(new)
    difference, degrees = _standardized(folds, sizes, deviation**2, new.mean(), of_new)
    return float(stats.t.cdf(difference, degrees))


def p_of_shares(
    folds: NDArray[np.float64],  # (n_folds, n_classes): mean probabilities
    sizes: NDArray[np.float64],  # (n_folds,)
    new: NDArray[np.float64],  # (n_classes,)
    n_new: int,
) -> NDArray[np.float64]:  # (n_classes,)
    """Test the expected share of each class on both sides, corrected for the number of classes.

    The variance is that of labels drawn by their probabilities, which is more than that of the
    probabilities: the small ones of rare labels depend on the model as much as on the texts.
    """
    training = folds.mean(axis=0)
    before, now = (shares * (1 - shares) for shares in (training, new))
    of_new = np.maximum(before, now) / n_new
    difference, degrees = _standardized(folds, sizes, before, new, of_new)
    return np.asarray(np.minimum(1.0, len(new) * 2 * stats.t.sf(np.abs(difference), degrees)))


def _standardized(
    folds: NDArray[np.float64], sizes: NDArray[np.float64], variance: Any, new: Any, of_new: Any
) -> tuple[Any, Any]:
    """Return the difference of a mean of new rows and the folds', and its degrees of freedom.

    ``variance`` is that of a row of the folds, ``of_new`` that of the new mean. A mean depends on
    the rows and on the model, which is another one for each fold and for new rows: a frequent text
    may get another label. The variance between the folds measures both, with few degrees of
    freedom, which are combined with those of the rows (Satterthwaite, 1946).
    """
    n_folds, difference = len(folds), new - folds.mean(axis=0)
    of_fold = variance * (1 / sizes).mean()
    of_rows = np.maximum(of_new + of_fold / n_folds, _TINY)
    if n_folds == 1:
        return difference / np.sqrt(of_rows), np.inf
    between = folds.var(axis=0, ddof=1)
    total = of_rows + (1 + 1 / n_folds) * np.maximum(between - of_fold, 0.0)
    uncertain = np.maximum((1 + 1 / n_folds) * between / total, _TINY)
    return difference / np.sqrt(total), (n_folds - 1) / uncertain**2


def p_of_unknown_texts(n_training_unknown: int, n_training: int, n_unknown: int, n: int) -> float:
    """Test by Fisher whether more texts are unknown than of the training."""
    table = [[n_unknown, n - n_unknown], [n_training_unknown, n_training - n_training_unknown]]
    return float(stats.fisher_exact(table, alternative="greater").pvalue)


def expected_unknown(
    count: int, n_new: int, spectrum: NDArray[np.float64], n_training: int
) -> float:
    """Return the expected number of n-grams in at least ``count`` new texts and no training text.

    If new and training texts are of one kind, an n-gram that j of all texts have is in new ones
    only with the probability C(n_new, j) / C(n_new + n_training, j). The expected number bounds the
    probability that there is one from above, though n-grams are not independent. The n-grams of a
    frequency grow with the number of texts at most in proportion.
    """
    frequencies = np.arange(max(count, 1), min(len(spectrum), n_new) + 1)
    if count > len(spectrum):  # all higher frequencies are counted as the highest
        frequencies = np.array([len(spectrum)])
    logarithms = _log_binomial(n_new, frequencies) - _log_binomial(n_new + n_training, frequencies)
    numbers = spectrum[frequencies - 1] * np.exp(logarithms)
    return float(numbers.sum()) * (n_new + n_training) / n_training


def _log_binomial(n: int, k: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def corrected(p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Correct p-values for their number (Holm, 1979), however the tests depend on each other."""
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    result = np.empty(len(p_values))
    result[order] = np.minimum(1.0, np.maximum.accumulate(factors * p_values[order]))
    return result
