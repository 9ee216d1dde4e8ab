"""exp and log1p against the C library; products of blocks are compared in tests of trees, with plain torch."""

import math

import numpy as np
import pytest

from sklearn_hashnlp.kernels._compile import compiled, vectorized
from sklearn_hashnlp.kernels._intrinsics import (
    exp_of_negative,
    in_huge_pages,
    log1p_of_unit,
)


def _exp(values, out):
    for at in range(len(values)):
        out[at] = exp_of_negative(values[at])


def _log1p(values, out):
    for at in range(len(values)):
        out[at] = log1p_of_unit(values[at])


SMALL = np.geomspace(1e-300, 1, 10_000)
NEGATIVE = -np.concatenate([np.linspace(0, 708, 70_001), SMALL, [0.0]])
UNIT = np.concatenate([np.linspace(0, 1, 50_001), SMALL])


# In a vectorized kernel the two parts of ln(2) may be added first, which loses digits far from zero.
@pytest.mark.parametrize(
    ("kernel", "function", "values", "tolerance"),
    [
        (compiled(_exp), math.exp, NEGATIVE, 4e-16),
        (vectorized(_exp), math.exp, NEGATIVE, 2e-13),
        (compiled(_log1p), math.log1p, UNIT, 7e-16),
        (vectorized(_log1p), math.log1p, UNIT, 7e-16),
    ],
    ids=["exp", "exp, vectorized", "log1p", "log1p, vectorized"],
)
def test_functions_are_right_to_their_last_bits(kernel, function, values, tolerance):
    out = np.empty_like(values)
    kernel(values, out)
    np.testing.assert_allclose(out, [function(value) for value in values], rtol=tolerance)
    assert function is math.log1p or out[-1] == 1


@pytest.mark.parametrize("kernel", [compiled(_exp), vectorized(_exp)], ids=["compiled", "vectorized"])
def test_the_exponential_at_the_ends_of_its_range(kernel):
    values = np.array([-709.0, -1e300, -np.inf, np.nan])
    out = np.empty_like(values)
    kernel(values, out)
    assert (out[:3] > 0).all()
    assert (out[:3] < 1e-307).all()
    assert np.isnan(out[3])


@pytest.mark.parametrize("shape", [(0,), (3, 5), (2**19 + 3,), (1025, 1024)], ids=str)
@pytest.mark.parametrize("start", [0, 1])
def test_an_array_in_huge_pages_is_the_same_array(shape, start):
    values = np.arange(math.prod(shape), dtype=np.float64).reshape(shape)[start:]
    before = values.copy()
    result = in_huge_pages(values)
    assert result.ctypes.data == values.ctypes.data
    assert result.flags.writeable
    np.testing.assert_array_equal(result, before)
