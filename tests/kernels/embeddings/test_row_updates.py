"""Optimizer steps on rows of a table, against plain loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_hashnlp.kernels.embeddings._row_updates import (
    adagrad_rows,
    adam_rows,
    add_average_offset,
    are_ascending,
    decay_rows,
    sgd_rows,
)

from ...oracles import optimizers

N_ROWS = 40


# Each kernel, its oracle, the widths of its state (None is the width of the table), and its hyper-parameters.
KERNELS = {
    "adagrad": (adagrad_rows, optimizers.adagrad_rows, (1,), (0.3, 1e-3)),
    "adam": (adam_rows, optimizers.adam_rows, (None, 1, 1), (0.3, 0.8, 0.95, 1e-3)),
    "sgd": (sgd_rows, optimizers.sgd_rows, (1,), (0.3,)),
}


def memory(name, width, *, averaged, dtype=np.float64):
    table = np.random.default_rng(1).normal(size=(N_ROWS, width)).astype(dtype)
    state = [np.zeros((N_ROWS, columns or width), dtype=dtype) for columns in KERNELS[name][2]]
    return [table, *state, np.zeros((N_ROWS if averaged else 0, width), dtype=dtype)]


def steps_of(seed, width, n_steps=5, dtype=np.float64):
    """Draw rows and their gradients: all rows, none, one, and some."""
    rng = np.random.default_rng(seed)
    for n in [N_ROWS, 0, 1, *rng.integers(0, N_ROWS + 1, n_steps - 3)]:
        rows = rng.permutation(N_ROWS)[:n]
        yield rows, rng.normal(size=(n, width)).astype(dtype)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), width=st.sampled_from([1, 2, 3, 16, 21]), averaged=st.booleans())
@pytest.mark.parametrize("name", KERNELS)
def test_each_row_follows_the_formula(name, seed, width, averaged):
    kernel, plain, _, numbers = KERNELS[name]
    ours, theirs = (memory(name, width, averaged=averaged) for _ in range(2))
    for steps_averaged, (rows, gradients) in enumerate(steps_of(seed, width)):
        arguments = [np.float64(number) for number in (*numbers, steps_averaged)]
        kernel(*ours, rows, gradients, *arguments)
        plain(*theirs, rows, gradients, *arguments)
    for part, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(part, expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("averaged", [True, False])
@pytest.mark.parametrize("name", KERNELS)
def test_single_precision_stays_single_and_close(name, averaged):
    kernel, _, _, numbers = KERNELS[name]
    single, double = (memory(name, 20, averaged=averaged, dtype=dtype) for dtype in (np.float32, np.float64))
    double[0] = single[0].astype(np.float64)
    for steps_averaged, (rows, gradients) in enumerate(steps_of(0, 20, dtype=np.float32)):
        kernel(*single, rows, gradients, *map(np.float32, (*numbers, steps_averaged)))
        kernel(*double, rows, gradients.astype(np.float64), *map(np.float64, (*numbers, steps_averaged)))
    for part, expected in zip(single, double, strict=True):
        np.testing.assert_allclose(part, expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", KERNELS)
def test_rows_without_a_gradient_are_neither_read_nor_written(name):
    kernel, _, _, numbers = KERNELS[name]
    parts = memory(name, 3, averaged=True)
    rows = np.array([0, 7, N_ROWS - 1])
    others = np.setdiff1d(np.arange(N_ROWS), rows)
    for part in parts:
        part[others] = np.nan
    kernel(*parts, rows, np.ones((3, 3)), *map(np.float64, (*numbers, 2)))
    for part in parts:
        assert np.isnan(part[others]).all()
        assert np.isfinite(part[rows]).all()


@pytest.mark.parametrize("name", KERNELS)
def test_a_gradient_of_zero_is_a_step_of_none(name):
    kernel, _, _, numbers = KERNELS[name]
    parts = memory(name, 3, averaged=True)
    before = parts[0].copy()
    kernel(*parts, np.arange(N_ROWS), np.zeros((N_ROWS, 3)), *map(np.float64, (*numbers, 2)))
    assert (parts[0] == before).all()
    assert not parts[-1].any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", KERNELS)
def test_the_same_steps_give_the_same_bytes(name, dtype):
    kernel, _, _, numbers = KERNELS[name]
    results = []
    for _ in range(2):
        parts = memory(name, 20, averaged=True, dtype=dtype)
        for steps_averaged, (rows, gradients) in enumerate(steps_of(0, 20, dtype=dtype)):
            kernel(*parts, rows, gradients, *map(dtype, (*numbers, steps_averaged)))
        results.append([part.tobytes() for part in parts])
    assert results[0] == results[1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("averaged", [True, False])
@pytest.mark.parametrize("width", [1, 3, 20])
def test_rows_decay(width, averaged, dtype):
    table = np.random.default_rng(0).normal(size=(N_ROWS, width)).astype(dtype)
    offset = np.ones((N_ROWS if averaged else 0, width), dtype=dtype)
    expected, rows = table.copy(), np.array([3, 0, N_ROWS - 1])
    decay_rows(table, offset, rows, dtype(0.25), dtype(2))
    if averaged:
        assert (offset[rows] == 1 + dtype(0.5) * expected[rows]).all()
        assert (np.delete(offset, rows, axis=0) == 1).all()
    expected[rows] -= dtype(0.25) * expected[rows]
    assert (table == expected).all()


@given(rows=st.lists(st.integers(-3, 6), max_size=6))
def test_ascending_is_strictly_ascending(rows):
    assert are_ascending(np.array(rows, dtype=np.int64)) == (rows == sorted(set(rows)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_average_offset_is_added_to_touched_rows_alone(dtype):
    table = np.arange(12, dtype=dtype).reshape(4, 3)
    average_offset = np.full_like(table, np.nan)
    average_offset[1], average_offset[3] = [2, 0, -4], [0, 0, 8]
    expected = table.copy()
    expected[[1, 3]] += dtype(0.25) * average_offset[[1, 3]]
    add_average_offset(table, average_offset, np.array([0, 0.1, 0, 3], dtype=dtype), dtype(0.25))
    assert table.tolist() == expected.tolist()
