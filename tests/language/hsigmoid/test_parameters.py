"""Parameters: "auto", rates and schedules of the optimizer, trees, bundles, values that are
refused.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from skorch.callbacks import Callback, GradientNormClipping

from sklearn_hashnlp.language import HsigmoidLanguageModel, LanguageSchedule, Regularization
from sklearn_hashnlp.language._language_parameters import auto_settings
from sklearn_hashnlp.persistence import load_model, save_model
from sklearn_hashnlp.training import EarlyStopping, Schedule
from sklearn_hashnlp.trees import complete_tree, random_tree
from tests.language.hsigmoid.small_models import (
    SENTENCES,
    SMALL,
    VALID,
    bytes_of,
    fitted,
    losses,
    make,
)
from tests.trainings import assert_near, assert_other_bits, assert_same_bits

TINY = {"order": 3, "embedding_dim": 4, "hidden_size": 8, "random_state": 0}


@pytest.mark.parametrize(
    ("n_windows", "batch_size"),
    [(1, 32), (1300, 32), (6600, 64), (22_000, 128), (66_000, 512), (10**7, 512)],
)
def test_the_batch_size_grows_with_the_text(n_windows, batch_size):
    assert auto_settings(HsigmoidLanguageModel(), n_windows, None)["batch_size"] == batch_size
    assert auto_settings(HsigmoidLanguageModel(batch_size=7), n_windows, None)["batch_size"] == 7


@pytest.mark.parametrize(
    ("optimizer", "rate"), [("adagrad", 0.5), ("adam", 0.002), ("sgd", 0.25 * 32**0.5)]
)
def test_auto_is_the_same_as_the_values_that_are_shown(optimizer, rate):
    model = HsigmoidLanguageModel(**TINY, optimizer=optimizer).fit(SENTENCES)
    shown = {
        name: getattr(model, f"{name}_") for name in ("batch_size", "learning_rate", "max_epochs")
    }
    assert shown == {"batch_size": 32, "learning_rate": rate, "max_epochs": 5}
    assert len(model.history_) == 5
    assert_same_bits(
        bytes_of(model),
        bytes_of(HsigmoidLanguageModel(**TINY, optimizer=optimizer, **shown).fit(SENTENCES)),
    )


def test_later_calls_keep_the_batch_size_of_the_first(tmp_path):
    model = HsigmoidLanguageModel(**TINY).partial_fit(SENTENCES)
    save_model(model, tmp_path / "lm")
    many = SENTENCES * 40
    n_windows = sum(len(sentence.split()) + 1 for sentence in many)
    assert auto_settings(HsigmoidLanguageModel(**TINY), n_windows, None)["batch_size"] > 32
    for each in (model, load_model(tmp_path / "lm")):
        assert each.partial_fit(many).batch_size_ == 32


def test_the_learning_rate_of_sgd_depends_on_the_words_of_a_batch():
    model = HsigmoidLanguageModel(**TINY, optimizer="sgd", batch_size=10**5).fit(SENTENCES)
    n_words = sum(len(sentence.split()) + 1 for sentence in SENTENCES)
    assert model.learning_rate_ == pytest.approx(0.25 * n_words**0.5)
    assert model.history_[-1]["train_loss"] < model.history_[0]["train_loss"]


def rates_of(model, **options):
    class Rates(Callback):
        def on_epoch_end(self, net, **kwargs):
            rates.append([group["lr"] for group in net.optimizer_.param_groups])

    rates: list[list[float]] = []
    model.set_params(callbacks=[Rates()], **options).fit(SENTENCES, X_valid=VALID)
    return rates


def test_learning_rates():
    assert (
        rates_of(make(learning_rate=0.1, schedule__bias_learning_rate=2.0)) == [[0.1, 0.2, 0.1]] * 3
    )
    hashed = make(
        learning_rate=0.1, direct_connections=("hashed", 99), schedule__direct_learning_rate=0.5
    )
    assert rates_of(hashed) == [[0.1, 0.1, 0.05, 0.1]] * 3
    first, second, third = (rate for rate, *_ in rates_of(make(schedule__decay="linear")))
    assert 0.5 > first > second > third > 0
    assert first - second == pytest.approx(second - third)
    model = make(max_epochs=12, learning_rate=1.0)
    rates = [rate for rate, *_ in rates_of(model, schedule__plateau=(2, 0.5))]
    expected = []
    rate = 1.0
    best = np.inf
    waited = 0
    for loss in losses(model, "valid_loss"):
        expected.append(rate)  # the callback is called before the learning rate changes
        waited = 0 if loss < best else waited + 1
        best = min(best, loss)
        if waited == 2:
            rate, waited = rate / 2, 0
    assert rates == expected
    assert rates[-1] < 1


def test_the_learning_rate_rises_in_the_first_steps_of_new_weights():
    class Rates(Callback):
        def on_batch_end(self, net, training=None, **kwargs):
            if training:
                rates.append(net.optimizer_.param_groups[0]["lr"])

    rates: list[float] = []
    model = make(
        learning_rate=1.0,
        schedule__warmup_steps=4,
        max_epochs=1,
        callbacks=[Rates()],
        warm_start=True,
    ).fit(SENTENCES)
    n_steps = len(rates)
    np.testing.assert_allclose(rates, [0.25, 0.5, 0.75, *[1.0] * (n_steps - 3)])
    model.fit(SENTENCES).partial_fit(SENTENCES)
    assert rates[n_steps:] == [1.0] * 2 * n_steps
    rates.clear()
    make(learning_rate=1.0, schedule__warmup_steps=10**6, max_epochs=4, callbacks=[Rates()]).fit(
        SENTENCES
    )
    np.testing.assert_allclose(rates, np.minimum(np.arange(1, 4 * n_steps + 1) / (3 * n_steps), 1))


def test_damping_depends_on_the_batch_size():
    def damping_of(**options):
        net = make(max_epochs=1, **options).fit(SENTENCES).net_
        return {group["eps"] for group in net.optimizer_.param_groups}

    assert damping_of(batch_size=8) == {15 / 8}
    assert damping_of(
        batch_size=8, schedule__bias_learning_rate=2.0, direct_connections=("hashed", 99)
    ) == {15 / 8}
    n_windows = sum(len(sentence.split()) + 1 for sentence in SENTENCES)
    assert damping_of(batch_size=10**6) == {15 / n_windows}  # there are no more words
    model = (
        make(max_epochs=1, batch_size=8)
        .fit(SENTENCES)
        .set_params(batch_size=4)
        .partial_fit(SENTENCES[:1])
    )
    assert {group["eps"] for group in model.net_.optimizer_.param_groups} == {15 / 4}
    assert damping_of(optimizer="adam", learning_rate=0.01) == {1e-8}


def weights_of(**options):
    """Train for a step of all windows; a learning rate of next to nothing gives the initial
    weights.
    """
    model = make(max_epochs=1, batch_size=10**6, optimizer="sgd", **options).fit(SENTENCES)
    return {
        name: weight.detach().double() for name, weight in model.net_.module_.named_parameters()
    }


@pytest.mark.parametrize(
    "options", [{}, {"output": "softmax"}, {"direct_connections": ("hashed", 99)}]
)
def test_max_grad_norm_is_the_norm_of_all_gradients_together(options):
    before = weights_of(learning_rate=1e-30, **options)
    for max_grad_norm, learning_rate in ((0.002, 1.0), (0.01, 2.0)):
        after = weights_of(
            learning_rate=learning_rate, regularization__max_grad_norm=max_grad_norm, **options
        )
        step = torch.stack([(after[name] - before[name]).norm() for name in before]).norm()
        assert_near(step, learning_rate * max_grad_norm, rtol=2e-3)
    free, wide = (
        weights_of(learning_rate=1.0, **options),
        weights_of(learning_rate=1.0, regularization__max_grad_norm=1e6, **options),
    )
    assert_same_bits(free, wide)


@pytest.mark.parametrize("optimizer", ["sgd", "adagrad", "adam"])
def test_weights_decay_and_biases_do_not(optimizer):
    options = {"max_epochs": 1, "batch_size": 10**6, "optimizer": optimizer, "learning_rate": 0.1}
    options |= {"direct_connections": ("hashed", 99), "schedule__bias_learning_rate": 2.0}
    plain, decayed = (
        make(regularization__weight_decay=decay, **options).fit(SENTENCES).net_.module_
        for decay in (0.0, 0.5)
    )
    before = make(**options | {"learning_rate": 1e-30}).fit(SENTENCES).net_.module_.state_dict()
    for name, weight in plain.named_parameters():
        # two special tokens are no context
        trained = (weight != before[name]).view(len(weight), -1).any(dim=1)
        rows = torch.full_like(weight, 0.0 if name.endswith("bias") else 0.1 * 0.5)
        rows[~trained] = 0
        expected = weight - rows * before[name]
        assert_near(decayed.get_parameter(name), expected, rtol=1e-5, atol=1e-6)
    assert_other_bits(plain.hidden_layer.weight, decayed.hidden_layer.weight)


def test_a_tree_of_the_user():
    tree = random_tree(9, random_state=3)
    model = fitted(tree=tree)
    assert model.net_.module_.output_layer.tree == tree


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"direct_connections": ("hashed", 0)}, "'direct_connections' parameter"),
        ({"direct_connections": ("hashed", 9, 9)}, "'direct_connections' parameter"),
        ({"direct_connections": "hashed", "output": "softmax"}, "needs output='hsigmoid'"),
        ({"regularization__dropout": 1.0}, "'dropout' parameter"),
        ({"regularization__word_dropout": 1.0}, "'word_dropout' parameter"),
        (
            {"hidden_layer": ("residual", 0)},
            r"must be 'tanh', 'sigmoid', 'residual', or a tuple .* \('residual', 1\)",
        ),
        ({"hidden_layer": ("tanh", 2)}, "'hidden_layer' parameter"),
        ({"hidden_layer": ()}, "'hidden_layer' parameter"),
        (
            {"output": "tied_softmax", "direct_connections": True},
            r"output='tied_softmax'\) needs embedding='table'",
        ),
        (
            {"output": "tied_softmax", "embedding": "hash"},
            r"output='tied_softmax'\) needs embedding='table'",
        ),
        ({"embedding": ("sgnn", 0, 14)}, "'embedding' parameter"),
        ({"embedding": ("sgnn", 80, 14.0)}, "'embedding' parameter"),
        ({"embedding": ("hash", 80)}, "'embedding' parameter"),
        ({"early_stopping": EarlyStopping()}, "has no accuracy to monitor"),
        (
            {"checkpoint_dir": ("folder", "none")},
            "must be a path, or a tuple of a path and 'all' or 'best'",
        ),
        (
            {"schedule": Schedule(average=True), "checkpoint_dir": "folder", "resume": True},
            "an average of weights",
        ),
        (
            {"callbacks": [GradientNormClipping(1.0)]},
            r"GradientNormClipping cannot clip .*\. Set max_grad_norm",
        ),
        ({"tree": complete_tree(5)}, "the tree has 5 classes, and 9 words can be predicted"),
        ({"resume": True}, r"resume=True\) needs checkpoint_dir"),
        ({"resume": True, "early_stopping": EarlyStopping("valid_loss", patience=0)}, "patience"),
        ({"schedule__plateau": (0, 0.5)}, "The 'plateau' of"),
        ({"vocabulary": {"a": 7}}, "vocabulary must give its 1 words the ids"),
    ],
)
def test_parameters_that_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        fitted(**options)


def fit_defaults(**options):
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
    model, other = fit_defaults(max_epochs=4, **value), fit_defaults(max_epochs=4, **fields)
    assert_same_bits(bytes_of(model), bytes_of(other))
    assert_same_bits(losses(model), losses(other))
    assert bundle.get_params() == before


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
    np.testing.assert_allclose(
        model.net_.module_.hidden_layer.weight.detach().numpy(), expected, atol=1e-6
    )


def test_the_last_weights_can_be_kept(tmp_path):
    stopping = EarlyStopping("valid_loss", patience=None, restore_best=False)
    options = {"learning_rate": 1.0, "max_epochs": 5}
    model = make(**options, early_stopping=stopping).fit(SENTENCES, X_valid=VALID)
    assert losses(model, "valid_loss")[-1] > min(losses(model, "valid_loss"))
    assert_same_bits(bytes_of(model), bytes_of(make(**options).fit(SENTENCES, X_valid=VALID)))
    options |= {"early_stopping": stopping, "checkpoint_dir": tmp_path, "resume": True}
    for n_epochs in (3, 5, 5):
        resumed = make(**options | {"max_epochs": n_epochs}).fit(SENTENCES, X_valid=VALID)
    assert_same_bits(bytes_of(resumed), bytes_of(model))
