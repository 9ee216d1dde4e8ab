"""Rounded tables: errors, exact values, and values that are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sklearn_hashnlp.persistence._tables import from_int8, to_float16, to_int8

numbers = st.floats(min_value=np.float32(-1e30), max_value=np.float32(1e30), width=32)
tables = hnp.arrays(
    np.float32, hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=6), elements=numbers
)


def slow_int8(column: list[float]) -> list[float]:
    """Round each root to the nearest of 255 levels."""
    scale = max(map(abs, column))
    roots = [level / 127 for level in range(-127, 128)]
    signed_roots = [np.sign(number) * np.sqrt(abs(number) / scale) for number in column]
    nearest = [
        min(roots, key=lambda root, signed=signed: abs(root - signed)) for signed in signed_roots
    ]
    return [float(np.sign(root)) * root**2 * scale for root in nearest]


def test_levels_are_the_nearest_and_each_column_has_its_own() -> None:
    table = np.random.default_rng(0).standard_t(2, size=(500, 3)).astype(np.float32) * np.float32(
        [1, 1e-6, 1e6]
    )
    levels, scale = to_int8(table, "it")
    assert (levels.dtype, levels.shape, scale.dtype, scale.shape) == (
        np.int8,
        (500, 3),
        np.float32,
        (3,),
    )
    rounded = from_int8(levels, scale)
    for column in range(3):
        np.testing.assert_allclose(
            rounded[:, column], slow_int8(table[:, column].tolist()), rtol=1e-5, atol=0
        )


@given(tables)
def test_rounding_again_changes_nothing_and_keeps_zeros_signs_and_extremes(table: Any) -> None:
    levels, scale = to_int8(table, "it")
    rounded = from_int8(levels, scale)
    assert rounded.dtype == np.float32
    assert rounded.shape == table.shape
    again, same_scale = to_int8(rounded, "it")
    np.testing.assert_array_equal(again, levels)
    np.testing.assert_array_equal(same_scale, scale)
    assert not rounded[table == 0].any()
    assert (rounded * np.sign(table) >= 0).all()
    np.testing.assert_array_equal(
        np.abs(rounded).max(axis=0, initial=0), np.abs(table).max(axis=0, initial=0)
    )
    # Half the distance to the next level, whose root is larger by 1/127.
    error = np.abs(rounded - table).astype(float)
    allowed = (
        np.sqrt(np.abs(table) * scale.astype(float)) / 127 + scale.astype(float) / (4 * 127**2)
    ) * 1.001
    assert (error <= allowed).all()


@given(tables)
def test_float16_rounds_to_the_nearest_or_raises(table: Any) -> None:
    if np.abs(table).max(initial=0) > 65504:
        with pytest.raises(
            ValueError,
            match=r"cannot hold it in float16, whose largest value is 65504: it has .*int8",
        ):
            to_float16(table, "it")
    else:
        rounded = to_float16(table, "it")
        assert rounded.dtype == np.float16
        np.testing.assert_allclose(rounded.astype(float), table, rtol=2**-11, atol=2**-25)


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("function", [to_float16, to_int8])
def test_infinite_values_and_nan_are_refused(function: Any, number: float) -> None:
    table = np.zeros((3, 2), dtype=np.float32)
    table[1, 1] = number
    with pytest.raises(
        ValueError, match="cannot hold it in lower precision than float32: it has infinite values"
    ):
        function(table, "it")
