"""The scripts that compare accuracies run on a small set, measure nothing twice, and report what
they measured.
"""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.accuracy import (
    bench_calibration,
    bench_classifiers,
    bench_learning_on,
    bench_left_out,
    bench_merge,
    bench_sgnn_accuracy,
    bench_short_texts,
)
from benchmarks.common import (
    classifier_accuracy,
    language_peers,
    robustness_models,
    sgnn_recipes,
)
from benchmarks.common.data import DataFolder
from tests.benchmarks.labeled_rows import read_texts, rows, run_script
from tests.trainings import assert_same_bits

TREC = ["--sets", "trec"]


def test_an_accuracy_is_written_at_once_and_measured_once(data, monkeypatch):
    arguments = ["bench_classifiers", data, "--part", "accuracy", *TREC, "--models"]
    first = run_script(*arguments, "svm")["accuracy"]["sets"]["trec"]
    assert list(first) == ["svm"]
    assert first["svm"]["accuracy"] == 100
    measured = []

    def stop(name, model, *rest):
        measured.append(model)
        if model == "svm-punctuation":
            raise KeyboardInterrupt
        return {"accuracy": 50.0, "spread": 0.0}

    monkeypatch.setattr(bench_classifiers.classifier_accuracy, "measure", stop)
    with pytest.raises(KeyboardInterrupt):
        run_script(*arguments, "words", "svm", "svm-punctuation")
    assert measured == ["words", "svm-punctuation"]
    sets = run_script(*arguments, "svm", "--again")["accuracy"]["sets"]["trec"]
    assert set(sets) == {"words", "svm"}
    assert measured[-1] == "svm"


def test_tuning_keeps_the_best_of_each_parameter_in_turn(data, monkeypatch):
    default = {"classifier__max_epochs": 2, "classifier__batch_size": 32}
    worth = {
        ("classifier__max_epochs", 4): 5.0,
        ("classifier__batch_size", 16): -1.0,
        ("features", "characters"): 2.0,
    }

    def evaluate(model, train, test):
        assert not set(train.texts) & set(test.texts)
        return {
            "accuracy": 80 + sum(worth.get(one, 0) for one in model.get_params().items()),
            "seconds": 1.0,
        }

    def model(settings, seed):
        return SimpleNamespace(get_params=lambda: default | settings)

    grid = {
        "features": ["words", "characters"],
        "classifier__max_epochs": [2, 4],
        "classifier__batch_size": [16, 32],
    }
    monkeypatch.setattr(classifier_accuracy, "our_model", model)
    monkeypatch.setattr(classifier_accuracy, "train_and_test", evaluate)
    monkeypatch.setattr(classifier_accuracy, "TUNING", list(grid.items()))
    tried = classifier_accuracy.tune("trec", DataFolder(data), lambda line: None)
    best = {"features": "characters", "classifier__max_epochs": 4}
    assert tried[-1] == {"settings": best, "accuracy": 87}
    # a default is not evaluated twice
    assert [one["accuracy"] for one in tried] == [80, 82, 87, 86, 87]


def test_calibration_is_measured_on_test_rows(data, monkeypatch, capsys):
    shutil.copytree(data / "trec", data / "languages79")
    monkeypatch.setattr(bench_calibration, "DRAWN", "trec")
    seen, scores = [], bench_calibration.scores
    monkeypatch.setattr(
        bench_calibration,
        "scores",
        lambda model, rows: seen.append(rows.texts) or scores(model, rows),
    )
    arguments = ["bench_calibration", data, *TREC, "--seeds", "1", "--sizes", "0"]
    models = run_script(*arguments, "--plot", str(data / "plot.png"))["sets"]["trec"]["0"]
    assert list(models) == ["calibrated", "linear"]
    assert all(run["accuracy"] == 100 for one in models.values() for run in one["runs"].values())
    areas = models["calibrated"]["runs"]["0"]
    assert areas["random bytes"] == pytest.approx(1)
    assert areas["code"] == pytest.approx(1)
    assert 0.4 < areas["another language"] < 0.6  # here the test rows again
    assert (data / "plot.png").stat().st_size > 10_000
    train, test = (set(read_texts(data / "trec" / file)) for file in ("train.csv", "test.csv"))
    assert [set(texts) == test for texts in seen] == [True] + [False] * len(
        bench_calibration.CS
    ) + [True]
    assert all(set(texts) < train for texts in seen[1:-1])
    monkeypatch.setattr(bench_calibration, "measure", None)
    run_script(*arguments)
    assert "| TREC | all rows | TF-IDF + LogisticRegression | 100.00 |" in capsys.readouterr().out


def test_calibration_is_scored_by_the_probability_of_the_predicted_label():
    probabilities = np.array([[0.9, 0.1], [0.9, 0.1], [0.3, 0.7], [0.3, 0.7]])
    model = SimpleNamespace(
        classes_=np.array(["a", "b"]), predict_proba=lambda texts: probabilities
    )
    scores = bench_calibration.scores(model, rows(a=2, b=2)._replace(labels=["a", "b", "b", "b"]))
    log_loss = -np.log([0.9, 0.1, 0.7, 0.7]).mean()
    assert scores == pytest.approx({"accuracy": 75, "ECE": (0.4 + 0.3) / 2, "log loss": log_loss})
    scores = bench_calibration.scores(
        model, rows(a=2, b=2)._replace(labels=["a", "b", "b", "unknown"])
    )
    assert scores["log loss"] == pytest.approx(-np.log([0.9, 0.1, 0.7]).mean())
    assert scores["accuracy"] == 50


def test_short_texts_are_the_beginnings_of_test_texts(data, monkeypatch, capsys):
    shutil.copytree(data / "trec", data / "languages79")
    lengths, fit_linear = [], bench_short_texts.fit_linear

    def fit(rows, seed):
        predict = fit_linear(rows, seed)
        return lambda texts: lengths.append(max(map(len, texts))) or predict(texts)

    monkeypatch.setitem(bench_short_texts.MODELS, "LinearSVC", fit)
    sizes = "--sizes", "0", "20", "--seeds", "2"
    cells = run_script("bench_short_texts", data, *sizes, "--peers")["sizes"]
    assert [cells[size]["LinearSVC"]["seeds"] for size in ("0", "20")] == [1, 2]
    assert cells["0"]["TextClassifier"]["accuracy"][-1] == 100
    assert lengths[:2] == [5, 10]
    assert capsys.readouterr().out.count(" / ") == 2 * 6


def test_packages_are_compared_on_the_languages_they_know(data, monkeypatch, capsys):
    shutil.copytree(data / "trec", data / "languages79")
    monkeypatch.setattr(
        bench_short_texts, "peer_folder", lambda peer, _: contextlib.nullcontext(data)
    )
    monkeypatch.setattr(bench_short_texts, "peer_version", lambda peer, _: "0.0")

    def load_detector(name, folder, languages):
        assert languages == {"good", "bad"}
        known = ["good"] if name == "eldc" else ["bad", "good"]
        return language_peers.Detector(known, lambda texts: ["good"] * len(texts), name == "eldc")

    monkeypatch.setattr(bench_short_texts, "load_detector", load_detector)
    arguments = "--sizes", "--peers", "pycld2", "eldc"
    peers = run_script("bench_short_texts", data, *arguments)["peers"]
    assert peers["versions"]["eldc"] == "0.0"
    assert peers["models"]["pycld2"]["rows"] == 12
    assert peers["models"]["eldc"]["rows"] == 6
    assert peers["models"]["pycld2"]["accuracy"] == [50.0] * 6
    assert peers["models"]["pycld2"]["ours"][-1] == 100
    # restricted to the only language, any answer is the right one
    assert peers["models"]["eldc"]["ours"] == [100.0] * 6
    assert peers["models"]["eldc"]["accuracy"] == [100.0] * 6
    assert "| eldc, 1 languages | 100.0 / 100.0 |" in capsys.readouterr().out
    monkeypatch.setattr(bench_short_texts, "measure_peers", None)
    assert_same_bits(run_script("bench_short_texts", data, *arguments)["peers"], peers)


def test_codes_of_packages_are_those_of_the_data_set(monkeypatch):
    def detect(text, **_):
        if text == "\x00":
            raise ValueError
        return True, 1, ((text, {"norsk": "no", "hebrew": "iw"}.get(text, "xx"), 99, 1.0),)

    pycld2 = SimpleNamespace(
        detect=detect,
        error=ValueError,
        DETECTED_LANGUAGES=("NORWEGIAN", "HEBREW", "KLINGON"),
        LANGUAGES=(("NORWEGIAN", "no"), ("HEBREW", "iw"), ("KLINGON", "xx"), ("MANX", "gv")),
    )
    asked = []
    eldc = SimpleNamespace(
        init=lambda: None,
        LANGUAGES=["no", "he"],
        set_languages=asked.extend,
        detect=lambda text: "no",
    )
    modules = {"pycld2": pycld2, "eldc": eldc}
    monkeypatch.setattr(language_peers, "import_peer", lambda peer, _: modules[peer.module])
    languages = ["nb", "he", "gv", "en"]
    detector = language_peers.load_detector("pycld2", Path(), languages)
    assert detector.languages == ["he", "nb"]
    assert detector.predict(["norsk", "hebrew", "\x00"]) == ["nb", "he", ""]
    assert not detector.is_restricted
    languages = ["nn", "nb", "he", "en"]
    assert language_peers.load_detector("eldc", Path(), languages).languages == ["he", "nb"]
    assert asked == ["he", "no"]


def test_a_change_of_defaults_is_chosen_on_the_other_sets(data, monkeypatch, capsys):
    shutil.copytree(data / "trec", data / "atis")
    shutil.copy(data / "atis" / "test.csv", data / "atis" / "valid.csv")
    arguments = [
        "bench_left_out",
        data,
        "--sets",
        "trec",
        "atis",
        "--sizes",
        "20",
        "0",
        "--seeds",
        "2",
    ]
    result = run_script(*arguments, "--changes", "words 1-3", "--cache", str(data / "cache"))
    assert list(result["changes"]) == ["defaults", "words 1-3"]
    assert set(result["changes"]["words 1-3"]["trec"]) == {"20", "0"}
    assert result["changes"]["defaults"]["trec"]["20"]["interval"] == [0, 0]
    assert "| change | 20 rows | all rows |" in capsys.readouterr().out
    monkeypatch.setattr(bench_left_out, "draw", None)
    assert_same_bits(
        run_script(*arguments, "--changes", "words 1-3", "--cache", str(data / "cache")), result
    )
    cells = {"20": {"gain": 0.0}}
    worth = {"x": {"a": 3.0, "b": -1.0, "c": -1.0}, "y": {"a": 0.0, "b": 1.0, "c": 1.0}}
    changes = {
        name: {one: {"20": {"gain": gain}} for one, gain in gains.items()}
        for name, gains in worth.items()
    }
    chosen = bench_left_out.left_out({"defaults": dict.fromkeys("abc", cells)} | changes)
    assert {name: one["change"] for name, one in chosen.items()} == {"a": "y", "b": "x", "c": "x"}


def test_samples_of_a_large_set_are_drawn_from_its_halves(monkeypatch):
    monkeypatch.setattr(bench_left_out, "MANY_ROWS", 100)
    train, valid = rows(a=50, b=50), rows(a=5)
    train = train._replace(texts=[f"text {i}" for i in range(100)])
    drawn = [bench_left_out.draw((train, valid), 20, seed) for seed in range(4)]
    texts = [{*chosen.texts, *others.texts} for chosen, others in drawn]
    assert [len(one) for one in texts] == [50] * 4
    assert texts[0] == texts[2]
    assert texts[1] == texts[3]
    assert not texts[0] & texts[1]
    assert drawn[0][0].texts != drawn[2][0].texts


def test_changed_labels_and_a_stream_of_nights_are_measured(data, monkeypatch, capsys):
    monkeypatch.setattr(bench_learning_on, "MORE", (1, 10))
    monkeypatch.setattr(bench_learning_on, "NIGHT", 2)
    cells = run_script("bench_learning_on", data, *TREC, "--sizes", "20", "10000", "--seeds", "1")[
        "sets"
    ]["trec"]
    assert list(cells) == ["20"]  # there are no 10,000 rows
    assert set(cells["20"]["change"]) == {"1", "10", "refit"}
    assert len(cells["20"]["nights"]["accuracies"]) == 11
    assert "trec, 20: " in capsys.readouterr().out


def test_merged_models_are_compared_with_each_part_and_their_vote(data, monkeypatch, capsys):
    monkeypatch.setattr(bench_merge, "EPOCHS", (1,))
    shutil.copytree(data / "trec", data / "ag_news")
    arguments = ["bench_merge", data, "--parts", "2", "--seeds", "1"]
    result = run_script(*arguments)
    assert (list(result["parts"]), result["rows"]) == (["1", "2"], 60)
    assert_same_bits(
        result["parts"]["1"]["accuracy"]["merged"], result["parts"]["1"]["accuracy"]["alone"]
    )
    assert len(result["parts"]["2"]["accuracy"]["vote"]) == 1
    monkeypatch.setattr(bench_merge, "measure", None)
    run_script(*arguments)
    assert "| 2 | 100.00 | 100.00 |" in capsys.readouterr().out


def test_projections_are_compared_with_a_linear_model_and_ablations(data, monkeypatch, capsys):
    small = sgnn_recipes.Recipe((1, 2, 40), (1, 3, 40), (8,), max_epochs=30)
    monkeypatch.setitem(bench_sgnn_accuracy.RECIPES, "trec", small)
    changed = {"level": "document", "n_projections": 4}
    monkeypatch.setattr(bench_sgnn_accuracy, "ABLATIONS", {"documents": changed})
    arguments = ["bench_sgnn_accuracy", data, *TREC, "--seeds", "2", "--ablation-seeds", "1"]
    results = run_script(*arguments)
    cells, ablation = results["accuracy"]["trec"], results["ablations"]["trec"]["documents"]
    assert cells["linear"]["accuracy"] == 100
    assert cells["sgnn"]["accuracy"] == 100
    assert (len(cells["sgnn"]["runs"]), cells["sgnn"]["recipe"]["words"]) == (2, [1, 2, 40])
    assert (len(ablation["runs"]), ablation["changed"]) == (1, changed)
    monkeypatch.setattr(bench_sgnn_accuracy, "train_and_test", None)
    run_script(*arguments)
    assert "documents" in capsys.readouterr().out


@pytest.mark.parametrize("output", ["binary", "float"])
def test_a_recipe_of_projections_builds_views_and_classifier(output):
    recipe = sgnn_recipes.Recipe((1, 2, 3), (2, 4, 5), (8,), max_epochs=1, output=output)
    model = recipe.pipeline(seed=7)
    words = model["views"].transform(["good film", "Good  film", "film good"])
    assert words.shape == (3, 14 * 8)
    assert (words[0] == words[1]).all()
    assert (words[0, : 14 * 3] != words[2, : 14 * 3]).any()  # pairs of words have an order
    assert (words[0, 14 * 3 :] == words[2, 14 * 3 :]).all()  # characters are of one word
    if output == "float":
        assert (words[:, : 14 * 3] ** 2).sum(axis=1) == pytest.approx(1, rel=1e-5)
    else:
        assert set(np.unique(words)) == {0, 1}
    assert (model["classifier"].random_state, model["classifier"].hidden_layer_sizes) == (7, (8,))
    assert (words[0] != recipe.pipeline(seed=8)["views"].transform(["good film"])[0]).any()


def test_robustness_is_measured_once_on_test_texts_with_errors(data, monkeypatch):
    monkeypatch.setattr(
        robustness_models.DataFolder, "test", lambda self, name: self.read(name, "test.csv")
    )
    evaluated, curve = [], robustness_models.curve
    monkeypatch.setattr(
        robustness_models, "curve", lambda *rest: evaluated.append(rest[1].texts) or curve(*rest)
    )
    arguments = [
        "bench_robustness",
        data,
        *TREC,
        "--seeds",
        "2",
        "--models",
        "svm",
        "svm-augmented",
    ]
    cells = run_script(*arguments)["sets"]["trec"]
    assert list(cells) == ["svm", "svm-augmented"]
    for results in cells.values():
        assert np.shape(results["runs"]) == (2, len(robustness_models.RATES))
        assert results["accuracy"] == pytest.approx(np.mean(results["runs"], axis=0))
        assert results["accuracy"][0] == 100
    assert set(cells["svm-augmented"]["chosen"]) == {
        "features",
        "lowercase",
        "distortion",
        "n_copies",
    }
    # 6 settings and 3 more are evaluated on validation rows, and each of the two is tested with two
    # seeds.
    test = sorted(read_texts(data / "trec" / "test.csv"))
    assert [sorted(texts) == test for texts in evaluated] == [False] * 6 + [True] * 2 + [
        False
    ] * 3 + [True] * 2
    run_script(*arguments)
    assert len(evaluated) == 13


def test_a_curve_is_the_accuracy_at_each_rate_of_errors():
    texts = [f"text number {i}" for i in range(30)]

    def predict(given):
        return ["a" if text in texts else "b" for text in given]

    results = robustness_models.curve(
        predict, rows(a=30)._replace(texts=texts), 0, (0.0, 0.03, 1.0)
    )
    assert (results[0], results[2]) == (100, 0)
    assert 40 < results[1] < 95
