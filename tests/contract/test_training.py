"""Training of all public estimators: repeatable, alone in its modes and random numbers, and usable
when interrupted.
"""

from __future__ import annotations

import copy
import pickle
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from skorch.callbacks import Callback
from torch.nn.modules.module import register_module_forward_pre_hook

from tests.contract.estimators import (
    CASES,
    NETS,
    ONE_OF_A_KIND,
    STREAMS,
    TRAINED,
    answers,
    as_bytes,
    fit,
    fitted,
    kind,
    part_fit,
    refit,
)
from tests.trainings import assert_other_bits, assert_same_bits

SEEDED = [name for name in TRAINED if "random_state" in CASES[name].make().get_params(deep=False)]
THREADED = [name for name in CASES if "n_jobs" in CASES[name].make().get_params(deep=False)]


@contextmanager
def torch_setting(name, value):
    get, set_ = (getattr(torch, f"{verb}_{name}") for verb in ("get", "set"))
    before = get()
    set_(value)
    try:
        yield
        assert get() == value
    finally:
        set_(before)


def weights(model):
    return [value.cpu().numpy().tobytes() for value in model.net_.module_.state_dict().values()]


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_gives_the_same_bytes_on_one_thread(name):
    found = []
    numbers = set()  # of threads: several wait for each other while other programs use the cores
    hook = register_module_forward_pre_hook(lambda *_: numbers.add(torch.get_num_threads()))
    try:
        for number in (1, 2):
            with torch_setting("num_threads", number):
                model = CASES[name].make()
                for part in (slice(0, 25), slice(25, 40)):
                    part_fit(name, model, part)
                answers(name, model)
                found.append(weights(model))
    finally:
        hook.remove()
    assert numbers == {1}
    assert_same_bits(found[0], found[1])


@pytest.mark.parametrize("name", THREADED)
def test_the_number_of_jobs_changes_nothing(name):
    expected = answers(name, fitted(name))
    for n_jobs in (1, 2):  # -1 is the default of some, None of others
        assert_same_bits(answers(name, fit(name, n_jobs=n_jobs)), expected)


@pytest.mark.parametrize("name", SEEDED)
def test_another_seed_gives_another_model(name):
    assert_other_bits(answers(name, fit(name, random_state=1)), answers(name, fitted(name)))


@pytest.mark.parametrize("name", CASES)
def test_fitted_again_it_is_as_if_fitted_once(name):
    model = fitted(name)
    if name in STREAMS:
        part_fit(name, model, slice(0, 40))
    expected = fitted(name)
    assert_same_bits(answers(name, refit(name, model)), answers(name, expected))
    assert len(getattr(model, "history_", ())) == len(getattr(expected, "history_", ()))


@pytest.mark.parametrize("name", CASES)
def test_fit_gives_the_same_bytes_and_leaves_everything_else_alone(name, capfd):
    """Its parameters and data, and the output, threads and random state of the process."""
    model, data = CASES[name].make(), copy.deepcopy(CASES[name][1:4])
    before, given = repr(model), model.get_params()
    fitted(name)
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002 (a user's)
    expected = torch.rand(1).item(), np.random.rand()  # noqa: NPY002
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002
    with torch_setting("num_threads", 2):
        assert refit(name, model) is model
        assert torch.get_num_threads() == 2
        assert_same_bits(answers(name, model), answers(name, fitted(name)))
    assert (torch.rand(1).item(), np.random.rand()) == expected  # noqa: NPY002
    assert capfd.readouterr() == ("", "")
    assert repr(model) == before
    if kind(name) in ONE_OF_A_KIND:
        assert all(model.get_params()[parameter] is value for parameter, value in given.items())
    X, y, asked = data
    assert [as_bytes(part) for part in (CASES[name].X, CASES[name].asked)] == [
        as_bytes(X),
        as_bytes(asked),
    ]
    assert np.array_equal(CASES[name].y, y)
    if name in NETS:
        assert_same_bits(weights(model), weights(fitted(name)))


@contextmanager
def autocast_without_gradients():
    with (
        torch_setting("default_dtype", torch.bfloat16),
        torch.autocast("cpu", dtype=torch.bfloat16),
        torch.inference_mode(),
    ):
        yield


MODES = {
    "float64": lambda: torch_setting("default_dtype", torch.float64),
    "bfloat16, autocast, no gradients": autocast_without_gradients,
}


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("mode", MODES)
def test_the_users_modes_of_torch_change_nothing(name, mode):
    expected = fitted(name)
    with MODES[mode]():
        model = fit(name)
        inside, other = answers(name, model), pickle.loads(pickle.dumps(model))
    assert_same_bits(inside, answers(name, model), answers(name, other), answers(name, expected))
    assert_same_bits(weights(model), weights(other), weights(expected))
    for one in (model, other):
        assert not any(parameter.is_inference() for parameter in one.net_.module_.parameters())
        assert all(parameter.dtype == torch.float32 for parameter in one.net_.module_.parameters())


@pytest.mark.parametrize("name", [name for name in ONE_OF_A_KIND if name in TRAINED])
def test_python_threads_that_fit_together_get_what_they_would_alone(name):
    with ThreadPoolExecutor(2) as pool:
        models = list(pool.map(lambda _: fit(name), range(2)))
    assert [answers(name, model) for model in models] == [answers(name, fitted(name))] * 2


@pytest.mark.parametrize("name", [name for name in ONE_OF_A_KIND if name in NETS])
def test_verbose_prints_every_epoch(name, capsys):
    model = fit(name, verbose=1)
    out = capsys.readouterr().out
    assert "train_loss" in out
    assert len(out.strip().splitlines()) >= len(model.history_)


class InSecondEpoch(Callback):
    """Calls a function in an epoch that is not the first."""

    def __init__(self, function):
        self.function = function

    def on_batch_begin(self, net, training=False, **kwargs):
        if training and len(net.history) == 2:
            self.function()


@pytest.mark.parametrize("name", NETS)
def test_an_interrupt_leaves_the_finished_epochs_and_a_usable_model(name):
    interrupt = InSecondEpoch(lambda: signal.raise_signal(signal.SIGINT))
    model, handler = (
        CASES[name].make(max_epochs=50, callbacks=[interrupt]),
        signal.getsignal(signal.SIGINT),
    )
    with pytest.raises(KeyboardInterrupt):
        refit(name, model)
    assert signal.getsignal(signal.SIGINT) is handler
    assert [entry["epoch"] for entry in model.history_] == [1]
    expected = answers(name, model)
    part_fit(name, model.set_params(callbacks=None), slice(0, 40))
    assert [entry["epoch"] for entry in model.history_] == [1, 2]
    assert answers(name, model) != expected


@pytest.mark.parametrize("name", NETS)
def test_a_fit_that_fails_leaves_the_model_as_it_was(name):
    def fail():
        raise SystemExit

    model = fitted(name)
    with torch_setting("num_threads", 2), pytest.raises(SystemExit):
        refit(name, model.set_params(callbacks=[InSecondEpoch(fail)], random_state=1))
    assert_same_bits(model.history_, fitted(name).history_)
    assert_same_bits(answers(name, model), answers(name, fitted(name)))
    assert vars(model).keys() == vars(fitted(name)).keys()
