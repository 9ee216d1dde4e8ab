"""Further training: more texts, one or many, once or each night, do not ruin a fitted model."""

from __future__ import annotations

import copy
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss

from sklearn_hashnlp import TextClassifier, load_model, save_model
from sklearn_hashnlp.datasets import load_stdlib_docstrings
from tests.trainings import SEEDS, assert_as_good, assert_near

MARGIN = 3.0  # points: of 600 test texts one seed's differences have a standard error of about one


@cache
def parts():
    """Return 400 texts to fit, 400 more, and about 600 to test."""
    texts, labels = load_stdlib_docstrings(return_X_y=True)
    counts = {label: labels.tolist().count(label) for label in set(labels.tolist())}
    frequent = sorted(counts, key=lambda label: (-counts[label], label))[:10]
    chosen = np.flatnonzero(np.isin(labels, frequent))
    order = np.random.default_rng(0).permutation(chosen)[:1400]
    texts = np.array(texts, dtype=object)
    edges = [0, 400, 800, len(order)]
    return [
        (texts[rows], labels[rows]) for rows in map(order.__getitem__, map(slice, edges, edges[1:]))
    ]


@cache
def trained(n_parts, seed=0, **options):
    """Return a model of the first parts, which no test may change."""
    texts, labels = zip(*parts()[:n_parts], strict=True)
    return TextClassifier(random_state=seed, **options).fit(
        np.concatenate(texts), np.concatenate(labels)
    )


def accuracy(model, rows):
    return 100 * model.score(*rows)


def warm_started(model, texts, labels):
    classifier = clone(model.pipeline_[-1]).set_params(warm_start=True)
    return model.set_params(classifier=classifier).fit(texts, labels)


@pytest.mark.parametrize(
    "options",
    [{}, pytest.param({"loss": "softmax"}, marks=pytest.mark.slow)],
    ids=["dual", "softmax"],
)
def test_a_few_more_texts_cost_nothing_and_many_help(options, tmp_path):
    _, more, test = parts()
    models = [trained(1, seed, **options) for seed in SEEDS]
    before = [accuracy(model, test) for model in models]
    for n_texts in (1, 400):
        after = []
        for seed, model in enumerate(models):
            save_model(model, tmp_path / f"{seed} {n_texts}")
            copy = load_model(tmp_path / f"{seed} {n_texts}")
            after.append(accuracy(copy.partial_fit(more[0][:n_texts], more[1][:n_texts]), test))
        assert_as_good(after, before, margin=MARGIN)
    whole = [accuracy(trained(2, seed, **options), test) for seed in SEEDS]
    assert_as_good(after, np.mean([before, whole], axis=0), margin=MARGIN)


def test_warm_start_after_a_dual_fit_continues_by_gradients():
    _, more, test = parts()
    # one text of each label
    rows = sorted({label: index for index, label in enumerate(more[1].tolist())}.values())
    scores = []
    for seed in SEEDS:
        model = copy.deepcopy(trained(1, seed))
        before = accuracy(model, test)
        warm_started(model, more[0][rows], more[1][rows])
        assert (model.loss_, model.solver_) == ("hinge", "sgd")
        scores.append([before, accuracy(model, test), accuracy(warm_started(model, *more), test)])
    before, few, many = np.transpose(scores)
    assert_as_good(few, before, margin=MARGIN)
    assert_as_good(many, before, margin=0)


def test_nights_of_100_texts():
    _, more, test = parts()
    nights = [
        (more[0][start : start + 100], more[1][start : start + 100]) for start in range(0, 400, 100)
    ]
    measured, losses = np.empty((len(nights) + 1, 2, len(SEEDS))), []
    for seed in SEEDS:
        model = copy.deepcopy(trained(1, seed))
        for index, night in enumerate([None, *nights]):
            if night is not None:
                model.partial_fit(*night)
            measured[index, :, seed] = (
                accuracy(model, test),
                model.predict_proba(test[0]).max(axis=1).mean(),
            )
        models = (model, trained(2, seed))
        losses.append(
            [log_loss(test[1], one.predict_proba(test[0]), labels=one.classes_) for one in models]
        )
    for before, after in pairwise(measured):
        assert_as_good(after[0], before[0], margin=MARGIN)
        assert_near(after[1].mean(), before[1].mean(), atol=0.05)
    after, whole = -np.log(losses).T
    assert_as_good(after, whole, margin=np.log(1.4))  # of as many texts as the fit had


def test_a_new_domain_is_learned_and_the_old_one_kept():
    *_, test = parts()
    recipes = [
        f"bake the {food} with {spice} until golden"
        for food in ("bread", "fish", "rice")
        for spice in "ABC"
    ]
    labels = np.resize(np.unique(test[1])[:3], len(recipes))
    before, after = [], []
    for seed in SEEDS:
        model = copy.deepcopy(trained(1, seed))
        before.append(accuracy(model, test))
        for _ in range(10):
            model.partial_fit(recipes, labels)
        assert model.predict(recipes).tolist() == labels.tolist()
        after.append(accuracy(model, test))
    assert_as_good(after, before, margin=MARGIN)
