"""Blocks of scalar products and of sums against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_hashnlp.kernels._compile import vectorized
from sklearn_hashnlp.kernels._intrinsics import add_scaled, add_scaled_4, add_scaled_8, dot, dot_4, dot_16


@vectorized
def multiply(u, v, out):
    out[0, 0] = dot(u[0], v[0])
    row = dot_4(u[1], v[0], v[1], v[2], v[3])
    block = dot_16(u[2], u[3], u[4], u[5], v[0], v[1], v[2], v[3])
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
    assert (out == expected).all()  # whole numbers: nothing is rounded
    scales, total = rng.integers(-9, 9, 13).astype(dtype), rng.integers(-9, 9, width).astype(dtype)
    expected = total + scales @ v
    add_up(scales, v, total)
    assert (total == expected).all()
