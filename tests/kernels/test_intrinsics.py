"""Memory in huge pages."""

import math

import numpy as np
import pytest

from sklearn_hashnlp.kernels._intrinsics import in_huge_pages


@pytest.mark.parametrize("shape", [(0,), (3, 5), (2**19 + 3,), (1025, 1024)], ids=str)
@pytest.mark.parametrize("start", [0, 1])
def test_an_array_in_huge_pages_is_the_same_array(shape, start):
    values = np.arange(math.prod(shape), dtype=np.float64).reshape(shape)[start:]
    before = values.copy()
    result = in_huge_pages(values)
    assert result.ctypes.data == values.ctypes.data
    assert result.flags.writeable
    np.testing.assert_array_equal(result, before)
