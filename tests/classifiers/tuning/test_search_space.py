"""The parameters that a search draws."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from sklearn_hashnlp.classifiers import TextClassifier
from sklearn_hashnlp.classifiers.tuning._search_space import PowersOfTwo, candidates, identity


@pytest.mark.parametrize("n_texts", [100, 30_000])
@pytest.mark.parametrize("limited", [False, True])
def test_the_default_space_holds_valid_parameters_without_repetition(n_texts, limited):
    drawn = list(
        islice(candidates(None, 3, n_texts=n_texts, limited=limited, defaults=TextClassifier().get_params()), 60)
    )
    assert drawn[0] == {}
    assert len(set(map(identity, drawn))) == 60
    for params in drawn:
        TextClassifier(**params)._validate_params()
    names = {name for params in drawn for name in params}
    assert names >= {"features", "lowercase", "ngram_range", "n_buckets", "n_embeddings"}
    assert ("learning_rate" in names) == (n_texts == 30_000)
    small = sum("n_buckets" in params for params in drawn)
    assert small > 30 if limited else small < 45
    assert {params["features"] for params in drawn if "features" in params} >= {"words", "characters"}


def test_a_small_space_is_exhausted():
    space = [{"n_buckets": PowersOfTwo(3, 4)}, {"lowercase": [True, False]}]
    drawn = [identity(params) for params in candidates(space, 0, n_texts=10, limited=False, defaults={})]
    expected = [{}, {"n_buckets": 8}, {"n_buckets": 16}, {"lowercase": True}, {"lowercase": False}]
    assert sorted(drawn) == sorted(map(identity, expected))
    assert len(list(candidates({"a": [1, 1, 2]}, 0, n_texts=10, limited=False, defaults={}))) == 3


def test_powers_of_two_are_equally_probable():
    state = np.random.RandomState(0)
    values, counts = np.unique([PowersOfTwo(2, 4).rvs(state) for _ in range(3000)], return_counts=True)
    assert values.tolist() == [4, 8, 16]
    assert (abs(counts - 1000) < 100).all()


def test_numbers_of_numpy_become_numbers_of_python():
    *_, params = candidates({"learning_rate": [np.float64(0.5)]}, 0, n_texts=10, limited=False, defaults={})
    assert type(params["learning_rate"]) is float


def test_values_of_the_estimator_are_left_out():
    space = {"lowercase": [True, False], "ngram_range": [[1, 2], (1, 1)]}
    drawn = list(candidates(space, 0, n_texts=10, limited=False, defaults=TextClassifier().get_params()))
    expected = [{}, {"lowercase": False}, {"ngram_range": (1, 1)}, {"lowercase": False, "ngram_range": (1, 1)}]
    assert sorted(map(identity, drawn)) == sorted(map(identity, expected))
