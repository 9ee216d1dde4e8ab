"""Trainings of SGNNSentenceEncoder that fail or are interrupted, and what they leave."""

from __future__ import annotations

import gc
import signal
import threading

import pytest
from sklearn.exceptions import NotFittedError

from sklearn_hashnlp import SGNNSentenceEncoder
from sklearn_hashnlp.sentences import _sgnn_sentence_encoder
from sklearn_hashnlp.sentences._sentence_reader import CachedProjections, Paragraphs
from sklearn_hashnlp.training import StepLog, TimeLimit
from tests.sentence_texts import PARAGRAPHS, QUERIES, bytes_of, fitted, make
from tests.sentences.callbacks import InterruptAfter
from tests.trainings import assert_same_bits


def test_an_interrupt_leaves_the_best_weights():
    vectors = []

    def scoring(encoder):
        vectors.append(bytes_of(encoder))
        return -float(len(vectors))

    encoder = make(callbacks=[InterruptAfter(8), StepLog(2)], scoring=scoring)
    with pytest.raises(KeyboardInterrupt):
        encoder.fit(PARAGRAPHS)
    assert len(vectors) > 4
    assert bytes_of(encoder) == vectors[2]


def test_threads_end_with_the_training():
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt) as interrupt:
        make(callbacks=[InterruptAfter(3)], n_jobs=3).fit(PARAGRAPHS)
    assert threading.active_count() == before
    assert interrupt.value is not None  # it holds the frames of the training
    make(n_jobs=3, callbacks=[TimeLimit(1e-9)]).fit(PARAGRAPHS)
    assert threading.active_count() == before


def test_the_text_does_not_outlive_its_training():
    def count():
        gc.collect()
        return sum(type(thing) in (CachedProjections, Paragraphs) for thing in gc.get_objects())

    before = count()
    encoder = make(scoring=lambda encoder: 0.0).fit(PARAGRAPHS).partial_fit(PARAGRAPHS)
    assert count() == before
    assert encoder.history_


def test_an_encoder_with_failing_scoring_keeps_its_vectors() -> None:
    encoder, old = make().fit(PARAGRAPHS), fitted()

    def scoring(_: SGNNSentenceEncoder) -> float:
        raise RuntimeError("a fault of the scoring")

    with pytest.raises(RuntimeError, match="a fault of the scoring"):
        encoder.set_params(scoring=scoring, random_state=1).fit(PARAGRAPHS)
    assert_same_bits(encoder.transform(QUERIES), old.transform(QUERIES))
    assert_same_bits(encoder.log_, old.log_)


def test_an_encoder_interrupted_while_it_learns_words_begins_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encoder = make()
    with monkeypatch.context() as patch:
        patch.setattr(
            _sgnn_sentence_encoder, "pretrain", lambda *_, **__: signal.raise_signal(signal.SIGINT)
        )
        with pytest.raises(KeyboardInterrupt):
            encoder.partial_fit(PARAGRAPHS)
    with pytest.raises(NotFittedError):
        encoder.transform(QUERIES)
    clean = make().partial_fit(PARAGRAPHS).transform(QUERIES)
    assert_same_bits(encoder.partial_fit(PARAGRAPHS).transform(QUERIES), clean)
