"""Labels become numbers, and what is no label is refused by name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.exceptions import DataConversionWarning

from sklearn_hashnlp.classifiers import HashEmbeddingClassifier, SGNNClassifier
from sklearn_hashnlp.classifiers._labels import Labels, check_targets, read_targets

NAME = "HashEmbeddingClassifier"
INDICATOR = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0]])


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["b", "ü", "a"]),
        np.array(["b", "ü", "a"], dtype=object),
        np.array([5, -2, 7]),
        np.array([True, False]),
        np.array([1.0, 3.0]),
        np.array(["2024-06-30", "2024-01-01"], dtype="datetime64[D]"),
    ],
    ids=str,
)
def test_labels_are_encoded_as_indices_of_sorted_classes(labels):
    y = np.resize(labels, 11)
    found = Labels.of(y, caller=NAME)
    assert not found.multilabel
    assert found.classes.dtype == labels.dtype
    assert found.classes.tolist() == sorted(labels.tolist())
    numbers = found.encode(y)
    assert numbers.dtype == np.int64
    assert found.classes[numbers].tolist() == y.tolist()
    assert found.encode(y[:1]).tolist() == [sorted(labels.tolist()).index(y.tolist()[0])]


def test_an_unseen_label_is_named():
    with pytest.raises(
        ValueError,
        match=r"The label 'd' in y was not seen before: .* \['a', 'b'\]\. .* as classes\.$",
    ):
        Labels(np.array(["a", "b"]), multilabel=False).encode(np.array(["a", "d"]))
    many = Labels(np.arange(1000), multilabel=False)
    with pytest.raises(
        ValueError,
        match=r"The label 1000 in y .*: the labels are \[0, .*, 19\] and 980 more\. To add it",
    ):
        many.encode(np.array([1000]), may_add=True)
    with pytest.raises(
        ValueError, match=r"\[\*model\.classes_, 1000, .*, 1019, \.\.\.\]\); or call fit"
    ):
        many.encode(np.arange(1000, 1021), may_add=True)
    with pytest.raises(ValueError, match="The label '1' in y was not seen before"):
        Labels(np.array([0, 1]), multilabel=False).encode(np.array(["1"]))


@pytest.mark.parametrize(
    ("y", "classes", "message"),
    [
        (["a", "a"], None, "needs .* got one class only: 'a'"),
        (["a"], ["a", "a"], "needs .* got one class only: 'a'"),
        (["a"], [], "needs at least two labels in classes, got none"),
    ],
)
def test_less_than_two_classes_are_refused(y, classes, message):
    with pytest.raises(ValueError, match=message):
        Labels.of(np.array(y), classes, caller=NAME)


@pytest.mark.parametrize(
    "kind", [np.asarray, csr_array, csr_matrix, lambda y: y.astype(bool), lambda y: y * 1.0]
)
def test_an_indicator_matrix(kind):
    y = check_targets(kind(INDICATOR), None, loss="ova", caller=NAME)
    found = Labels.of(y, caller=NAME)
    assert found.multilabel
    assert found.classes.tolist() == [0, 1, 2]
    targets = found.encode(y)
    assert targets.dtype == np.float32
    assert targets.tolist() == INDICATOR.tolist()


def test_the_classes_of_an_indicator_are_its_columns():
    assert Labels.of(INDICATOR, [0, 1, 2], caller=NAME).multilabel
    for classes in ([0, 2, 1], [0, 1], ["a", "b", "c"]):
        with pytest.raises(
            ValueError,
            match=r"With an indicator matrix of 3 columns classes must be None or .* 0 to 2",
        ):
            Labels.of(INDICATOR, classes, caller=NAME)


@pytest.mark.parametrize("loss", ["softmax", "hinge"])
def test_an_indicator_matrix_needs_ova(loss):
    with pytest.raises(
        ValueError, match=rf"\(loss='{loss}'\) takes one label per row, .* Set loss='ova'"
    ):
        check_targets(INDICATOR, None, loss=loss, caller=NAME)
    with pytest.raises(
        ValueError, match=r"a sparse matrix of one column, of shape \(3, 1\), in y. Give y.toarray"
    ):
        check_targets(csr_array(INDICATOR[:, :1]), None, loss=loss, caller=NAME)
    y, named = read_targets([["x"], [], ["x"]], caller=NAME)  # a matrix of one column
    assert check_targets(y, named, loss="auto", caller=NAME).toarray().tolist() == [[1], [0], [1]]
    with pytest.raises(
        ValueError, match=rf"\(loss='{loss}'\) takes one label per row, got several in y: lists of"
    ):
        check_targets(y, named, loss=loss, caller=NAME)


@pytest.mark.parametrize(
    "y",
    [
        INDICATOR * 2,
        INDICATOR - 1,
        INDICATOR * 0.5,
        np.arange(9).reshape(3, 3),
        csr_array(INDICATOR * 3),
    ],
    ids=str,
)
def test_other_matrices_are_refused(y):
    with pytest.raises(ValueError, match=r"Unknown label type: .* a matrix of zeros and ones"):
        check_targets(y, None, loss="ova", caller=NAME)


def test_duplicate_cells_are_refused():
    twice = csr_array((np.ones(3, dtype=int), [0, 0, 1], [0, 2, 3]), shape=(2, 3))
    with pytest.raises(
        ValueError, match=r"a matrix of zeros and ones .* Got a matrix with the values \[2\]"
    ):
        check_targets(twice, None, loss="ova", caller=NAME)
    assert twice.nnz == 3  # the caller's matrix stays as it was
    unsorted = csr_array((np.ones(3, dtype=int), [2, 0, 1], [0, 2, 3]), shape=(2, 3))
    assert check_targets(unsorted, None, loss="ova", caller=NAME).toarray().tolist() == [
        [1, 0, 1],
        [0, 1, 0],
    ]


def test_labels_of_mixed_types_are_refused():
    mixed = np.array(["a", 1], dtype=object)
    with pytest.raises(
        TypeError, match=f"{NAME} takes labels that are all strings or .* in y, got int and str"
    ):
        check_targets(mixed, None, loss="softmax", caller=NAME)
    with pytest.raises(TypeError, match=r"all numbers in classes, got NoneType and str. Convert"):
        Labels.of(np.array(["a", "b"]), np.array(["a", None], dtype=object), caller=NAME)


def test_a_column_of_labels_is_taken_with_a_warning():
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        assert check_targets(np.array([["a"], ["b"]]), None, loss="ova", caller=NAME).tolist() == [
            "a",
            "b",
        ]
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        check_targets(np.array([0.1, 0.2]), None, loss="softmax", caller=NAME)


@pytest.mark.parametrize(
    ("labels", "y", "wanted"),
    [
        (
            Labels(np.arange(3), multilabel=True),
            np.array([0, 1, 2]),
            "an indicator matrix of 3 columns",
        ),
        (Labels(np.arange(3), multilabel=True, lists=True), np.array([0, 1, 2]), "lists of labels"),
        (
            Labels(np.arange(3), multilabel=True),
            INDICATOR[:, :2],
            "an indicator matrix of 3 columns",
        ),
        (Labels(np.arange(3), multilabel=False), INDICATOR, "one label per row"),
    ],
)
def test_the_other_kind_of_y_is_refused(labels, y, wanted):
    with pytest.raises(
        ValueError, match=f"The model was fitted with {wanted} in y, got y of shape"
    ):
        labels.encode(y)


def test_training_continues_with_the_same_labels_only():
    ab = Labels(np.array(["a", "b"]), multilabel=False)
    model = HashEmbeddingClassifier()
    ab.check_same(Labels(np.array(["a", "b"], dtype=object), multilabel=False), model)
    with pytest.raises(
        ValueError, match=r"the labels \['a', 'c'\]: it was trained with the labels \['a', 'b'\]"
    ):
        ab.check_same(Labels(np.array(["a", "c"]), multilabel=False), model)
    with pytest.raises(
        ValueError, match=r"several of the labels \[0, 1\]: it was trained with the labels \[0, 1\]"
    ):
        Labels(np.arange(2), multilabel=False).check_same(
            Labels(np.arange(2), multilabel=True), model
        )


@pytest.mark.parametrize("container", [list, tuple, lambda y: np.array(y, dtype=object), pd.Series])
@pytest.mark.parametrize(
    "labels", [[1, "x"], [1.5, "x"], [True, "x"], [np.int64(1), np.str_("x")]], ids=str
)
def test_labels_of_mixed_types_are_refused_in_any_container(container, labels):
    with pytest.raises(TypeError, match=r"all strings or all numbers in y, got .* and str"):
        HashEmbeddingClassifier().fit(np.eye(4), container(labels * 2))
    with pytest.raises(TypeError, match="all strings or all numbers in classes, got"):
        HashEmbeddingClassifier().partial_fit(
            np.eye(2), ["x", "y"], classes=container([*labels, "y"])
        )


@pytest.mark.parametrize("kind", [HashEmbeddingClassifier, SGNNClassifier])
def test_strings_of_numpy(kind):
    y = np.array(["b", "a"] * 5, dtype=np.dtypes.StringDType())
    model = kind(random_state=0).fit(np.eye(10), y)
    assert model.classes_.dtype.kind == "U"
    assert model.classes_.tolist() == ["a", "b"]
    assert model.score(np.eye(10), y) == model.score(np.eye(10), y.tolist())
    model.partial_fit(np.eye(10), y)
    missing = np.array(["b", None] * 5, dtype=np.dtypes.StringDType(na_object=None))
    with pytest.raises(ValueError, match=r"the label in row 1 of y is missing \(None\)"):
        kind().fit(np.eye(10), missing)


@pytest.mark.parametrize(
    "y", [["spam", "sp\xadam"] * 2, [["spam"], ["sp\xadam"]] * 2], ids=["labels", "lists"]
)
def test_labels_that_look_the_same_are_one_warning(y):
    with pytest.warns(
        UserWarning, match=r"HashEmbeddingClassifier: labels that look the same .* 'sp\\xadam'"
    ) as record:
        HashEmbeddingClassifier(loss="ova" if isinstance(y[0], list) else "auto").fit(np.eye(4), y)
    assert len(record) == 1


def test_lists_in_text_are_one_warning():
    with pytest.warns(
        UserWarning, match=r"the label \"\['a', 'b'\]\" is a list .*ast.literal_eval"
    ) as record:
        HashEmbeddingClassifier().fit(np.eye(4), ["['a', 'b']", "['a']"] * 2)
    assert len(record) == 1
    HashEmbeddingClassifier().fit(np.eye(4), ["[0, 10]", "[a]"] * 2)
