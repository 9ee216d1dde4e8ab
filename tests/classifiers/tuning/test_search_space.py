"""The parameters that a search draws."""

from __future__ import annotations

import numpy as np
import optuna
import pytest
from scipy import stats

from sklearn_hashnlp.classifiers import HashEmbeddingClassifier, TextClassifier
from sklearn_hashnlp.classifiers.tuning._search_space import SearchSpace

DEFAULTS = TextClassifier().get_params()


def test_the_default_space_has_valid_parameters():
    space = SearchSpace(None, DEFAULTS, caller="tune")
    assert space.first == [
        {},
        {"features": "words"},
        {"features": "words", "lowercase": False},
        {"lowercase": False},
    ]
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    drawn = [space.decode(study.ask(space.distributions).params) for _ in range(60)]
    for params in drawn:
        TextClassifier(**params)._validate_params()
        assert not (params.get("features") == "characters" and "ngram_range" in params)  # which would be ignored
    names = {name for params in drawn for name in params}
    assert names >= {"features", "lowercase", "ngram_range", "n_buckets", "n_embeddings"}


def test_values_are_stored_as_optuna_can_and_defaults_are_left_out():
    values = {"lowercase": [True, False], "ngram_range": [[1, 2], (1, 1)], "learning_rate": [np.float64(0.5)]}
    space = SearchSpace(values, DEFAULTS, caller="tune")
    choices = {name: one.choices for name, one in space.distributions.items()}
    assert choices == {"lowercase": (True, False), "ngram_range": ("[1, 2]", "(1, 1)"), "learning_rate": (0.5,)}
    assert space.decode({"lowercase": True, "ngram_range": "[1, 2]"}) == {}
    assert space.decode({"lowercase": False, "ngram_range": "(1, 1)"}) == {"lowercase": False, "ngram_range": (1, 1)}


def test_trials_that_the_estimator_already_has_are_tried_once():
    space = SearchSpace(None, TextClassifier(features="words").get_params(), caller="tune")
    assert space.first == [{}, {"features": "words", "lowercase": False}]


@pytest.mark.parametrize(
    ("name", "classifier", "message"),
    [
        ("ngram_rnge", None, "'ngram_rnge', which is not a parameter of a TextClassifier"),
        ("classifier__n_buckets", None, "'classifier__n_buckets', and the estimator needs classifier= for it"),
        ("n_buckets", HashEmbeddingClassifier(), "'n_buckets'.* Name it 'classifier__n_buckets'"),
    ],
)
def test_unknown_parameters_are_refused(name, classifier, message):
    with pytest.raises(ValueError, match=message):
        SearchSpace({name: [1]}, TextClassifier(classifier=classifier).get_params(), caller="tune")


@pytest.mark.parametrize("values", ["words", b"words", 0.1, stats.uniform(0, 1), [], np.array(1), {"words": 1}, None])
def test_values_that_are_no_list_are_refused_by_name(values):
    message = "tune has 'features': expected a non-empty list of values or a distribution of optuna.distributions, got"
    with pytest.raises(ValueError, match=message):
        SearchSpace({"features": values}, DEFAULTS, caller="tune")
