"""Zero tables: right in kind, and free until written."""

from __future__ import annotations

import time

import pytest
import torch

from sklearn_hashnlp.nn._lazy_zeros import lazy_zeros


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64])
def test_shape_dtype_and_zeros(dtype):
    zeros = lazy_zeros((3, 2), dtype=dtype)
    assert zeros.shape == (3, 2)
    assert zeros.dtype == dtype
    assert not zeros.any()


def test_defaults_are_those_of_torch():
    assert lazy_zeros((1,)).dtype == torch.get_default_dtype()
    assert lazy_zeros((1,), device="meta").device.type == "meta"


def test_a_table_of_200_million_costs_nothing():
    start = time.perf_counter()
    table = lazy_zeros((10**7, 20), dtype=torch.float32)
    table[12345] = 1.0
    assert time.perf_counter() - start < 0.1
    assert table[12344:12347].sum() == 20
