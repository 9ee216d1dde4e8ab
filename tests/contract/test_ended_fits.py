"""Trainings that end early: by Ctrl-C, by a callback, by an error."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from skorch.callbacks import Callback, EarlyStopping

from sklearn_hashnlp import QuantizedSGNNClassifier
from tests.contract.estimators import BITS, CASES, LABELS, TEXTS, answers, fitted, part_fit, refit

ESTIMATORS = [
    "HashEmbeddingClassifier",
    "SGNNClassifier",
    "HsigmoidLanguageModel",
    "SGNNSentenceEncoder",
]


def press_ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


class In(Callback):  # type: ignore[misc]
    """Does something in every training batch of an epoch, or at its end."""

    def __init__(
        self,
        batch: Callable[[], None] | None = None,
        end: Callable[[], None] | None = None,
        epoch: int = 2,
    ):
        self.batch = batch
        self.end = end
        self.epoch = epoch

    def on_batch_begin(self, net: Any, training: bool = False, **_: Any) -> None:
        if self.batch is not None and training and len(net.history) == self.epoch:
            self.batch()

    def on_epoch_end(self, net: Any, **_: Any) -> None:
        if self.end is not None and len(net.history) == self.epoch:
            self.end()


def fail() -> None:
    raise RuntimeError


def interrupted(name: str, *callbacks: Callback) -> Any:
    """Return a model whose training Ctrl-C has ended."""
    model = CASES[name].make(max_epochs=50, callbacks=list(callbacks))
    with pytest.raises(KeyboardInterrupt):
        refit(name, model)
    return model


def epochs(model: Any) -> list[int]:
    return [entry["epoch"] for entry in model.history_]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_ctrl_c_stops_a_loop_over_partial_fit(name: str) -> None:
    model = CASES[name].make()
    part_fit(name, model, slice(0, 40))
    with pytest.raises(KeyboardInterrupt):
        part_fit(name, model.set_params(callbacks=[In(press_ctrl_c)]), slice(0, 40))
    assert epochs(model) == [1]
    answers(name, model)


def search(model: Any, X: Any, y: Any) -> None:
    GridSearchCV(model, {"learning_rate": [0.1, 0.2]}, cv=3).fit(X, y)


def cross_validation(model: Any, X: Any, y: Any) -> None:
    cross_val_score(model, X, y)


@pytest.mark.parametrize("evaluate", [search, cross_validation])
def test_ctrl_c_stops_a_search_at_its_first_fold(evaluate: Callable[..., None]) -> None:
    begun = []

    def begin() -> None:
        begun.append(1)
        press_ctrl_c()

    case = CASES["HashEmbeddingClassifier"]
    with pytest.raises(KeyboardInterrupt):
        evaluate(case.make(callbacks=[In(begin, epoch=1), In()]), case.X, case.y)
    assert len(begun) == 1


@pytest.mark.parametrize("name", ESTIMATORS)
def test_ctrl_c_in_a_callback_lets_the_callbacks_of_the_epoch_end(name: str) -> None:
    seen: list[str] = []

    def log() -> None:
        press_ctrl_c()
        seen.append("logged")

    model = interrupted(name, In(end=log), In(end=lambda: seen.append("drawn")))
    assert seen == ["logged", "drawn"]
    assert epochs(model) == [1, 2]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_second_ctrl_c_stops_at_once(name: str) -> None:
    seen: list[str] = []

    def hang() -> None:
        press_ctrl_c()
        press_ctrl_c()
        seen.append("went on")

    model = interrupted(name, In(hang))
    assert seen == []
    with pytest.raises(NotFittedError):
        answers(name, model)


OTHERS: dict[str, Callable[[Callback], Any]] = {
    "make_text_classifier": lambda each: CASES["make_text_classifier"].make(
        classifier__callbacks=[each]
    ),
    "TextClassifier": lambda each: CASES["TextClassifier"].make(callbacks=[each]),
    "quantized": lambda each: QuantizedSGNNClassifier(
        CASES["SGNNClassifier"].make(callbacks=[each])
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_ctrl_c_keeps_what_a_nested_classifier_has_learned(name: str) -> None:
    X: Any = BITS if name == "quantized" else TEXTS
    model = OTHERS[name](In(press_ctrl_c))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, LABELS)
    assert model.predict(X[:3]).shape == (3,)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_callback_ends_training_anywhere_without_a_warning(name: str) -> None:
    def enough() -> None:
        raise KeyboardInterrupt

    seen: list[int] = []
    for where, expected in ({"batch": enough}, [1, 2]), ({"end": enough}, [1, 2, 3]):
        # it has its turn when another ends the training
        last = In(end=lambda: seen.append(3), epoch=3)
        model = refit(name, CASES[name].make(max_epochs=50, callbacks=[In(**where, epoch=3), last]))
        assert epochs(model) == [entry["epoch"] for entry in model.net_.history] == expected
        answers(name, model)
    assert seen == [3]


def test_a_search_goes_on_after_early_stopping_and_stops_at_ctrl_c() -> None:
    case = CASES["SGNNClassifier"]
    stopping = EarlyStopping("train_loss", patience=1, threshold=0.5, threshold_mode="abs")
    model = case.make(max_epochs=50, callbacks=[stopping])
    found = GridSearchCV(model, {"dropout": [0.1, 0.2]}, cv=2).fit(case.X, case.y)
    assert len(found.best_estimator_.history_) < 50
    with pytest.raises(KeyboardInterrupt):
        found.set_params(estimator__callbacks=[stopping, In(press_ctrl_c)]).fit(case.X, case.y)


def test_ctrl_c_is_not_lost_if_the_training_fails_afterwards() -> None:
    def press_and_fail() -> None:
        press_ctrl_c()
        raise ValueError("a fault of the callback")

    case = CASES["HashEmbeddingClassifier"]
    with pytest.raises(KeyboardInterrupt):  # a ValueError would be the score nan of one fold
        GridSearchCV(
            case.make(callbacks=[In(press_and_fail, epoch=1)]), {"n_hashes": [1, 2]}, cv=2
        ).fit(case.X, case.y)


CLASSIFIERS = ESTIMATORS[:2]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_first_fit_that_fails_leaves_an_unfitted_model(name: str) -> None:
    model = CASES[name].make(callbacks=[In(end=fail)])
    with pytest.raises(RuntimeError):
        refit(name, model)
    with pytest.raises(NotFittedError):
        answers(name, model)


@pytest.mark.parametrize("when", ["batch", "end"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_history_has_no_epoch_of_a_partial_fit_that_failed(name: str, when: str) -> None:
    model = CASES[name].make()
    part_fit(name, model, slice(0, 40))
    with pytest.raises(RuntimeError):
        part_fit(name, model.set_params(callbacks=[In(**{when: fail})]), slice(0, 40))
    part_fit(name, model.set_params(callbacks=None), slice(0, 40))
    assert [entry["epoch"] for entry in model.history_] == [1, 2]
    assert len(model.net_.history) == 2
    assert all("train_loss" in entry for entry in model.history_)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_rows_of_another_width_leave_the_classifier_unchanged(name: str) -> None:
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
