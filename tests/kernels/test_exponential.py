"""Exponential and logarithm against the C library's."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sklearn_hashnlp.kernels._compile import compiled, vectorized
from sklearn_hashnlp.kernels._intrinsics import exp_of_negative, log1p_of_unit


def _exp(values, out):
    for at in range(len(values)):
        out[at] = exp_of_negative(values[at])


def _log1p(values, out):
    for at in range(len(values)):
        out[at] = log1p_of_unit(values[at])


# In a vectorized kernel the two halves of ln(2) may be added first, which costs digits far from zero.
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
def test_what_the_exponential_gives_at_the_ends(kernel, _tolerance):
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


def test_single_precision_is_rounded_once():
    values = -np.linspace(0, 80, 5000, dtype=np.float32)
    out = np.empty_like(values)
    EXP[0][0](values, out)
    assert (out == np.exp(values.astype(np.float64)).astype(np.float32)).mean() > 0.999
