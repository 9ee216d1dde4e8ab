"""fastText and its heirs as baselines: texts, settings, accuracy, speed, and their processes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks.accuracy import bench_classifiers
from benchmarks.common import classifier_accuracy, fasttext_baseline, serving_worker
from benchmarks.common.data import DataFolder, Rows
from benchmarks.common.fasttext_peers import (
    CASED,
    FASTTEXT,
    LOWERCASE,
    PEERS,
    RAW,
    TOKENS,
    FastText,
    lines_of,
)
from benchmarks.common.fasttext_processes import peer_processes
from benchmarks.speed import bench_fasttext_bridge, bench_first_minute
from sklearn_hashnlp.classifiers import make_text_classifier
from tests.benchmarks.labeled_rows import rows, run_script

# Answers as those of C++ and of Rust; of a learning rate of 1 it has a NaN.
FAKE = """
import time
from pathlib import Path
from types import SimpleNamespace

def train_supervised(path, *, lr=0.1, **settings):
    if lr == 1.0:
        raise RuntimeError("Encountered NaN.")
    return load_model(path)

def test(path):
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    correct = [line.startswith("__label__0") for line in lines]
    return len(correct), sum(correct) / len(correct), sum(correct) / len(correct)

def load_model(path):
    save = lambda path: Path(path).write_bytes(b"12345678")
    return SimpleNamespace(f=SimpleNamespace(**FUNCTIONS), test=test, save_model=save)

def many(lines, *_):
    assert all(line.endswith("\\n") == ENDS for line in lines)
    return [["__label__0"] for _ in lines], None, None
"""
IN_CPP = """
ENDS = True
FUNCTIONS = {"multilinePredict": many, "predict": lambda *_: [(0.75, "__label__0")]}
"""
IN_RUST = """
ENDS = False
FUNCTIONS = {"predict_batch": many, "predict": lambda *_: (("__label__0",), [0.75])}
"""


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """Write fakes of fastText and its heirs into a folder."""
    for peer in PEERS.values():
        folder = tmp_path / "packages" / peer.distribution
        (folder / peer.module).mkdir(parents=True)
        (folder / f"{peer.distribution.replace('-', '_')}-0.0.dist-info").mkdir()
        end = IN_RUST if peer.module == "fasttext_new" else IN_CPP
        (folder / peer.module / "__init__.py").write_text(FAKE + end, encoding="utf-8")
    return tmp_path / "packages"


def test_fasttext_gets_the_same_words_in_shuffled_rows(tmp_path):
    vectorizer = make_text_classifier(features="words")[0]
    assert TOKENS.pattern == vectorizer.token_pattern
    text = "It's  fine,\nreally!"
    forms = (LOWERCASE, CASED, RAW)
    assert [lines_of([text, ""], form) for form in forms] == [
        ["it ' s fine , really !\n", "\n"],
        ["It ' s fine , really !\n", "\n"],
        ["It's fine, really!\n", "\n"],
    ]
    texts, labels = rows(a=100, b=100)
    lines = lines_of(texts, LOWERCASE)
    fasttext_baseline.write_rows(tmp_path / "rows.txt", lines, labels, ["a", "b"])
    written = (tmp_path / "rows.txt").read_text(encoding="utf-8").splitlines()
    assert sorted(written) == sorted(f"__label__{'ab'.index(text[0])} {text}" for text in texts)
    assert 25 < sum(line.startswith("__label__0") for line in written[:100]) < 75


def test_the_classifier_is_timed_against_it_and_its_heirs(data, packages, monkeypatch, capsys):
    (data / "ag_news").symlink_to(data / "trec")
    # another fastText, which must not be taken
    (data / "environment" / "fasttext").mkdir(parents=True)
    (data / "environment" / "fasttext" / "__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(data / "environment"))
    results = run_script(
        "bench_classifiers",
        data,
        *("--fasttext", str(packages), "--heirs", "fasttext-new", "fasttext-turbo"),
        *("--seeds", "1", "--repeats", "1", "--part", "speed", "prediction"),
    )
    assert {"epoch": 3, "lr": 0.05, "form": "raw"}.items() <= results["tuning"]["settings"][
        "fastText"
    ].items()
    assert results["speed"]["versions"]["fastText"] == "0.0"
    assert results["speed"]["versions"]["fasttext-turbo"] == "0.0"
    accuracies = {name: model["accuracy"] for name, model in results["speed"]["models"].items()}
    assert accuracies.pop("TextClassifier") == 100
    assert list(accuracies.values()) == [50.0] * 5
    prediction = results["prediction"]
    assert prediction["accuracy of fastText"] == 50
    assert set(prediction["one text ms"]) == {
        *("TextClassifier", "fastText", "fasttext-new", "fasttext-turbo")
    }
    assert prediction["MB"]["fasttext-new"] == 8e-6
    assert len(prediction["texts/s"]) == 6
    assert "texts/s" in capsys.readouterr().out
    rows = bench_classifiers.against_fasttext(results).splitlines()
    assert len(rows) == 2 + 8  # heads, methods of training, and two of prediction alone
    assert all(row.count("|") == 8 for row in rows)


@pytest.mark.parametrize("name", [FASTTEXT, "fasttext-new"])
def test_packages_answer_alike_in_processes_of_their_own(packages, name):
    versions = {}
    with peer_processes([name, "fasttext-turbo"], packages, versions) as peers:
        assert list(versions.values()) == ["0.0", "0.0"]
        for peer in peers.values():
            peer.call(FastText.load, "a file")
            peer.call(FastText.hold, ["a fine film\n", "too dull\n"])
        assert peers[name].call(FastText.labels) == [["__label__0"]] * 2
        expected = peers["fasttext-turbo"].call(FastText.probabilities)
        assert peers[name].call(FastText.probabilities) == expected == [{"__label__0": 0.75}] * 2
        assert bench_fasttext_bridge.largest_difference(expected, [{"__label__0": 0.5}] * 2) == 0.25
        assert len(peers[name].call(FastText.latencies, ["a text"] * 3, LOWERCASE)) == 3
        with pytest.raises(RuntimeError, match="NaN"):
            peers[name].call(FastText.train, "a file", {"lr": 1.0}, 0, 1)


def test_a_process_serves_a_model_of_an_heir(packages, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "fasttext_new", raising=False)
    where = f"{packages / 'fasttext-new'}|fasttext_new|model.bin"
    predict, prepare = serving_worker.load("fasttext", where)
    assert predict("One text") == (("__label__0",), [0.75])
    assert prepare(["Two", "texts"])() == [["__label__0"]] * 2


def test_the_first_minute_of_a_package_is_training_and_loading(packages, monkeypatch, capsys):
    monkeypatch.setattr(bench_first_minute, "TASKS", {"nothing": ("-c", "pass")})
    file = packages / "first.json"
    arguments = "--output", str(file), "--repeats", "1", "--fasttext", str(packages)
    bench_first_minute.main([*arguments, "--heirs", "fasttext-new"])
    result = json.loads(file.read_text(encoding="utf-8"))
    assert len(result["medians"]) == 1 + 2 * 2
    assert "`load_model` of fasttext-new" in capsys.readouterr().out


def test_figures_of_older_results_are_those_of_fasttext_alone():
    old = {"ours s": {"median": 1.0}, "fasttext s": {"median": 2.0}, "ratio": 2.0}
    assert bench_fasttext_bridge.peers_of(old)[FASTTEXT]["ratio"] == 2
    new = {"peers": {"fasttext-new": {"ratio": 3.0}}}
    assert bench_fasttext_bridge.peers_of(new) == new["peers"]


def test_peers_get_the_form_of_the_texts_that_is_best_on_validation_rows(data, monkeypatch):
    seen, tests = [], []

    def train(fasttext, path, setting, seed, threads):
        seen.append(path.read_text(encoding="utf-8"))
        return 1.0

    # a peer that is the better, the more capitals there are
    def capitals(fasttext, lines, labels, names):
        return 50.0 + sum(line != line.lower() for line in lines)

    def train_and_test(lowercase, train, test):
        tests.append(lowercase)
        return {"accuracy": 50.0 + (not lowercase), "seconds": 0.0}

    monkeypatch.setattr(fasttext_baseline, "train", train)
    monkeypatch.setattr(fasttext_baseline, "accuracy", capitals)
    texts = [f"Text {i}, {'fine' if i % 2 else 'dull'}" for i in range(40)]
    rows = Rows(texts, ["good" if i % 2 else "bad" for i in range(40)])
    trials = fasttext_baseline.choose(None, (rows, rows), {}, 1, lambda line: None)
    assert fasttext_baseline.best(trials) == {"form": "raw", "lr": 0.05, "epoch": 3}
    assert len(trials) == 3 * len(fasttext_baseline.GRID)
    assert len(set(seen)) == 3
    lower = Rows([text.lower().replace(",", " ,") for text in texts], rows.labels)
    trials = fasttext_baseline.choose(None, (lower, lower), {}, 1, lambda line: None)
    assert {trial["form"] for trial in trials} == {"raw"}

    monkeypatch.setattr(DataFolder, "train_valid", lambda self, name: (rows, rows))
    monkeypatch.setattr(
        classifier_accuracy, "linear_model", lambda name, model, lowercase: lowercase
    )
    monkeypatch.setattr(classifier_accuracy, "train_and_test", train_and_test)
    result = classifier_accuracy.measure_linear("trec", "svm", DataFolder(data))
    assert result["chosen"] == {"lowercase": False}
    assert tests == [True, False, False]


def test_labels_it_does_not_know_are_wrong():
    answers = [["__label__0"], ["__label__1"], [], ["__label__0"]]

    class Answers:
        def call(self, method, *lines):
            return answers if method is FastText.labels else None

    lines, names = ["x\n"] * 4, ["a", "b"]
    assert fasttext_baseline.accuracy(Answers(), lines, ["a", "a", "a", "unknown"], names) == 25
