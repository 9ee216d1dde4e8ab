"""Rows from several threads are in the order of their documents, and an error ends the work."""

import time

import numpy as np
import pytest

from sklearn_hashnlp.kernels.ngrams._count_ngrams import Rows
from sklearn_hashnlp.text import _count_ngrams
from sklearn_hashnlp.text._count_ngrams import sparse_matrix


def rows_of(first, chunk, allocate, *, slow=lambda document: False):
    """Return each document, a number, one row with that many values, in two pieces."""
    if slow(chunk[0]):
        time.sleep(0.005)
    for piece in (chunk[: len(chunk) // 2], chunk[len(chunk) // 2 :]):
        n_values = sum(piece)
        indices, data = (
            (np.empty(n_values, np.int32), np.empty(n_values)) if allocate is None else allocate(n_values + 3)
        )
        indices[:n_values] = np.concatenate([np.arange(number) for number in piece])
        data[:n_values] = np.repeat(piece, piece)
        yield Rows(indices[:n_values], data[:n_values], np.cumsum([0, *piece], dtype=np.int64))


def stacked(chunks, make_rows, n_jobs, n_documents):
    return sparse_matrix(
        iter(chunks), make_rows, n_documents=n_documents, n_features=1000, dtype=np.float64, n_jobs=n_jobs
    )


@pytest.mark.parametrize(
    ("n_jobs", "known", "max_spare"), [(1, True, 0), (2, False, 0), (2, True, 10**6), (5, True, 0), (5, False, 10**6)]
)
@pytest.mark.parametrize("slow", [lambda number: number % 3 == 0, lambda number: number == 1])
def test_rows_in_the_order_of_their_documents(n_jobs, known, max_spare, slow, monkeypatch):
    # Without spare memory the arrays move again and again while other threads copy into them.
    monkeypatch.setattr(_count_ngrams, "_MAX_SPARE", max_spare)
    numbers = [*range(1, 200), *([700] * 20), *range(50, 0, -1)]
    chunks = [(first, numbers[first : first + 7]) for first in range(0, len(numbers), 7)]
    for _ in range(2):
        X = stacked(chunks, lambda *given: rows_of(*given, slow=slow), n_jobs, len(numbers) if known else None)
        assert X.shape == (len(numbers), 1000)
        np.testing.assert_array_equal(np.diff(X.indptr), numbers)
        np.testing.assert_array_equal(X.data, np.repeat(numbers, numbers))
        np.testing.assert_array_equal(X.indices, np.concatenate([np.arange(number) for number in numbers]))


@pytest.mark.parametrize(("n_jobs", "max_spare"), [(1, 0), (2, 10**6), (5, 0)])
@pytest.mark.parametrize("failing", [0, 17, 39])
def test_the_first_error_comes_out_and_nobody_waits_for_ever(n_jobs, failing, max_spare, monkeypatch):
    monkeypatch.setattr(_count_ngrams, "_MAX_SPARE", max_spare)

    def make_rows(first, chunk, allocate):
        if first == failing or first == failing + 2:
            raise ValueError(f"chunk {first}")
        return rows_of(first, chunk, allocate, slow=lambda number: number % 2 == 0)

    chunks = [(first, [first + 1] * 4) for first in range(40)]
    for _ in range(3):
        with pytest.raises(ValueError, match=f"chunk {failing}$"):
            stacked(chunks, make_rows, n_jobs, 160)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_errors_of_documents_and_of_memory_are_no_end_of_waiting(n_jobs, monkeypatch):
    def chunks():
        yield from ((first, [5, 6]) for first in range(10))
        raise OSError("the file has ended early")

    def refuse(array, size, capacity):
        raise MemoryError

    with pytest.raises(OSError, match="ended early"):
        stacked(chunks(), rows_of, n_jobs, None)
    monkeypatch.setattr(_count_ngrams, "_grow", refuse)
    with pytest.raises(MemoryError):
        stacked([(first, [5, 6]) for first in range(10)], rows_of, n_jobs, None)


def test_who_comes_after_a_failure_takes_no_turn_and_holds_nobody_up():
    turns = _count_ngrams._Turns()
    turns.abort()
    with turns.in_turn(7) as is_mine:
        assert not is_mine
    assert turns._n_copying == 0  # else the last one in its turn would wait for a copy that nobody makes


def test_few_texts_do_not_wait_for_the_number_of_processors(monkeypatch):
    from sklearn_hashnlp.text import HashingNgramVectorizer

    with pytest.raises(ValueError, match="n_jobs"):
        HashingNgramVectorizer(n_jobs=0).transform(["a text"])
    monkeypatch.setattr(_count_ngrams, "effective_n_jobs", None)
    assert HashingNgramVectorizer(n_jobs=-1).transform(["a text"]).nnz == 1
