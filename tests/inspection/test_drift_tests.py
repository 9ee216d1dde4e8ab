"""The tests of drift hold their level, against simulations and slow formulas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sklearn_hashnlp.inspection._compare_texts import (
    corrected,
    expected_unknown,
    p_of_histogram,
    p_of_lower_mean,
    p_of_shares,
    p_of_unknown_texts,
)

N_REPEATS = 400
# A share of 5 % of 400 is above this one with a probability below a thousandth.
MOST_FALSE_ALARMS = 0.09


@pytest.mark.parametrize("n_new", [12, 60, 250])
def test_a_histogram_of_the_same_kind_is_seldom_different(n_new):
    rng = np.random.default_rng(0)
    shares = np.append(np.full(19, 0.045), 0.145)  # ties make some bins larger
    p_values = [
        p_of_histogram(rng.multinomial(1000, shares), rng.multinomial(n_new, shares))
        for _ in range(N_REPEATS)
    ]
    assert np.mean(np.array(p_values) < 0.05) <= MOST_FALSE_ALARMS


def test_a_few_extreme_values_are_a_different_histogram():
    rng = np.random.default_rng(0)
    training = rng.multinomial(1000, np.full(20, 0.05))
    new = rng.multinomial(220, np.full(20, 0.05)) + 30 * (np.arange(20) == 19)
    assert p_of_histogram(training, new) < 0.01
    assert p_of_histogram(*np.eye(20, dtype=np.int64)[[3, 3]]) == 1


@pytest.mark.parametrize("of_model", [0.0, 0.05])
@pytest.mark.parametrize("n_folds", [1, 3])
def test_a_mean_of_the_same_kind_is_seldom_lower(of_model, n_folds):
    """Also where models differ in their means, unless there is one alone."""
    if of_model and n_folds == 1:
        pytest.skip("one model does not show how much models differ")
    rng = np.random.default_rng(0)
    sizes, p_values = np.full(n_folds, 1000), []
    for _ in range(N_REPEATS):
        means = rng.normal(0.8, of_model, n_folds) + rng.normal(0, 0.2, n_folds) / np.sqrt(sizes)
        new = rng.normal(0.8, of_model) + rng.normal(0, 0.2, 250)
        p_values.append(p_of_lower_mean(means, sizes, 0.2, new))
    assert np.mean(np.array(p_values) < 0.05) <= MOST_FALSE_ALARMS
    lower = rng.normal(0.75, 0.2, 250)
    assert p_of_lower_mean(np.full(n_folds, 0.8), sizes, 0.2, lower) < 0.01
    assert p_of_lower_mean(np.full(n_folds, 0.8), sizes, 0.2, lower + 0.2) > 0.9


def test_the_variance_between_folds_counts():
    folds, sizes, new = np.array([0.7, 0.8, 0.84]), np.array([90, 100, 110]), np.full(50, 0.6)
    of_row, between = 0.3**2, np.var(folds, ddof=1)
    of_fold = of_row * np.mean(1 / sizes)
    variance = of_row / 50 + of_fold / 3 + (4 / 3) * (between - of_fold)
    degrees = 2 * (variance / (4 / 3 * between)) ** 2
    expected = stats.t.cdf((0.6 - folds.mean()) / np.sqrt(variance), degrees)
    assert p_of_lower_mean(folds, sizes, 0.3, new) == pytest.approx(expected)


@pytest.mark.parametrize("of_model", [0.0, 0.05])
def test_shares_of_the_same_kind_seldom_differ(of_model):
    """A frequent text moves from one label to another by a change of the model."""
    rng = np.random.default_rng(0)
    shares, sizes, n_alarms = np.array([0.6, 0.3, 0.09, 0.009, 0.001]), np.full(3, 1000), 0
    for _ in range(N_REPEATS):
        moves = rng.normal(0, of_model, 4)[:, np.newaxis] * [1, -1, 0, 0, 0]
        *folds, new = (
            rng.multinomial(n, shares + move) / n
            for n, move in zip([*sizes, 250], moves, strict=True)
        )
        n_alarms += p_of_shares(np.array(folds), sizes, new, 250).min() < 0.05
    assert n_alarms / N_REPEATS <= MOST_FALSE_ALARMS
    other = np.array([0.4, 0.4, 0.1, 0.1, 0.0])
    p_values = p_of_shares(np.tile(shares, (3, 1)), sizes, other, 250)
    assert p_values[[0, 3]].max() < 0.01
    assert p_values[4] == 1


def test_the_number_of_unknown_ngrams_is_that_of_a_simulation():
    """An n-gram in a random share of all texts, of which some are new."""
    rng = np.random.default_rng(0)
    n_training, n_new, n_ngrams = 300, 60, 2000
    expected, found = np.zeros(4), np.zeros(4)
    for _ in range(60):
        rates = 1 / (2 + rng.permutation(n_ngrams))  # as of Zipf's law
        has = rng.random((n_training + n_new, n_ngrams)) < rates / 3
        frequencies = has[:n_training].sum(axis=0)
        spectrum = np.bincount(np.minimum(frequencies, 32), minlength=33)[1:]
        counts = has[n_training:].sum(axis=0)[frequencies == 0]
        for k in range(4):
            expected[k] += expected_unknown(k + 1, n_new, spectrum, n_training)
            found[k] += np.count_nonzero(counts >= k + 1)
    assert (found <= 1.1 * expected + 3).all()
    assert (expected <= 1.6 * found + 3).all()


def test_the_bound_has_the_form_of_the_formula():
    spectrum = np.zeros(32, dtype=np.int64)
    spectrum[[1, 4]] = 7, 3
    slow = sum(number * stats.hypergeom.pmf(j, 150, j, 50) for j, number in ((2, 7), (5, 3)))
    assert expected_unknown(2, 50, spectrum, 100) == pytest.approx(1.5 * slow)
    assert expected_unknown(3, 50, spectrum, 100) == pytest.approx(
        1.5 * 3 * stats.hypergeom.pmf(5, 150, 5, 50)
    )
    spectrum[31] = 1
    assert 0 < expected_unknown(40, 50, spectrum, 100) < 1e-10
    assert expected_unknown(1, 1, spectrum, 100) == 0


def test_more_unknown_texts_than_expected_are_noticed():
    assert p_of_unknown_texts(10, 1000, 2, 200) > 0.2
    assert p_of_unknown_texts(10, 1000, 20, 200) < 1e-6
    assert p_of_unknown_texts(100, 1000, 0, 200) == 1  # fewer are no drift


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_the_correction_is_that_of_holm(p_values):
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    expected, largest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(order):
        largest = max(largest, (len(p_values) - rank) * p_values[index])
        expected[index] = min(1.0, largest)
    np.testing.assert_allclose(corrected(np.array(p_values)), expected)
