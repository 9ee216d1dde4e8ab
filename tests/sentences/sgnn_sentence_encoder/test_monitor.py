import math

import pytest

from tests.sentence_texts import PARAGRAPHS, bytes_of, fitted, make
from tests.sentences.callbacks import RecordSteps


def test_a_monitor_does_not_change_the_training():
    def score(encoder):
        encoder.transform(PARAGRAPHS[:3])
        return float(len(encoder.log_))  # the last weights are the best

    steps = RecordSteps()
    monitored = make(log_every=2, dropout=0.2, monitor=score, callbacks=[steps]).fit(PARAGRAPHS)
    assert bytes_of(monitored) == bytes_of(make(log_every=2, dropout=0.2).fit(PARAGRAPHS))
    assert all(steps.training_modes)
    assert not monitored.net_.module_.training
    assert 0 < monitored.waiting_share_ < 1


@pytest.mark.parametrize("best", [3, 5, 7])
def test_the_best_weights_are_restored(best):
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


def test_weights_before_the_second_stage_are_not_restored():
    vectors = []

    def monitor(encoder):
        vectors.append(bytes_of(encoder))
        return 1.0 if len(vectors) == 2 else -float(len(vectors))

    assert bytes_of(make(monitor=monitor, log_every=3).fit(PARAGRAPHS)) == vectors[2]


def test_the_first_of_equal_scores_is_the_best_and_nan_never_is():
    vectors = []

    def monitor(encoder):
        vectors.append(bytes_of(encoder))
        return [0.0, 0.0, math.nan, 0.2, 0.2, math.nan][min(len(vectors) - 1, 5)]

    assert bytes_of(make(monitor=monitor, log_every=3).fit(PARAGRAPHS)) == vectors[3]
    only_nan = make(monitor=lambda encoder: math.nan, log_every=3).fit(PARAGRAPHS)
    assert bytes_of(only_nan) == bytes_of(fitted())


@pytest.mark.parametrize("score", [None, "high", [1.0, 2.0]])
def test_a_monitor_must_return_a_number(score):
    encoder = make(monitor=lambda encoder: score)
    with pytest.raises(TypeError, match="SGNNSentenceEncoder: monitor must return a number, higher is better; got"):
        encoder.fit(PARAGRAPHS)
    assert not hasattr(encoder, "log_")
