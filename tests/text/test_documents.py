"""Checks of documents, and of texts where rows are expected."""

from collections import deque

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import coo_array, csr_array

from sklearn_hashnlp import HashEmbeddingClassifier, make_text_classifier
from sklearn_hashnlp.text import distort_texts
from sklearn_hashnlp.text._documents import as_documents, refuse_texts

TEXTS = ["a fine, funny film, and longer than forty letters", "dull"]


def test_texts_in_any_column_are_refused():
    message = (
        r"^X takes rows of numbers, got texts, the first of them 'a fine, funny film, and longer "
        r"than fort'\.\.\.\. "
    )
    series = pd.Series(TEXTS, index=[5, 4]), pl.Series(TEXTS)
    for column in (
        TEXTS,
        tuple(TEXTS),
        deque(TEXTS),
        np.array(TEXTS),
        np.array(TEXTS, dtype=object),
        *series,
    ):
        with pytest.raises(
            ValueError, match=message + r"Put a transformer of texts before it, as in Y\(\)\.$"
        ):
            refuse_texts(column, caller="X", makes_rows="Y()")


def test_a_short_text_is_shown_whole():
    with pytest.raises(ValueError, match=r"the first of them 'dull'\. Put"):
        refuse_texts(TEXTS[1:], caller="X", makes_rows="Y()")
    with pytest.raises(ValueError, match="got the text 'one text'"):
        HashEmbeddingClassifier().fit("one text", [0])


def test_a_single_text_is_refused_with_advice_that_exists():
    model = make_text_classifier(random_state=0).fit(["fine film", "dull film"], ["good", "bad"])
    # a classifier's user calls predict, a function has no methods
    for call in (model.predict, distort_texts):
        with pytest.raises(ValueError, match=r"(?s)^(?!.*transform\().*in a list, \[text\]"):
            call("one text")


def test_everything_else_is_accepted():
    others = [
        3.0,
        None,
        np.array(3.0),
        np.array("text"),
        [],
        [1.0, 2.0],
        [["1", "x"]],
        np.array([TEXTS]),
        iter(TEXTS),
    ]
    frames = [pd.DataFrame({"number": ["1.5", "2"]}), pl.DataFrame({"number": [1.5, 2.0]})]
    for rows in (*others, *frames, csr_array(np.ones((2, 4))), coo_array(np.ones(4))):
        refuse_texts(rows, caller="X", makes_rows="Y()")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_frame_with_a_column_of_texts_is_refused(frame):
    with pytest.raises(
        ValueError,
        match=r"X takes rows of numbers, got texts, .* as in Y\(\), within a ColumnTransf",
    ):
        refuse_texts(frame({"length": [1, 2], "text": TEXTS[:2]}), caller="X", makes_rows="Y()")


ATTRIBUTES = [
    *("column", "columns", "values", "index", "shape", "dtype", "ndim", "iloc", "kind"),
    *("to_list", "tolist", "to_pylist", "to_numpy", "items", "name"),
]  # of frames and columns


@pytest.mark.parametrize("name", ATTRIBUTES)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_column_may_be_named_as_an_attribute(frame, name):
    assert as_documents(frame({name: TEXTS}), caller="X") == TEXTS


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_labels_and_features_may_be_named_as_attributes(frame):
    rows = np.random.default_rng(0).integers(0, 2, (20, len(ATTRIBUTES)))
    columns = frame(dict(zip(ATTRIBUTES, rows.T, strict=True)))
    model = HashEmbeddingClassifier(loss="ova", random_state=0).fit(columns, columns)
    assert model.classes_.tolist() == model.feature_names_in_.tolist() == ATTRIBUTES
    assert model.predict(columns).shape == rows.shape
