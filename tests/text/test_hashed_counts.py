"""Rows from several threads are in the order of their documents, and an error ends the work."""

import time
from functools import partial

import numpy as np
import pytest

from sklearn_hashnlp.kernels import _native
from sklearn_hashnlp.text import _count_ngrams
from sklearn_hashnlp.text._count_ngrams import sparse_matrix

OPTIONS = _native.CountOptions(1000, False, False, 0, False, 1.0)


def append_rows(rows, first, chunk, *, slow=lambda document: False):
    """Append one row for each document, a number, with that many values, in two pieces."""
    if slow(chunk[0]):
        time.sleep(0.005)
    for piece in (chunk[: len(chunk) // 2], chunk[len(chunk) // 2 :]):
        hashes = np.concatenate([np.arange(number, dtype=np.int32) for number in [0, *piece]])
        rows.append_hashes(hashes, np.cumsum([0, *piece], dtype=np.int64), OPTIONS)


def stacked(chunks, append, n_jobs, n_documents):
    return sparse_matrix(
        iter(chunks),
        append,
        n_documents=n_documents,
        n_features=1000,
        dtype=np.float64,
        n_jobs=n_jobs,
    )


@pytest.mark.parametrize(
    ("n_jobs", "known"), [(1, True), (2, False), (2, True), (5, True), (5, False)]
)
@pytest.mark.parametrize("slow", [lambda number: number % 3 == 0, lambda number: number == 1])
def test_rows_in_the_order_of_their_documents(n_jobs, known, slow):
    numbers = [*range(1, 200), *([700] * 20), *range(50, 0, -1)]
    chunks = [(first, numbers[first : first + 7]) for first in range(0, len(numbers), 7)]
    for _ in range(2):
        X = stacked(
            chunks, partial(append_rows, slow=slow), n_jobs, len(numbers) if known else None
        )
        assert X.shape == (len(numbers), 1000)
        np.testing.assert_array_equal(np.diff(X.indptr), numbers)
        np.testing.assert_array_equal(X.data, np.ones(sum(numbers)))
        np.testing.assert_array_equal(
            X.indices, np.concatenate([np.arange(number) for number in numbers])
        )


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
@pytest.mark.parametrize("failing", [0, 17, 39])
def test_the_first_error_comes_out_and_nobody_waits_for_ever(n_jobs, failing):
    def append(rows, first, chunk):
        if first == failing or first == failing + 2:
            raise ValueError(f"chunk {first}")
        append_rows(rows, first, chunk, slow=lambda number: number % 2 == 0)

    chunks = [(first, [first + 1] * 4) for first in range(40)]
    for _ in range(3):
        with pytest.raises(ValueError, match=f"chunk {failing}$"):
            stacked(chunks, append, n_jobs, 160)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_errors_of_documents_and_of_memory_are_no_end_of_waiting(n_jobs):
    def chunks():
        yield from ((first, [5, 6]) for first in range(10))
        raise OSError("the file has ended early")

    class Refusing(list):
        def append(self, part):
            raise MemoryError

    with pytest.raises(OSError, match="ended early"):
        stacked(chunks(), append_rows, n_jobs, None)
    with pytest.raises(MemoryError):
        _count_ngrams._append_in_threads(
            Refusing(),
            ((first, [5, 6]) for first in range(10)),
            append_rows,
            None,
            np.float64,
            n_jobs,
        )


def test_who_comes_after_a_failure_takes_no_turn():
    turns = _count_ngrams._Turns()
    turns.abort()
    with turns.in_turn(7) as is_mine:
        assert not is_mine


def test_few_texts_do_not_wait_for_the_number_of_processors(monkeypatch):
    from sklearn_hashnlp.text import HashingNgramVectorizer

    with pytest.raises(ValueError, match="n_jobs"):
        HashingNgramVectorizer(n_jobs=0).transform(["a text"])
    monkeypatch.setattr(_count_ngrams, "effective_n_jobs", None)
    assert HashingNgramVectorizer(n_jobs=-1).transform(["a text"]).nnz == 1
