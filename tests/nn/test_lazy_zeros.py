"""Zero tables: right in kind, free until written, and otherwise like any tensor."""

from __future__ import annotations

import copy
import mmap
import os
import pickle
import subprocess
import sys

import pytest
import torch

from sklearn_hashnlp.nn._lazy_zeros import lazy_zeros

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.bool]


@pytest.fixture(params=[True, False], ids=["anonymous pages", "numpy"])
def _either_way(request, monkeypatch):
    if not request.param:
        monkeypatch.delattr(mmap, "MAP_ANONYMOUS", raising=False)


@pytest.mark.usefixtures("_either_way")
@pytest.mark.parametrize("shape", [(3, 2), (5,), (), (0, 4), (4, 0), (2, 3, 4)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_shape_dtype_and_zeros(dtype, shape):
    zeros = lazy_zeros(shape, dtype=dtype)
    assert torch.equal(zeros, torch.zeros(shape, dtype=dtype))
    assert zeros.is_contiguous()
    zeros.fill_(1)
    assert zeros.all()


def test_defaults_are_those_of_torch():
    assert lazy_zeros((1,)).dtype == torch.get_default_dtype()
    assert lazy_zeros((1,), device="meta").device.type == "meta"
    with torch.device("meta"):
        assert lazy_zeros((1,)).device.type == "meta"
        assert lazy_zeros((1,), device="cpu").device.type == "cpu"


@pytest.mark.usefixtures("_either_way")
def test_it_can_be_copied_pickled_and_shared():
    table = lazy_zeros((1000, 20))
    table[7] = 1.0
    for other in (copy.deepcopy(table), pickle.loads(pickle.dumps(table)), table.clone()):
        assert torch.equal(other, table)
        other[8] = 1.0
        assert not table[8].any()
    assert table.share_memory_().is_shared()
    assert table.sum() == 20


@pytest.mark.usefixtures("_either_way")
def test_a_part_outlives_the_whole():
    row = lazy_zeros((1000, 1000))[500]
    assert not row.any()
    row += 1
    assert row.sum() == 1000


@pytest.mark.usefixtures("_either_way")
def test_more_than_there_is_is_a_memory_error():
    with pytest.raises(MemoryError, match="A table of 4611686018427387904 bytes does not fit"):
        lazy_zeros((2**31, 2**29), dtype=torch.float32)
    with pytest.raises(MemoryError, match="does not fit into memory"):
        lazy_zeros((2**31, 2**31), dtype=torch.float32)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_what_a_forked_process_writes_stays_there():
    program = """
import os
from sklearn_hashnlp.nn._lazy_zeros import lazy_zeros

table = lazy_zeros((10,))
child = os.fork()
if not child:
    table.fill_(1)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(table.sum().item())
"""
    assert float(subprocess.check_output([sys.executable, "-c", program])) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_is_committed_by_the_row_and_given_back():
    program = """
from pathlib import Path

import torch
from sklearn_hashnlp.nn._lazy_zeros import lazy_zeros


def resident():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))  # in kB


lazy_zeros((10,))[torch.arange(3)] = 1.0  # whatever torch loads at the first use
rows = torch.arange(0, 10_000_000, 100_000)
before = resident()
table = lazy_zeros((10_000_000, 20), dtype=torch.float32)
table[rows] = 1.0
touched = resident()
table[:1_000_000] = 1.0
filled = resident()
del table
print(touched - before, filled - before, resident() - before)
"""
    touched, filled, freed = map(int, subprocess.check_output([sys.executable, "-c", program]).split())
    assert touched < 10_000  # a hundred rows: a page or two each, where huge pages would be 200,000
    assert filled > 70_000
    assert freed < 10_000
