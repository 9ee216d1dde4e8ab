"""Thread pools: results in order, every row once, errors where they belong, and no pool where none
is to be had.
"""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from sklearn_hashnlp._threads import (
    map_blocks,
    map_in_background,
    map_in_order,
    prefetch,
    run_in_background,
    submit,
)

POOLS = """
import threading
from sklearn_hashnlp._threads import map_blocks, map_in_background, map_in_order
from sklearn_hashnlp._threads import prefetch, run_in_background

def compute():
    rows = []
    map_blocks(lambda block: rows.extend(range(block.start, block.stop)), 9, 2)
    mapped = [list(map_in_order(abs, [-1, 2], 2)), list(map_in_background(abs, [-1, 2], 1))]
    return [run_in_background(max, 3, 5).result(), list(prefetch(iter("ab"))), mapped, sorted(rows)]

def serve():
    threading.main_thread().join()
    print("same" if compute() == [5, ["a", "b"], [[1, 2], [1, 2]], list(range(9))] else "other")

BEFORE
threading.Thread(target=serve).start()
"""


@pytest.mark.parametrize("before", ["compute()", ""], ids=["used before", "first use"])
def test_pools_work_after_the_main_thread_has_ended(before):
    done = subprocess.run(
        [sys.executable, "-c", POOLS.replace("BEFORE", before)], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "same\n", "")


def test_the_pool_makes_the_call():
    with ThreadPoolExecutor(1) as pool:
        assert (
            submit(pool, threading.get_ident).result() == pool.submit(threading.get_ident).result()
        )
        with pytest.raises(ZeroDivisionError):
            submit(pool, lambda: 1 / 0).result()


def test_a_pool_that_is_shut_down_leaves_the_call_to_the_caller():
    with ThreadPoolExecutor(1) as pool:
        pass
    assert submit(pool, threading.get_ident).result() == threading.get_ident()
    with pytest.raises(ZeroDivisionError):
        submit(pool, lambda: 1 / 0).result()


def test_a_call_queued_by_a_pool_that_cannot_start_a_thread_is_made_once(monkeypatch):
    done = []
    with ThreadPoolExecutor(2) as pool:
        pool.submit(int).result()
        free = threading.Event()
        pool.submit(free.wait)

        def refuse(self):
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(threading.Thread, "start", refuse)
        assert submit(pool, done.append, 3).result() is None
        free.set()
    assert done == [3]


def test_a_cancelled_call_is_not_made():
    free, done = threading.Event(), []
    with ThreadPoolExecutor(1) as pool:
        pool.submit(free.wait)
        assert submit(pool, done.append, 3).cancel()
        free.set()
    assert done == []


def test_the_background_is_one_other_thread():
    threads = {run_in_background(threading.get_ident).result() for _ in range(5)}
    assert len(threads) == 1
    assert threading.get_ident() not in threads
    with pytest.raises(ZeroDivisionError):
        run_in_background(lambda: 1 / 0).result()


def _answer(queue):
    queue.put(run_in_background(max, 3, 5).result(timeout=30))


@pytest.mark.skipif(sys.platform != "linux", reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_a_background_thread_of_its_own():
    run_in_background(max, 1, 2).result()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=_answer, args=(queue,))
    process.start()
    assert queue.get(timeout=30) == 5
    process.join(timeout=30)
    assert process.exitcode == 0


@pytest.mark.parametrize("n_items", [0, 1, 5])
def test_prefetched_items_come_in_their_order_from_the_background(n_items):
    results = list(prefetch((item, threading.get_ident()) for item in range(n_items)))
    assert [item for item, _ in results] == list(range(n_items))
    assert threading.get_ident() not in {thread for _, thread in results}


def test_one_item_and_no_more_is_prefetched():
    made = []
    items = prefetch(made.append(item) or item for item in range(9))
    assert next(items) == 0
    run_in_background(int).result()  # all that was asked for is done
    assert made == [0, 1]


def test_an_error_among_prefetched_items_comes_after_those_before_it():
    items = prefetch(1 // (2 - item) for item in range(9))
    assert [next(items), next(items)] == [0, 1]
    with pytest.raises(ZeroDivisionError):
        next(items)


@pytest.mark.parametrize("map_items", [map_in_order, map_in_background])
@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("n_items", [0, 1, 5, 40])
def test_results_come_in_the_order_of_the_items(map_items, n_items, n_threads):
    assert list(map_items(lambda item: item**2, iter(range(n_items)), n_threads)) == [
        i**2 for i in range(n_items)
    ]


@pytest.mark.parametrize("map_items", [map_in_order, map_in_background])
def test_two_threads_work_at_once_and_few_items_wait(map_items):
    together = threading.Barrier(2, timeout=10)
    taken = []

    def items():
        for item in range(20):
            taken.append(item)
            yield item

    results = map_items(lambda item: (together.wait(), item)[1], items(), 2)
    assert next(results) == 0
    assert len(taken) <= 2 * 2 + 1
    assert list(results) == list(range(1, 20))


@pytest.mark.parametrize("map_items", [map_in_order, map_in_background])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_error_reaches_the_caller(map_items, n_threads):
    with pytest.raises(ZeroDivisionError):
        list(map_items(lambda item: 1 / item, [1, 0, 2], n_threads))
    with pytest.raises(ZeroDivisionError):
        list(map_items(int, (1 // (2 - item) for item in range(5)), n_threads))


def test_a_single_item_is_mapped_in_the_calling_thread():
    assert list(map_in_order(lambda _: threading.get_ident(), [0], 2)) == [threading.get_ident()]
    assert threading.get_ident() not in set(
        map_in_background(lambda _: threading.get_ident(), range(3), 1)
    )


@pytest.mark.parametrize("fails", [True, False])
def test_calls_that_have_not_begun_are_cancelled_when_nobody_wants_them(fails):
    begun, may_end = [], threading.Event()

    def work(item):
        begun.append(item)
        if item == 1:
            may_end.wait(20)
        if item == 0 and fails:
            raise MemoryError("no room")

    results = map_in_background(work, range(9), 1)
    threading.Timer(0.2, may_end.set).start()
    if fails:
        with pytest.raises(MemoryError, match="no room"):
            next(results)
    else:
        next(results)
    results.close()
    assert begun in ([0], [0, 1])


@pytest.mark.parametrize("n_rows", [0, 1, 15, 16, 32, 33, 1000])
@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("bounds", [{}, {"min_rows": 16}, {"max_rows": 7}])
def test_blocks_cover_all_rows_once(n_rows, n_threads, bounds):
    times = np.zeros(n_rows)
    threads = set()
    sizes = []

    def work(block):
        times[block] += 1
        threads.add(threading.get_ident())
        sizes.append(block.stop - block.start)

    map_blocks(work, n_rows, n_threads, **bounds)
    assert (times == 1).all()
    assert len(threads) <= n_threads
    assert max(sizes, default=0) <= bounds.get("max_rows", n_rows)
    assert len(sizes) < 2 or n_rows // len(sizes) >= bounds.get("min_rows", 1)


def test_few_rows_stay_in_the_callers_thread():
    threads = []
    map_blocks(lambda block: threads.append(threading.get_ident()), 31, 2, min_rows=16)
    assert threads == [threading.get_ident()]


def test_the_caller_works_on_blocks_as_well():
    together, threads = threading.Barrier(2, timeout=10), set()
    map_blocks(
        lambda block: (together.wait(), threads.add(threading.get_ident())), 4, 2, max_rows=1
    )
    assert threading.get_ident() in threads
    assert len(threads) == 2


@pytest.mark.parametrize("failing", [0, 1])
def test_errors_of_any_block_are_raised(failing):
    def work(block):
        if bool(block.start) == failing:
            raise ValueError("in one block")

    with pytest.raises(ValueError, match="in one block"):
        map_blocks(work, 100, 2)
