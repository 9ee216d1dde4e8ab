"""The second stage of training: learning rates, losses, the log, the validation score and limits of
time.
"""

import math
from itertools import pairwise

import numpy as np
import pytest
from skorch.callbacks import Callback

from sklearn_hashnlp.sentences._paragraph_batches import ParagraphBatches, TrainingText
from sklearn_hashnlp.training import StepLog, TimeLimit
from tests.sentence_texts import LISTS, PARAGRAPHS, bytes_of, fitted, make, read
from tests.sentences.callbacks import RecordSteps
from tests.trainings import assert_other_bits, assert_same_bits


def fit_and_record(*callbacks, **options):
    steps = RecordSteps()
    return make(callbacks=[steps, *callbacks], **options).fit(PARAGRAPHS), steps


@pytest.mark.parametrize("max_epochs", [1, 2])
def test_the_learning_rate_warms_up_and_decays_to_zero(max_epochs):
    _, steps = fit_and_record(max_epochs=max_epochs, batch_size=4)
    assert len(steps.numbers) > 20 * max_epochs
    for (epoch, number, n_batches), (of_linear, learning_rate) in zip(
        steps.numbers, steps.learning_rates, strict=True
    ):
        progress = (epoch + number / n_batches) / max_epochs
        assert learning_rate == pytest.approx(
            0.01 * min(1.0, progress / 0.02 + 0.05) * (1 - progress), rel=1e-9
        )
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
        entry = {
            "stage": "sentences",
            "epoch": epoch + 1,
            "step": len(own),
            "train_loss": pytest.approx(loss),
        }
        assert encoder.log_[epoch] == entry


def test_a_step_log():
    step_log = StepLog(3)
    encoder, steps = fit_and_record(("log", step_log), batch_size=10)
    expected, since = [], []
    for (epoch, number, n_batches), loss, size in zip(
        steps.numbers, steps.losses, steps.sizes, strict=True
    ):
        since.append((loss, size))
        if (number + 1) % 3 == 0 or number + 1 == n_batches:
            losses, sizes = np.transpose(since)
            expected.append((epoch + 1, number + 1, np.average(losses, weights=sizes)))
            since = []
    assert len({n_batches % 3 for *_, n_batches in steps.numbers}) == 2
    assert [(entry["epoch"], entry["step"]) for entry in encoder.log_] == [
        entry[:2] for entry in expected
    ]
    assert [entry["train_loss"] for entry in encoder.log_] == pytest.approx(
        [loss for *_, loss in expected], rel=1e-6
    )
    assert step_log.log_ == encoder.log_
    every, steps = fit_and_record(StepLog(1))
    assert [entry["step"] for entry in every.log_] == [number + 1 for _, number, _ in steps.numbers]


def test_a_time_limit():
    n_batches = ParagraphBatches(
        TrainingText(read(LISTS), None, None), batch_size=16, seed=0
    ).n_batches
    scores = []

    def scoring(encoder):
        scores.append(bytes_of(encoder))
        return float(len(scores))

    encoder, steps = fit_and_record(TimeLimit(1e-9), max_epochs=50, scoring=scoring)
    assert len(steps.sizes) == 1 < n_batches
    assert len(encoder.history_) == 1
    # The end is scored, too.
    entries = [("untrained", 0), ("words", 0), ("sentences", 1)]
    assert [(entry["stage"], entry["step"]) for entry in encoder.log_] == entries
    assert bytes_of(encoder) == scores[-1]


def test_diverging_training():
    with pytest.raises(ValueError, match=r"The training diverged.*smaller learning_rate"):
        make(learning_rate=1e30, max_epochs=9).fit(PARAGRAPHS)


def test_scoring_does_not_change_the_training():
    def score(encoder):
        encoder.transform(PARAGRAPHS[:3])
        return float(len(encoder.log_))  # the last weights are the best

    encoder, steps = fit_and_record(StepLog(2), scoring=score)
    assert_same_bits(bytes_of(encoder), bytes_of(fitted()))
    assert all(steps.training_modes)
    assert not encoder.net_.module_.training
    assert 0 < encoder.waiting_share_ < 1


# Weights before the second stage are not restored; of equal scores the first is the best, and NaN
# never is.
BEST = [
    *(([0.5] * best + [1.0], best) for best in (2, 4, 6)),
    ([0.0, 1.0, -3.0], 2),
    ([0.0, 0.0, math.nan, 0.2, 0.2, math.nan], 3),
    ([math.nan] * 99, -1),
]


@pytest.mark.parametrize(("scores", "best"), BEST)
def test_the_best_weights_are_restored(scores, best):
    vectors = []

    def scoring(encoder):
        vectors.append(bytes_of(encoder))
        return scores[len(vectors) - 1] if len(vectors) <= len(scores) else -float(len(vectors))

    encoder = make(scoring=scoring, callbacks=[StepLog(3)]).fit(PARAGRAPHS)
    assert bytes_of(encoder) == vectors[best]
    assert len(encoder.log_) == len(vectors) == len(set(vectors)) >= 8
    assert [entry["stage"] for entry in encoder.log_[:3]] == ["untrained", "words", "sentences"]
    np.testing.assert_array_equal(
        [entry["score"] for entry in encoder.log_[: len(scores)]], scores[: len(vectors)]
    )


@pytest.mark.parametrize("score", [None, "high", [1.0, 2.0]])
def test_scoring_must_return_a_number(score):
    encoder = make(scoring=lambda encoder: score)
    with pytest.raises(
        TypeError, match="SGNNSentenceEncoder: scoring must return a number, higher is better; got"
    ):
        encoder.fit(PARAGRAPHS)
    assert not hasattr(encoder, "log_")


def test_a_stream():
    encoder = make(callbacks=[TimeLimit(1e-9)], max_epochs=7)
    for _ in range(3):
        assert encoder.partial_fit(iter(PARAGRAPHS)) is encoder
    assert [entry["epoch"] for entry in encoder.history_] == [1, 2, 3]
    losses = [entry["train_loss"] for entry in encoder.history_]
    assert losses[2] < losses[0]
    assert len(encoder.log_) == 3
    common, rare = encoder.net_.module_.network.common, encoder._reader
    before = bytes_of(encoder)
    encoder.partial_fit(["Words that nobody knows. They know nobody."])
    assert_other_bits(bytes_of(encoder), before)
    assert encoder.net_.module_.network.common is common
    assert encoder._reader is rare
    assert_same_bits(
        bytes_of(make().partial_fit(PARAGRAPHS)),
        bytes_of(make(max_epochs=5, n_jobs=2).partial_fit(PARAGRAPHS)),
    )


def test_a_stream_has_another_order_each_time():
    orders = []

    class Orders(Callback):
        def on_epoch_begin(self, net, **kwargs):
            orders.append([])

        def on_batch_begin(self, net, batch=None, **kwargs):
            orders[-1].append(batch.batch.weights.sum().item())

    encoder = make(callbacks=[Orders()]).fit(PARAGRAPHS)
    for _ in range(2):
        encoder.partial_fit(PARAGRAPHS)
    assert len({tuple(order) for order in orders}) == len(orders) == 4


def test_a_stream_is_watched_by_the_monitor():
    asked = []

    def scoring(encoder):
        asked.append(encoder)
        return 0.0

    encoder = make(scoring=scoring).partial_fit(PARAGRAPHS)
    assert [entry["stage"] for entry in encoder.log_] == ["untrained", "words", "sentences"]
    assert all(one is encoder for one in asked)
