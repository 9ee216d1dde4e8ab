"""fastText as a baseline: its texts, its settings, its accuracy, and its speed."""

from __future__ import annotations

import sys
from types import SimpleNamespace

from benchmarks.common import classifier_accuracy, fasttext_baseline
from benchmarks.common.data import DataFolder, Rows
from sklearn_hashnlp.classifiers import make_text_classifier
from tests.benchmarks.labeled_rows import rows, run_script

FASTTEXT = """
from pathlib import Path
from types import SimpleNamespace

def train_supervised(path, *, lr, **settings):
    if lr == 1.0:
        raise RuntimeError("Encountered NaN.")
    predict = lambda lines, *_: ([["__label__0"] for _ in lines], None)
    predictor = SimpleNamespace(multilinePredict=predict)
    return SimpleNamespace(f=predictor, test=test, save_model=lambda path: Path(path).touch())

def load_model(path):
    return train_supervised(path, lr=0.1)

def test(path):
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    correct = [line.startswith("__label__0") for line in lines]
    return len(correct), sum(correct) / len(correct), sum(correct) / len(correct)
"""


def test_fasttext_gets_the_same_words_in_shuffled_rows(tmp_path):
    vectorizer = make_text_classifier(features="words")[0]
    assert fasttext_baseline.TOKENS.pattern == vectorizer.token_pattern
    text = "It's  fine,\nreally!"
    forms = (fasttext_baseline.LOWERCASE, fasttext_baseline.CASED, fasttext_baseline.RAW)
    assert [fasttext_baseline.lines_of([text, ""], form) for form in forms] == [
        ["it ' s fine , really !\n", "\n"],
        ["It ' s fine , really !\n", "\n"],
        ["It's fine, really!\n", "\n"],
    ]
    texts, labels = rows(a=100, b=100)
    lines = fasttext_baseline.lines_of(texts, fasttext_baseline.LOWERCASE)
    fasttext_baseline.write_rows(tmp_path / "rows.txt", lines, labels, ["a", "b"])
    written = (tmp_path / "rows.txt").read_text(encoding="utf-8").splitlines()
    assert sorted(written) == sorted(f"__label__{'ab'.index(text[0])} {text}" for text in texts)
    assert 25 < sum(line.startswith("__label__0") for line in written[:100]) < 75


def test_the_classifier_is_timed_against_it(data, tmp_path, monkeypatch, capsys):
    (data / "ag_news").symlink_to(data / "trec")
    # another fastText, which must not be taken
    (tmp_path / "environment" / "fasttext").mkdir(parents=True)
    (tmp_path / "environment" / "fasttext" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path / "environment")
    for folder in ("fasttext", "fasttext_wheel-0.0.dist-info"):
        (data / folder).mkdir()
    (data / "fasttext" / "__init__.py").write_text(FASTTEXT, encoding="utf-8")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "fasttext", raising=False)
    arguments = [
        "--fasttext",
        str(data),
        "--seeds",
        "1",
        "--repeats",
        "1",
        "--part",
        "speed",
        "prediction",
    ]
    results = run_script("bench_classifiers", data, *arguments)
    assert {"epoch": 3, "lr": 0.05, "form": "raw"}.items() <= results["tuning"]["settings"][
        "fastText"
    ].items()
    assert results["speed"]["versions"]["fastText"] == "0.0"
    accuracies = {name: model["accuracy"] for name, model in results["speed"]["models"].items()}
    assert accuracies.pop("TextClassifier") == 100
    assert list(accuracies.values()) == [50.0] * 3
    assert results["prediction"]["accuracy of fastText"] == 50
    assert len(results["prediction"]["texts/s"]) == 4
    assert "texts/s" in capsys.readouterr().out


def test_peers_get_the_form_of_the_texts_that_is_best_on_validation_rows(data, monkeypatch):
    seen, tests = [], []

    def train(fasttext, path, setting, seed, threads):
        seen.append(path.read_text(encoding="utf-8"))
        return None, 1.0

    # a peer that is the better, the more capitals there are
    def capitals(model, lines, labels, names):
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
    model = SimpleNamespace(
        f=SimpleNamespace(multilinePredict=lambda lines, k, threshold, errors: (answers, None))
    )
    assert (
        fasttext_baseline.accuracy(model, ["x\n"] * 4, ["a", "a", "a", "unknown"], ["a", "b"]) == 25
    )
