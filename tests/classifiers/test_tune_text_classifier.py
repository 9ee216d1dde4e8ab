"""tune_text_classifier: scores, sizes, limits, failures, and continuing a study."""

from __future__ import annotations

import sys
import time
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
import pytest
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState
from scipy.sparse import coo_array
from sklearn.model_selection import StratifiedKFold, cross_val_score

from sklearn_hashnlp.classifiers import (
    HashEmbeddingClassifier,
    TextClassifier,
    tune_text_classifier,
)
from sklearn_hashnlp.persistence import save_model
from tests.trainings import assert_same_bits

WORDS = {"good": ["fine", "funny", "warm", "bright"], "bad": ["dull", "long", "cold", "grey"]}


def _texts(n: int) -> tuple[list[str], list[str]]:
    generator = np.random.default_rng(0)
    labels = generator.choice(["good", "bad"], n).tolist()
    others = ["film", "story", *WORDS["good"], *WORDS["bad"]]
    texts = [
        " ".join([*generator.choice(WORDS[label], 1), *generator.choice(others, 3)])
        for label in labels
    ]
    return texts, labels


TEXTS, LABELS = _texts(60)
LISTS = [
    [label, "film"] if "film" in text else [label]
    for text, label in zip(TEXTS, LABELS, strict=True)
]
MATRIX = np.array([[name in row for name in ("bad", "film", "good")] for row in LISTS], dtype=int)
SMALL = TextClassifier(
    features="words", n_buckets=64, n_embeddings=256, embedding_dim=4, max_epochs=1, n_jobs=1
)
FAILED = TrialState.FAIL


def space(trial: Any) -> dict[str, Any]:
    return {
        "n_buckets": trial.suggest_int("n_buckets", 1, 256, log=True),
        "ngram_range": (1, trial.suggest_int("max_words", 1, 2)),
    }


def _tune(X: Any = TEXTS, y: Any = LABELS, **options: Any) -> Any:
    defaults = {"estimator": SMALL, "space": space, "random_state": 0, "max_time": None}
    return tune_text_classifier(X, y, **defaults | options)


def _folder_size(path: Path) -> int:
    return sum(file.stat().st_size for file in path.iterdir())


def test_the_best_model_by_cross_validation_is_trained_on_all_texts() -> None:
    model, best, study = _tune(max_trials=4)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    for trial in study.trials:
        params = space(trial) if trial.params else {}
        expected = TextClassifier(**SMALL.get_params() | {"random_state": 0} | params)
        scores = cross_val_score(expected, np.array(TEXTS), LABELS, cv=folds)
        assert trial.value == np.mean(scores)
        assert list(trial.intermediate_values.values()) == scores.tolist()
        if trial.number == best.number:
            assert_same_bits(
                model.predict_proba(TEXTS), expected.fit(TEXTS, LABELS).predict_proba(TEXTS)
            )
    assert study.trials[0].params == {}
    assert best.value == max(trial.value for trial in study.trials)
    again = _tune(max_trials=3)[2].trials
    assert [trial.params for trial in again] == [trial.params for trial in study.trials[:3]]


def test_a_study_with_trials_is_continued(tmp_path: Path) -> None:
    file = JournalFileBackend(str(tmp_path / "trials.jsonl"))

    def study() -> optuna.Study:
        options = {"study_name": "a", "load_if_exists": True, "direction": "maximize"}
        return optuna.create_study(storage=optuna.storages.JournalStorage(file), **options)

    numbers: list[int] = []

    def interrupt(_study: optuna.Study, trial: Any) -> None:
        numbers.append(trial.number)
        if trial.number == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _tune(study=study(), callbacks=[interrupt])
    model, best, same = _tune(study=study(), callbacks=[interrupt], max_trials=3)
    assert numbers == [0, 1, 2]
    assert [trial.params == {} for trial in same.trials] == [True, False, False]
    again = _tune(study=study(), callbacks=[interrupt], max_trials=3)
    assert numbers == [0, 1, 2]
    assert again[1].number == best.number
    assert_same_bits(again[0].predict_proba(TEXTS), model.predict_proba(TEXTS))


def test_sizes_are_those_of_the_saved_models(tmp_path: Path) -> None:
    estimator = TextClassifier(features="words", n_jobs=1)
    for max_size, precision in ((None, "float32"), (10**6, "int8")):
        model, best, _ = _tune(estimator=estimator, max_size=max_size, max_trials=3)
        save_model(model, tmp_path / precision, precision=precision)
        size = _folder_size(tmp_path / precision)
        assert size <= best.user_attrs["bytes"] <= 1.5 * size


def test_models_above_the_limit_are_pruned(tmp_path: Path) -> None:
    trials = _tune(max_size=10**6, max_trials=6)[2].trials
    limit = int(np.median([trial.user_attrs["bytes"] for trial in trials]))
    model, best, study = _tune(max_size=limit, max_trials=6)
    sizes = {trial.number: trial.user_attrs["bytes"] for trial in study.trials}
    states = {trial.number: trial.state for trial in study.trials}
    assert all((sizes[n] > limit) == (states[n] is TrialState.PRUNED) for n in sizes)
    assert {TrialState.PRUNED, TrialState.COMPLETE} == set(states.values())
    assert sizes[best.number] <= limit
    save_model(model, tmp_path, precision="int8")
    assert _folder_size(tmp_path) <= limit
    with pytest.raises(ValueError, match="No model has at most 100 bytes: the smallest of 2 has"):
        _tune(max_size=100, max_trials=2)


def test_a_model_that_is_larger_than_estimated_is_not_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes = iter([*[5] * 10, 20, 10])
    module = sys.modules[tune_text_classifier.__module__]
    monkeypatch.setattr(
        module._Search, "save", lambda self, model, folder: _save(model, folder, sizes)
    )
    _, best, study = _tune(max_size=10, max_trials=2)
    assert best.value == min(trial.value for trial in study.trials)


def _save(model: Any, folder: str, sizes: Any) -> int:
    save_model(model, folder)
    return int(next(sizes))


def test_a_failure_is_recorded_and_the_search_continues() -> None:
    def half(trial: Any) -> dict[str, Any]:
        return {"n_buckets": trial.suggest_categorical("n_buckets", [-1, 16])}

    study = _tune(space=half, max_trials=8)[2]
    values = {trial.params.get("n_buckets"): trial.state for trial in study.trials}
    assert values == {None: TrialState.COMPLETE, -1: FAILED, 16: TrialState.COMPLETE}
    with pytest.raises(ValueError, match="'learning_rate' parameter"):  # of the first trial
        _tune(estimator=TextClassifier(learning_rate=-1.0))
    with pytest.raises(ValueError, match="needs finite scores, got nan"):
        _tune(scoring=lambda *_: np.nan)


def test_trials_below_the_median_are_pruned() -> None:
    scores = iter([0.9] * 25 + [0.1] * 10)
    trials = _tune(scoring=lambda *_: next(scores), max_trials=6)[2].trials
    assert [len(trial.intermediate_values) for trial in trials] == [5] * 5 + [1]
    assert trials[5].state == TrialState.PRUNED


def test_no_trial_is_started_that_would_end_after_the_limit() -> None:
    assert len(_tune(max_time=1e-9)[2].trials) == 1
    calls = count()

    def score(*_: Any) -> float:
        time.sleep(0.1)
        return next(calls) / 1000

    study = _tune(scoring=score, max_time=4)[2]
    n_trials = len(study.trials)
    assert n_trials > 1
    assert sum(trial.duration.total_seconds() for trial in study.trials[:-1]) < 4
    assert len(_tune(scoring=score, max_time=3, study=study)[2].trials) == n_trials  # they count


def test_parameters_of_a_classifier_are_searched_by_its_prefix() -> None:
    inner = HashEmbeddingClassifier(n_buckets=64, n_embeddings=256, max_epochs=1)
    study = _tune(estimator=TextClassifier(classifier=inner), space=None, max_trials=4)[2]
    assert {trial.state for trial in study.trials} <= {TrialState.COMPLETE, TrialState.PRUNED}
    assert [trial.params.get("features") for trial in study.trials[:4]] == [
        None,
        "words",
        "words",
        "auto",
    ]


@pytest.mark.parametrize("form", [list, np.array, coo_array, pd.DataFrame])
def test_multiple_labels_of_any_form(form: Any) -> None:
    y = LISTS if form is list else form(MATRIX)
    model, best, study = _tune(y=y, max_trials=2)
    assert len([trial for trial in study.trials if trial.state is not FAILED]) == 2
    assert np.shape(model.predict(TEXTS)) == (np.shape(y) if form is not list else (60,))
    assert 0 < best.value <= 1


def test_validation_data_is_scored_once_and_not_trained_on() -> None:
    split = TEXTS[:40], LABELS[:40]
    _, best, _ = _tune(*split, validation_data=(iter(TEXTS[40:]), LABELS[40:]), max_trials=1)
    model = TextClassifier(**SMALL.get_params() | {"random_state": 0}).fit(*split)
    assert best.intermediate_values == {0: model.score(TEXTS[40:], LABELS[40:])}


def test_a_fifth_of_many_texts_is_held_out() -> None:
    X, y = [f"{text} {i % 10}" for i, text in enumerate(TEXTS * 170)], LABELS * 170
    seen = []
    _tune(X, y, max_trials=1, scoring=lambda model, X, y: seen.append(len(X)) or 1.0)
    assert seen == [2040]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_time": 0}, "'max_time' parameter of tune_text_classifier must be a float in the"),
        ({"max_trials": 1.5}, "'max_trials' parameter"),
        ({"max_size": 0}, "'max_size' parameter"),
        ({"y": LABELS[1:]}, "inconsistent numbers of samples"),
        ({"scoring": "nonsense"}, "nonsense"),
        ({"estimator": "words"}, "needs a TextClassifier, got str"),
        (
            {"X": ["a", "b"], "y": ["x", "y"]},
            "needs at least 5 texts to score on, got 2.* validation_data",
        ),
        ({"y": [None, *LABELS[1:]]}, "the label in row 0 of y is missing"),
        ({"y": MATRIX, "estimator": TextClassifier(loss="softmax")}, "takes one label"),
    ],
)
def test_wrong_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        _tune(**options)


def test_without_optuna_the_error_has_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    message = r"tune_text_classifier needs optuna\. Install it with: pip install optuna"
    with pytest.raises(ImportError, match=message):
        _tune()
