"""exp, log1p and log as plain arithmetic, against the C library."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import _native

SMALL = np.geomspace(1e-300, 1, 10_000)
NEGATIVE = -np.concatenate([np.linspace(0, 708, 70_001), SMALL, [0.0]])
UNIT = np.concatenate([np.linspace(0, 1, 50_001), SMALL])
NEAR_ONE = 1 + np.concatenate([-SMALL[::-1] / 2, SMALL])
EDGES = np.sqrt(np.ldexp(0.5, range(-20, 20))) * (1 + np.arange(-3, 4)[:, np.newaxis] * 2.0**-52)
LIMITS = [5e-324, 1e-310, np.nextafter(2.0**-1022, 0), 2.0**-1022, np.finfo(float).max]
POSITIVE = np.concatenate(
    [np.geomspace(1e-323, 1e308, 50_001), NEAR_ONE, EDGES.ravel(), LIMITS, [1.0]]
)


def values_of(name: str, values: Any) -> NDArray[np.float64]:
    values = np.asarray(values, dtype=np.float64)
    out = np.empty_like(values)
    getattr(_native, name)(values, out)
    return out


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize(
    ("name", "function", "values", "tolerance"),
    [
        ("exp_of_negative", math.exp, NEGATIVE, 4e-16),
        ("log1p_of_unit", math.log1p, UNIT, 7e-16),
        ("log_of_positive", math.log, POSITIVE, 2.3e-16),
    ],
)
def test_functions_are_right_to_their_last_bits(
    name: str, function: Callable[[float], float], values: NDArray[np.float64], tolerance: float
) -> None:
    expected = [function(value) for value in values]
    np.testing.assert_allclose(values_of(name, values), expected, rtol=tolerance, atol=0)


@pytest.mark.parametrize(
    ("name", "values"),
    [("exp_of_negative", NEGATIVE), ("log1p_of_unit", UNIT), ("log_of_positive", POSITIVE)],
)
def test_bits_do_not_depend_on_the_processor(
    level: str, name: str, values: NDArray[np.float64]
) -> None:
    found = values_of(name, values)
    _native.set_level("baseline")
    assert found.tobytes() == values_of(name, values).tobytes(), level


@pytest.mark.usefixtures("level")
def test_the_ends_of_their_ranges() -> None:
    out = values_of("exp_of_negative", [-709.0, -1e300, -np.inf, np.nan, -0.0])
    assert (out[:3] > 0).all()
    assert (out[:3] < 1e-307).all()
    np.testing.assert_array_equal(out[3:], [np.nan, 1.0])
    np.testing.assert_array_equal(
        values_of("log_of_positive", [np.inf, np.nan, 1.0]), [np.inf, np.nan, 0.0]
    )
    assert values_of("log_of_positive", []).shape == (0,)


def test_logarithms_of_counts_have_the_bits_of_the_c_library_in_float32() -> None:
    counts = np.arange(1, 300_000, dtype=np.float64)
    expected = np.array([1 + math.log(count) for count in counts.tolist()], dtype=np.float32)
    np.testing.assert_array_equal(
        (1 + values_of("log_of_positive", counts)).astype(np.float32), expected
    )
