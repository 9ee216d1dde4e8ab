"""Work on several threads: the results in order, few items at a time, errors where they belong."""

from __future__ import annotations

import threading

import pytest

from sklearn_hashnlp._threads import in_threads


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("n_items", [0, 1, 5, 40])
def test_results_come_in_the_order_of_the_items(n_items, n_threads):
    assert list(in_threads(lambda item: item**2, iter(range(n_items)), n_threads)) == [i**2 for i in range(n_items)]


def test_two_work_at_once_and_few_wait():
    together = threading.Barrier(2, timeout=10)
    taken = []

    def items():
        for item in range(20):
            taken.append(item)
            yield item

    results = in_threads(lambda item: (together.wait(), item)[1], items(), 2)
    assert next(results) == 0
    assert len(taken) <= 2 * 2 + 1
    assert list(results) == list(range(1, 20))


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_error_reaches_the_caller(n_threads):
    with pytest.raises(ZeroDivisionError):
        list(in_threads(lambda item: 1 / item, [1, 0, 2], n_threads))


def test_a_single_item_is_the_callers_own():
    assert list(in_threads(lambda _: threading.get_ident(), [0], 2)) == [threading.get_ident()]
