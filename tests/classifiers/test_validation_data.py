"""Validation rows of the user in ``fit``, and functions that report the progress."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sklearn_hashnlp import HashEmbeddingClassifier, SGNNClassifier, TextClassifier
from sklearn_hashnlp.training import EarlyStopping
from tests.trainings import assert_same_bits

RNG = np.random.default_rng(0)
X = RNG.random((120, 12)).astype(np.float32)
Y = np.where(X[:, 0] > 0.5, "high", "low")
X_VALID = RNG.random((30, 12)).astype(np.float32)
Y_VALID = np.where(X_VALID[:, 0] > 0.5, "high", "low")
TEXTS = ["a fine film", "dull and long", "so fine", "too long"] * 10
LABELS = ["good", "bad", "good", "bad"] * 10
SEVERAL = [["good"], ["bad", "long"], ["good"], ["long"]] * 10

SIZES: dict[str, Any] = {"n_buckets": 50, "n_embeddings": 500, "random_state": 0}
CASES: dict[str, tuple[Any, Any, Any, Any]] = {
    "hash embeddings": (
        HashEmbeddingClassifier(**SIZES, solver="sgd", max_epochs=3),
        X,
        Y,
        (X_VALID, Y_VALID),
    ),
    "to convergence": (
        TextClassifier(**SIZES, solver="sgd"),
        TEXTS,
        LABELS,
        (["fine", "long"], ["good", "bad"]),
    ),
    "several labels": (TextClassifier(**SIZES), TEXTS, SEVERAL, (["fine", "long"], [["good"], []])),
    "SGNN": (
        SGNNClassifier(hidden_layer_sizes=(8,), max_epochs=3, random_state=0),
        X,
        Y,
        (X_VALID, Y_VALID),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_validation_data_are_scored_after_each_epoch_and_change_nothing(name: str) -> None:
    model, rows, labels, valid = CASES[name]
    without = model.fit(rows, labels)
    scores, n_epochs = without.decision_function(rows), len(without.history_)
    assert "valid_acc" not in without.history_[0]
    history = model.fit(rows, labels, validation_data=valid).history_
    assert_same_bits(model.decision_function(rows), scores)
    assert len(history) == n_epochs
    assert all({"valid_loss", "valid_acc"} <= set(entry) for entry in history)
    # of others the weights are averaged, and log-odds added, after the last epoch
    if name == "SGNN":
        assert history[-1]["valid_acc"] == model.score(*valid)


def test_early_stopping_takes_the_validation_data_and_holds_out_no_rows() -> None:
    flipped = np.where(Y_VALID == "high", "low", "high")  # each epoch makes it worse
    model = HashEmbeddingClassifier(
        **SIZES, early_stopping=EarlyStopping(patience=3), max_epochs=50
    )
    # without a warning
    history = model.fit(X[:30], Y[:30], validation_data=(X_VALID, flipped)).history_
    accuracies = [entry["valid_acc"] for entry in history]
    assert len(history) == accuracies.index(max(accuracies)) + 1 + 3


def test_the_dual_solver_ignores_validation_data_and_functions() -> None:
    model, calls = TextClassifier(random_state=0), list[Any]()
    model.fit(
        TEXTS, LABELS, validation_data=(TEXTS, LABELS), callbacks=[lambda *call: calls.append(call)]
    )
    assert (model.solver_, calls, "valid_acc" in model.history_[0]) == ("dual", [], False)


def test_a_label_that_is_not_trained_on_is_an_error() -> None:
    model = HashEmbeddingClassifier(**SIZES, max_epochs=1)
    with pytest.raises(ValueError, match="'other'"):
        model.fit(X, Y, validation_data=(X_VALID, np.where(Y_VALID == "high", "other", "low")))


def test_functions_report_the_progress_and_are_not_kept() -> None:
    calls: list[tuple[float, int, list[str]]] = []

    def report(done: float, n_epochs: int, history: list[dict[str, Any]]) -> None:
        calls.append(
            (done, n_epochs, [name for name in ("train_loss", "dur") if name in history[-1]])
        )

    model = TextClassifier(solver="sgd", max_epochs=2, random_state=0)
    expected = model.fit(TEXTS, LABELS).decision_function(TEXTS)
    model.fit(TEXTS, LABELS, callbacks=[report])
    assert_same_bits(model.decision_function(TEXTS), expected)
    assert model.pipeline_["classifier"].callbacks is None
    ends = [call for call in calls if call[2]]
    assert ends == [(1, 2, ["train_loss", "dur"]), (2, 2, ["train_loss", "dur"])]
    assert [call[0] for call in calls] == sorted(call[0] for call in calls)
    assert calls[0][0] == 0
    assert len(calls) == 6  # 40 texts in batches of 32


def test_an_object_that_is_no_callback_is_an_error() -> None:
    with pytest.raises(
        ValueError, match="The 'callbacks' parameter of TextClassifier must hold skorch callbacks"
    ):
        TextClassifier().fit(TEXTS, LABELS, callbacks=[3])


@pytest.mark.parametrize(
    ("valid", "message"),
    [
        ((TEXTS, LABELS, LABELS), r"validation_data must be a pair \(X, y\) or None"),
        (TEXTS, r"validation_data must be a pair \(X, y\) or None"),
        (([], []), "validation_data: Found array with 0 sample"),
        ((TEXTS, ["other"] * 40), "validation_data: the label 'other' is not in y"),
        ((TEXTS, LABELS[:3]), "validation_data: .* inconsistent numbers of samples"),
    ],
    ids=["three", "texts", "none", "label", "lengths"],
)
def test_wrong_validation_data_are_named(valid: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TextClassifier(**SIZES, solver="sgd").fit(TEXTS, LABELS, validation_data=valid)


def test_a_single_callback_needs_a_list() -> None:
    with pytest.raises(
        ValueError, match=r"callbacks must be a list .* wrap a single one in a list"
    ):
        TextClassifier(**SIZES).fit(TEXTS, LABELS, callbacks=print)
