"""Tables of zeros: shape, dtype and device, memory only where they are written, and otherwise like
any tensor.
"""

import copy
import mmap
import pickle

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
