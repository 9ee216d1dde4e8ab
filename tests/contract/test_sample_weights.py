"""Weights of rows and of classes in all classifiers that are trained here."""

from __future__ import annotations

import numpy as np
import pytest

from tests.contract.estimators import CASES, CLASSIFIERS, answers
from tests.trainings import SEEDS, assert_as_good, assert_same_bits

OF_ONE_LABEL = [name for name in CLASSIFIERS if "several" not in name and "Text" not in name]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_rows_of_weight_zero_are_as_if_absent(name):
    case, weights = CASES[name], np.random.default_rng(1).integers(0, 2, 80)
    weighted = case.make().fit(case.X, case.y, sample_weight=weights)
    without = case.make().fit(case.X[weights > 0], case.y[weights > 0])
    assert_same_bits(answers(name, weighted), answers(name, without))


@pytest.mark.parametrize("name", OF_ONE_LABEL)
def test_weights_pull_towards_their_class(name):
    case, y = CASES[name], np.arange(72) % 2
    # not one row repeated, of which batch normalization would leave rounding errors alone
    X = case.X[:72]
    options = {"max_epochs": 16, "learning_rate": 0.1, "early_stopping": False}

    def probabilities(y, weights=None, class_weight=None, seeds=SEEDS):
        models = [
            case.make(**options, class_weight=class_weight, random_state=seed) for seed in seeds
        ]
        return np.array(
            [
                model.fit(X, y, sample_weight=weights).predict_proba(X)[:, 1].mean()
                for model in models
            ]
        )

    by_row = probabilities(y, np.where(y == 1, 19.0, 1.0))
    assert_same_bits(by_row[:1], probabilities(y, class_weight={1: 19.0}, seeds=SEEDS[:1]))
    assert_as_good(by_row, probabilities(y), margin=-0.1)
    rare = np.arange(72) % 9 == 0
    balanced, plain = (
        -abs(probabilities(rare, class_weight=weight) - 0.5) for weight in ("balanced", None)
    )
    assert_as_good(balanced, plain, margin=0)


@pytest.mark.parametrize("name", OF_ONE_LABEL)
def test_labels_of_any_kind_come_back(name):
    case = CASES[name]
    for labels in (
        ["b", "a"],
        np.array(["ü", "b"], dtype=object),
        [7, -2],
        [True, False],
        [1.0, 2.0],
    ):
        y = np.asarray(labels)[np.arange(80) % 2]
        model = case.make().fit(case.X, y)
        assert model.classes_.tolist() == sorted(labels)
        assert model.predict(case.asked).dtype == y.dtype
        best = model.classes_[model.predict_proba(case.asked).argmax(axis=1)]
        assert model.predict(case.asked).tolist() == best.tolist()
