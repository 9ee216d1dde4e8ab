"""Work beside: on another thread, one after the other, also in a forked process."""

from __future__ import annotations

import multiprocessing
import sys
import threading

import pytest

from sklearn_hashnlp._threads import ahead, beside


def test_it_is_done_on_one_other_thread():
    threads = {beside(threading.get_ident).result() for _ in range(5)}
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def test_an_error_is_raised_where_the_result_is_asked_for():
    with pytest.raises(ZeroDivisionError):
        beside(lambda: 1 / 0).result()


@pytest.mark.parametrize("n_items", [0, 1, 5])
def test_items_ahead_come_in_their_order_from_the_side(n_items):
    found = list(ahead((item, threading.get_ident()) for item in range(n_items)))
    assert [item for item, _ in found] == list(range(n_items))
    assert threading.get_ident() not in {thread for _, thread in found}


def test_one_item_and_no_more_is_made_ahead():
    made = []
    items = ahead(made.append(item) or item for item in range(9))
    assert next(items) == 0
    beside(int).result()  # all that was asked for is done
    assert made == [0, 1]


def test_an_error_among_the_items_comes_after_those_before_it():
    items = ahead(1 // (2 - item) for item in range(9))
    assert [next(items), next(items)] == [0, 1]
    with pytest.raises(ZeroDivisionError):
        next(items)


def _answer(queue):
    queue.put(beside(max, 3, 5).result(timeout=30))


@pytest.mark.skipif(sys.platform != "linux", reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_a_thread_of_its_own():
    beside(max, 1, 2).result()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=_answer, args=(queue,))
    process.start()
    assert queue.get(timeout=30) == 5
    process.join(timeout=30)
    assert process.exitcode == 0
