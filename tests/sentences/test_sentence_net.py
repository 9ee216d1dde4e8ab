import time

import torch

from sklearn_hashnlp.sentences._paragraph_batches import EpochsOfParagraphs, ParagraphBatch
from sklearn_hashnlp.sentences._sentence_net import TrainingState, load_trained_weights, trained_weights
from tests.sentence_texts import PARAGRAPHS, make


class FakeBatches:
    """An epoch of three batches, each after half a second of waiting."""

    def __init__(self, first):
        self.first, self.waited = first, 0.0

    def __len__(self):
        return max(3 - self.first, 0)

    def __iter__(self):
        for number in range(self.first, 3):
            self.waited += 0.5
            yield ParagraphBatch(None, None, None, number)


def test_epochs_follow_one_another_and_waiting_times_add_up():
    calls = []

    def make_batches(epoch, first):
        calls.append((epoch, first))
        return FakeBatches(first)

    epochs = EpochsOfParagraphs(make_batches, 7, n_epochs=4, epoch=2, first=1)
    assert len(epochs) == 7
    begin = time.perf_counter()
    batches = list(epochs)
    assert [(batch.epoch, batch.number) for batch in batches] == [(2, 1), (2, 2)]
    assert [batch.progress for batch in batches] == [(2 + 1 / 3) / 4, (2 + 2 / 3) / 4]
    assert (epochs.epoch, epochs.first, epochs.n_batches, epochs.waited) == (3, 0, 3, 1.0)
    assert [batch.number for batch in epochs] == [0, 1, 2]
    assert calls == [(2, 1), (3, 0)]
    assert epochs.waited == 2.5
    assert 0 < epochs.total <= time.perf_counter() - begin
    before = epochs.total
    for _ in epochs:
        time.sleep(0.01)
        break  # the time is over
    assert epochs.total >= before + 0.01
    assert (epochs.epoch, epochs.waited, epochs.n_batches) == (4, 3.0, 3)


def test_a_finished_epoch_has_no_batches_left():
    epochs = EpochsOfParagraphs(lambda epoch, first: FakeBatches(first), 7, n_epochs=None, epoch=0, first=3)
    assert list(epochs) == []
    assert (epochs.epoch, epochs.n_batches) == (1, 3)


def test_the_training_state_keeps_the_weights_that_training_changes():
    net = make().fit(PARAGRAPHS).net_
    weights = trained_weights(net)
    assert set(weights) == {name for name, value in net.module_.named_parameters() if value.requires_grad}
    assert {"network.spelling.weight", "network.transformer.tables.tables.weight"}.isdisjoint(weights)
    state = TrainingState()
    state.note(0.5, net)
    with torch.no_grad():
        for parameter in net.module_.parameters():
            parameter += 1
    state.note(0.5, net)
    load_trained_weights(net, state.best_weights)
    assert all(torch.equal(value, weights[name]) for name, value in trained_weights(net).items())
