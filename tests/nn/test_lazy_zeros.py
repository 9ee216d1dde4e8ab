"""Tables of zeros: shape, dtype and device, memory only where they are written, and otherwise like any tensor."""

import copy
import json
import mmap
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from sklearn_hashnlp.nn._tensors import lazy_zeros

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.bool]


@pytest.fixture(params=[True, False], ids=["anonymous pages", "numpy"])
def _each_allocator(request, monkeypatch):
    if not request.param:
        monkeypatch.delattr(mmap, "MAP_ANONYMOUS", raising=False)


@pytest.mark.usefixtures("_each_allocator")
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


@pytest.mark.usefixtures("_each_allocator")
def test_copies_pickles_and_shared_memory():
    table = lazy_zeros((1000, 20))
    table[7] = 1.0
    for other in (copy.deepcopy(table), pickle.loads(pickle.dumps(table)), table.clone()):
        assert torch.equal(other, table)
        other[8] = 1.0
        assert not table[8].any()
    assert table.share_memory_().is_shared()
    assert table.sum() == 20


@pytest.mark.usefixtures("_each_allocator")
def test_a_view_outlives_its_tensor():
    row = lazy_zeros((1000, 1000))[500]
    assert not row.any()
    row += 1
    assert row.sum() == 1000


@pytest.mark.usefixtures("_each_allocator")
def test_a_table_that_does_not_fit_is_a_memory_error():
    with pytest.raises(MemoryError, match="A table of 4611686018427387904 bytes does not fit"):
        lazy_zeros((2**31, 2**29), dtype=torch.float32)
    with pytest.raises(MemoryError, match="does not fit into memory"):
        lazy_zeros((2**31, 2**31), dtype=torch.float32)


ROOT = Path(__file__).parents[2]
PROGRAM = """
import json
import os

import torch

from sklearn_hashnlp.nn._tensors import lazy_zeros
from tests.resident_memory import resident


table = lazy_zeros((10,))
child = os.fork()
if not child:
    table.fill_(1)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0

lazy_zeros((10,))[torch.arange(3)] = 1.0  # whatever torch loads at the first use
rows = torch.arange(0, 10_000_000, 100_000)
before = resident()
large = lazy_zeros((10_000_000, 20), dtype=torch.float32)
large[rows] = 1.0
touched = resident() - before
large[:1_000_000] = 1.0
filled = resident() - before
del large
print(json.dumps({"sum": table.sum().item(), "touched": touched, "filled": filled, "freed": resident() - before}))
"""


@pytest.fixture(scope="module")
def fresh_process():
    """Return what a new process reports: the sum of a table that its child filled, and resident memory in kB."""
    return json.loads(subprocess.check_output([sys.executable, "-c", PROGRAM], cwd=ROOT))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_writes_of_a_forked_process_do_not_reach_its_parent(fresh_process):
    assert fresh_process["sum"] == 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_is_committed_for_written_rows_and_freed(fresh_process):
    assert fresh_process["touched"] < 10_000  # a hundred rows: a page or two each, where huge pages would be 200,000
    assert fresh_process["filled"] > 70_000
    assert fresh_process["freed"] < 10_000
