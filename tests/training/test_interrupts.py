import signal
import threading

import pytest
from skorch.callbacks import Callback

from sklearn_hashnlp.training._fit_task import current_interrupt, deferred_interrupt
from tests.contract.estimators import CASES


def press_ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


@pytest.fixture
def set_handler():
    """Return a function that sets a handler of SIGINT for a test."""
    previous = signal.getsignal(signal.SIGINT)
    yield lambda handler: signal.signal(signal.SIGINT, handler)
    signal.signal(signal.SIGINT, previous)


@pytest.mark.parametrize(
    "handler", [signal.SIG_IGN, lambda *_: None], ids=["ignored", "a function"]
)
def test_a_handler_that_does_not_raise_is_left_to_decide(handler, set_handler):
    set_handler(handler)
    with deferred_interrupt():
        current_interrupt().deferred = True
        press_ctrl_c()
        assert not current_interrupt().pending
    assert signal.getsignal(signal.SIGINT) is handler


def test_a_handler_of_ones_own_is_called_each_time(set_handler):
    class Press(Callback):
        def on_epoch_end(self, net, **kwargs):
            press_ctrl_c()

    calls, case = [], CASES["SGNNClassifier"]
    set_handler(lambda number, _: calls.append(number))
    model = case.make(max_epochs=3, callbacks=[Press()]).fit(case.X, case.y)
    assert calls == [signal.SIGINT] * 3
    assert len(model.history_) == 3


def test_an_error_of_a_handler_is_raised_as_it_is(set_handler):
    def handler(*_):
        raise RuntimeError("enough")

    set_handler(handler)
    with deferred_interrupt():
        current_interrupt().deferred = True
        with pytest.raises(RuntimeError, match="enough"):
            press_ctrl_c()


def test_no_handler_is_installed_in_another_thread():
    handlers = []

    def train():
        with deferred_interrupt():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
    assert handlers == [signal.getsignal(signal.SIGINT)]
