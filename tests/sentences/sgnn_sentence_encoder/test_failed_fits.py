"""Trainings that fail."""

from __future__ import annotations

import signal

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from sklearn_hashnlp import SGNNSentenceEncoder
from sklearn_hashnlp.sentences import _sgnn_sentence_encoder
from tests.contract.estimators import fitted
from tests.sentence_texts import PARAGRAPHS, QUERIES, make


def test_an_encoder_with_failing_scoring_keeps_its_vectors() -> None:
    encoder, old = fitted("SGNNSentenceEncoder"), fitted("SGNNSentenceEncoder")

    def scoring(_: SGNNSentenceEncoder) -> float:
        raise RuntimeError("a fault of the scoring")

    with pytest.raises(RuntimeError, match="a fault of the scoring"):
        encoder.set_params(scoring=scoring, random_state=1).fit(PARAGRAPHS)
    np.testing.assert_array_equal(encoder.transform(QUERIES), old.transform(QUERIES))
    assert encoder.log_ == old.log_


def test_an_encoder_interrupted_while_it_learns_words_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = make()
    with monkeypatch.context() as patch:
        patch.setattr(_sgnn_sentence_encoder, "pretrain", lambda *_, **__: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            encoder.partial_fit(PARAGRAPHS)
    with pytest.raises(NotFittedError):
        encoder.transform(QUERIES)
    clean = make().partial_fit(PARAGRAPHS).transform(QUERIES)
    np.testing.assert_array_equal(encoder.partial_fit(PARAGRAPHS).transform(QUERIES), clean)
