import math
import time
from itertools import pairwise

import numpy as np
import pytest
import torch
from skorch.callbacks import Callback

from sklearn_hashnlp.sentences._batches import ParagraphBatch, ParagraphBatches
from sklearn_hashnlp.sentences._net import EpochsOfParagraphs
from sklearn_hashnlp.sentences._training import TrainingState, load_trained_weights, trained_weights
from tests.sentence_texts import LISTS, PARAGRAPHS, bytes_of, make, read

N_SENTENCES = sum(map(len, LISTS))


class Steps(Callback):
    """Note what each step is like."""

    def __init__(self):
        self.rates, self.sizes, self.losses, self.trains, self.places = [], [], [], [], []

    def on_epoch_begin(self, net, dataset_train=None, **kwargs):
        self.epochs = dataset_train

    def on_grad_computed(self, net, **kwargs):
        self.trains.append(net.module_.training)

    def on_batch_end(self, net, batch=None, loss=None, **kwargs):
        self.rates.append([group["lr"] for group in net.optimizer_.param_groups])
        self.sizes.append(len(batch.blocks))
        self.losses.append(loss.item())
        self.places.append((batch.epoch, batch.number, self.epochs.n_batches))


def steps_of(**options):
    steps = Steps()
    encoder = make(callbacks=[steps], **options).fit(PARAGRAPHS)
    return encoder, steps


class FakeBatches:
    """An epoch of three batches that takes some time."""

    def __init__(self, first):
        self.first, self.waited = first, 0.0

    def __len__(self):
        return max(3 - self.first, 0)

    def __iter__(self):
        for number in range(self.first, 3):
            self.waited += 0.5
            yield ParagraphBatch(None, None, None, number)


def test_epochs_follow_one_another_and_their_waits_add_up():
    asked = []

    def make_batches(epoch, first):
        asked.append((epoch, first))
        return FakeBatches(first)

    epochs = EpochsOfParagraphs(make_batches, 7, n_epochs=4, epoch=2, first=1)
    assert len(epochs) == 7
    begin = time.perf_counter()
    batches = list(epochs)
    assert [(batch.epoch, batch.number) for batch in batches] == [(2, 1), (2, 2)]
    assert [batch.progress for batch in batches] == [(2 + 1 / 3) / 4, (2 + 2 / 3) / 4]
    assert (epochs.epoch, epochs.first, epochs.n_batches, epochs.waited) == (3, 0, 3, 1.0)
    assert [batch.number for batch in epochs] == [0, 1, 2]
    assert asked == [(2, 1), (3, 0)]
    assert epochs.waited == 2.5
    assert 0 < epochs.total <= time.perf_counter() - begin
    before = epochs.total
    for _ in epochs:
        time.sleep(0.01)
        break  # the time was over
    assert epochs.total >= before + 0.01
    assert (epochs.epoch, epochs.waited, epochs.n_batches) == (4, 3.0, 3)


def test_an_epoch_that_was_finished_has_no_batches_left():
    epochs = EpochsOfParagraphs(lambda epoch, first: FakeBatches(first), 7, n_epochs=None, epoch=0, first=3)
    assert list(epochs) == []
    assert (epochs.epoch, epochs.n_batches) == (1, 3)


@pytest.mark.parametrize("max_epochs", [1, 2])
def test_the_learning_rate_rises_at_first_and_then_falls_to_nothing(max_epochs):
    _, steps = steps_of(max_epochs=max_epochs, batch_size=4)
    assert len(steps.rates) > 20 * max_epochs
    for (epoch, step, n_steps), (of_linear, rate) in zip(steps.places, steps.rates, strict=True):
        done = (epoch + step / n_steps) / max_epochs
        assert rate == pytest.approx(0.01 * min(1.0, done / 0.02 + 0.05) * (1 - done), rel=1e-9)
        assert of_linear == pytest.approx(math.sqrt(48) * rate)
    assert all(after < before for (_, before), (_, after) in pairwise(steps.rates[3:]))


def test_a_stream_has_one_learning_rate():
    steps = Steps()
    make(callbacks=[steps]).partial_fit(PARAGRAPHS).partial_fit(PARAGRAPHS)
    assert {rate for _, rate in steps.rates} == {0.01}


def test_the_loss_of_an_epoch_is_the_mean_over_sentences():
    encoder, steps = steps_of(batch_size=14)
    assert len(set(steps.sizes)) > 1
    assert sum(steps.sizes) == 2 * N_SENTENCES
    for epoch in range(2):
        own = [place for place, (number, *_) in enumerate(steps.places) if number == epoch]
        expected = np.average(np.array(steps.losses)[own], weights=np.array(steps.sizes)[own])
        found = encoder.history_[epoch]["train_loss"]
        assert found == pytest.approx(expected, rel=1e-6)
        entry = {"stage": "sentences", "epoch": epoch + 1, "step": len(own), "train_loss": pytest.approx(found)}
        assert encoder.log_[epoch] == entry


def test_what_is_noted_every_few_steps():
    encoder, steps = steps_of(log_every=3, batch_size=10)
    expected, since = [], []
    for (epoch, number, n_batches), loss, size in zip(steps.places, steps.losses, steps.sizes, strict=True):
        since.append((loss, size))
        if (number + 1) % 3 == 0 or number + 1 == n_batches:
            expected.append(
                (epoch + 1, number + 1, np.average(*np.transpose(since)[:1], weights=np.transpose(since)[1]))
            )
            since = []
    assert len({n_batches % 3 for *_, n_batches in steps.places}) == 2
    assert [(entry["epoch"], entry["step"]) for entry in encoder.log_] == [entry[:2] for entry in expected]
    assert [entry["train_loss"] for entry in encoder.log_] == pytest.approx([loss for *_, loss in expected], rel=1e-6)


def test_a_note_at_the_end_of_an_epoch_is_made_once():
    encoder, steps = steps_of(log_every=1)
    assert [entry["step"] for entry in encoder.log_] == [number + 1 for _, number, _ in steps.places]


def test_a_monitor_does_not_change_the_training():
    def score(encoder):
        encoder.transform(PARAGRAPHS[:3])
        return float(len(encoder.log_))  # the last are the best

    with_it, steps = steps_of(log_every=2, dropout=0.2, monitor=score)
    without, _ = steps_of(log_every=2, dropout=0.2)
    assert bytes_of(with_it) == bytes_of(without)
    assert all(steps.trains)
    assert not with_it.net_.module_.training
    assert 0 < with_it.waiting_share_ < 1


@pytest.mark.parametrize("best", [3, 5, 7])
def test_the_best_weights_are_kept(best):
    vectors = []

    def monitor(encoder):
        vectors.append(bytes_of(encoder))
        return 1.0 if len(vectors) == best else 0.5

    encoder = make(monitor=monitor, log_every=3).fit(PARAGRAPHS)
    assert len(encoder.log_) == len(vectors) >= 8
    assert [entry["stage"] for entry in encoder.log_[:3]] == ["untrained", "words", "sentences"]
    assert [entry["score"] for entry in encoder.log_].index(1.0) == best - 1
    assert bytes_of(encoder) == vectors[best - 1]
    assert len(set(vectors)) == len(vectors)


def test_weights_of_before_the_second_stage_are_not_gone_back_to():
    vectors = []

    def monitor(encoder):
        vectors.append(bytes_of(encoder))
        return 1.0 if len(vectors) == 2 else -float(len(vectors))

    assert bytes_of(make(monitor=monitor, log_every=3).fit(PARAGRAPHS)) == vectors[2]


def test_of_equal_scores_the_first_is_kept_and_what_is_no_number_is_none():
    vectors = []

    def monitor(encoder):
        vectors.append(bytes_of(encoder))
        return [0.0, 0.0, math.nan, 0.2, 0.2, math.nan][min(len(vectors) - 1, 5)]

    assert bytes_of(make(monitor=monitor, log_every=3).fit(PARAGRAPHS)) == vectors[3]
    nothing = make(monitor=lambda encoder: math.nan, log_every=3).fit(PARAGRAPHS)
    assert bytes_of(nothing) == bytes_of(make().fit(PARAGRAPHS))


def test_the_training_state_keeps_what_training_changes():
    net = make().fit(PARAGRAPHS).net_
    kept = trained_weights(net)
    names = {name for name, value in net.module_.named_parameters() if value.requires_grad}
    assert set(kept) == names
    assert {"network.spelling.weight", "network.transformer.tables.tables.weight"}.isdisjoint(kept)
    state = TrainingState()
    state.note(0.5, net)
    with torch.no_grad():
        for parameter in net.module_.parameters():
            parameter += 1
    state.note(0.5, net)
    load_trained_weights(net, state.best_weights)
    assert all(torch.equal(value, kept[name]) for name, value in trained_weights(net).items())


def test_max_time(monkeypatch):
    batches = len(ParagraphBatches(read(LISTS), None, None, batch_size=16, seed=0, epoch=0))
    scores = []

    def monitor(encoder):
        scores.append(bytes_of(encoder))
        return float(len(scores))

    encoder, steps = steps_of(max_time=1e-9, max_epochs=50, monitor=monitor)
    assert len(steps.sizes) == 1 < batches
    assert len(encoder.history_) == 1
    # The end is scored, too.
    assert [(entry["stage"], entry["step"]) for entry in encoder.log_] == [
        ("untrained", 0),
        ("words", 0),
        ("sentences", 1),
    ]
    assert bytes_of(encoder) == scores[-1]
    some, steps = steps_of(max_time=0.2, max_epochs=10_000)
    assert 1 < len(some.history_) < 10_000


def test_a_training_that_diverges():
    with pytest.raises(ValueError, match=r"The training diverged.*smaller learning_rate"):
        make(learning_rate=1e30, max_epochs=9).fit(PARAGRAPHS)


@pytest.mark.parametrize("score", [None, "high", [1.0, 2.0]])
def test_a_monitor_that_gives_no_number_is_told_so_at_once(score):
    encoder = make(monitor=lambda encoder: score)
    with pytest.raises(TypeError, match="SGNNSentenceEncoder: monitor must return a number, higher is better; got"):
        encoder.fit(PARAGRAPHS)
    assert encoder.log_ == []
