"""Metadata of all classifiers: weights reach them through pipelines, searches and meta-estimators,
and change fits.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import VotingClassifier
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from tests.contract.estimators import CASES, CLASSIFIERS, as_bytes
from tests.trainings import assert_other_bits, assert_same_bits

ONE_LABEL = [name for name in CLASSIFIERS if "several" not in name]
PLAIN = [name for name in ONE_LABEL if "," not in name]  # one case for each class
WEIGHTS = np.random.default_rng(1).integers(0, 2, 80).astype(float)


@pytest.fixture(autouse=True)
def routing():
    with config_context(enable_metadata_routing=True):
        yield


def requested(name):
    """Return a classifier that requests weights in training and in scoring."""
    return (
        CASES[name].make().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    )


def predicted(model, name):
    return as_bytes(model.predict_proba(CASES[name].asked))


def weighted(name):
    case = CASES[name]
    return case.make().fit(case.X, case.y, sample_weight=WEIGHTS)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_weights_go_through_pipelines_within_pipelines(name):
    case = CASES[name]
    inner = Pipeline(
        [("nothing", FunctionTransformer(accept_sparse=True)), ("classifier", requested(name))]
    )
    model = Pipeline([("nothing", "passthrough"), ("inner", inner)]).fit(
        case.X, case.y, sample_weight=WEIGHTS
    )
    assert_same_bits(predicted(model, name), predicted(weighted(name), name))
    assert_other_bits(predicted(model, name), predicted(case.make().fit(case.X, case.y), name))
    refuses = make_pipeline(case.make().set_fit_request(sample_weight=False))
    with pytest.raises(TypeError, match=r"unexpected argument.*sample_weight.*not routed"):
        refuses.fit(case.X, case.y, sample_weight=WEIGHTS)


def test_weights_go_through_a_pipeline_of_texts():
    name = "make_text_classifier"
    case = CASES[name]
    model = case.make()
    model[-1].set_fit_request(sample_weight=True)
    Pipeline([("model", model)]).fit(case.X, case.y, sample_weight=WEIGHTS)
    with config_context(enable_metadata_routing=False):
        expected = case.make().fit(case.X, case.y, classifier__sample_weight=WEIGHTS)
        without = case.make().fit(case.X, case.y)
    assert_same_bits(predicted(model, name), predicted(expected, name))
    assert_other_bits(predicted(model, name), predicted(without, name))


@pytest.mark.parametrize("name", PLAIN)
def test_weights_go_through_a_search_and_its_scores(name):
    case = CASES[name]
    search = GridSearchCV(
        requested(name),
        {"learning_rate": [0.02]},
        cv=[(range(40), range(40, 80))],
        error_score="raise",
    )
    search.fit(case.X, case.y, sample_weight=WEIGHTS)
    first = case.make(learning_rate=0.02).fit(case.X[:40], case.y[:40], sample_weight=WEIGHTS[:40])
    assert_same_bits(
        search.best_score_, first.score(case.X[40:], case.y[40:], sample_weight=WEIGHTS[40:])
    )
    expected = case.make(learning_rate=0.02).fit(case.X, case.y, sample_weight=WEIGHTS)
    assert_same_bits(predicted(search, name), predicted(expected, name))
    scores = cross_validate(
        requested(name),
        case.X,
        case.y,
        params={"sample_weight": WEIGHTS},
        cv=2,
        error_score="raise",
    )
    assert np.isfinite(scores["test_score"]).all()


@pytest.mark.parametrize("name", PLAIN)
def test_weights_go_through_meta_estimators(name):
    case, expected = CASES[name], predicted(weighted(name), name)
    vote = VotingClassifier([("one", requested(name))], voting="soft")
    vote.fit(case.X, case.y, sample_weight=WEIGHTS)
    assert_same_bits(
        as_bytes(
            vote.predict_proba(case.asked).astype(weighted(name).predict_proba(case.asked).dtype)
        ),
        expected,
    )
    calibrated = CalibratedClassifierCV(requested(name), cv=2, method="sigmoid")
    others = CalibratedClassifierCV(requested(name), cv=2, method="sigmoid").fit(case.X, case.y)
    calibrated.fit(case.X, case.y, sample_weight=WEIGHTS)
    assert_other_bits(predicted(calibrated, name), predicted(others, name))
    one_vs_rest = OneVsRestClassifier(requested(name)).fit(case.X, case.y, sample_weight=WEIGHTS)
    first = case.make().fit(
        case.X, (case.y == one_vs_rest.classes_[0]).astype(int), sample_weight=WEIGHTS
    )
    assert_same_bits(predicted(one_vs_rest.estimators_[0], name), predicted(first, name))
