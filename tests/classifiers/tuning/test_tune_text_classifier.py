"""tune_text_classifier: scores, sizes, limits, failures, and continuing after an interruption."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from functools import partialmethod
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import optuna
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.model_selection import StratifiedKFold, cross_val_score

from sklearn_hashnlp._posix import lock_file
from sklearn_hashnlp.classifiers import HashEmbeddingClassifier, TextClassifier, tune_text_classifier
from sklearn_hashnlp.classifiers.tuning import _result, _search, _tune_text_classifier
from sklearn_hashnlp.classifiers.tuning._result import TunedModel, TuningResult
from sklearn_hashnlp.persistence import load_model, save_model

WORDS = {"good": ["fine", "funny", "warm", "bright"], "bad": ["dull", "long", "cold", "grey"]}


def _texts(n: int) -> tuple[list[str], list[str]]:
    generator = np.random.default_rng(0)
    labels = generator.choice(["good", "bad"], n).tolist()
    others = ["film", "story", *WORDS["good"], *WORDS["bad"]]
    texts = [" ".join([*generator.choice(WORDS[label], 1), *generator.choice(others, 3)]) for label in labels]
    return texts, labels


TEXTS, LABELS = _texts(60)
LISTS = [[label, "film"] if "film" in text else [label] for text, label in zip(TEXTS, LABELS, strict=True)]
NAMES = np.array(["bad", "film", "good"])
LISTS_AS_MATRIX = np.array([[name in row for name in NAMES] for row in LISTS], dtype=int)
MATRIX = pd.get_dummies(pd.Series(LABELS), dtype=int)
SMALL = TextClassifier(features="words", n_buckets=64, n_embeddings=256, embedding_dim=4, max_epochs=1, n_jobs=1)
SPACE = {
    "n_buckets": optuna.distributions.IntDistribution(1, 256, log=True),
    "ngram_range": [(1, 1), (1, 2)],
    "lowercase": [True, False],
}


def _tune(**options):
    defaults = {"X": TEXTS, "y": LABELS, "estimator": SMALL, "param_distributions": SPACE, "random_state": 0}
    return tune_text_classifier(**defaults | {"max_time": None} | options)


@pytest.fixture(scope="module", name="whole")
def _whole() -> TuningResult:
    return _tune(max_trials=11)


def _plain(result):
    """Return the trials without times, and without sizes, which depend on the times in the saved history."""
    return [(one.state, one.params, one.value, one.intermediate_values) for one in result.study.trials]


def _folder_size(path: Path) -> int:
    return sum(file.stat().st_size for file in path.iterdir())


def test_scores_and_sizes_are_those_of_saved_models(whole, tmp_path):
    first = whole.study.trials[0]
    scores, measured = first.user_attrs["scores"], first.user_attrs["sizes"]
    model = TextClassifier(**SMALL.get_params() | {"random_state": 0})
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    assert scores["float32"] == cross_val_score(model, np.array(TEXTS), LABELS, cv=folds).tolist()
    sizes: dict[str, list[int]] = {"float32": [], "int8": []}
    for fold, (train, valid) in enumerate(folds.split(TEXTS, LABELS)):
        model.fit([TEXTS[i] for i in train], [LABELS[i] for i in train])
        for precision in ("float32", "int8"):
            save_model(model, tmp_path / precision, precision=precision)
            sizes[precision].append(math.ceil(1.25 * _folder_size(tmp_path / precision)))
        score = load_model(tmp_path / "int8").score([TEXTS[i] for i in valid], [LABELS[i] for i in valid])
        assert scores["int8"][fold] == score
    for precision, values in sizes.items():
        assert measured[precision] == pytest.approx(max(values), abs=20)
    assert first.value == max(np.mean(scores["float32"]), np.mean(scores["int8"]))


def test_the_default_comes_first_and_seed_and_max_trials_determine_the_rest(whole):
    assert whole.study.trials[0].params == {}
    assert _plain(_tune(max_trials=3)) == _plain(whole)[:3]
    drawn = [tuple(trial.params.values()) for trial in whole.study.trials]
    assert len(set(drawn)) == 11
    other = _tune(max_trials=3, random_state=1).study.trials
    assert [trial.params for trial in other] != [trial.params for trial in whole.study.trials[:3]]


def test_a_search_continues_after_an_interruption(whole, tmp_path, monkeypatch):
    path = tmp_path / "trials.jsonl"
    options = {"max_trials": 11, "trials_file": path}
    with monkeypatch.context() as patch:
        patch.setattr(_search.Search, "_score_fold", partialmethod(_interrupted, _search.Search._score_fold))
        with pytest.raises(KeyboardInterrupt):
            _tune(**options)
    [name] = optuna.get_all_study_names(_storage(path))
    assert len(optuna.load_study(study_name=name, storage=_storage(path)).trials) == 9
    with path.open("a") as file:
        file.write('{"op_code":10,"worker')  # killed while it was written
    numbers = []
    continued = _tune(**options, callback=lambda study, trial: numbers.append(trial.number))
    assert _plain(continued) == _plain(whole)
    assert numbers == [9, 10]
    assert _plain(_tune(max_time=1e-9, trials_file=path, callback=pytest.fail)) == _plain(whole)


def _interrupted(search, score_fold, *arguments):
    if len(search.study.trials) == 10:
        raise KeyboardInterrupt
    return score_fold(search, *arguments)


def _storage(path):
    return optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(path)))


def test_another_search_has_another_study_in_the_file(tmp_path):
    options = {"max_trials": 1, "trials_file": tmp_path / "trials.jsonl"}
    _tune(**options)
    for other in ({"random_state": 1}, {"scoring": "f1_macro"}, {"param_distributions": {"lowercase": [False]}}):
        numbers = []
        _tune(**options | other, callback=lambda study, trial: numbers.append(trial.number))  # noqa: B023
        assert numbers == [0]
    _tune(**options, callback=pytest.fail)
    assert len(optuna.get_all_study_names(_storage(options["trials_file"]))) == 4


def test_a_file_that_is_in_use_or_not_a_journal_is_refused(tmp_path):
    path = tmp_path / "trials.jsonl"
    with path.open("ab") as file:
        lock_file(file)
        with pytest.raises(BlockingIOError, match="Another search is writing"):
            _tune(max_trials=1, trials_file=path)
    version = optuna.__version__
    for content, message in (
        ("notes\n", "is not a journal of optuna"),
        ("no", "is not a journal of optuna"),
        ('{"format": 1}\n', "is not a journal of optuna"),
        ('{"op_code":0}\n', f"is not a journal of optuna {version}, or another version wrote it"),
        ('{"op_code": 99}\n', f"is not a journal of optuna {version}, or another version wrote it"),
    ):
        path.write_text(content)
        with pytest.raises(ValueError, match=message):
            _tune(max_trials=1, trials_file=path)
        assert path.read_text() == content


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    """Return the lines of a search of two trials."""
    path = tmp_path_factory.mktemp("journal") / "trials.jsonl"
    _tune(max_trials=2, trials_file=path)
    return path.read_text().splitlines()


@pytest.mark.parametrize("broken", ['{"op_code":4,"study', "", "7", "\udcff"])
def test_a_journal_with_a_broken_line_is_refused_and_continues_without_it(journal, broken, tmp_path):
    path = tmp_path / "trials.jsonl"
    first, second, third = journal
    path.write_text("\n".join([first, second, broken, third, ""]), errors="surrogateescape")
    with pytest.raises(ValueError, match=r"is damaged at line 3: delete the lines from there on, or choose another"):
        _tune(max_trials=2, trials_file=path)
    path.write_text(f"{first}\n{second}\n")
    numbers = []
    _tune(max_trials=2, trials_file=path, callback=lambda study, trial: numbers.append(trial.number))
    assert numbers == [1]


def test_parameters_of_a_classifier_are_searched_by_its_prefix():
    estimator = TextClassifier(classifier=HashEmbeddingClassifier(n_buckets=64, n_embeddings=256, max_epochs=1))
    for space, n_trials in ((None, 6), ({"classifier__n_buckets": [16, 32]}, 2)):
        trials = _tune(estimator=estimator, param_distributions=space, max_trials=n_trials).study.trials
        assert "classifier__n_buckets" in trials[-1].params
        assert not any("error" in trial.user_attrs for trial in trials)


def test_a_failure_is_scored_and_the_search_continues():
    result = _tune(param_distributions={"n_buckets": [-1, 16]})
    failed = [one for one in result.study.trials if "error" in one.user_attrs]
    assert len(result.study.trials) == 3
    assert [(one.params, one.value) for one in failed] == [({"n_buckets": -1}, -math.inf)]
    assert "InvalidParameterError" in failed[0].user_attrs["error"]
    assert {model.number for model in result.models} == {0, 1, 2} - {failed[0].number}


def test_a_search_ends_when_the_first_trials_fail():
    tried = []
    space = {"n_buckets": optuna.distributions.IntDistribution(1, 2**20)}
    with pytest.raises(ValueError, match="all 5 trials failed, the first with InvalidParameterError"):
        _tune(
            estimator=TextClassifier(learning_rate=-1.0),
            param_distributions=space,
            callback=lambda study, trial: tried.append(trial),
        )
    assert len(tried) == 5


def test_trials_below_the_median_are_pruned_and_scores_that_are_not_finite_fail():
    scores = iter([0.9] * 50 + [0.1] * 10 + [0.95] * 10)
    trials = _tune(scoring=lambda *_: next(scores), max_trials=6).study.trials
    assert [len(trial.intermediate_values) for trial in trials] == [5] * 5 + [1]
    assert trials[5].state == optuna.trial.TrialState.PRUNED
    scores = iter([0.5] * 10 + [float("nan")] * 10)
    assert "nan" in _tune(scoring=lambda *_: next(scores), max_trials=2).study.trials[1].user_attrs["error"]


def test_models_above_the_limit_are_pruned_and_tried_again_with_a_larger_limit(whole, tmp_path):
    limit = whole.study.trials[0].user_attrs["sizes"]["int8"] - 100
    options = {"trials_file": tmp_path / "trials.jsonl", "param_distributions": {"n_buckets": [1, 256]}}
    small = _tune(max_size=limit, **options)
    sizes = {one.params.get("n_buckets"): len(one.intermediate_values) for one in small.study.trials}
    assert sizes == {None: 5, 1: 5, 256: 1}  # the first to compare with
    assert small.best().size <= limit
    large = _tune(**options)
    assert {one.params["n_buckets"] for one in large.models if one.params} == {1, 256}


def test_time(monkeypatch, tmp_path):
    assert len(_tune(max_time=1e-9).study.trials) == 1

    monkeypatch.setattr(_tune_text_classifier, "time", SimpleNamespace(monotonic=lambda: CLOCK[0]))
    monkeypatch.setattr(_search, "time", SimpleNamespace(monotonic=lambda: CLOCK[0]))
    monkeypatch.setattr(_search, "perf_counter", lambda: CLOCK[0])
    # Five folds of two seconds; another trial needs as much, and the last training 2.5 s at most.
    assert len(_tune(scoring=_score_in_a_second, max_time=22.4).study.trials) == 1
    options = {"scoring": _score_in_a_second, "max_time": 22.5, "trials_file": tmp_path / "trials.jsonl"}
    assert len(_tune(**options).study.trials) == 2
    assert len(_tune(**options).study.trials) == 2  # the time of the trials in the file counts


CLOCK = [0.0]


def _score_in_a_second(model, X, y):
    CLOCK[0] += 1.0  # twice in a fold, of float32 and of int8
    return 0.5


def test_best_and_front_are_those_of_brute_force():
    generator = np.random.default_rng(0)
    for _ in range(20):
        pairs = [(int(generator.integers(1, 5)), float(generator.integers(5))) for _ in range(8)]
        models = [TunedModel(number, {}, "int8", score, size) for number, (size, score) in enumerate(pairs)]
        front = {
            (size, score)
            for size, score in pairs
            if not any((a <= size and b > score) or (a < size and b == score) for a, b in pairs)
        }
        result = TuningResult(None, models, SMALL)
        assert [(one.size, one.score) for one in result.front()] == sorted(front)
        for limit in range(1, 5):
            fitting = [(score, -size) for size, score in pairs if size <= limit]
            if fitting:
                best = replace(result, max_size=limit).best()
                assert (best.score, -best.size) == max(fitting)
            else:
                with pytest.raises(ValueError, match=f"No model has at most {limit} bytes"):
                    replace(result, max_size=limit).best()


def test_the_best_model_is_trained_on_all_texts(whole, tmp_path):
    model, tuned = whole.fit_best(pd.DataFrame({"text": TEXTS}), LABELS)
    expected = TextClassifier(**SMALL.get_params() | {"random_state": 0} | tuned.params).fit(TEXTS, LABELS)
    np.testing.assert_array_equal(model.predict_proba(TEXTS), expected.predict_proba(TEXTS))
    save_model(model, tmp_path / "m", precision=tuned.precision)
    assert _folder_size(tmp_path / "m") <= tuned.size
    assert repr(whole) == f"<TuningResult of {len(whole.models)} models, best score {tuned.score:.4f}>"


def test_a_model_that_is_larger_than_estimated_is_not_taken(whole, monkeypatch):
    result = replace(whole, max_size=10**6)
    sizes = iter([2 * 10**6, 10**6])
    monkeypatch.setattr(_result, "folder_size", lambda folder: next(sizes))
    _, tuned = result.fit_best(TEXTS, LABELS)
    assert tuned != result.best()
    monkeypatch.setattr(_result, "folder_size", lambda folder: 2 * 10**6)
    with pytest.raises(ValueError, match="No model has at most 1,000,000 bytes"):
        result.fit_best(TEXTS, LABELS)


def test_validation_data_is_scored_once_and_not_trained_on():
    labels = [[label] if i % 3 else [label, "film"] for i, label in enumerate(LABELS)]
    labels[0] = []
    for y in (LABELS, labels):
        result = tune_text_classifier(
            TEXTS[:40],
            y[:40],
            validation_data=(TEXTS[40:], y[40:]),
            estimator=SMALL,
            max_trials=1,
            random_state=0,
        )
        model = TextClassifier(**SMALL.get_params() | {"random_state": 0}).fit(TEXTS[:40], y[:40])
        top = model.classes_[model.predict_proba(TEXTS[40:]).argmax(axis=1)]
        precision = np.mean([one in row for one, row in zip(top, labels[40:], strict=True)])
        expected = model.score(TEXTS[40:], LABELS[40:]) if y is LABELS else precision
        assert result.study.trials[0].user_attrs["scores"]["float32"] == [expected]


@pytest.mark.parametrize("scoring", [None, "f1_micro"])
@pytest.mark.parametrize("form", [list, np.array, csr_array, pd.DataFrame])
def test_multiple_labels_of_any_form(form, scoring):
    y = LISTS if form is list else form(LISTS_AS_MATRIX)
    result = _tune(y=y, max_trials=2, scoring=scoring)
    assert not [trial.user_attrs["error"] for trial in result.study.trials if "error" in trial.user_attrs]
    assert len(result.models) == 4
    model, _ = result.fit_best(TEXTS, y)
    assert np.shape(model.predict(TEXTS)) == (np.shape(y) if form is not list else (60,))
    split = {"y": y[:40], "validation_data": (TEXTS[40:], y[40:])}
    assert _tune(X=TEXTS[:40], max_trials=1, scoring=scoring, **split).models


def test_the_precision_of_lists_is_that_of_matrices():
    probabilities = np.random.default_rng(0).random((60, 3))
    model = SimpleNamespace(classes_=NAMES, predict_proba=lambda _: probabilities)
    lists, matrix = [[], *LISTS[1:]], np.vstack([np.zeros((1, 3)), LISTS_AS_MATRIX[1:]])
    hits = [NAMES[best] in row for best, row in zip(probabilities.argmax(axis=1), lists, strict=True)]
    for labels in (lists, matrix, csr_array(matrix)):
        assert _tune_text_classifier._precision_at_1(model, TEXTS, labels) == sum(hits) / 59


@pytest.mark.parametrize("scoring", ["neg_log_loss", "roc_auc_ovr"])
def test_a_fold_that_cannot_be_scored_is_refused_before_any_trial(scoring):
    message = rf"tune_text_classifier\(scoring='{scoring}'\) cannot score .* the label 'rare' is in one of them"
    with pytest.raises(ValueError, match=message):
        _tune(y=["rare", *LABELS[1:]], scoring=scoring, callback=lambda *_: pytest.fail("a trial ran"))
    assert _tune(scoring=scoring if scoring == "neg_log_loss" else "roc_auc", max_trials=1).models


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_time": 0}, "'max_time' parameter of tune_text_classifier must be a float in the range"),
        ({"max_trials": 1.5}, "'max_trials' parameter"),
        ({"max_size": 0}, "'max_size' parameter"),
        ({"random_state": -1}, "'random_state' parameter"),
        ({"random_state": None, "trials_file": "x"}, "needs a random_state with trials_file"),
        ({"validation_data": (["a"], [["x"]])}, "same form .* Got one label per text and lists of labels"),
        (
            {"y": MATRIX, "validation_data": (TEXTS, MATRIX[["good", "bad"]])},
            r"Got \['bad', 'good'\] and \['good', 'bad'\]",
        ),
        ({"validation_data": (["a"], ["x", "y"])}, "inconsistent numbers of samples"),
        ({"scoring": "nonsense"}, "nonsense"),
        ({"estimator": "words"}, "a TextClassifier as estimator, got str"),
        (
            {"X": ["a", "b"], "y": ["x", "y"]},
            "tune_text_classifier needs at least 5 texts to score on, got 2.* validation_data",
        ),
        (
            {"y": MATRIX, "estimator": TextClassifier(loss="softmax")},
            r"TextClassifier\(loss='softmax'\) takes one label",
        ),
        ({"y": [None, *LABELS[1:]]}, "the label in row 0 of y is missing"),
    ],
)
def test_wrong_arguments(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        _tune(**options)


def test_without_optuna_the_error_has_the_install_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    message = r"tune_text_classifier needs optuna\. Install it with: pip install optuna"
    with pytest.raises(ImportError, match=message):
        _tune()


def test_optuna_logs_nothing_and_keeps_its_level(caplog, capfd):
    optuna.logging.set_verbosity(optuna.logging.INFO)
    _tune(max_trials=1)
    assert optuna.logging.get_verbosity() == optuna.logging.INFO
    assert capfd.readouterr().err == ""
