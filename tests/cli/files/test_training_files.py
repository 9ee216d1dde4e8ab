"""Training, testing and describing classifiers with the command line."""

from __future__ import annotations

import csv
import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sklearn_hashnlp.persistence import load_model
from tests.cli.files.conftest import MAILS

SMALL = ["--buckets", 1000, "--set", "embedding_dim=4"]
COOKING = [
    ("sauce cheese", "How much does potato starch affect a cheese sauce recipe?"),
    ("food-safety acidity", "Dangerous pathogens capable of growing in acidic environments"),
    ("cheese", "Is this cheese still good"),
    ("sauce", "Which sauce is red"),
]


@pytest.fixture(scope="module")
def mails(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("files") / "mails.csv"
    path.write_text("label,text\n" + "".join(f'{label},"{text}"\n' for label, text in MAILS * 4), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def cooking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file as that of fastText's tutorial."""
    path = tmp_path_factory.mktemp("files") / "cooking.train"
    rows = [(" ".join(f"__label__{label}" for label in labels.split()), text) for labels, text in COOKING]
    path.write_text("".join(f"{labels} {text}\n" for labels, text in rows * 5), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def cook(hashnlp: Any, cooking: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a model of several labels per text. Read only."""
    folder: Path = tmp_path_factory.mktemp("files") / "cook"
    result = hashnlp("train", cooking, "--model", folder, "--set", "loss=ova", "--epochs", 20, *SMALL)
    assert result.code == 0, result.err
    assert "4 labels, 1 to 2 each" in result.err
    return folder


def test_a_file_of_several_labels_per_line_is_trained_on(hashnlp: Any, cook: Path) -> None:
    out = hashnlp("predict", "--model", cook, stdin=COOKING[0][1] + "\n" + COOKING[3][1] + "\n").out.splitlines()
    assert [set(line.split("\t")) for line in out] == [{"sauce", "cheese"}, {"sauce"}]


def test_precision_and_recall_at_k_are_printed_as_fasttext_prints_them(hashnlp: Any, cook: Path, cooking: Path) -> None:
    lines = hashnlp("test", cooking, "--model", cook, "--top", 2).out.splitlines()
    assert lines[:5] == ["N\t20", "P@1\t1.0000", "R@1\t0.6667", "P@2\t0.7500", "R@2\t1.0000"]
    report = hashnlp("test", cooking, "--model", cook, "--json").json
    assert (report["precision_at_1"], report["labels"]["cheese"]["support"]) == (1.0, 10)


def test_labels_with_another_prefix_are_trained_on(hashnlp: Any, mails: Path, tmp_path: Path) -> None:
    path = tmp_path / "mails.txt"
    path.write_text("".join(f"#{label} {text}\n" for label, text in MAILS), encoding="utf-8")
    result = hashnlp("train", path, "--model", tmp_path / "m", "--label-prefix", "#", "--epochs", 1, *SMALL)
    assert result.code == 0, result.err
    assert load_model(tmp_path / "m").classes_.tolist() == ["ham", "spam"]


def test_the_columns_that_were_read_are_said(hashnlp: Any, mails: Path, spam: Path) -> None:
    assert "Read 16 texts with 2 labels from columns text, label of" in hashnlp("test", mails, "--model", spam).err


def test_a_validation_figure_is_printed_after_each_epoch(
    hashnlp: Any, mails: Path, cooking: Path, tmp_path: Path
) -> None:
    result = hashnlp("train", mails, "-m", tmp_path / "m", "--valid", mails, "--epochs", 3, *SMALL)
    assert result.code == 0, result.err
    lines = [line for line in result.err.splitlines() if line.startswith("Epoch ")]
    assert len(lines) == 3
    assert all("validation accuracy" in line for line in lines)
    result = hashnlp("train", cooking, "-m", tmp_path / "c", "--valid", cooking, "--epochs", 2, "--json", *SMALL)
    assert [set(entry) >= {"train_loss", "valid_loss", "valid_precision_at_1"} for entry in result.json["history"]] == [
        True,
        True,
    ]


def test_early_stopping_keeps_the_best_epoch_on_the_validation_file(hashnlp: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    paths = [tmp_path / "train.csv", tmp_path / "valid.csv"]
    for path in paths:  # random labels: the accuracy goes up and down
        texts = [" ".join(words) for words in rng.choice(list("abcdefghijklmnop"), (40, 4)).tolist()]
        rows = zip(rng.choice(["x", "y"], 40).tolist(), texts, strict=True)
        path.write_text("label,text\n" + "".join(f"{label},{text}\n" for label, text in rows), encoding="utf-8")
    arguments = ["train", paths[0], "-m", tmp_path / "m", "--valid", paths[1], "--early-stopping", *SMALL]
    report = hashnlp(*arguments, "--json").json
    accuracies = [entry["valid_acc"] for entry in report["history"]]
    assert len(accuracies) == accuracies.index(max(accuracies)) + 11
    assert report["validation_accuracy"] == max(accuracies) > accuracies[-1]


def test_training_has_the_options_that_people_look_for(hashnlp: Any, mails: Path, tmp_path: Path) -> None:
    options = ["--set", "loss=hinge", "--set", "class_weight=balanced", "--learning-rate", 0.1, "--buckets", 500]
    options += ["--set", "ngram_range=(1, 3)", "--set", "embedding_dim=8", "--set", "lowercase=False", "--epochs", 1]
    assert hashnlp("train", mails, "-m", tmp_path / "m", *options).code == 0
    parameters = load_model(tmp_path / "m").get_params()
    wanted = {"loss": "hinge", "class_weight": "balanced", "learning_rate": 0.1, "ngram_range": (1, 3)}
    wanted |= {"embedding_dim": 8, "n_buckets": 500, "lowercase": False}
    assert {name: parameters[name] for name in wanted} == wanted


def test_a_model_is_trained_and_exported_from_the_shell(hashnlp: Any, mails: Path, tmp_path: Path) -> None:
    result = hashnlp("train", mails, "-m", tmp_path / "m", "--sgnn", "--epochs", 5, "--valid", mails)
    assert result.code == 0, result.err
    assert result.err.count("validation accuracy") == 5
    result = hashnlp("export", "-m", tmp_path / "m", tmp_path / "spam.py")
    assert result.code == 0, result.err
    assert runpy.run_path(str(tmp_path / "spam.py"))["predict"](["win a prize now"]).tolist() == ["spam"]


def test_a_small_network_takes_several_labels_per_line(hashnlp: Any, cooking: Path, tmp_path: Path) -> None:
    result = hashnlp("train", cooking, "-m", tmp_path / "m", "--sgnn", "--epochs", 30, "--valid", cooking, "--quiet")
    assert (result.code, result.out) == (0, "1.0000\n")
    assert load_model(tmp_path / "m")[-1].loss == "ova"


def test_info_tells_labels_and_their_counts_and_the_validation_figures(
    hashnlp: Any, mails: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "m"
    hashnlp("train", mails, "-m", folder, "--holdout", 0.25, "--epochs", 2, *SMALL)
    report = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    assert report["labels"] == {"ham": 6, "spam": 6}
    info = hashnlp("info", folder, "--json").json
    assert info["labels"] == {"ham": 6, "spam": 6}
    assert (info["model"], info["n_texts"], info["validation"]["n_texts"]) == ("TextClassifier", 12, 4)
    assert info["validation"]["accuracy"] == report["validation"]["accuracy"]
    assert {"sklearn-hashnlp", "torch"} <= set(info["versions"])
    assert info["date"].startswith("20")
    out = hashnlp("info", folder).out
    assert all(word in out for word in ("TextClassifier", "spam", "Validation", "accuracy", "bytes", "scikit-learn"))


def test_info_of_a_model_that_was_saved_in_python_answers_what_it_can(hashnlp: Any, spam: Path, tmp_path: Path) -> None:
    info = hashnlp("info", spam, "--json").json
    assert (info["model"], info["labels"]) == ("Pipeline", {"ham": None, "spam": None})
    assert info["bytes"] > 0
    assert "spam" in hashnlp("info", spam).out
    result = hashnlp("info", tmp_path / "nothing")
    assert (result.code, result.out) == (1, "")


def test_the_report_of_an_older_model_is_not_told_of_a_newer_one(hashnlp: Any, mails: Path, tmp_path: Path) -> None:
    from sklearn_hashnlp.persistence import save_model

    hashnlp("train", mails, "-m", tmp_path / "m", "--epochs", 1, *SMALL)
    model = load_model(tmp_path / "m").set_params(verbose=1)
    save_model(model, tmp_path / "m")
    assert "n_texts" not in hashnlp("info", tmp_path / "m", "--json").json


def test_the_errors_of_a_test_are_listed(hashnlp: Any, spam: Path, tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text('label,text\nham,"win a prize,\nnow"\nham,thanks\nspam,see you\n', "utf-8")
    for name in ("wrong.csv", "wrong.jsonl"):
        result = hashnlp("test", tmp_path / "test.csv", "-m", spam, "--wrong", tmp_path / name)
        assert result.code == 0, result.err
        assert "Wrote 2 of 3 texts" in result.err
    with (tmp_path / "wrong.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert sorted((row["line"], row["label"], row["predicted_label"]) for row in rows) == [
        ("2", "ham", "spam"),
        ("5", "spam", "ham"),
    ]
    assert float(rows[0]["probability"]) >= float(rows[1]["probability"])
    lines = (tmp_path / "wrong.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["text"] for line in lines} == {"win a prize,\nnow", "see you"}


@pytest.mark.parametrize("command", [["predict"], ["lm", "nearest"]])
def test_the_number_of_answers_is_top_in_every_command(hashnlp: Any, command: list[str]) -> None:
    out = hashnlp(*command, "--help").out
    assert "--top" in out
    assert "--number" not in out
    assert "--k" not in out
