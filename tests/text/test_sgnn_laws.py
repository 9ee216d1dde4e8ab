"""Laws of projections on words of real text: angles, balance, the order of pairs.

Hyperplanes are the sample of every law. Pairs of words are not independent of each other, and neither are the words:
all of them share ``<`` and ``>``. So standard errors are taken over hyperplanes and seeds, of means over many pairs.
"""

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.random_projection import SparseRandomProjection

from sklearn_hashnlp.datasets import load_stdlib_docstrings
from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector

N_SEEDS = 20


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


def deviation(pairs, **parameters):
    """Return how far the mean share of differing bits is from the mean angle / pi, with its standard error."""
    shares = [
        pairs.differences(SGNNProjector(random_state=seed, **parameters).transform(pairs.X)).mean(axis=0)
        for seed in range(N_SEEDS)
    ]
    of_hyperplanes = np.concatenate(shares)  # a mean over pairs for each of 20 x 1120 hyperplanes
    error = of_hyperplanes.std(ddof=1) / np.sqrt(len(of_hyperplanes))
    return of_hyperplanes.mean() - pairs.angles().mean(), error


def test_bits_differ_as_often_as_the_angle_says_at_each_size_of_angle(words):
    assert len(words.first) > 4000
    order = np.argsort(words.angles())
    for part in np.array_split(order, 4):
        result, error = deviation(words._replace(first=words.first[part], second=words.second[part]))
        assert abs(result) < 4 * error
        assert error < 0.002  # so that the law is not kept by a weak test


@pytest.mark.parametrize("density", [0.5, 0.3])
def test_a_density_keeps_the_law_where_rows_have_values_enough(words, density):
    result, error = deviation(words, density=density)
    assert abs(result) < 3 * error


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
