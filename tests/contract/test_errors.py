"""All public estimators refuse wrong sentences, rows and numbers of threads in the same words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.contract.estimators import BITS, CASES, LABELS, ONE_OF_A_KIND, answers, fitted

LANGUAGE_MODELS = [name for name in ONE_OF_A_KIND if "LanguageModel" in name]
THREADED = [name for name in ONE_OF_A_KIND if "n_jobs" in CASES[name].make().get_params(deep=False)]
OF_NUMBERS = ["HashEmbeddingClassifier", "SGNNClassifier", "SGNNProjector", "QuantizedSGNNClassifier"]


@pytest.mark.parametrize(
    ("sentences", "error", "message"),
    [
        ("a text", TypeError, "a single str.* list"),
        (b"bytes", (TypeError, ValueError), "bytes .*[Ww]rap .* in a list"),
        (pd.DataFrame({"text": ["fine"], "other": ["too"]}), ValueError, "expects one column of documents"),
        (7, TypeError, "expects an iterable over documents"),
        (["fine", None], TypeError, "got None of type NoneType as sentence 1"),
        (["fine", 3], TypeError, "got 3 of type int as sentence 1"),
        (["fine", float("nan")], TypeError, "got nan of type float as sentence 1"),
        (["fine", b"bytes"], TypeError, "got b'bytes' of type bytes as sentence 1"),
        (["fine", ["a", 3]], TypeError, "sentence 1 holds 3 of type int, and words are str"),
    ],
    ids=["string", "bytes", "table", "no column", "None", "number", "nan", "a sentence of bytes", "a word"],
)
@pytest.mark.parametrize("name", LANGUAGE_MODELS)
def test_what_is_no_list_of_sentences_is_refused(name, sentences, error, message):
    for method in ("fit", *CASES[name].answers):
        model = CASES[name].make() if method == "fit" else fitted(name)
        with pytest.raises(error, match=message) as caught:
            getattr(model, method)(sentences)
        assert "LanguageModel" in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.where(np.arange(24) == 3, np.nan, BITS[:2]), "NaN"),
        (np.where(np.arange(24) == 3, np.inf, BITS[:2]), "infinity"),
        (BITS[0], "Expected 2D array, got 1D array"),
        (BITS[:, :0], "0 feature"),
        (BITS[np.newaxis], "dim 3"),
        (BITS * 1j, "Complex data not supported"),
    ],
    ids=["nan", "infinite", "one row", "no columns", "three dimensions", "complex"],
)
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_what_are_no_rows_of_numbers_are_refused_in_scikit_learns_words(name, rows, message):
    case = CASES[name]
    for method in ("fit", *case.answers):
        model = case.make() if method == "fit" else fitted(name)
        with pytest.raises(ValueError, match=message):
            getattr(model, method)(rows, *([LABELS[: len(rows)]] if method == "fit" else []))


@pytest.mark.parametrize("name", THREADED)
def test_the_number_of_jobs_can_change_after_fit_and_is_checked(name):
    model, expected = fitted(name), answers(name, fitted(name))
    for n_jobs in (2, None, -1):
        assert answers(name, model.set_params(n_jobs=n_jobs)) == expected
    for method in CASES[name].answers:
        with pytest.raises(ValueError, match=r"'n_jobs' parameter.* must be .* Got 'many'"):
            getattr(model.set_params(n_jobs="many"), method)(CASES[name].asked)
