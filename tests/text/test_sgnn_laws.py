"""Laws of projections on words of real text: angles, balance, the order of pairs.

Hyperplanes are the sample of every law. Pairs of words are not independent of each other, and neither are the words:
all of them share ``<`` and ``>``. So standard errors are taken over hyperplanes and seeds, of means over many pairs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.random_projection import SparseRandomProjection

from sklearn_hashnlp.datasets import load_stdlib_docstrings
from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector

N_SEEDS = 20
SIMILAR = [("start", "started"), ("prioritize", "priority"), ("twitter", "tweet"), ("Great", "great")]
UNLIKE = [("boat", "cow"), ("orange", "chewbacca"), ("twitter", "coffee"), ("ab", "ae")]


class Pairs(NamedTuple):
    X: csr_matrix
    first: NDArray[np.int64]
    second: NDArray[np.int64]

    def cosines(self, rows=None):
        """Return the cosine of each pair, of the rows themselves or of others in their place."""
        rows = self.X if rows is None else rows
        rows = csr_matrix(rows, dtype=np.float64)
        norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
        products = np.asarray(rows[self.first].multiply(rows[self.second]).sum(axis=1)).ravel()
        return products / (norms[self.first] * norms[self.second])

    def angles(self):
        """Return the angle of each pair, divided by pi."""
        return np.arccos(np.clip(self.cosines(), -1, 1)) / np.pi

    def differences(self, bits):
        """Return for each pair in which bits it differs."""
        return bits[self.first] != bits[self.second]


def pairs_of(texts, n_pairs, **parameters):
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, len(texts), (2, n_pairs))
    keep = first != second
    return Pairs(CharNgramFeaturizer(**parameters).transform(texts), first[keep], second[keep])


@pytest.fixture(scope="module")
def real_words():
    """Return different words of at least three characters, shuffled."""
    result = sorted({word for text in load_stdlib_docstrings().data for word in text.split() if len(word) >= 3})
    return np.random.default_rng(0).permutation(result).tolist()


@pytest.fixture(scope="module")
def words(real_words):
    """Pair 1200 of them."""
    return pairs_of(real_words[:1200], 5000)


@pytest.fixture(scope="module")
def phrases(real_words):
    """Join 600 times ten of them."""
    return [" ".join(real_words[10 * i : 10 * i + 10]) for i in range(600)]


@pytest.fixture(scope="module")
def named():
    texts = [word for pair in SIMILAR + UNLIKE for word in pair]
    return Pairs(CharNgramFeaturizer().transform(texts), np.arange(0, 16, 2), np.arange(1, 16, 2))


def deviation(pairs, **parameters):
    """Return how far the mean share of differing bits is from the mean angle / pi, with its standard error."""
    shares = [
        pairs.differences(SGNNProjector(random_state=seed, **parameters).transform(pairs.X)).mean(axis=0)
        for seed in range(N_SEEDS)
    ]
    of_hyperplanes = np.concatenate(shares)  # a mean over pairs for each of 20 x 1120 hyperplanes
    error = of_hyperplanes.std(ddof=1) / np.sqrt(len(of_hyperplanes))
    return of_hyperplanes.mean() - pairs.angles().mean(), error


def test_bits_differ_as_often_as_the_angle_says(words):
    assert len(words.first) > 4000
    result, error = deviation(words)
    assert abs(result) < 3 * error
    assert error < 0.001  # so that the law is not kept by a weak test


def test_bits_differ_as_often_as_the_angle_says_at_each_size_of_angle(words):
    order = np.argsort(words.angles())
    for part in np.array_split(order, 4):
        result, error = deviation(words._replace(first=words.first[part], second=words.second[part]))
        assert abs(result) < 4 * error


def test_half_of_the_bits_are_on(words):
    on = [SGNNProjector(random_state=seed).transform(words.X).mean() for seed in range(N_SEEDS)]
    assert np.mean(on) == pytest.approx(0.5, abs=0.01)


def test_signs_break_the_law_by_their_ties(words):
    # Why 'normal' is the default: sums of +-1 over the few n-grams of a word are often zero.
    sums = {kind: SGNNProjector(hyperplanes=kind, output="float").transform(words.X) for kind in ("normal", "sign")}
    assert np.mean(sums["normal"] == 0) < 0.005 < 0.05 < np.mean(sums["sign"] == 0)
    result, error = deviation(words, hyperplanes="sign")
    assert -0.01 < result < -3 * error


@pytest.mark.parametrize("density", [0.5, 0.3])
def test_a_density_keeps_the_law_where_rows_have_values_enough(words, density):
    result, error = deviation(words, density=density)
    assert abs(result) < 3 * error


def test_longer_rows_take_less_density_while_no_value_outweighs_the_others(phrases):
    # Ten words together have some 170 different n-grams.
    result, error = deviation(pairs_of(phrases, 3000, binary=True), density=0.1)
    assert abs(result) < 3 * error
    # Counted, "<" and ">" come ten times each and make up most of a row: where one of them falls out, all is different.
    result, error = deviation(pairs_of(phrases, 3000), density=0.1)
    assert abs(result) > 10 * error


def test_the_law_stops_where_the_density_leaves_too_little_of_a_row(words):
    # With one n-gram in fifty, most sums over a word are empty: two words agree where neither has any.
    result, error = deviation(words, density=0.02)
    assert result < -100 * error
    assert result < -0.1


@pytest.mark.parametrize("hyperplanes", ["normal", "sign"])
def test_float_keeps_products_without_bias(named, hyperplanes):
    products = np.zeros(len(named.first))
    for seed in range(N_SEEDS):
        sums = SGNNProjector(output="float", hyperplanes=hyperplanes, random_state=seed).transform(named.X)
        products += (sums[named.first] * sums[named.second]).sum(axis=1, dtype=np.float64) / N_SEEDS
    exact = np.asarray(named.X[named.first].multiply(named.X[named.second]).sum(axis=1)).ravel()
    sizes = np.asarray(named.X.multiply(named.X).sum(axis=1)).ravel()
    errors = np.sqrt((sizes[named.first] * sizes[named.second] + exact**2) / (1120 * N_SEEDS))
    assert (np.abs(products - exact) < 3.5 * errors).all()


def test_cosines_of_float_are_those_of_counts_as_well_as_scikit_learns(words):
    # The rows on their own columns only, as SparseRandomProjection makes a matrix for all of them.
    narrow = words.X[:, np.unique(words.X.indices)]
    exact = words.cosines()
    errors = {"ours": [], "theirs": []}
    for seed in range(2):
        ours = SGNNProjector(output="float", random_state=seed).transform(words.X)
        theirs = SparseRandomProjection(1120, random_state=seed).fit_transform(narrow)
        for name, rows in (("ours", ours), ("theirs", theirs)):
            errors[name].append(words.cosines(rows) - exact)
    spread = {name: np.sqrt(np.mean(np.square(result))) for name, result in errors.items()}
    assert spread["ours"] < 1.1 * spread["theirs"]
    assert spread["ours"] < 0.035  # 1 / sqrt(1120) is 0.030
    assert abs(np.mean(errors["ours"])) < 0.01
    assert np.corrcoef(exact, exact + errors["ours"][0])[0, 1] > 0.93


def test_similar_words_are_closer_than_others(named):
    exact, angles = named.cosines(), named.angles()
    cosines, shares = [], []
    for seed in range(N_SEEDS):
        shares.append(named.differences(SGNNProjector(random_state=seed).transform(named.X)).mean(axis=1))
        cosines.append(named.cosines(SGNNProjector(output="float", random_state=seed).transform(named.X)))
    print(f"\n{'':24}{'counts':>8}{'float':>8}{'angle/pi':>10}{'bits':>8}{'seed 0':>8}")
    for place, (one, other) in enumerate(SIMILAR + UNLIKE):
        print(
            f"{one + ' / ' + other:24}{exact[place]:8.3f}{np.mean(cosines, axis=0)[place]:8.3f}"
            f"{angles[place]:10.3f}{np.mean(shares, axis=0)[place]:8.3f}{shares[0][place]:8.3f}"
        )
    n = len(SIMILAR)
    assert exact[:n].min() > exact[n:].max()  # no pair breaks the order in the counts themselves
    assert np.mean(cosines, axis=0)[:n].min() > np.mean(cosines, axis=0)[n:].max()
    assert np.mean(shares, axis=0)[:n].max() < np.mean(shares, axis=0)[n:].min()
    assert np.abs(shares[0] - angles).max() < 0.045
