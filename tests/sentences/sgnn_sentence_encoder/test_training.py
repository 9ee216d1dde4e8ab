import math
from itertools import pairwise

import numpy as np
import pytest

from sklearn_hashnlp.sentences._batches import ParagraphBatches
from tests.sentence_texts import LISTS, PARAGRAPHS, bytes_of, make, read
from tests.sentences.callbacks import RecordSteps


def fit_and_record(**options):
    steps = RecordSteps()
    return make(callbacks=[steps], **options).fit(PARAGRAPHS), steps


@pytest.mark.parametrize("max_epochs", [1, 2])
def test_the_learning_rate_warms_up_and_decays_to_zero(max_epochs):
    _, steps = fit_and_record(max_epochs=max_epochs, batch_size=4)
    assert len(steps.numbers) > 20 * max_epochs
    for (epoch, number, n_batches), (of_linear, learning_rate) in zip(steps.numbers, steps.learning_rates, strict=True):
        progress = (epoch + number / n_batches) / max_epochs
        assert learning_rate == pytest.approx(0.01 * min(1.0, progress / 0.02 + 0.05) * (1 - progress), rel=1e-9)
        assert of_linear == pytest.approx(math.sqrt(48) * learning_rate)
    assert all(after < before for (_, before), (_, after) in pairwise(steps.learning_rates[3:]))


def test_the_learning_rate_of_partial_fit_is_constant():
    steps = RecordSteps()
    make(callbacks=[steps]).partial_fit(PARAGRAPHS).partial_fit(PARAGRAPHS)
    assert {learning_rate for _, learning_rate in steps.learning_rates} == {0.01}


def test_the_loss_of_an_epoch_is_the_mean_over_sentences():
    encoder, steps = fit_and_record(batch_size=14)
    assert len(set(steps.sizes)) > 1
    assert sum(steps.sizes) == 2 * sum(map(len, LISTS))
    for epoch in range(2):
        own = [index for index, (number, *_) in enumerate(steps.numbers) if number == epoch]
        expected = np.average(np.array(steps.losses)[own], weights=np.array(steps.sizes)[own])
        loss = encoder.history_[epoch]["train_loss"]
        assert loss == pytest.approx(expected, rel=1e-6)
        entry = {"stage": "sentences", "epoch": epoch + 1, "step": len(own), "train_loss": pytest.approx(loss)}
        assert encoder.log_[epoch] == entry


def test_log_every_few_steps():
    encoder, steps = fit_and_record(log_every=3, batch_size=10)
    expected, since = [], []
    for (epoch, number, n_batches), loss, size in zip(steps.numbers, steps.losses, steps.sizes, strict=True):
        since.append((loss, size))
        if (number + 1) % 3 == 0 or number + 1 == n_batches:
            losses, sizes = np.transpose(since)
            expected.append((epoch + 1, number + 1, np.average(losses, weights=sizes)))
            since = []
    assert len({n_batches % 3 for *_, n_batches in steps.numbers}) == 2
    assert [(entry["epoch"], entry["step"]) for entry in encoder.log_] == [entry[:2] for entry in expected]
    assert [entry["train_loss"] for entry in encoder.log_] == pytest.approx([loss for *_, loss in expected], rel=1e-6)


def test_the_end_of_an_epoch_is_logged_once():
    encoder, steps = fit_and_record(log_every=1)
    assert [entry["step"] for entry in encoder.log_] == [number + 1 for _, number, _ in steps.numbers]


def test_max_time():
    n_batches = len(ParagraphBatches(read(LISTS), None, None, batch_size=16, seed=0, epoch=0))
    scores = []

    def monitor(encoder):
        scores.append(bytes_of(encoder))
        return float(len(scores))

    encoder, steps = fit_and_record(max_time=1e-9, max_epochs=50, monitor=monitor)
    assert len(steps.sizes) == 1 < n_batches
    assert len(encoder.history_) == 1
    # The end is scored, too.
    entries = [("untrained", 0), ("words", 0), ("sentences", 1)]
    assert [(entry["stage"], entry["step"]) for entry in encoder.log_] == entries
    assert bytes_of(encoder) == scores[-1]
    some, _ = fit_and_record(max_time=0.2, max_epochs=10_000)
    assert 1 <= len(some.history_) < 10_000  # one, where other processes are busy


def test_diverging_training():
    with pytest.raises(ValueError, match=r"The training diverged.*smaller learning_rate"):
        make(learning_rate=1e30, max_epochs=9).fit(PARAGRAPHS)
