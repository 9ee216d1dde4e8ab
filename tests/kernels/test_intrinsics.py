"""Prefetching, exp and log1p, and blocks of dot products, against plain loops, the C library and numpy."""

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
    prefetch_row,
)


@compiled
def sum_rows(table, rows):
    total = 0.0
    for row in rows:
        for column in range(table.shape[1]):
            total += table[row, column]
    return total


@compiled
def sum_rows_prefetched(table, rows):
    total = 0.0
    for at in range(len(rows)):
        prefetch_row(table, rows[min(at + 3, len(rows) - 1)])
        for column in range(table.shape[1]):
            total += table[rows[at], column]
    return total


@pytest.mark.parametrize(("dtype", "row_dtype"), [(np.float32, np.int32), (np.float64, np.int64)])
@pytest.mark.parametrize("width", [1, 16, 17])
def test_prefetching_changes_no_result(dtype, row_dtype, width):
    rng = np.random.default_rng(0)
    table = rng.integers(-99, 99, (50, width)).astype(dtype)
    before, rows = table.copy(), rng.integers(0, 50, 200).astype(row_dtype)
    rows[[0, -1]] = 49, 0
    assert sum_rows_prefetched(table, rows) == sum_rows(table, rows) == table[rows].sum(dtype=np.float64)
    assert sum_rows_prefetched(table, rows[:0]) == 0
    assert (table == before).all()


def _exp(values, out):
    for at in range(len(values)):
        out[at] = exp_of_negative(values[at])


def _log1p(values, out):
    for at in range(len(values)):
        out[at] = log1p_of_unit(values[at])


# In a vectorized kernel the two parts of ln(2) may be added first, which loses digits far from zero.
EXP = [(compiled(_exp), 4e-16), (vectorized(_exp), 2e-13)]
LOG1P = [(compiled(_log1p), 7e-16), (vectorized(_log1p), 7e-16)]


@pytest.mark.parametrize(("kernel", "tolerance"), EXP, ids=["exact", "vectorized"])
def test_the_exponential_is_right_to_its_last_bits(kernel, tolerance):
    values = -np.concatenate([np.linspace(0, 708, 70_001), np.geomspace(1e-300, 1, 10_000), [0.0]])
    out = np.empty_like(values)
    kernel(values, out)
    np.testing.assert_allclose(out, [math.exp(value) for value in values], rtol=tolerance)
    assert out[-1] == 1


@pytest.mark.parametrize(("kernel", "_tolerance"), EXP)
def test_the_exponential_at_the_ends_of_its_range(kernel, _tolerance):
    values = np.array([-709.0, -1e300, -np.inf, np.nan])
    out = np.empty_like(values)
    kernel(values, out)
    assert (out[:3] > 0).all()
    assert (out[:3] < 1e-307).all()
    assert np.isnan(out[3])


@pytest.mark.parametrize(("kernel", "tolerance"), LOG1P, ids=["exact", "vectorized"])
def test_the_logarithm_is_right_to_its_last_bits(kernel, tolerance):
    values = np.concatenate([np.linspace(0, 1, 50_001), np.geomspace(1e-300, 1, 10_000)])
    out = np.empty_like(values)
    kernel(values, out)
    np.testing.assert_allclose(out, [math.log1p(value) for value in values], rtol=tolerance)


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
