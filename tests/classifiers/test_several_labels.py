"""Texts with any number of labels each, as lists, as a matrix or as a frame; labels of nullable
types, missing ones.
"""

from __future__ import annotations

import runpy

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score

from sklearn_hashnlp import (
    HashEmbeddingClassifier,
    SGNNClassifier,
    TextClassifier,
    export_predictor,
    load_model,
    save_model,
)
from sklearn_hashnlp.inspection import explain
from tests.trainings import assert_same_bits

TEXTS = [
    "bake the bread",
    "slice the cheese",
    "melt cheese on bread",
    "sharpen a knife",
    "what?",
] * 8
LISTS = [["baking"], ["cheese"], ["baking", "cheese"], ["tools"], []] * 8
NAMES = ["baking", "cheese", "tools"]
MATRIX = np.array([[name in labels for name in NAMES] for labels in LISTS]).astype(int)
FRAME = pd.DataFrame(MATRIX, columns=NAMES)
LABELS = ["food", "food", "food", "tools", "other"] * 8


def classifier(**options):
    return TextClassifier(
        **{"n_buckets": 1000, "n_embeddings": 1000, "max_epochs": 20, "random_state": 0} | options
    )


@pytest.fixture(scope="module")
def fitted():
    return classifier().fit(TEXTS, LISTS)


def test_lists_of_labels_go_in_and_come_out(fitted):
    assert fitted.classes_.tolist() == NAMES
    assert fitted.predict(TEXTS).tolist() == LISTS
    assert fitted.predict_proba(TEXTS).shape == (40, 3)
    assert fitted.score(TEXTS, LISTS) == 1
    assert fitted.score(TEXTS[:2], [["baking"], ["baking"]]) == 0.5
    (best,) = fitted.predict_topk(["melt cheese on bread"], k=3, threshold=0.5)
    assert {label for label, _ in best} == {"baking", "cheese"}
    with pytest.raises(
        ValueError, match=r"loss='softmax'\) takes one label per row, got several .* Set loss='ova'"
    ):
        classifier(loss="softmax").fit(TEXTS, LISTS)


@pytest.mark.parametrize(
    ("y", "predicted"),
    [
        *(([kind(row) for row in LISTS], LISTS) for kind in (tuple, frozenset)),
        # arrays: as parquet has
        *((pd.Series([kind(row) for row in LISTS]), LISTS) for kind in (list, set, np.array)),
        *(
            (matrix, MATRIX)
            for matrix in (MATRIX, MATRIX.astype(bool), csr_array(MATRIX), MATRIX.tolist())
        ),
        *((frame(MATRIX), MATRIX) for frame in (pd.DataFrame, pl.DataFrame)),
        *((FRAME.astype(dtype), MATRIX) for dtype in ("boolean", "int64[pyarrow]")),
    ],
    ids=[
        *("tuples", "sets", "series of lists", "series of sets", "series of arrays"),
        *(
            "matrix",
            "booleans",
            "sparse",
            "nested lists",
            "pandas",
            "polars",
            "nullable",
            "pyarrow",
        ),
    ],
)
def test_labels_in_any_container_give_the_same_model(fitted, y, predicted):
    model = classifier().fit(TEXTS, y)
    assert_same_bits(model.predict_proba(TEXTS), fitted.predict_proba(TEXTS))
    assert model.predict(TEXTS).tolist() == (
        predicted if predicted is LISTS else predicted.tolist()
    )
    for others in (y, MATRIX, *([LISTS] if model.classes_.tolist() == NAMES else [])):
        assert model.score(TEXTS, others) == 1


@pytest.mark.parametrize(
    "frame", [pd.DataFrame, lambda matrix, columns: pl.DataFrame(matrix, schema=columns)]
)
def test_the_columns_of_a_frame_are_the_labels(frame):
    model = classifier().fit(TEXTS, frame(MATRIX, columns=NAMES))
    assert model.classes_.tolist() == NAMES
    assert model.predict_topk(["slice the cheese"], k=1)[0][0][0] == "cheese"
    rows = HashEmbeddingClassifier(loss="ova", n_buckets=9, n_embeddings=9).fit(
        MATRIX, frame(MATRIX, columns=NAMES)
    )
    assert rows.classes_.tolist() == NAMES


def test_one_label_that_a_text_has_or_has_not(tmp_path):
    wanted = [[label for label in row if label == "cheese"] for row in LISTS]
    model = classifier().fit(TEXTS, wanted)
    assert model.classes_.tolist() == ["cheese"]
    assert model.score(TEXTS, wanted) == 1
    probabilities = model.predict_proba(TEXTS)
    assert probabilities.shape == model.decision_function(TEXTS).shape == (40, 1)
    save_model(model, tmp_path / "m")
    export_predictor(model, tmp_path / "cheese.py")
    exported = runpy.run_path(str(tmp_path / "cheese.py"))
    for predict, predict_proba in (
        (load_model(tmp_path / "m").predict, load_model(tmp_path / "m").predict_proba),
        (exported["predict"], exported["predict_proba"]),
    ):
        assert predict(TEXTS).tolist() == wanted
        np.testing.assert_allclose(predict_proba(TEXTS), probabilities, atol=1e-6)
    explanation = explain(model, "slice the cheese", labels=["cheese"])
    assert explanation.labels.tolist() == explanation.predicted == ["cheese"]
    assert "score of 'cheese'" in str(explanation)
    streamed = (
        classifier()
        .partial_fit(TEXTS, wanted, classes=["cheese"])
        .partial_fit(TEXTS[:2], [[], ["cheese"]])
    )
    assert streamed.classes_.tolist() == ["cheese"]


def test_the_classifiers_of_rows_take_lists_too():
    for model in (
        HashEmbeddingClassifier(loss="ova", n_buckets=99, n_embeddings=99),
        SGNNClassifier(loss="ova"),
    ):
        model.set_params(max_epochs=30, random_state=0).fit(MATRIX, LISTS)
        assert model.classes_.tolist() == NAMES
        assert model.score(MATRIX, LISTS) > 0.7


def test_cross_validation_and_grid_search_take_lists():
    assert cross_val_score(classifier(), TEXTS, [set(row) for row in LISTS], cv=2).mean() == 1
    search = GridSearchCV(classifier(), {"learning_rate": [0.1, 0.2]}, cv=KFold(2)).fit(
        TEXTS, LISTS
    )
    assert search.predict(["bread and cheese"]).tolist() == [["baking", "cheese"]]
    assert cross_val_predict(classifier(), TEXTS, LISTS, cv=KFold(2)).tolist() == LISTS


def test_lists_are_learned_from_a_stream():
    model = classifier()
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        model.partial_fit(TEXTS[:5], LISTS[:5])
    for _ in range(30):
        model.partial_fit(TEXTS[:5], LISTS[:5], classes=[*NAMES, "drinks"])
    assert model.classes_.tolist() == ["baking", "cheese", "drinks", "tools"]
    assert model.predict(TEXTS[:5]).tolist() == LISTS[:5]
    with pytest.raises(ValueError, match="The label 'ovens' in y was not seen before"):
        model.partial_fit(["preheat it"], [["baking", "ovens"]])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([["a"], "b"], r"takes a list of labels for each row of y or for none, got 'b' in row 1"),
        ([[], []], "got only empty lists in y"),
        ([["a", 1], ["b"]], "all strings or all numbers in y, got int and str"),
        (pd.DataFrame(MATRIX[:2], columns=["a", "a", "b"]), "columns of y with different names"),
    ],
)
def test_what_are_no_lists_of_labels_is_refused(y, message):
    with pytest.raises((ValueError, TypeError), match=message):
        classifier().fit(["one", "two"], y)


def test_columns_of_a_frame_are_scored_by_their_names():
    by_frame = classifier().fit(TEXTS, FRAME)
    assert by_frame.score(TEXTS, FRAME[NAMES[::-1]]) == by_frame.score(TEXTS, FRAME) == 1
    with pytest.raises(
        ValueError, match=r"has the labels \['baking', 'cheese', 'tools'\], but y has the columns"
    ):
        by_frame.score(TEXTS, FRAME.rename(columns={"tools": "ovens"}))
    with pytest.raises(ValueError, match="columns of a matrix in the same order"):
        by_frame.partial_fit(TEXTS, FRAME.rename(columns={"tools": "ovens"}))
    assert by_frame.score(TEXTS[:2], [["baking"], ["cheese", "new"]]) == 0.5
    with pytest.raises(ValueError, match="takes lists of labels or an indicator matrix"):
        by_frame.score(TEXTS, LABELS)


@pytest.mark.parametrize("kind", ["UInt8", "boolean", "int64[pyarrow]"])
def test_labels_of_nullable_types_keep_their_kind(kind):
    column = pd.Series([0, 1, 1, 1, 0] * 8, dtype=kind)
    model = classifier().fit(TEXTS, column)
    assert model.classes_.dtype.kind == model.predict(TEXTS).dtype.kind == column.dtype.kind
    assert model.score(TEXTS, column) == 1
    assert (
        classifier().partial_fit(TEXTS, column, classes=column[:2]).classes_.dtype.kind
        == column.dtype.kind
    )
    with pytest.raises(ValueError, match=r"the label in row 3 of y is missing .* Drop such rows"):
        classifier().fit(TEXTS, column.where(column.index != 3))


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_a_missing_label_is_named_by_its_row(missing):
    labels = [*LABELS[:3], missing, *LABELS[4:]]
    for y in (
        labels,
        pd.Series(labels),
        pd.Series(labels, dtype="string[pyarrow]"),
        pd.Series(labels, dtype="category"),
    ):
        with pytest.raises(
            ValueError, match=r"the label in row 3 of y is missing .* Drop such rows"
        ):
            classifier().fit(TEXTS, y)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("model", [HashEmbeddingClassifier(), SGNNClassifier()])
def test_a_frame_with_texts_needs_a_transformer(model, frame):
    for columns in ({"text": TEXTS}, {"length": range(40), "text": TEXTS}):
        with pytest.raises(
            ValueError, match=r"takes rows of numbers, got texts.* within a ColumnTransformer"
        ):
            model.fit(frame(columns), LABELS)
