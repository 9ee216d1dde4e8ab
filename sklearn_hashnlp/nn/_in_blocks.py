"""Blocks of rows on several threads, for kernels that treat each row by itself."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import torch

from sklearn_hashnlp._submit import submit

_FEW = 16  # rows that are not worth another thread


def in_blocks(work: Callable[[slice], None], n_rows: int) -> None:
    """Do some work on neighbouring rows at a time, on as many threads as torch uses."""
    n_threads = max(min(torch.get_num_threads(), n_rows // _FEW), 1)
    ends = [n_rows * thread // n_threads for thread in range(n_threads + 1)]
    blocks = [slice(begin, end) for begin, end in pairwise(ends)]
    if len(blocks) == 1:
        work(blocks[0])
        return
    with ThreadPoolExecutor(n_threads - 1) as pool:
        waiting = [submit(pool, work, block) for block in blocks[1:]]
        work(blocks[0])
        for future in waiting:
            future.result()
