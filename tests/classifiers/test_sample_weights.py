"""Weights of rows: zero is absence, and a class's weight multiplies a row's."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.sparse import csr_array

from sklearn_hashnlp.classifiers._labels import Labels
from sklearn_hashnlp.classifiers._sample_weights import apply_class_weight, drop_zero_weights

NAME = "HashEmbeddingClassifier"
X = np.arange(12.0).reshape(4, 3)
Y = np.array([0, 1, 2, 1])
LABELS = Labels(np.array(["a", "b", "c"]), multilabel=False)


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize(
    "y", [Y, np.eye(4), csr_array(np.eye(4))], ids=["labels", "indicator", "sparse indicator"]
)
def test_rows_without_weight_are_left_out(kind, y):
    rows, labels, weights = drop_zero_weights(kind(X), y, [0, 2, 0.5, 0], caller=NAME)
    assert csr_array(rows).toarray().tolist() == X[1:3].tolist()
    assert (
        csr_array(labels.reshape(2, -1)).toarray().tolist()
        == csr_array(y[1:3].reshape(2, -1)).toarray().tolist()
    )
    assert weights.tolist() == [2, 0.5]
    assert weights.dtype == np.float32


def test_arrays_are_not_copied_if_no_row_is_dropped():
    for sample_weight in (None, [1, 2, 3, 4]):
        rows, labels, weights = drop_zero_weights(X, Y, sample_weight, caller=NAME)
        assert rows is X
        assert labels is Y
        assert (None if weights is None else weights.tolist()) == sample_weight


@pytest.mark.parametrize(
    ("sample_weight", "message"),
    [
        (
            [1, -2, 1, 1],
            "HashEmbeddingClassifier takes no negative values in sample_weight, got -2 for row 1",
        ),
        ([0, 0, 0, 0], "cannot train: every value of sample_weight is zero"),
        (
            [1, 1, 1],
            (
                r"one value per row in sample_weight, an array of shape \(4,\). Got one of shape "
                r"\(3,\)"
            ),
        ),
        ([[1], [1], [1], [1]], r"Got one of shape \(4, 1\)"),
        ([1, 1, np.nan, 1], "Input sample_weight contains NaN"),
        ([1, 1, np.inf, 1], "Input sample_weight contains infinity"),
    ],
)
def test_invalid_sample_weights_are_refused(sample_weight, message):
    with pytest.raises(ValueError, match=message):
        drop_zero_weights(X, Y, sample_weight, caller=NAME)


def test_class_weights_multiply():
    own = np.array([1, 2, 3, 4], dtype=np.float32)
    weights = apply_class_weight({"a": 5, "b": 0.5}, LABELS, Y, own, caller=NAME)
    assert weights.tolist() == [5, 1, 3, 2]
    assert weights.dtype == np.float32
    assert apply_class_weight({"a": 5, "b": 0.5}, LABELS, Y, None, caller=NAME).tolist() == [
        5,
        0.5,
        1,
        0.5,
    ]
    assert apply_class_weight(None, LABELS, Y, own, caller=NAME) is own
    # 4 rows, 3 classes: 4 / (3 * 1) but for the class with two rows
    np.testing.assert_allclose(
        apply_class_weight("balanced", LABELS, Y, None, caller=NAME), [4 / 3, 2 / 3, 4 / 3, 2 / 3]
    )


def test_class_weights_of_unknown_labels_are_refused():
    message = rf"^{NAME}: class_weight names 'd', but the labels in y are \['a', 'b', 'c'\]\."
    with pytest.raises(ValueError, match=message):
        apply_class_weight({"d": 2, "a": 3}, LABELS, Y, None, caller=NAME)
    with pytest.raises(ValueError, match="class_weight='balanced' needs one label per row"):
        apply_class_weight(
            "balanced", Labels(np.arange(4), multilabel=True), np.eye(4), None, caller=NAME
        )


@pytest.mark.parametrize(
    ("classes", "given"),
    [
        (["0", "1", "02"], {"1": 3, "02": 2}),  # as command lines and files spell them
        ([0.2, 0.5, 1.5], {0.5: 3, 1.5: 2}),
        ([0, 1, 2], {np.int64(1): 3, 2.0: np.float32(2)}),
        (["a", "b", "c"], {np.str_("b"): 3, "c": 2}),
        # every label is named: the rows of a fold may lack some
        (["a", "b", "c"], {"a": 1, "b": 3, "c": 2, "d": 5}),
    ],
)
def test_class_weights_are_matched_by_equal_labels(classes, given):
    labels = Labels(np.array(classes), multilabel=False)
    assert apply_class_weight(given, labels, Y, None, caller=NAME).tolist() == [1, 3, 2, 3]


@pytest.mark.parametrize("weight", [-1, np.nan, np.inf, 1e39, "2", None, [1]])
def test_invalid_class_weights_are_refused(weight):
    message = re.escape(
        f"takes finite weights of at least 0 in class_weight, got {weight!r} for the label 'b'"
    )
    with pytest.raises(ValueError, match=message):
        apply_class_weight({"a": 2, "b": weight}, LABELS, Y, None, caller=NAME)


def test_class_weights_that_leave_no_row_are_refused():
    with pytest.raises(
        ValueError, match=f"{NAME} cannot train: by class_weight=.* every row has the"
    ):
        apply_class_weight(dict.fromkeys("abc", 0), LABELS, Y, None, caller=NAME)
    assert apply_class_weight({"a": 0}, LABELS, Y, None, caller=NAME).tolist() == [0, 1, 1, 1]
