"""Comparisons of the results of two trainings, for tests that pass on any processor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

SEEDS = range(3)
_N_FLOATS = 4


def assert_same_bits(first: Any, *others: Any) -> None:
    """For trainings that compute the same by construction, as a resumed one and a whole one: no bit
    differs.
    """
    for other in others:
        assert _bits(other) == _bits(first)


def assert_other_bits(first: Any, second: Any) -> None:
    """For an option or a seed with an effect: of many weights or probabilities some differ, a score
    may be equal.
    """
    n_floats = _n_floats(first)
    if n_floats < _N_FLOATS:
        raise ValueError(
            f"assert_other_bits compares at least {_N_FLOATS} numbers, got {n_floats}: they may be "
            "equal."
        )
    assert _bits(first) != _bits(second)


def assert_near(
    found: ArrayLike, expected: ArrayLike, *, rtol: float = 0.0, atol: float = 0.0
) -> None:
    """For one solution computed in two ways: the tolerance is that of the solver, or of the order
    of its sums.
    """
    found, expected = (_array(value) for value in (found, expected))
    scale = np.abs(expected).max(initial=0.0)
    rounding = (
        4
        * max(np.finfo(np.result_type(one.dtype, np.float16)).eps for one in (found, expected))
        * scale
    )
    if rtol * scale + atol < rounding:
        raise ValueError(
            f"assert_near needs a tolerance of at least {rounding:.1e}, four roundings of the "
            "largest number."
        )
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)


def assert_as_good(found: ArrayLike, expected: ArrayLike, *, margin: float) -> None:
    """For scores of several seeds: their mean is above that of the expected ones, a simple model's,
    minus a margin.
    """
    found, expected = np.asarray(found), np.asarray(expected)
    if found.size < len(SEEDS):
        raise ValueError(
            f"assert_as_good takes the scores of at least {len(SEEDS)} seeds, got {found.size}."
        )
    assert found.mean() > expected.mean() - margin, f"{found} against {expected}"


def _array(value: Any) -> NDArray[Any]:
    return np.asarray(value.detach().cpu() if isinstance(value, torch.Tensor) else value)


def _bits(value: Any) -> Any:
    """Return a value that is equal for the same bits; arrays may have another order of bytes or of
    dimensions.
    """
    if isinstance(value, Mapping):
        return {key: _bits(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_bits(part) for part in value]
    if issparse(value):
        return _bits([value.shape, value.indptr, value.indices, value.data])
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, np.ndarray | torch.Tensor):
        return repr(value) if isinstance(value, float) else value
    array = _array(value)
    if array.dtype.kind not in "biuf":
        return array.tolist()
    return (
        str(array.dtype.newbyteorder("=")),
        array.shape,
        array.astype(array.dtype.newbyteorder("=")).tobytes(),
    )


def _n_floats(value: Any) -> int:
    """Return how many float32 numbers a value holds."""
    if isinstance(value, Mapping | list | tuple):
        return sum(map(_n_floats, value.values() if isinstance(value, Mapping) else value))
    return len(value) // 4 if isinstance(value, bytes) else _array(value).size
