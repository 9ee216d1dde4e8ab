"""Divergence: the loss rises far above what it was before the first step, or is not finite."""

from __future__ import annotations

import copy
import math
import re

import numpy as np
import pytest
from skorch.callbacks import Callback

from sklearn_hashnlp import HsigmoidLanguageModel
from sklearn_hashnlp.language import Regularization
from sklearn_hashnlp.training import Schedule, StepLog
from tests.language.hsigmoid.small_models import (
    GRAMMAR,
    SENTENCES,
    VARIED,
    bytes_of,
    fitted,
    losses,
    make,
)
from tests.trainings import SEEDS, assert_as_good, assert_same_bits

TWO = ["the cat sat on the mat", "the dog sat on the rug"]


class Spoil(Callback):
    def on_epoch_end(self, net, **kwargs):
        net.module_.hidden_layer.bias.data.fill_(np.nan)


def test_weights_that_are_nan_are_a_divergence():
    with pytest.raises(ValueError, match=r"diverged.*perplexity of the training sentences is nan"):
        make(max_epochs=1, callbacks=[Spoil()]).fit(SENTENCES)


def test_no_perplexity_of_300_digits_is_printed(capsys):
    model = make(learning_rate=1e5, batch_size=8, callbacks=[StepLog(1)], verbose=2)
    with pytest.raises(ValueError, match=r"diverged\. Set a smaller learning_rate"):
        model.fit(SENTENCES)
    printed = capsys.readouterr().out
    assert "train_perplexity" in printed
    assert max(map(len, re.findall(r"\d+", printed))) < 20


class CountBatches(Callback):
    n_batches = 0

    def on_batch_end(self, net, training=False, **kwargs):
        CountBatches.n_batches += training


def test_a_training_that_diverges_ends_before_its_last_step():
    CountBatches.n_batches = 0
    model = make(
        learning_rate=3000.0,
        batch_size=1,
        regularization__max_grad_norm=None,
        callbacks=[CountBatches],
    )
    with pytest.raises(
        ValueError, match=r"smaller learning_rate. The perplexity .*; it was \d\.\d+ before"
    ):
        model.fit(SENTENCES * 10)
    assert CountBatches.n_batches == 199  # the callback after the last is not called


def test_training_on_another_domain_is_no_divergence():
    other, scores = ["x y z"] * 5, []
    for seed in SEEDS:
        options = {"regularization": Regularization(0.0, 0.0), "random_state": seed}
        model = HsigmoidLanguageModel(max_epochs=200, **options).fit(TWO)
        before = model.score(other)
        assert before < -math.log(20 * len(model.vocabulary_))  # far worse than equal probabilities
        model.set_params(max_epochs="auto")
        again = copy.deepcopy(model).set_params(warm_start=True)
        scores.append(
            [before, model.partial_fit(other).score(other), again.fit(other).score(other)]
        )
    before, of_partial_fit, of_fit = np.transpose(scores)
    assert_as_good(of_partial_fit, before, margin=0)
    assert_as_good(of_fit, before, margin=0)


def test_an_unknown_part_of_a_text_in_order_is_no_divergence():
    in_order = {"schedule": Schedule(shuffle=False), "callbacks": [StepLog(200)]}
    model = fitted(optimizer="sgd").set_params(**in_order, batch_size=1, learning_rate=1e-5)
    text = GRAMMAR[:100] + ["x y z"] * 50  # of 4 windows each: the last 200 batches are alike
    model.partial_fit(text)
    assert model.log_[-1]["train_loss"] > 3 * model.log_[-2]["train_loss"]


def test_large_initial_weights_learn_from_a_large_loss():
    options = {
        "output": "softmax",
        "direct_connections": True,
        "init": "uniform",
        "optimizer": "sgd",
    }
    options |= {"order": 5, "embedding_dim": 60, "regularization__max_grad_norm": None}
    options |= {"max_epochs": 1, "learning_rate": 0.03}
    model = make(**options).fit(SENTENCES)
    assert losses(model)[0] > np.log(20 * len(model.vocabulary_))
    assert -model.score(SENTENCES) < losses(model)[0]


@pytest.mark.parametrize("options", VARIED, ids=str)
def test_a_further_training_that_diverges_leaves_the_model_as_it_was(options):
    model = make(**options, max_epochs=1, callbacks=[StepLog(5)]).fit(SENTENCES)
    other = copy.deepcopy(model)
    history, log = list(model.history_), list(model.log_)
    model.set_params(learning_rate=1e6, regularization__max_grad_norm=None, warm_start=True)
    for train in (model.partial_fit, model.fit):
        with pytest.raises(ValueError, match="The training diverged"):
            train(SENTENCES[:20])
        assert bytes_of(model) == bytes_of(other)
        assert (model.history_, model.log_, model.learning_rate_) == (
            history,
            log,
            other.learning_rate_,
        )
    model.set_params(learning_rate=other.learning_rate, regularization=other.regularization)
    assert_same_bits(bytes_of(model.partial_fit(SENTENCES)), bytes_of(other.partial_fit(SENTENCES)))
    assert_same_bits(losses(model), losses(other))
