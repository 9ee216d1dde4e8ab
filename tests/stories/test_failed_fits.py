"""Fits that fail: by wrong data, by a callback, by the memory."""

from __future__ import annotations

import signal
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from skorch.callbacks import Callback

from sklearn_hashnlp import SGNNSentenceEncoder
from sklearn_hashnlp.sentences import _sgnn_sentence_encoder
from tests.contract.estimators import BITS, CASES, LABELS, answers, fitted, part_fit, refit
from tests.sentence_texts import PARAGRAPHS, QUERIES, make

ESTIMATORS = ["HashEmbeddingClassifier", "SGNNClassifier", "HsigmoidLanguageModel", "SGNNSentenceEncoder"]
CLASSIFIERS = ESTIMATORS[:2]


class Fails(Callback):  # type: ignore[misc]
    """Raises an error at the end of an epoch, or at its first batch."""

    def __init__(self, error: type[BaseException] = RuntimeError, epoch: int = 2, batch: bool = False) -> None:
        self.error, self.epoch, self.batch = error, epoch, batch

    def on_batch_begin(self, net: Any, **_: Any) -> None:
        if self.batch and len(net.history) == self.epoch:
            raise self.error

    def on_epoch_end(self, net: Any, **_: Any) -> None:
        if not self.batch and len(net.history) == self.epoch:
            raise self.error


@pytest.mark.parametrize("error", [RuntimeError, MemoryError, SystemExit])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_fit_that_fails_keeps_the_old_model(name: str, error: type[BaseException]) -> None:
    model, old = fitted(name), fitted(name)
    with pytest.raises(error):
        refit(name, model.set_params(callbacks=[Fails(error)], random_state=1))
    assert answers(name, model) == answers(name, old)
    assert model.history_ == old.history_
    assert vars(model).keys() == vars(old).keys()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_first_fit_that_fails_leaves_an_unfitted_model(name: str) -> None:
    model = CASES[name].make(callbacks=[Fails()])
    with pytest.raises(RuntimeError):
        refit(name, model)
    with pytest.raises(NotFittedError):
        answers(name, model)


@pytest.mark.parametrize("batch", [False, True], ids=["at the end of an epoch", "in a batch"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_history_has_no_epoch_of_a_partial_fit_that_failed(name: str, batch: bool) -> None:
    model = CASES[name].make()
    part_fit(name, model, slice(0, 40))
    with pytest.raises(RuntimeError):
        part_fit(name, model.set_params(callbacks=[Fails(batch=batch)]), slice(0, 40))
    part_fit(name, model.set_params(callbacks=None), slice(0, 40))
    assert [entry["epoch"] for entry in model.history_] == [1, 2]
    assert len(model.net_.history) == 2
    assert all("train_loss" in entry for entry in model.history_)


def test_an_encoder_with_failing_scoring_keeps_its_vectors() -> None:
    encoder, old = fitted("SGNNSentenceEncoder"), fitted("SGNNSentenceEncoder")

    def scoring(_: SGNNSentenceEncoder) -> float:
        raise RuntimeError("a fault of scoring")

    with pytest.raises(RuntimeError, match="a fault of scoring"):
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


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_rows_of_another_width_with_wrong_labels_leave_the_classifier_as_it_was(name: str) -> None:
    model, X = fitted(name), CASES[name].X
    expected = answers(name, model)
    with pytest.raises(ValueError, match="class"):
        model.fit(X[:, :9], np.zeros(len(LABELS), dtype=np.int64))
    assert model.n_features_in_ == X.shape[1]
    assert answers(name, model) == expected
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :9])


@pytest.mark.parametrize("name", [*CLASSIFIERS, "QuantizedSGNNClassifier"])
def test_a_first_fit_with_wrong_labels_leaves_an_unfitted_classifier(name: str) -> None:
    model = CASES[name].make()
    with pytest.raises(ValueError, match="class"):
        model.fit(BITS, np.zeros(len(LABELS), dtype=np.int64))
    with pytest.raises(NotFittedError):
        model.predict(BITS)
