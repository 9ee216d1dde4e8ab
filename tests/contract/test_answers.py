"""Answers of all public estimators: after fit, without a trace, honest about what they take, and as
data frames.
"""

from __future__ import annotations

import inspect

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

from sklearn_hashnlp import load_model, save_model
from tests.contract.estimators import (
    BITS,
    CASES,
    LABELS,
    ONE_OF_A_KIND,
    TEXTS,
    answers,
    as_bytes,
    fitted,
)
from tests.trainings import assert_same_bits

OF_TEXTS = [name for name in ONE_OF_A_KIND if get_tags(CASES[name].make()).input_tags.string]
OF_ROWS = [name for name in ONE_OF_A_KIND if name not in OF_TEXTS]
DENSE = {
    "SGNNProjector": 400,
    "SGNNWordProjector": 15,
    "SGNNSentenceEncoder": 24,
    "DistilledSentenceEncoder": 5,
    "CooccurrenceEncoder": 5,
}  # and how many columns
SPARSE = [
    "HashingNgramVectorizer",
    "FastTextVectorizer",
    "FrequentNgramVectorizer",
    "AutoNgramVectorizer",
    "NgramVectorUnion",
    "CharNgramFeaturizer",
]
CHOOSES_IN_FIT = {"AutoNgramVectorizer"}  # without, it counts words


@pytest.mark.parametrize("name", CASES)
def test_answers_write_nothing_on_the_model(name):
    model = fitted(name)
    if name == "HashingNgramVectorizer":
        model.transform(["a"])  # writes _stop_words_id, as scikit-learn's HashingVectorizer does
    before, content = dict(vars(model)), joblib.hash(model)
    first = answers(name, model)
    assert joblib.hash(model) == content
    assert all(vars(model)[attribute] is value for attribute, value in before.items())
    assert set(vars(model)) == set(before)
    assert answers(name, model) == first


@pytest.mark.parametrize("name", CASES)
def test_no_rows_have_empty_answers(name):
    case, model = CASES[name], fitted(name)
    for method in case.answers:
        if method == "perplexity":  # of no words: an error
            continue
        answer = getattr(model, method)
        some, none = answer(case.asked), answer(case.asked[:0])
        if isinstance(some, list):
            assert none == []
            continue
        assert type(none) is type(some)
        assert none.dtype == some.dtype
        assert none.shape == (0, *some.shape[1:])


OTHER_METHODS = {
    "analogy": ("a", "b", "c"),
    "context_vectors": (["a b"],),
    "get_feature_names_out": (),
    "learned_tree": (["a b"],),
    "most_similar": ("a", ["a b"]),
    "predict": (["a b"],),
    "predict_topk": (["a b"],),
    "rank": (["a b"],),
    "sample": (),
    "save_word2vec": ("nowhere",),
    "score": (["a b"], None),
    "similarity": (["a"], ["b"]),
    "size_report": (),
}


@pytest.mark.parametrize("name", ONE_OF_A_KIND)
def test_an_unfitted_model_says_so_or_needs_no_fit(name):
    case, model = CASES[name], CASES[name].make()
    if not get_tags(model).requires_fit:
        assert (answers(name, model) == answers(name, fitted(name))) is (name not in CHOOSES_IN_FIT)
        return
    for method, arguments in {
        **OTHER_METHODS,
        **dict.fromkeys(case.answers, (case.asked,)),
    }.items():
        if hasattr(model, method):
            n_parameters = len(inspect.signature(getattr(model, method)).parameters)
            with pytest.raises(NotFittedError, match=name):
                getattr(model, method)(*arguments[:n_parameters])


@pytest.mark.parametrize("name", ONE_OF_A_KIND)
def test_tags_say_what_it_takes(name):
    model, case = CASES[name].make(), CASES[name]
    tags = get_tags(model)
    assert tags.input_tags.two_d_array == (name in OF_ROWS)
    assert tags.target_tags.required == (case.y is not None)
    assert (tags.transformer_tags is not None) == hasattr(model, "transform")
    predicts = case.y is not None and not hasattr(model, "transform")
    assert tags.estimator_type == ("classifier" if predicts else None)
    assert (
        get_tags(fitted(name)) == tags or "estimator" in inspect.signature(type(model)).parameters
    )
    if name in OF_TEXTS:
        assert not hasattr(fitted(name), "n_features_in_")
        return
    rows = csr_array(BITS)
    if tags.input_tags.sparse:
        assert answers(name, CASES[name].make().fit(rows, LABELS))
    else:
        with pytest.raises(
            TypeError, match="Sparse data was passed for X, but dense data is required"
        ):
            CASES[name].make().fit(rows, LABELS)


@pytest.mark.parametrize("name", OF_ROWS)
def test_rows_have_the_width_and_the_names_they_had_in_fit(name, tmp_path):
    frame = pd.DataFrame(BITS.astype(float), columns=[f"bit{number}" for number in range(24)])
    model = CASES[name].make().fit(frame, LABELS)
    assert model.n_features_in_ == 24
    save_model(model, tmp_path)
    for one in (model, load_model(tmp_path)):
        assert one.feature_names_in_.tolist() == frame.columns.tolist()
    method = getattr(model, CASES[name].answers[0])
    with pytest.raises(
        ValueError, match=f"X has 23 features, but {name} is expecting 24 features as input"
    ):
        getattr(fitted(name), CASES[name].answers[0])(BITS[:, :23])
    with pytest.raises(ValueError, match="The feature names should match"):
        method(frame.rename(columns={"bit3": "z"}))


@pytest.mark.parametrize("name", OF_ROWS)
def test_texts_instead_of_rows_are_refused_with_advice(name):
    for method in ("fit", CASES[name].answers[0]):
        model = fitted(name)
        with pytest.raises(
            ValueError, match=rf"{name} takes rows .* got texts, .*{TEXTS[0]}.* before it, as in "
        ):
            getattr(model, method)(TEXTS, *([LABELS] if method == "fit" else []))


@pytest.mark.parametrize("name", DENSE)
def test_dense_rows_can_be_frames(name):
    model = fitted(name)
    expected = model.transform(CASES[name].asked)
    assert expected.shape[1] == DENSE[name]
    names = model.get_feature_names_out()
    assert names.tolist() == [f"{name.lower()}{number}" for number in range(DENSE[name])]
    asked = CASES[name].asked
    if isinstance(asked, list):
        asked = pd.Series(asked, index=[f"row{number}" for number in range(len(asked))])
    frame = model.set_output(transform="pandas").transform(asked)
    assert frame.columns.tolist() == names.tolist()
    assert set(frame.dtypes) == {expected.dtype}
    assert frame.to_numpy().tobytes() == expected.tobytes()
    if isinstance(asked, pd.Series):
        assert frame.index.tolist() == asked.index.tolist()
    with config_context(transform_output="polars"):
        polars = fitted(name).transform(CASES[name].asked)
    assert polars.columns == names.tolist()
    assert_same_bits(polars.to_numpy(), expected)


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_rows_are_no_frames(name):
    model = fitted(name)
    assert not hasattr(model, "set_output")
    assert not hasattr(model, "get_feature_names_out")
    expected = as_bytes(model.transform(CASES[name].asked))
    with config_context(transform_output="pandas"):
        assert as_bytes(model.transform(CASES[name].asked)) == expected


@pytest.mark.parametrize("name", [*SPARSE, *DENSE])
def test_fit_transform_is_fit_and_transform(name):
    X, own = CASES[name].X, CASES[name].y
    expected = as_bytes(fitted(name).transform(X))
    ignored = (None, [0] * (X.shape[0] if hasattr(X, "shape") else len(X)))
    for y in ignored if own is None else (own,):
        assert_same_bits(as_bytes(CASES[name].make().fit_transform(X, y)), expected)


COLUMNS = {
    "tuple": tuple,
    "array": np.array,
    "objects": lambda texts: np.array(texts, dtype=object),
    "pandas": lambda texts: pd.Series(texts, index=range(7, 7 + len(texts))),
    "polars": pl.Series,
    "generator": iter,
    "frame": lambda texts: pd.DataFrame({"body": texts}),
    "polars frame": lambda texts: pl.DataFrame({"body": texts}),
    "table": lambda texts: pa.table({"body": list(texts)}),
    "rows of one column": lambda texts: np.array(texts, dtype=object)[:, np.newaxis],
}
KINDS = list(COLUMNS)
# what is passed to fit, and to the method that answers
PAIRS = list(zip(KINDS[::2], KINDS[1::2], strict=True))
# which take sentences, or lists of words
DOCUMENTS = [name for name in OF_TEXTS if "LanguageModel" not in name]


@pytest.mark.parametrize(("column", "asked"), PAIRS)
@pytest.mark.parametrize("name", DOCUMENTS)
def test_texts_come_in_columns_of_all_kinds(name, column, asked):
    case, model = CASES[name], CASES[name].make()
    X = COLUMNS[column](case.X)
    assert (model.fit(X) if case.y is None else model.fit(X, case.y)) is model
    answer = getattr(model, case.answers[0])
    expected = answers(name, fitted(name))[case.answers[0]]
    for kind in (column, asked):
        assert_same_bits(as_bytes(answer(COLUMNS[kind](case.asked))), expected)


# as scikit-learn's vectorizers
READS_BYTES = {"HashingNgramVectorizer", "AutoNgramVectorizer", "TextClassifier"}
NO_SURROGATES = {
    "HashingNgramVectorizer",
    "FrequentNgramVectorizer",
    "NgramVectorUnion",
}  # refused in a word only, or a character


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("a text", "[Ww]rap .* in a list"),
        (pd.DataFrame({"text": ["fine"], "other": ["too"]}), "expects one column of documents"),
        (7, "expects an iterable over"),
        (["fine", None], "(document|number) 1 is None"),
        (["fine", 3], "(document|number) 1 is 3"),
        (["fine", float("nan")], "(document|number) 1 is nan"),
        (["fine", b"bytes"], "(document|number) 1 is b'bytes'"),
        (["fine", "not \ud800 this"], "document 1 holds the lone surrogate"),
    ],
    ids=["string", "table", "no column", "None", "number", "nan", "bytes", "surrogate"],
)
@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_is_no_column_of_texts_is_refused(name, texts, message):
    if (isinstance(texts, list) and b"bytes" in texts and name in READS_BYTES) or (
        "surrogate" in message and name in NO_SURROGATES
    ):
        return
    case = CASES[name]
    for method in ("fit", *case.answers):
        model = CASES[name].make() if method == "fit" else fitted(name)
        if method == "fit" and isinstance(texts, list) and not get_tags(model).requires_fit:
            continue  # it does not look at each
        with pytest.raises((TypeError, ValueError), match=message):
            getattr(model, method)(
                texts, *([case.y[:2]] if method == "fit" and case.y is not None else [])
            )
