"""explain: the contribution of each n-gram of a text to the scores of a classifier."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp._sklearn import check_fitted
from sklearn_hashnlp.classifiers import TextClassifier
from sklearn_hashnlp.inspection._contributions import (
    Contributions,
    check_explainable,
    contributions,
)
from sklearn_hashnlp.inspection._explanation import MAX_SHOWN_LABELS, Explanation, shortened
from sklearn_hashnlp.inspection._text_columns import Feature, text_features
from sklearn_hashnlp.text._specs_of import refuse_columns

# Largest difference of a score and the sum of its contributions, relative to scores above 1
_MAX_DIFFERENCE = 1e-4


def explain(model: Any, text: str, *, labels: Iterable[Any] | None = None) -> Explanation:
    r"""Explain the prediction for a text by each n-gram's contribution to each label's score.

    The contributions of all n-grams and the bias sum to ``model.decision_function([text])``. They
    are exact for models without hidden layers. With hidden layers or a hierarchical softmax they
    are integrated gradients [1]_ from the empty text.

    In a notebook the result is displayed as the text with colors; ``print`` shows a table.

    Parameters
    ----------
    model : estimator
        Fitted classifier of strings: a :class:`~sklearn_hashnlp.classifiers.TextClassifier`, or a
        :class:`~sklearn.pipeline.Pipeline` of a vectorizer and a
        :class:`~sklearn_hashnlp.classifiers.HashEmbeddingClassifier` (such as
        :func:`~sklearn_hashnlp.classifiers.load_fasttext` returns). Vectorizers are from
        :mod:`sklearn_hashnlp.text`, scikit-learn's ``HashingVectorizer``, and unions of them.
    text : str
        The text to explain, of any length.
    labels : iterable of labels, default=None
        Labels to explain; None is all. Fewer labels save time with hidden layers or thousands of
        labels. With two classes there is one score, and ``labels`` must be None.

    Returns
    -------
    Explanation
        The n-grams with their positions in the text and their contributions.

    Raises
    ------
    TypeError
        If the model is not supported, such as :class:`~sklearn_hashnlp.classifiers.SGNNClassifier`:
        its inputs are signs of sums over all n-grams, which cannot be attributed to single n-grams.

    See Also
    --------
    NgramInverter : The n-grams of columns, and the most important n-grams of a label.

    Notes
    -----
    If several n-grams of the text share a column, because their hashes are equal, its value is
    divided among them by their counts; ``Explanation.shared_with`` lists the others. In a model
    that normalizes rows, all n-grams change the norm, which is treated as a constant.

    References
    ----------
    .. [1] Sundararajan, Taly & Yan (2017). Axiomatic attribution for deep networks. ICML,
           arXiv:1703.01365.

    Examples
    --------
    >>> from sklearn_hashnlp import TextClassifier
    >>> from sklearn_hashnlp.inspection import explain
    >>> texts = [
    ...     "a fine, funny film",
    ...     "dull and far too long",
    ...     "funny and fine acting",
    ...     "too dull to sit through",
    ... ]
    >>> labels = ["good", "bad", "good", "bad"]
    >>> model = TextClassifier(features="words", random_state=0).fit(texts, labels)
    >>> explanation = explain(model, "funny but dull")
    >>> explanation.ngrams
    ['funny', 'but', 'dull', 'funny but', 'but dull']
    >>> top = explanation.top(2, "good")
    >>> explanation.spans[2], [ngram for ngram, contribution in top]
    ([(10, 14)], ['funny', 'dull'])
    """
    steps, classifier = text_pipeline(model)
    if not isinstance(text, str):
        raise TypeError(
            f"explain takes one text, a str; got a {type(text).__name__}. For several: "
            "[explain(model, text) for text in texts]."
        )
    return explain_by_steps(model, steps, classifier, text, labels=labels)


def explain_by_steps(
    model: Any,
    steps: Pipeline,
    classifier: Any,
    text: str,
    *,
    labels: Iterable[Any] | None = None,
    only_shown: bool = False,
) -> Explanation:
    """Explain a prediction by a model's parts; ``only_shown`` restricts it to shown labels."""
    classes = np.asarray(classifier.classes_)
    features, row, vector_columns = text_features(steps, text)
    scores = np.atleast_1d(np.asarray(classifier.decision_function(row), dtype=np.float64)[0])
    predicted = _predicted(model, classes, text)
    if only_shown and labels is None:
        best = np.argsort(-scores, kind="stable")[:MAX_SHOWN_LABELS]
        outputs = (
            best
            if len(scores) == 1
            else np.union1d(best, np.flatnonzero(np.isin(classes, predicted)))
        )
    else:
        outputs = _outputs(labels, classes, len(scores))
    parts = contributions(classifier, row, outputs)
    _check_sum(parts, scores[outputs])
    return Explanation(
        text=str.__str__(text),
        classes=classes,
        labels=classes[-1:] if len(scores) == 1 else classes[outputs],
        predicted=predicted,
        scores=scores[outputs],
        probabilities=_probabilities(model, text, outputs, len(scores)),
        bias=parts.bias,
        features=features,
        contributions=_of_features(features, row, parts, vector_columns),
        method=parts.method,
    )


def text_pipeline(model: Any) -> tuple[Pipeline, Any]:
    """Return the steps of a fitted model that convert texts to rows, and the classifier."""
    model = _unwrapped(model)
    if not isinstance(model, Pipeline) or len(model.steps) < 2:
        raise TypeError(
            "explain needs a fitted classifier of strings, a TextClassifier or a Pipeline of a "
            f"vectorizer and a HashEmbeddingClassifier; got a {type(model).__name__}. Of a search "
            "explain the best_estimator_, of a classifier of rows a pipeline with its vectorizer, "
            "Pipeline([('vectorizer', vectorizer), ('classifier', classifier)]). For estimators "
            "of scikit-learn use a tool such as eli5 or shap."
        )
    steps, classifier = model.steps[:-1], model.steps[-1][1]
    for _, step in steps:
        refuse_columns(step)
    check_is_fitted(classifier)
    check_explainable(classifier)
    return Pipeline(steps), classifier


def _unwrapped(model: Any) -> Any:
    """Return the pipeline of a classifier of texts, or the model itself."""
    if isinstance(model, TextClassifier):
        check_fitted(model, "pipeline_")
        model = model.pipeline_
    return model


def _outputs(
    labels: Iterable[Any] | None, classes: NDArray[Any], n_scores: int
) -> NDArray[np.int64]:
    """Return the indices of the scores to explain."""
    if labels is None:
        return np.arange(n_scores)
    one_score = n_scores < len(classes)
    if isinstance(labels, str) or not isinstance(labels, Iterable) or one_score:
        advice = (
            "with two classes there is one score" if one_score else f"pass a list, [{labels!r}]"
        )
        raise ValueError(f"explain cannot choose labels={labels!r}: {advice}.")
    known, chosen = classes.tolist(), list(labels)
    if not chosen or any(label not in known for label in chosen):
        raise ValueError(
            f"explain needs labels of the model, out of {shortened(known)}; got {chosen!r}."
        )
    return np.array([known.index(label) for label in chosen], dtype=np.int64)


def _of_features(
    features: list[Feature], row: csr_matrix, parts: Contributions, vectors: range
) -> NDArray[np.float64]:
    """Divide the contributions of columns among their features."""
    of_column = dict(zip(row.indices.tolist(), parts.of_columns, strict=True))
    result = np.zeros((len(features), len(parts.bias)))
    for index, feature in enumerate(features):
        if feature.column >= 0:
            result[index] = feature.share * of_column[feature.column]
        else:
            result[index] = sum(
                (of_column[column] for column in vectors if column in of_column), result[index]
            )
    return result


def _check_sum(parts: Contributions, scores: NDArray[np.float64]) -> None:
    """Check that the contributions sum to the scores, which a subclass may compute differently."""
    differences = np.abs(parts.of_columns.sum(axis=0) + parts.bias - scores)
    if (differences > _MAX_DIFFERENCE * np.maximum(1.0, np.abs(scores))).any():
        raise ValueError(
            "explain found contributions that differ from the scores of the model, by up to "
            f"{differences.max():.3g}: its decision_function is not the sum of weights times "
            "columns."
        )


def _predicted(model: Any, classes: NDArray[Any], text: str) -> Any:
    predicted = model.predict([text])[0]
    if isinstance(predicted, np.ndarray) or issparse(predicted):
        indicator = np.ravel(predicted.toarray() if issparse(predicted) else predicted)
        return classes[indicator > 0].tolist()
    return predicted.tolist() if hasattr(predicted, "tolist") else predicted


def _probabilities(
    model: Any, text: str, outputs: NDArray[np.int64], n_scores: int
) -> NDArray[np.float64] | None:
    try:
        probabilities: NDArray[np.float64] = np.asarray(
            model.predict_proba([text]), dtype=np.float64
        )[0]
    except AttributeError:  # with loss="hinge"
        return None
    return probabilities[-1:] if n_scores == 1 else probabilities[outputs]
