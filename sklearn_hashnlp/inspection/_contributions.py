"""Contributions of the columns of a row to the scores of a classifier."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

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
    return _with_prior(classifier, row, outputs, _of_hash_embedding(classifier, row, outputs))


def _with_prior(
    classifier: HashEmbeddingClassifier,
    row: csr_matrix,
    outputs: NDArray[np.int64],
    parts: Contributions,
) -> Contributions:
    """Move the scores of a row towards those of the class shares, by its length."""
    loss, calibration = classifier._loss, classifier._calibration
    prior, lengths = (
        loss.prior_scores(calibration.class_counts),
        classifier._model.lengths(classifier._rows(row)),
    )
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
    if isinstance(classifier, HashEmbeddingClassifier):
        return
    name = type(classifier).__name__
    if name in ("SGNNClassifier", "QuantizedSGNNClassifier"):
        raise TypeError(
            f"explain has no contributions of n-grams for a {name}: its inputs are signs of sums "
            "over all n-grams of a text, so a bit has no share due to one n-gram, and no "
            "gradient. Compare the scores of the text with and without a word instead, or train a "
            "TextClassifier(features='characters')."
        )
    raise TypeError(
        "explain needs a TextClassifier, or a HashEmbeddingClassifier at the end of a pipeline of "
        f"texts; got a {name}. For estimators of scikit-learn use a tool such as eli5 or shap."
    )


def _of_hash_embedding(
    classifier: HashEmbeddingClassifier, row: csr_matrix, outputs: NDArray[np.int64]
) -> Contributions:
    loss, layer = classifier._loss, _layer(classifier)
    is_binary = len(classifier.classes_) == 2 and not loss.multilabel
    vectors, norm = column_vectors(classifier, row.indices, row.data)
    vectors /= norm
    if layer is None or (is_binary and loss.link != "identity"):
        from sklearn_hashnlp.inspection._path_gradients import gradients_of_net

        gradients, bias = gradients_of_net(
            classifier.net_, loss, vectors.sum(axis=0), outputs, is_binary=is_binary
        )
        return Contributions(vectors @ gradients.T, bias, "integrated gradients")
    weights, bias = layer
    if is_binary:
        weights, bias = (loss.inverse_temperature * (part[1:] - part[:1]) for part in layer)
    return Contributions(vectors @ weights[outputs].T, bias[outputs], "linear")


def _layer(
    classifier: HashEmbeddingClassifier,
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return the weights and the bias of a classifier without hidden layers."""
    model = classifier._model
    weight, bias = (part.astype(np.float64) for part in model.last_layer)
    return (weight, bias) if model.has_linear_head else None


def column_weights(
    classifier: HashEmbeddingClassifier, columns: NDArray[np.int64], label: Any
) -> NDArray[np.float64]:
    """Return the change of a label's score by a value of 1 per column, without normalization."""
    classes = classifier.classes_.tolist()
    if label not in classes:
        raise ValueError(f"The model has the labels {shortened(classes)}; got {label!r}.")
    output = classes.index(label)
    layer, loss = _layer(classifier), classifier._loss
    is_binary = len(classes) == 2 and not loss.multilabel
    if layer is None or (is_binary and loss.link != "identity"):
        raise TypeError(
            "The n-grams of a model with hidden layers, a hierarchical softmax or two classes "
            "with loss='ova' have no fixed weights."
        )
    vectors, _ = column_vectors(classifier, columns, np.ones(len(columns), dtype=np.float32))
    own = layer[0][output]
    return np.asarray(
        vectors @ (loss.inverse_temperature * (own - layer[0][1 - output]) if is_binary else own)
    )


def column_vectors(
    classifier: HashEmbeddingClassifier, columns: NDArray[Any], values: NDArray[Any]
) -> tuple[NDArray[np.float64], float]:
    """Return the vector of each value in a row, and the norm that divides their sum."""
    bag = classifier._model.bag
    if bag is not None:
        return _vectors(bag, columns, values)
    from sklearn_hashnlp.inspection._path_gradients import column_vectors_of_net

    return column_vectors_of_net(classifier.net_, columns, values)


def _vectors(
    model: LinearModel, columns: NDArray[Any], values: NDArray[Any]
) -> tuple[NDArray[np.float64], float]:
    ids, layout = columns.astype(np.int64), model.spec.layout
    located = locate_ids(ids, model.constants, len(model.known), len(model.pool), layout.variant)

    def bags(ends: NDArray[np.int64], norm: int) -> Bags:
        return embed_bags(
            *located, ends, values.astype(np.float32), *tables, layout._replace(norm=norm)
        )

    tables = model.pool, model.importance
    vectors = bags(np.arange(len(ids) + 1), NO_BAG_NORM).documents
    norm = bags(np.array([0, len(ids)]), layout.norm).norms[0]
    return vectors.astype(np.float64), float(norm)
