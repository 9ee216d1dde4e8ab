"""Counts are set beside what is expected, and what does not fit is seen."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sklearn_hashnlp.inspection._collision_counts import count_trial
from sklearn_hashnlp.inspection._collision_summary import Counted, poisson_interval, poisson_p_value, summarize


def test_moments_are_those_of_the_trials() -> None:
    generator = np.random.default_rng(0)
    trials = [count_trial(generator.integers(40, size=20)) for _ in range(50)]
    counted = Counted()
    for trial in trials:
        counted = counted.plus(trial)
    summary = summarize(counted, n_words=20, chance=1 / 40, expected_dispersion=2.0)
    pairs = np.array([trial.pairs for trial in trials])
    shares = np.array([trial.sharing_words for trial in trials]) / 20
    assert summary.mean_pairs == pytest.approx(pairs.mean())
    assert summary.dispersion == pytest.approx(pairs.var(ddof=1) / pairs.mean())
    assert summary.mean_sharing == pytest.approx(shares.mean())
    half = 1.96 * stats.sem(shares)
    assert (summary.low_sharing, summary.high_sharing) == pytest.approx((shares.mean() - half, shares.mean() + half))
    assert summary.expected_pairs == pytest.approx(190 / 40)
    assert summary.expected_sharing == pytest.approx(1 - (39 / 40) ** 19)
    assert summary.z == pytest.approx((pairs.mean() - 190 / 40) / np.sqrt(2.0 * 190 / 40 / 50))


def test_a_greater_dispersion_widens_the_interval_by_its_root() -> None:
    counted = Counted(100, 10_000, 1_010_000, 5000, 260_000)
    narrow, wide = (summarize(counted, n_words=201, chance=0.0049, expected_dispersion=f) for f in (1.0, 4.0))
    assert wide.high_pairs - wide.low_pairs == pytest.approx(2 * (narrow.high_pairs - narrow.low_pairs), rel=0.01)
    assert narrow.z == pytest.approx(2 * wide.z)
    assert wide.z > 0


def test_nothing_counted_still_has_an_upper_end() -> None:
    summary = summarize(Counted(10, 0, 0, 0, 0), n_words=5, chance=0.01, expected_dispersion=1.0)
    assert (summary.mean_pairs, summary.low_pairs, summary.dispersion) == (0, 0, None)
    assert summary.high_pairs == pytest.approx(-np.log(0.025) / 10)


@pytest.mark.parametrize("count", [1, 10, 300])
def test_ends_are_the_means_that_make_the_count_improbable(count: int) -> None:
    low, high = poisson_interval(count)
    assert stats.poisson.sf(count - 1, low) == pytest.approx(0.025)
    assert stats.poisson.cdf(count, high) == pytest.approx(0.025)


@pytest.mark.parametrize(("count", "mean"), [(0, 3.0), (4, 3.0), (12, 3.0), (980, 1000.0), (1, 0.003)])
def test_the_p_value_is_twice_the_lesser_tail(count: int, mean: float) -> None:
    tails = stats.poisson.cdf(count, mean), stats.poisson.sf(count - 1, mean)
    assert poisson_p_value(count, mean) == pytest.approx(min(2 * min(tails), 1))
    low, high = poisson_interval(count)
    assert (low <= mean <= high) == (poisson_p_value(count, mean) >= 0.05)
