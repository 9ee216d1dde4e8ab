"""Every row is worked on once, and what goes wrong is told."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch

from sklearn_hashnlp._threads import in_blocks


@pytest.mark.parametrize("n_rows", [0, 1, 15, 16, 32, 33, 1000])
@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_blocks_cover_all_rows_once(n_rows, n_threads, monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: n_threads)
    times, threads = np.zeros(n_rows), set()

    def work(block):
        times[block] += 1
        threads.add(threading.get_ident())

    in_blocks(work, n_rows)
    assert (times == 1).all()
    assert len(threads) <= n_threads


def test_few_rows_stay_in_the_callers_thread():
    threads = []
    in_blocks(lambda block: threads.append(threading.get_ident()), 31)
    assert threads == [threading.get_ident()]


def test_errors_of_any_block_are_raised(monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)

    def work(block):
        if block.start:
            raise ValueError("in the second block")

    with pytest.raises(ValueError, match="in the second block"):
        in_blocks(work, 100)
