"""Contributions of the columns of a row to the scores of a classifier."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse
from sklearn.multiclass import OneVsRestClassifier

from sklearn_hashnlp._sklearn import ConstantPredictor
from sklearn_hashnlp.classifiers import HashEmbeddingClassifier
from sklearn_hashnlp.inspection._explanation import Method, shortened
from sklearn_hashnlp.kernels.embeddings._bags import NO_BAG_NORM, Bags, embed_bags
from sklearn_hashnlp.kernels.embeddings._hash_ids import locate_ids
from sklearn_hashnlp.kernels.linear._linear_model import LinearModel


class Contributions(NamedTuple):
    """The scores of a row as a sum over its columns."""

    of_columns: NDArray[np.float64]  # (n_values, n_outputs)
    bias: NDArray[np.float64]  # (n_outputs,): scores of an empty row
    method: Method


def contributions(classifier: Any, row: csr_matrix, outputs: NDArray[np.int64]) -> Contributions:
    """Split scores of ``decision_function`` for a row into contributions of its columns."""
    if isinstance(classifier, HashEmbeddingClassifier):
        return _with_prior(classifier, row, outputs, _of_hash_embedding(classifier, row, outputs))
    if isinstance(classifier, OneVsRestClassifier):
        parts = [
            contributions(classifier.estimators_[output], row, np.zeros(1, dtype=np.int64))
            for output in outputs.tolist()
        ]
        methods = {part.method for part in parts}
        return Contributions(
            np.concatenate([part.of_columns for part in parts], axis=1),
            np.concatenate([part.bias for part in parts]),
            "linear" if methods == {"linear"} else "integrated gradients",
        )
    if isinstance(classifier, ConstantPredictor):
        return Contributions(np.zeros((row.nnz, 1)), classifier.decision_function(row).astype(np.float64), "linear")
    check_explainable(classifier)
    weights = weights_of_linear_model(classifier, row.indices)
    bias = np.broadcast_to(np.asarray(classifier.intercept_, dtype=np.float64), weights.shape[1:])
    return Contributions(row.data[:, np.newaxis] * weights[:, outputs], bias[outputs].copy(), "linear")


def _with_prior(
    classifier: HashEmbeddingClassifier, row: csr_matrix, outputs: NDArray[np.int64], parts: Contributions
) -> Contributions:
    """Move the scores of a row towards those of the class shares, by its length."""
    loss, calibration = classifier._loss, classifier._calibration
    prior, lengths = loss.prior_scores(calibration.class_counts), classifier._model.lengths(classifier._rows(row))
    if prior is None:
        return parts
    share = float(calibration.shares_of_scores(lengths)[0])
    is_binary = len(classifier.classes_) == 2 and not loss.multilabel
    if is_binary and loss.link != "identity":  # its log-odds are not linear in the scores
        total = float(classifier.decision_function(row)[0])
        size = float(parts.of_columns.sum() + parts.bias[0])
        change = np.array([total - share * size])
    else:
        ends = loss.log_odds(prior[np.newaxis]) if is_binary else prior[outputs]
        change = (1 - share) * ends
    return parts._replace(of_columns=share * parts.of_columns, bias=share * parts.bias + change)


def check_explainable(classifier: Any) -> None:
    """Raise an error for a classifier with scores that are not sums over columns."""
    is_linear = all(hasattr(classifier, name) for name in ("coef_", "intercept_", "decision_function"))
    if not is_linear and not isinstance(classifier, HashEmbeddingClassifier | OneVsRestClassifier):
        raise TypeError(_why_not(classifier))
    n_classes = len(classifier.classes_)
    if is_linear and len(weights_of_linear_model(classifier, [0])[0]) != (1 if n_classes == 2 else n_classes):
        raise TypeError(
            f"The weights of a {type(classifier).__name__} of {n_classes} classes are of pairs of classes, not of one "
            "each. Use a classifier with weights for each class, such as LinearSVC."
        )


def _why_not(classifier: Any) -> str:
    name = type(classifier).__name__
    if name in ("SGNNClassifier", "QuantizedSGNNClassifier"):
        return (
            f"explain has no contributions of n-grams for a {name}: its inputs are signs of sums over all n-grams "
            "of a text, so a bit has no share due to one n-gram, and no gradient. Compare the scores of the text "
            "with and without a word instead, or train a TextClassifier(features='characters')."
        )
    if name == "CalibratedClassifierCV":
        return (
            "explain has no contributions for the probabilities of a CalibratedClassifierCV of several classifiers, "
            "which has no decision_function. Explain one of them: model.calibrated_classifiers_[0].estimator."
        )
    return (
        "explain needs a HashEmbeddingClassifier, a TextClassifier, or a linear classifier of scikit-learn with coef_, "
        f"intercept_ and decision_function, at the end of a pipeline of texts; got a {name}."
    )


def weights_of_linear_model(classifier: Any, columns: Any) -> NDArray[np.float64]:
    """Return the weights of columns, of shape (n_columns, n_outputs); ``coef_`` may be sparse or one row."""
    coef: Any = classifier.coef_
    weights = coef[:, columns].toarray() if issparse(coef) else np.atleast_2d(coef)[:, columns]
    return np.asarray(weights, dtype=np.float64).T


def _of_hash_embedding(
    classifier: HashEmbeddingClassifier, row: csr_matrix, outputs: NDArray[np.int64]
) -> Contributions:
    loss, layer = classifier._loss, _layer(classifier)
    is_binary = len(classifier.classes_) == 2 and not loss.multilabel
    vectors, norm = column_vectors(classifier, row.indices, row.data)
    vectors /= norm
    if layer is None or (is_binary and loss.link != "identity"):
        from sklearn_hashnlp.inspection._path_gradients import gradients_of_net

        gradients, bias = gradients_of_net(classifier.net_, loss, vectors.sum(axis=0), outputs, is_binary=is_binary)
        return Contributions(vectors @ gradients.T, bias, "integrated gradients")
    weights, bias = layer
    if is_binary:
        weights, bias = (loss.inverse_temperature * (part[1:] - part[:1]) for part in layer)
    return Contributions(vectors @ weights[outputs].T, bias[outputs], "linear")


def _layer(classifier: HashEmbeddingClassifier) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return the weights and the bias of a classifier without hidden layers."""
    model = classifier._model
    weight, bias = (part.astype(np.float64) for part in model.last_layer)
    return (weight, bias) if model.has_linear_head else None


def column_weights(classifier: Any, columns: NDArray[np.int64], label: Any) -> NDArray[np.float64]:
    """Return the change of a label's score by a value of 1 in each column, without normalization of rows."""
    classes = classifier.classes_.tolist()
    if label not in classes:
        raise ValueError(f"The model has the labels {shortened(classes)}; got {label!r}.")
    output = classes.index(label)
    if isinstance(classifier, HashEmbeddingClassifier):
        layer, loss = _layer(classifier), classifier._loss
        is_binary = len(classes) == 2 and not loss.multilabel
        if layer is None or (is_binary and loss.link != "identity"):
            raise TypeError(
                "The n-grams of a model with hidden layers, a hierarchical softmax or two classes with loss='ova' have "
                "no fixed weights."
            )
        vectors, _ = column_vectors(classifier, columns, np.ones(len(columns), dtype=np.float32))
        own = layer[0][output]
        return np.asarray(vectors @ (loss.inverse_temperature * (own - layer[0][1 - output]) if is_binary else own))
    if isinstance(classifier, OneVsRestClassifier):
        if len(classifier.estimators_) == 1:
            return (1 if output else -1) * column_weights(classifier.estimators_[0], columns, 1)
        return column_weights(classifier.estimators_[output], columns, 1)
    if isinstance(classifier, ConstantPredictor):
        return np.zeros(len(columns))
    weights = weights_of_linear_model(classifier, columns)
    if weights.shape[1] == 1:
        return (1 if output else -1) * weights[:, 0]
    return weights[:, output]


def column_vectors(
    classifier: HashEmbeddingClassifier, columns: NDArray[Any], values: NDArray[Any]
) -> tuple[NDArray[np.float64], float]:
    """Return the vector of each value in a row, and the norm that divides their sum."""
    bag = classifier._model.bag
    if bag is not None:
        return _vectors(bag, columns, values)
    from sklearn_hashnlp.inspection._path_gradients import column_vectors_of_net

    return column_vectors_of_net(classifier.net_, columns, values)


def _vectors(model: LinearModel, columns: NDArray[Any], values: NDArray[Any]) -> tuple[NDArray[np.float64], float]:
    ids, layout = columns.astype(np.int64), model.spec.layout
    located = locate_ids(ids, model.constants, len(model.known), len(model.pool), layout.variant)

    def bags(ends: NDArray[np.int64], norm: int) -> Bags:
        return embed_bags(*located, ends, values.astype(np.float32), *tables, layout._replace(norm=norm))

    tables = model.pool, model.importance
    vectors = bags(np.arange(len(ids) + 1), NO_BAG_NORM).documents
    norm = bags(np.array([0, len(ids)]), layout.norm).norms[0]
    return vectors.astype(np.float64), float(norm)
