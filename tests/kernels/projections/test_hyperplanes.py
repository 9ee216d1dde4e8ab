"""Coefficients against their specification, written plainly, and against recorded values."""

from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.kernels.projections._hyperplanes import (
    PROJECTION_SPECIFICATION,
    QUANTILES,
    Hyperplanes,
    coefficients,
    mean_square,
)

from ...oracles.hyperplanes import coefficient

COLUMNS = [0, 1, 12345, 2**31 - 2, 2**40 + 7]
# Of specification 1. If these change, so must PROJECTION_SPECIFICATION: models would be served
# other rows.
GOLDEN = {  # six hyperplanes of each column, one after the other
    ("normal", 1.0, 0): [
        *(-61, 108, 21, -50, 94, 4, 58, -10, -12, 13, -10, -35, -4, -15, 18),
        *(57, 51, -41, -5, 29, 44, -22, -10, 6, 4, -43, 13, 20, 45, 17),
    ],
    ("normal", 1.0, 1099511627783): [
        *(45, -13, 25, -58, 8, 14, -4, -3, -49, 52, -2, 59, 19, -23, 20),
        *(68, 14, -27, 21, 38, 7, 52, -39, 1, 71, -94, -1, -76, -49, -24),
    ],
    ("normal", 0.5, 0): [
        *(-61, 108, 0, 0, 94, 0, 0, -10, -12, 13, 0, -35, 0, -15, 18),
        *(0, 51, -41, -5, 29, 0, -22, 0, 0, 4, 0, 0, 0, 45, 0),
    ],
    ("sign", 1.0, 0): [
        *(1, 1, -1, -1, -1, -1, 1, -1, -1, 1, 1, -1, -1, 1, 1),
        *(-1, 1, -1, 1, 1, -1, -1, -1, -1, -1, 1, -1, 1, 1, -1),
    ],
    ("google", 1.0, 0): [
        *(0, 0, 0, 0, 0, 0, 454736306, -730110818, 1049532998, -1012064478, 962414240, 160365774),
        *(197444312, -229181751, 716017959, 123877336, -1023226051, -264442504),
        *(-454736306, 730110818, -1049532998, 1012064478, -962414240, -160365774),
        *(-215058356, -970392670, -753220376, 872029433, -870699191, -522025527),
    ],
}
GOLDEN_TIES = {
    0: [9, 10, 79, 92, 64, 221, 85, 240],
    1099511627783: [112, 83, 58, 93, 69, 144, 92, 112],
}


@pytest.mark.parametrize(("kind", "density", "seed"), GOLDEN)
def test_recorded_coefficients(kind, density, seed):
    assert PROJECTION_SPECIFICATION == 1
    hyperplanes = Hyperplanes.of(kind, 70, density=density, seed=seed)
    assert (
        coefficients(COLUMNS, hyperplanes)[:, [0, 1, 2, 3, 33, 69]].ravel().tolist()
        == GOLDEN[kind, density, seed]
    )


def test_recorded_ties():
    result = {
        seed: np.packbits(Hyperplanes.of("normal", 64, seed=seed).ties).tolist()
        for seed in GOLDEN_TIES
    }
    assert result == GOLDEN_TIES
    for kind in ("sign", "google"):
        assert np.array_equal(
            Hyperplanes.of(kind, 64, seed=0).ties, Hyperplanes.of("normal", 64, seed=0).ties
        )


@given(
    kind=st.sampled_from(["normal", "sign", "google"]),
    column=st.integers(0, 2**63 - 1) | st.integers(0, 100),
    n=st.integers(1, 130),
    density=st.sampled_from([1.0, 0.5, 0.03]),
    seed=st.integers(0, 2**64 - 1),
)
def test_coefficients_are_as_specified(kind, column, n, density, seed):
    density = 1.0 if kind == "google" else density
    result = coefficients([column], Hyperplanes.of(kind, n, density=density, seed=seed))
    expected = [coefficient(kind, column, h, density=density, seed=seed) for h in range(n)]
    assert result.tolist() == [expected]


@given(kind=st.sampled_from(["normal", "sign", "google"]), n=st.integers(1, 100))
def test_ties_are_decided_by_the_signs_of_column_minus_one(kind, n):
    expected = [int(coefficient("sign", -1, h) > 0) for h in range(n)]
    assert Hyperplanes.of(kind, n).ties[:n].tolist() == expected


def test_quantiles_are_the_means_of_equally_likely_bins_of_a_normal_number():
    normal = NormalDist()
    bounds = [0.0, *(normal.pdf(normal.inv_cdf(k / 256)) for k in range(1, 256)), 0.0]
    means = 256 * np.array([lower - upper for lower, upper in pairwise(bounds)])
    scaled = np.round(means * 127 / means.max())
    expected = np.where(scaled == 0, np.sign(means), scaled)
    assert QUANTILES.tolist() == expected.tolist()
    assert np.array_equal(QUANTILES, -QUANTILES[::-1])
    assert mean_square(0) == np.mean(expected**2)
