"""Regularization, schedule and early stopping: parameters that belong together."""

from __future__ import annotations

import numpy as np
import pytest
from skorch.callbacks import Callback

from sklearn_hashnlp.language import HsigmoidLanguageModel, LanguageSchedule, Regularization
from sklearn_hashnlp.persistence import load_model, save_model
from sklearn_hashnlp.training import EarlyStopping, Schedule
from tests.language.hsigmoid.small_models import SENTENCES, SMALL, VALID, bytes_of, losses, make


def fitted(**options):
    return HsigmoidLanguageModel(**SMALL | options).fit(SENTENCES, X_valid=VALID)


@pytest.mark.parametrize(
    ("value", "fields"),
    [
        ({"regularization": "auto"}, {"regularization": Regularization(0.35, 0.1, 0.0, 0.0, 0.5)}),
        ({"regularization": None}, {"regularization": Regularization(0.0, 0.0, 0.0, 0.0, None)}),
        ({"schedule": "auto"}, {"schedule": Schedule("linear", warmup_steps=100)}),
        ({"schedule": LanguageSchedule()}, {"schedule": Schedule("linear", warmup_steps=100)}),
        ({"schedule": None}, {"schedule": LanguageSchedule("constant", warmup_steps=0)}),
        ({"early_stopping": "valid_loss"}, {"early_stopping": EarlyStopping("valid_loss", 2, 0.1)}),
    ],
    ids=str,
)
def test_a_value_stands_for_these_fields(value, fields):
    (bundle,) = fields.values()
    before = bundle.get_params()
    model, other = fitted(max_epochs=6, **value), fitted(max_epochs=6, **fields)
    assert bytes_of(model) == bytes_of(other)
    assert losses(model) == losses(other)
    assert bundle.get_params() == before


def test_bundles_are_saved_with_the_model(tmp_path):
    bundles = {
        "regularization": Regularization(0.2, weight_decay=1e-4),
        "schedule": LanguageSchedule(plateau=(1, 0.5), bias_learning_rate=2.0),
        "early_stopping": EarlyStopping("valid_loss", 3, 0.2),
    }
    tuples = {"direct_connections": ("hashed", 99), "hidden_layer": ("residual", 2), "embedding": ("hash", 99, 50)}
    save_model(fitted(**bundles, **tuples), tmp_path / "lm")
    loaded = load_model(tmp_path / "lm")
    assert {name: getattr(loaded, name) for name in bundles | tuples} == bundles | tuples


@pytest.mark.parametrize("optimizer", ["adagrad", "adam", "sgd"])
def test_weights_are_averaged(optimizer):
    class Weights(Callback):
        def on_batch_end(self, net, training=False, **kwargs):
            if training:
                weights.append(net.module_.hidden_layer.weight.detach().numpy().copy())

    weights: list[np.ndarray] = []
    options = {"optimizer": optimizer, "learning_rate": 0.01, "direct_connections": ("hashed", 99)}
    model = make(**options, schedule=Schedule(average=True), callbacks=[Weights()]).fit(SENTENCES)
    expected = np.mean(weights[-(len(weights) // 4) :], axis=0)
    np.testing.assert_allclose(model.net_.module_.hidden_layer.weight.detach().numpy(), expected, atol=1e-6)


def test_the_last_weights_can_be_kept(tmp_path):
    stopping = EarlyStopping("valid_loss", patience=None, restore_best=False)
    options = {"learning_rate": 1.0, "max_epochs": 5}
    model = make(**options, early_stopping=stopping).fit(SENTENCES, X_valid=VALID)
    assert losses(model, "valid_loss")[-1] > min(losses(model, "valid_loss"))
    assert bytes_of(model) == bytes_of(make(**options).fit(SENTENCES, X_valid=VALID))
    options |= {"early_stopping": stopping, "checkpoint_dir": tmp_path, "resume": True}
    for n_epochs in (3, 5, 5):
        resumed = make(**options | {"max_epochs": n_epochs}).fit(SENTENCES, X_valid=VALID)
    assert bytes_of(resumed) == bytes_of(model)
