"""tune_text_classifier: scores, sizes, limits, failures, and continuing after an interruption."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.metrics import accuracy_score, f1_score, make_scorer
from sklearn.model_selection import StratifiedKFold, cross_val_score

from sklearn_hashnlp._posix import lock_file
from sklearn_hashnlp.classifiers import TextClassifier, Trial, TuningResult, tune_text_classifier
from sklearn_hashnlp.classifiers.tuning import _result, _tune_text_classifier
from sklearn_hashnlp.persistence import load_model, save_model

WORDS = {"good": ["fine", "funny", "warm", "bright"], "bad": ["dull", "long", "cold", "grey"]}


def _texts(n: int) -> tuple[list[str], list[str]]:
    generator = np.random.default_rng(0)
    labels = generator.choice(["good", "bad"], n).tolist()
    others = ["film", "story", *WORDS["good"], *WORDS["bad"]]
    texts = [" ".join([*generator.choice(WORDS[label], 1), *generator.choice(others, 3)]) for label in labels]
    return texts, labels


TEXTS, LABELS = _texts(60)
SMALL = TextClassifier(features="words", n_buckets=64, n_embeddings=256, embedding_dim=4, max_epochs=1, n_jobs=1)
SPACE = {"n_buckets": [1, 16, 256], "ngram_range": [(1, 1), (1, 2)]}


def _tune(**options):
    options = {"estimator": SMALL, "param_distributions": SPACE, "random_state": 0, "max_time": None} | options
    return tune_text_classifier(TEXTS, LABELS, **options)


@pytest.fixture(scope="module", name="whole")
def _whole() -> TuningResult:
    return _tune(max_trials=5)


def _plain(trials):
    """Return all but the times, and the sizes, which depend on the times in the saved history."""
    return [(one.number, one.params, one.scores, one.status, one.error) for one in trials]


def _folder_size(path: Path) -> int:
    return sum(file.stat().st_size for file in path.iterdir())


def test_scores_and_sizes_are_those_of_saved_models(whole, tmp_path):
    trial = whole.trials[0]
    model = TextClassifier(**SMALL.get_params() | {"random_state": 0})
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    assert trial.scores["float32"] == cross_val_score(model, np.array(TEXTS), LABELS, cv=folds).tolist()
    sizes: dict[str, list[int]] = {"float32": [], "int8": []}
    for fold, (train, valid) in enumerate(folds.split(TEXTS, LABELS)):
        model.fit([TEXTS[i] for i in train], [LABELS[i] for i in train])
        for precision in ("float32", "int8"):
            save_model(model, tmp_path / precision, precision=precision)
            sizes[precision].append(math.ceil(1.25 * _folder_size(tmp_path / precision)))
        score = load_model(tmp_path / "int8").score([TEXTS[i] for i in valid], [LABELS[i] for i in valid])
        assert trial.scores["int8"][fold] == score
    for precision, values in sizes.items():
        assert trial.sizes[precision] == pytest.approx(max(values), abs=20)


def test_the_estimator_as_it_is_comes_first_and_the_seed_decides_the_rest(whole):
    again, other = _tune(max_trials=2), _tune(max_trials=1, random_state=1)
    assert whole.trials[0].params == {}
    assert _plain(whole.trials[:2]) == _plain(again.trials)
    assert whole.trials[0].scores != other.trials[0].scores


def test_a_trial_ends_early_only_if_a_smaller_model_is_better_by_more_than_a_standard_error():
    scores = {0.2: 0.5, 0.1: 0.37, 0.3: 0.36}
    one_fold, two_folds = (math.sqrt(0.365 * 0.635 / (12 * n)) for n in (1, 2))  # of 12 texts each
    assert two_folds < 0.5 - 0.37 < one_fold < 0.5 - 0.36

    def score(model, X, y):
        return scores[model.learning_rate] if model.n_buckets > 1 else 0.1

    space = [{"learning_rate": [0.1, 0.3]}, {"n_buckets": [1]}]
    trials = _tune(scoring=score, param_distributions=space).trials
    by_params = {tuple(one.params.items()): (one.status, len(one.scores["float32"])) for one in trials}
    assert by_params == {
        (): ("complete", 5),
        (("learning_rate", 0.1),): ("stopped", 2),
        (("learning_rate", 0.3),): ("stopped", 1),
        (("n_buckets", 1),): ("complete", 5),  # worse, but smaller
    }


def test_a_failure_is_recorded_and_the_search_goes_on():
    result = _tune(param_distributions={"n_buckets": [-1, 16]})
    failed = [one for one in result.trials if one.status == "failed"]
    assert len(result.trials) == 3
    assert [one.params for one in failed] == [{"n_buckets": -1}]
    assert "InvalidParameterError" in failed[0].error
    assert math.isnan(failed[0].score())
    assert result.best().params != {"n_buckets": -1}
    with pytest.raises(ValueError, match="all 3 trials failed, the first with InvalidParameterError"):
        _tune(param_distributions={"n_buckets": [-1, -2]}, estimator=TextClassifier(n_buckets=-3))


def test_a_search_ends_when_the_first_trials_fail_for_the_same_reason():
    tried = []
    with pytest.raises(ValueError, match="all 5 trials failed, the first with InvalidParameterError"):
        _tune(estimator=TextClassifier(learning_rate=-1.0), max_trials=50, callback=tried.append)
    assert len(tried) == 5


def test_best_and_front_are_those_of_brute_force():
    generator = np.random.default_rng(0)
    for _ in range(20):
        trials = [
            Trial(
                number,
                {},
                {name: [float(generator.integers(5))] for name in ("float32", "int8")},
                {name: int(generator.integers(1, 5)) for name in ("float32", "int8")},
                status="complete" if number < 4 else "stopped",
            )
            for number in range(5)
        ]
        result = TuningResult(trials)
        pairs = [(t.sizes[name], t.scores[name][0]) for t in trials[:4] for name in ("float32", "int8")]
        front = {
            (size, score)
            for size, score in pairs
            if not any((a <= size and b > score) or (a < size and b == score) for a, b in pairs)
        }
        assert {(one.size, one.score) for one in result.front()} == front
        assert len(result.front()) == len(front)
        for limit in range(1, 5):
            fitting = [(score, -size) for size, score in pairs if size <= limit]
            if fitting:
                best = result.best(limit)
                assert (best.score, -best.size) == max(fitting)
            else:
                with pytest.raises(ValueError, match=f"at most {limit} bytes"):
                    result.best(limit)


def test_a_result_is_shown_as_its_front_and_in_notebooks_as_a_table():
    default = Trial(0, {}, {"float32": [0.75], "int8": [0.5]}, {"float32": 80_000, "int8": 20_000})
    other = Trial(1, {"learning_rate": 0.123456, "features": "<b>"}, {"int8": [0.25]}, {"int8": 9_000})
    failed = Trial(2, {}, {}, {}, status="failed", error="no")
    result = TuningResult([default, other, failed])
    assert repr(result) == "<TuningResult of 3 trials, best score 0.7500>"
    assert repr(TuningResult([failed])) == "<TuningResult of 1 trial, none complete>"
    cells = re.findall(r"<td>(.*?)</td>", result._repr_html_())
    assert cells[:4] == ["0.2500", "9,000", "int8", "learning_rate=0.123, features=&lt;b&gt;"]
    assert cells[4:8] == ["0.5000", "20,000", "int8", "default parameters"]
    assert cells[8:] == ["0.7500", "80,000", "float32", "default parameters"]
    assert "&lt;TuningResult of 3" in result._repr_html_()


def test_the_best_model_is_trained_on_all_texts(whole, tmp_path):
    model, tuned = whole.fit_best(pd.DataFrame({"text": TEXTS}), LABELS)
    expected = TextClassifier(**SMALL.get_params() | {"random_state": 0} | tuned.params).fit(TEXTS, LABELS)
    np.testing.assert_array_equal(model.predict_proba(TEXTS), expected.predict_proba(TEXTS))
    save_model(model, tmp_path / "m", precision=tuned.precision)
    assert _folder_size(tmp_path / "m") <= tuned.size


def test_a_model_that_is_larger_than_estimated_is_not_taken(whole, monkeypatch):
    result = replace(whole, max_size=10**6)
    ranked = [result.best()]
    sizes = iter([2 * 10**6, 10**6])
    monkeypatch.setattr(_result, "saved_size", lambda model, precision: next(sizes))
    _, tuned = result.fit_best(TEXTS, LABELS)
    assert tuned != ranked[0]
    monkeypatch.setattr(_result, "saved_size", lambda model, precision: 2 * 10**6)
    with pytest.raises(ValueError, match="No model of at most 1,000,000 bytes"):
        result.fit_best(TEXTS, LABELS)


def test_models_above_the_limit_are_left_early(whole):
    limit = whole.trials[0].sizes["int8"] - 100
    result = _tune(max_size=limit, param_distributions={"n_buckets": [1, 256]})
    statuses = {one.params.get("n_buckets"): one.status for one in result.trials}
    assert statuses == {None: "complete", 256: "stopped", 1: "complete"}  # the first to compare with
    assert result.best().size <= limit


def test_time(monkeypatch, tmp_path):
    assert len(_tune(max_time=1e-9).trials) == 1

    clock = [0.0]
    monkeypatch.setattr(_tune_text_classifier.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(_tune_text_classifier, "clock", lambda: clock[0])

    def score(model, X, y):
        clock[0] += 1.0  # twice in a fold, of float32 and of int8
        return 0.5

    # Five folds of two seconds; another trial needs as much, and the last training 2.5 s at most.
    assert len(_tune(scoring=score, max_time=22.4).trials) == 1
    clock[0] = 0.0
    options = {"scoring": score, "max_time": 22.5, "trials_file": tmp_path / "trials.jsonl"}
    assert len(_tune(**options).trials) == 2
    assert len(_tune(**options).trials) == 2  # the time of the trials in the file counts


def test_a_search_continues_after_an_interruption(whole, tmp_path):
    path = tmp_path / "trials.jsonl"

    def interrupt(trial):
        if trial.number == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _tune(max_trials=5, trials_file=path, callback=interrupt)
    assert len(path.read_text().splitlines()) == 4
    with path.open("a") as file:
        file.write('{"number": 3, "params"')  # killed while it was written
    numbers = []
    continued = _tune(max_trials=5, trials_file=path, callback=lambda trial: numbers.append(trial.number))
    assert _plain(continued.trials) == _plain(whole.trials)
    ranges = [one.params["ngram_range"] for one in continued.trials if "ngram_range" in one.params]
    assert ranges
    assert all(isinstance(one, tuple) for one in ranges)  # lists in the file
    assert numbers == [0, 1, 2, 3, 4]
    recorded = path.read_bytes()
    assert len(recorded.splitlines()) == 6
    assert _plain(_tune(max_time=1e-9, trials_file=path).trials) == _plain(whole.trials)
    assert path.read_bytes() == recorded


def test_the_trials_of_another_search_are_refused(tmp_path):
    path = tmp_path / "trials.jsonl"
    _tune(max_trials=1, trials_file=path)
    with pytest.raises(ValueError, match="another search, with random_state=0 instead of 1"):
        _tune(max_trials=1, trials_file=path, random_state=1)
    with pytest.raises(ValueError, match="another search, with data="):
        tune_text_classifier(TEXTS[1:], LABELS[1:], estimator=SMALL, random_state=0, trials_file=path)
    with path.open("ab") as file:
        lock_file(file)
        with pytest.raises(BlockingIOError, match="Another search is writing"):
            _tune(max_trials=1, trials_file=path)
    for content, reason in [
        ("notes\n", "a line is not a trial"),
        ('{"a": 1}\n', "first line is another"),
        ("no", "no"),
    ]:
        path.write_text(content)
        with pytest.raises(ValueError, match=f"is not a file of trials: .*{reason}"):
            _tune(max_trials=1, trials_file=path)
        assert path.read_text() == content


def test_the_scorer_of_a_file_of_trials_is_told_from_others(tmp_path):
    path = tmp_path / "trials.jsonl"
    options = {"max_trials": 1, "trials_file": path}
    first = _tune(scoring=make_scorer(accuracy_score), **options)
    with config_context(print_changed_only=False):
        assert _plain(_tune(scoring=make_scorer(accuracy_score), **options).trials) == _plain(first.trials)
    for other in (make_scorer(f1_score, pos_label="good"), partial(_constant_score, value=1), _constant_score):
        with pytest.raises(ValueError, match=r"another search, with scoring=.make_scorer"):
            _tune(scoring=other, **options)
    with pytest.raises(ValueError, match="cannot tell one lambda from another"):
        _tune(scoring=lambda *_: 0.5, **options)
    named = options | {"trials_file": tmp_path / "named.jsonl"}
    for _ in range(2):
        _tune(scoring=partial(_constant_score, value=1), **named)
    assert " at 0x" not in named["trials_file"].read_text()


def _constant_score(model, X, y, value=0.5):
    return value


def test_trials_that_ended_early_for_a_smaller_limit_begin_anew(whole, tmp_path):
    options = {"trials_file": tmp_path / "trials.jsonl", "param_distributions": {"n_buckets": [256, 64, 1]}}
    limit = whole.trials[0].sizes["int8"] + 100
    small = _tune(max_size=limit, **options)
    assert {one.params.get("n_buckets"): one.status for one in small.trials}[256] == "stopped"
    recorded = options["trials_file"].read_bytes()
    assert _plain(_tune(max_size=limit, **options).trials) == _plain(small.trials)
    assert options["trials_file"].read_bytes() == recorded
    large = _tune(max_size=10**6, **options)
    assert _plain(large.trials) == _plain(_tune(max_size=10**6, **options | {"trials_file": None}).trials)


def test_lists_of_labels_are_scored_by_the_most_probable_one():
    labels = [[label] if i % 3 else [label, "film"] for i, label in enumerate(LABELS)]
    labels[0] = []
    result = tune_text_classifier(
        TEXTS[:40],
        labels[:40],
        validation_data=(TEXTS[40:], labels[40:]),
        estimator=SMALL,
        max_trials=1,
        random_state=0,
    )
    model = TextClassifier(**SMALL.get_params() | {"random_state": 0}).fit(TEXTS[:40], labels[:40])
    top = model.classes_[model.predict_proba(TEXTS[40:]).argmax(axis=1)]
    assert result.trials[0].scores["float32"] == [
        np.mean([one in row for one, row in zip(top, labels[40:], strict=True)])
    ]


def test_validation_data_is_scored_once_and_not_trained_on():
    result = tune_text_classifier(
        TEXTS[:30],
        LABELS[:30],
        validation_data=(TEXTS[30:], LABELS[30:]),
        estimator=SMALL,
        max_trials=1,
        random_state=0,
    )
    model = TextClassifier(**SMALL.get_params() | {"random_state": 0}).fit(TEXTS[:30], LABELS[:30])
    assert result.trials[0].scores["float32"] == [model.score(TEXTS[30:], LABELS[30:])]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_time": 0}, "max_time of tune_text_classifier must be a number above 0 or None, got 0"),
        ({"max_trials": 1.5}, "max_trials of .* must be an integer above 0 or None, got 1.5"),
        ({"max_size": True}, "max_size of .* got True"),
        ({"random_state": -1}, "random_state of .* got -1"),
        ({"random_state": None, "trials_file": "x"}, "needs a random_state with trials_file"),
        ({"validation_data": (["a"], [["x"]])}, "in both y and validation_data"),
        ({"validation_data": ["a", "b", "c"]}, r"must be a pair \(texts, labels\), got list of length 3"),
        ({"param_distributions": {"ngram_rnge": [1]}}, "'ngram_rnge', which is no parameter of a TextClassifier"),
        ({"validation_data": (["a"], ["x", "y"])}, "validation_data with 1 and 2"),
        ({"scoring": "nonsense"}, "nonsense"),
    ],
)
def test_wrong_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        _tune(**options)


def test_a_trial_whose_score_is_no_number_has_failed():
    scores = iter([0.5] * 10 + [float("nan")] * 10)
    result = _tune(scoring=lambda *_: next(scores), max_trials=2, param_distributions={"n_buckets": [200]})
    assert [trial.status for trial in result.trials] == ["complete", "failed"]
    assert "nan" in result.trials[1].error


def test_wrong_data_and_estimators():
    with pytest.raises(TypeError, match="a TextClassifier, got str"):
        _tune(estimator="words")
    with pytest.raises(ValueError, match="at least 10 texts"):
        tune_text_classifier(["a", "b"], ["x", "y"])
    with pytest.raises(ValueError, match="got X and y with shape"):
        tune_text_classifier(["a", "b"], np.zeros((2, 2)))
