"""Learning rates, schedules and damping of the optimizer."""

from __future__ import annotations

import numpy as np
import pytest
from skorch.callbacks import Callback

from tests.language.hsigmoid.small_models import SENTENCES, VALID, losses, make


def rates_of(model, **options):
    class Rates(Callback):
        def on_epoch_end(self, net, **kwargs):
            rates.append([group["lr"] for group in net.optimizer_.param_groups])

    rates: list[list[float]] = []
    model.set_params(callbacks=[Rates()], **options).fit(SENTENCES, X_valid=VALID)
    return rates


def test_learning_rates():
    assert rates_of(make(learning_rate=0.1, bias_learning_rate=2.0)) == [[0.1, 0.2]] * 3
    hashed = make(learning_rate=0.1, direct_connections="hashed", n_direct=99, direct_learning_rate=0.5)
    assert rates_of(hashed) == [[0.1, 0.1, 0.05]] * 3
    first, second, third = (rate for rate, _ in rates_of(make(learning_rate_schedule="linear")))
    assert 0.5 > first > second > third > 0
    assert first - second == pytest.approx(second - third)
    model = make(max_epochs=12, learning_rate=1.0)
    rates = [rate for rate, _ in rates_of(model, lr_plateau=(2, 0.5))]
    expected, rate, best, waited = [], 1.0, np.inf, 0
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
    model = make(learning_rate=1.0, warmup_steps=4, max_epochs=1, callbacks=[Rates()], warm_start=True).fit(SENTENCES)
    n_steps = len(rates)
    np.testing.assert_allclose(rates, [0.25, 0.5, 0.75, *[1.0] * (n_steps - 3)])
    model.fit(SENTENCES).partial_fit(SENTENCES)
    assert rates[n_steps:] == [1.0] * 2 * n_steps
    rates.clear()
    make(learning_rate=1.0, warmup_steps=10**6, max_epochs=4, callbacks=[Rates()]).fit(SENTENCES)
    np.testing.assert_allclose(rates, np.minimum(np.arange(1, 4 * n_steps + 1) / (3 * n_steps), 1))


def test_damping_depends_on_the_batch_size():
    def damping_of(**options):
        net = make(max_epochs=1, **options).fit(SENTENCES).net_
        return {group["eps"] for group in net.optimizer_.param_groups}

    assert damping_of(batch_size=8) == {15 / 8}
    assert damping_of(batch_size=8, bias_learning_rate=2.0, direct_connections="hashed", n_direct=99) == {15 / 8}
    n_windows = sum(len(sentence.split()) + 1 for sentence in SENTENCES)
    assert damping_of(batch_size=10**6) == {15 / n_windows}  # there are no more words
    model = make(max_epochs=1, batch_size=8).fit(SENTENCES).set_params(batch_size=4).partial_fit(SENTENCES[:1])
    assert {group["eps"] for group in model.net_.optimizer_.param_groups} == {15 / 4}
    assert damping_of(optimizer="adam", learning_rate=0.01) == {1e-8}
