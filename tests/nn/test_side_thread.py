"""Work beside: on another thread, one after the other, also in a forked process."""

from __future__ import annotations

import multiprocessing
import sys
import threading

import pytest

from sklearn_hashnlp.nn._side_thread import beside


def test_it_is_done_on_one_other_thread():
    threads = {beside(threading.get_ident).result() for _ in range(5)}
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def test_an_error_is_raised_where_the_result_is_asked_for():
    with pytest.raises(ZeroDivisionError):
        beside(lambda: 1 / 0).result()


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
