"""Labels as they come from frames: columns with names, nullable types, missing labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sklearn_hashnlp import HashEmbeddingClassifier, SGNNClassifier, TextClassifier

TEXTS = ["bake the bread", "slice the cheese", "melt cheese on bread", "sharpen a knife", "what?"] * 8
LISTS = [["baking"], ["cheese"], ["baking", "cheese"], ["tools"], []] * 8
NAMES = ["baking", "cheese", "tools"]
MATRIX = np.array([[name in labels for name in NAMES] for labels in LISTS]).astype(int)
FRAME = pd.DataFrame(MATRIX, columns=NAMES)
LABELS = ["food", "food", "food", "tools", "other"] * 8


def classifier(**options):
    return TextClassifier(**{"n_buckets": 1000, "n_embeddings": 1000, "max_epochs": 20, "random_state": 0} | options)


@pytest.fixture(scope="module")
def fitted():
    return classifier().fit(TEXTS, FRAME)


def test_columns_of_a_frame_are_scored_by_their_names(fitted):
    assert fitted.score(TEXTS, FRAME[NAMES[::-1]]) == fitted.score(TEXTS, FRAME) == 1
    with pytest.raises(ValueError, match=r"has the labels \['baking', 'cheese', 'tools'\], but y has the columns"):
        fitted.score(TEXTS, FRAME.rename(columns={"tools": "ovens"}))
    with pytest.raises(ValueError, match="columns of a matrix in the same order"):
        classifier().fit(TEXTS, FRAME).partial_fit(TEXTS, FRAME[NAMES[::-1]])


def test_lists_and_matrices_are_scored_alike(fitted):
    assert fitted.score(TEXTS, LISTS) == 1
    assert fitted.score(TEXTS[:2], [["baking"], ["cheese", "new"]]) == 0.5
    by_lists = classifier().fit(TEXTS, LISTS)
    assert by_lists.score(TEXTS, FRAME) == by_lists.score(TEXTS, MATRIX) == 1
    with pytest.raises(ValueError, match="takes lists of labels or an indicator matrix"):
        fitted.score(TEXTS, LABELS)


def test_lists_from_a_parquet_file_are_arrays(fitted, tmp_path):
    pd.DataFrame({"text": TEXTS, "topics": LISTS}).to_parquet(tmp_path / "recipes.parquet")
    recipes = pd.read_parquet(tmp_path / "recipes.parquet")
    model = classifier().fit(recipes["text"], recipes["topics"])
    assert model.predict(TEXTS).tolist() == LISTS
    assert model.score(recipes["text"], recipes["topics"]) == 1


@pytest.mark.parametrize("kind", ["boolean", "int64[pyarrow]"])
def test_frames_of_nullable_types_are_matrices(fitted, kind):
    model = classifier().fit(TEXTS, FRAME.astype(kind))
    assert model.predict_proba(TEXTS).tobytes() == fitted.predict_proba(TEXTS).tobytes()


@pytest.mark.parametrize("kind", ["UInt8", "boolean", "int64[pyarrow]"])
def test_labels_of_nullable_types_keep_their_kind(kind):
    column = pd.Series([0, 1, 1, 1, 0] * 8, dtype=kind)
    model = classifier().fit(TEXTS, column)
    assert model.classes_.dtype.kind == model.predict(TEXTS).dtype.kind == column.dtype.kind
    assert model.score(TEXTS, column) == 1
    assert classifier().partial_fit(TEXTS, column, classes=column[:2]).classes_.dtype.kind == column.dtype.kind
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
        with pytest.raises(ValueError, match=r"the label in row 3 of y is missing .* Drop such rows"):
            classifier().fit(TEXTS, y)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("model", [HashEmbeddingClassifier(), SGNNClassifier()])
def test_a_frame_with_texts_needs_a_transformer(model, frame):
    for columns in ({"text": TEXTS}, {"length": range(40), "text": TEXTS}):
        with pytest.raises(ValueError, match=r"takes rows of numbers, got texts.* within a ColumnTransformer"):
            model.fit(frame(columns), LABELS)
