"""Paired comparisons, checked against scipy."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchmarks.runner.statistics import compare_paired, holm_correction, sign_flip_p_value

integers = st.lists(st.integers(-5, 5), min_size=1, max_size=8)


@given(integers)
def test_the_p_value_is_the_share_of_sign_flips_as_far_from_zero(differences: list[int]) -> None:
    flips = [
        sum(sign * value for sign, value in zip(signs, differences, strict=True))
        for signs in _signs(differences)
    ]
    expected = sum(abs(flip) >= abs(sum(differences)) for flip in flips) / len(flips)
    assert sign_flip_p_value(differences) == expected
    # Tenths are no binary fractions: what is equal must stay equal.
    assert sign_flip_p_value([value / 10 for value in differences]) == expected


def _signs(differences: list[int]) -> product[tuple[int, ...]]:
    return product((1, -1), repeat=len(differences))


def test_the_p_value_equals_scipy() -> None:
    first, second = np.random.default_rng(0).normal([[0.8], [0.0]], size=(2, 10))
    expected = stats.permutation_test(
        (first, second),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
        vectorized=True,
    ).pvalue
    assert 0.001 < expected < 0.5
    assert sign_flip_p_value(first - second) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("differences", [[], [1.0] * 21, [1.0, np.nan]])
def test_differences_that_cannot_be_tested_are_refused(differences: list[float]) -> None:
    with pytest.raises(ValueError, match="needs 1 to 20 finite differences, got"):
        sign_flip_p_value(differences)


@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_the_interval_equals_scipy(confidence: float) -> None:
    first, second = np.random.default_rng(2).normal(size=(2, 10)).tolist()
    expected = stats.ttest_rel(first, second).confidence_interval(confidence)
    (compared,) = compare_paired({"a": first, "b": second}, [("a", "b")], confidence)
    np.testing.assert_allclose((compared.low, compared.high), expected)


def test_holm_is_the_published_example() -> None:
    # R: p.adjust(c(0.01, 0.02, 0.03, 0.005), "holm")
    np.testing.assert_allclose(holm_correction([0.01, 0.02, 0.03, 0.005]), [0.03, 0.04, 0.04, 0.02])
    assert holm_correction([0.6, 0.9]) == [1.0, 1.0]
    assert holm_correction([]) == []


def test_settings_are_compared_seed_by_seed() -> None:
    seeds = np.random.default_rng(3).normal(size=10)
    measured = {
        "a": (seeds + 1).tolist(),
        "b": (seeds + 0.9 + 0.01 * np.arange(10)).tolist(),
        "c": (-seeds).tolist(),
    }
    comparisons = compare_paired(measured, [("a", "b"), ("c", "a")])
    for comparison in comparisons:
        difference = np.subtract(measured[comparison.first], measured[comparison.second])
        assert comparison.difference == pytest.approx(difference.mean())
        assert comparison.p_value == sign_flip_p_value(difference)
    assert [one.corrected_p_value for one in comparisons] == holm_correction(
        [one.p_value for one in comparisons]
    )
    (alone,) = compare_paired(measured, [("c", "a")])
    assert alone.corrected_p_value == alone.p_value


@pytest.mark.parametrize("scores", [{"a": [1, 2], "b": [1]}, {"a": [1], "b": [1]}])
def test_scores_that_cannot_be_paired_are_refused(scores: dict[str, list[float]]) -> None:
    with pytest.raises(
        ValueError, match="needs the same number of scores of each, at least two, got"
    ):
        compare_paired(scores, [("a", "b")])
