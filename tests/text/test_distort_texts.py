import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.text import _distort_texts, distort_texts
from tests.golden._register import texts as docstrings

from ..strategies import TEXTS

SOME = ["what is the capital of France ?", "", "日本語 🙂", "a\ud800b", "x"]


@given(TEXTS, st.floats(0, 1), st.integers())
def test_a_text_has_the_same_errors_alone_and_among_others(texts, rate, seed):
    result = distort_texts(texts, rate, random_state=seed)
    assert result == [distort_texts([text], rate, random_state=seed)[0] for text in texts]
    assert all(type(text) is str for text in result)


def test_chunks_and_threads_do_not_show(monkeypatch):
    texts = docstrings()[:300]
    expected = distort_texts(texts, 0.1, random_state=3)
    assert distort_texts(texts, 0.1, random_state=4) != expected
    with ThreadPoolExecutor(2) as pool:
        assert (
            list(pool.map(lambda _: distort_texts(texts, 0.1, random_state=3), range(4)))
            == [expected] * 4
        )
    monkeypatch.setattr(_distort_texts, "CHARACTER_CHUNK", 1000)
    assert distort_texts(iter(texts), 0.1, random_state=3) == expected
    with pytest.raises(
        TypeError, match="distort_texts expects documents of type str, but document 300 is None"
    ):
        distort_texts([*texts, None])


def test_columns_of_all_kinds_are_read():
    expected = distort_texts(SOME, 0.3)
    assert expected != SOME
    assert (
        distort_texts(tuple(SOME), 0.3)
        == distort_texts(np.array(SOME, dtype=object), 0.3)
        == expected
    )
    assert distort_texts(pd.Series(SOME[:3], index=[5, 4, 3]), 0.3) == expected[:3]
    assert distort_texts([], 0.3) == []


def test_a_hundred_thousand_short_texts_take_no_time():
    distort_texts(["load first"], 0.1)
    texts = [f"what is the capital of country number {i} ?" for i in range(100_000)]
    start = time.process_time()
    distort_texts(texts, 0.1)
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"rate": 5},
            ValueError,
            r"The 'rate' parameter of distort_texts must be a float in the range \[0.0, 1.0\]",
        ),
        ({"rate": float("nan")}, ValueError, "Got nan"),
        (
            {"random_state": None},
            ValueError,
            "The 'random_state' parameter of distort_texts must be .* Got None",
        ),
        ({"texts": "a text"}, ValueError, "Iterable over raw text documents expected"),
        ({"texts": [b"a"]}, TypeError, "document 0 is b'a'"),
    ],
)
def test_what_cannot_be_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        distort_texts(**{"texts": ["a"]} | options)
