"""Callbacks of skorch and interrupts in the training of SGNNSentenceEncoder."""

from __future__ import annotations

import os
import pickle
import signal

import pytest
from skorch.callbacks import Callback

from sklearn_hashnlp.training import StepLog, TimeLimit
from tests.sentence_texts import PARAGRAPHS, bytes_of, fitted, make


class Watcher(Callback):
    def __init__(self, tasks=None):
        self.tasks, self.seen = tasks or {}, []

    def see(self, name):
        self.seen.append(name)
        self.tasks.get((name, self.seen.count(name)), lambda: None)()

    def on_train_begin(self, net, **kwargs):
        self.see("train")

    def on_epoch_begin(self, net, **kwargs):
        self.see("epoch")

    def on_batch_begin(self, net, batch=None, **kwargs):
        self.see("batch")

    def on_grad_computed(self, net, named_parameters, **kwargs):
        assert {name.split(".")[0] for name, _ in named_parameters} == {"network"}
        self.see("gradient")

    def on_batch_end(self, net, loss=None, **kwargs):
        assert loss.ndim == 0
        self.see("step")

    def on_train_end(self, net, **kwargs):
        self.see("end")


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


def test_callbacks_reach_skorch():
    watcher = Watcher()
    encoder = make(callbacks=[("watcher", watcher)]).fit(PARAGRAPHS)
    n_steps = watcher.seen.count("batch")
    assert watcher.seen[:5] == ["train", "epoch", "batch", "gradient", "step"]
    assert watcher.seen.count("gradient") == watcher.seen.count("step") == n_steps > 10
    assert (watcher.seen.count("epoch"), watcher.seen[-1]) == (2, "end")
    assert bytes_of(encoder) == bytes_of(fitted())

    class Enough(Callback):
        def on_epoch_end(self, net, **kwargs):
            raise KeyboardInterrupt  # skorch's way to end training

    assert len(make(max_epochs=9, callbacks=[Enough()]).fit(PARAGRAPHS).history_) == 1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt(tmp_path, n_jobs):
    watcher = Watcher({("batch", 11): interrupt})
    encoder = make(callbacks=[watcher], checkpoint_dir=tmp_path, checkpoint_every=0, max_epochs=5, n_jobs=n_jobs)
    with pytest.raises(KeyboardInterrupt):
        encoder.fit(PARAGRAPHS)
    assert len(encoder.history_) == 1
    assert 0 <= encoder.waiting_share_ <= 1
    vectors = bytes_of(encoder)
    assert bytes_of(pickle.loads(pickle.dumps(encoder))) == vectors
    encoder.partial_fit(PARAGRAPHS)
    # The last checkpoint is resumed as after any other interruption.
    encoder.set_params(resume=True, callbacks=None).fit(PARAGRAPHS)
    assert bytes_of(encoder) == bytes_of(make(max_epochs=5).fit(PARAGRAPHS))


def test_an_interrupt_leaves_the_best_weights():
    vectors = []

    def scoring(encoder):
        vectors.append(bytes_of(encoder))
        return -float(len(vectors))

    watcher = Watcher({("batch", 9): interrupt})
    encoder = make(callbacks=[watcher, StepLog(2)], scoring=scoring)
    with pytest.raises(KeyboardInterrupt):
        encoder.fit(PARAGRAPHS)
    assert len(vectors) > 4
    assert bytes_of(encoder) == vectors[2]


def test_threads_end_with_the_training():
    import threading

    before = threading.active_count()
    watcher = Watcher({("batch", 3): interrupt})
    with pytest.raises(KeyboardInterrupt):
        make(callbacks=[watcher], n_jobs=3).fit(PARAGRAPHS)
    make(n_jobs=3, callbacks=[TimeLimit(1e-9)]).fit(PARAGRAPHS)
    assert threading.active_count() == before


def test_the_text_does_not_outlive_its_training():
    import gc

    from sklearn_hashnlp.sentences._paragraphs import Paragraphs
    from sklearn_hashnlp.sentences._reader import CachedProjections

    def count():
        gc.collect()
        return sum(type(thing) in (CachedProjections, Paragraphs) for thing in gc.get_objects())

    before = count()
    encoder = make(scoring=lambda encoder: 0.0).fit(PARAGRAPHS).partial_fit(PARAGRAPHS)
    assert count() == before
    assert encoder.history_
