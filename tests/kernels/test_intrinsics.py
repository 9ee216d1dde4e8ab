"""exp and log1p, and blocks of dot products, against the C library and numpy."""

import math

import numpy as np
import pytest

from sklearn_hashnlp.kernels._compile import compiled, vectorized
from sklearn_hashnlp.kernels._intrinsics import (
    add_scaled,
    add_scaled_4,
    add_scaled_8,
    dot,
    dot_4,
    dot_16,
    exp_of_negative,
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


@vectorized
def multiply(u, v, out):
    out[0, 0] = dot(u[0], v[0], out)
    row = dot_4(u[1], v[0], v[1], v[2], v[3], out)
    block = dot_16(u[2], u[3], u[4], u[5], v[0], v[1], v[2], v[3], out)
    for j in range(4):
        out[1, j] = row[j]
        for i in range(4):
            out[2 + i, j] = block[i][j]


@vectorized
def add_up(scales, v, total):
    s = scales
    add_scaled_8(
        total,
        (s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]),
        (v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]),
    )
    add_scaled_4(total, (s[8], s[9], s[10], s[11]), (v[8], v[9], v[10], v[11]))
    add_scaled(total, s[12], v[12])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [0, 1, 3, 16, 17, 64, 250, 256])
def test_products_and_sums_are_those_of_numpy(width, dtype):
    rng = np.random.default_rng(width)
    u, v, out = (rng.integers(-9, 9, shape).astype(dtype) for shape in ((6, width), (13, width), (6, 4)))
    expected = u.copy() @ v[:4].T
    expected[0, 1:] = out[0, 1:]
    multiply(u, v, out)
    assert (out == expected).all()  # integers: nothing is rounded
    scales, total = rng.integers(-9, 9, 13).astype(dtype), rng.integers(-9, 9, width).astype(dtype)
    expected = total + scales @ v
    add_up(scales, v, total)
    assert (total == expected).all()
