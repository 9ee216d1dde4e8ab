"""The first hour of a user of fastText with the command line."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from sklearn_hashnlp.persistence import load_model

SMALL = ["--buckets", 500, "--set", "embedding_dim=4", "--epochs", 3]
TAGS = [("sauce,cheese", "a cheese sauce"), ("cheese", "old cheese"), ("bread", "fresh bread"), ("sauce", "red sauce")]


@pytest.fixture(scope="module")
def tags(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose labels are joined by commas."""
    path = tmp_path_factory.mktemp("traps") / "tags.csv"
    path.write_text("label,text\n" + "".join(f'"{labels}",{text}\n' for labels, text in TAGS * 3), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def tagger(hashnlp: Any, tags: Path) -> Path:
    """Folder of a model of several labels per text. Read only."""
    folder = tags.parent / "tagger"
    result = hashnlp("train", tags, "-m", folder, "--label-separator", ",", *SMALL)
    assert result.code == 0, result.err
    return folder


def test_labels_are_separated_in_test_as_in_training(hashnlp: Any, tags: Path, tagger: Path) -> None:
    result = hashnlp("test", tags, "-m", tagger)
    assert "Labels are separated by ',', as in training" in result.err
    assert "never predicts" not in result.err
    assert hashnlp("test", tags, "-m", tagger, "--label-separator", ",").out == result.out


def test_labels_that_are_all_unknown_get_a_hint(hashnlp: Any, spam: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('label,text\n"spam,ham",win\n"ham,spam",thanks\n', encoding="utf-8")
    result = hashnlp("test", tmp_path / "a.csv", "-m", spam)
    assert "The model knows none of the labels" in result.err
    assert "--label-separator" in result.err


def test_rows_with_bytes_that_are_no_utf8_are_skipped_and_counted(hashnlp: Any, spam: Path, tmp_path: Path) -> None:
    table = b"label,text\nspam,win a prize\nspam,caf\xe9\nham,thanks\n"
    (tmp_path / "a.csv").write_bytes(table)
    result = hashnlp("test", tmp_path / "a.csv", "-m", spam, "--errors", "skip")
    assert "Read 2 texts" in result.err
    assert "line 3: the row has bytes that are not UTF-8" in result.err
    assert "Skipped 1 row" in result.err
    result = hashnlp("predict", "-m", spam, "--format", "csv", "--errors", "skip", stdin=table)
    assert [line.split(",")[0] for line in result.out.splitlines()] == ["label", "spam", "ham"]
    assert "Skipped 1 row" in result.err
    (tmp_path / "a.txt").write_bytes(b"__label__spam win\n__label__spam caf\xe9\n__label__ham thanks\n")
    assert "Read 2 texts" in hashnlp("test", tmp_path / "a.txt", "-m", spam, "--errors", "skip").err


@pytest.mark.parametrize("loss", ["softmax", "hinge", "hsigmoid"])
def test_a_loss_of_one_label_is_refused_for_several(hashnlp: Any, tags: Path, tmp_path: Path, loss: str) -> None:
    result = hashnlp("train", tags, "-m", tmp_path / "m", "--label-separator", ",", "--set", f"loss={loss}")
    assert result.code == 1
    assert f"loss='{loss}'" in result.err


def test_a_model_of_several_labels_is_exported(hashnlp: Any, tagger: Path, tmp_path: Path) -> None:
    result = hashnlp("export", "-m", tagger, tmp_path / "m.py")
    assert result.code == 0, result.err
    texts = [text for _, text in TAGS]
    expected = load_model(tagger).predict(texts).tolist()
    assert runpy.run_path(str(tmp_path / "m.py"))["predict"](texts).tolist() == expected


def test_a_model_that_cannot_be_exported_says_why(hashnlp: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("label,text\n" + "a,good film\nb,bad film\n" * 9, encoding="utf-8")
    assert hashnlp("train", path, "-m", tmp_path / "m", "--set", "loss=hsigmoid", *SMALL).code == 0
    result = hashnlp("export", "-m", tmp_path / "m", tmp_path / "m.py")
    assert (result.code, "loss='hsigmoid' is not supported" in result.err) == (1, True)


@pytest.mark.parametrize("valid", [True, False])
def test_early_stopping_says_which_epoch_was_kept(hashnlp: Any, tmp_path: Path, valid: bool) -> None:
    path = tmp_path / "a.csv"
    path.write_text("label,text\n" + "a,good film\nb,bad film\n" * 250, encoding="utf-8")
    options = ["--valid", path] if valid else []
    result = hashnlp("train", path, "-m", tmp_path / "m", "--early-stopping", *options, *SMALL)
    assert result.code == 0, result.err
    assert "Stopped after 3 epochs: best epoch " in result.out
    report = hashnlp("info", tmp_path / "m", "--json").json
    accuracies = [epoch["valid_acc"] for epoch in report["history"]]
    assert report["best_epoch"] == accuracies.index(max(accuracies)) + 1
    assert report["parameters"]["early_stopping"] is True
    assert f"best epoch {report['best_epoch']}" in hashnlp("info", tmp_path / "m").out


def test_quiet_removes_notes_not_results(hashnlp: Any, tags: Path, tagger: Path) -> None:
    result = hashnlp("info", tagger, "-q")
    assert (result.out, result.err) == (hashnlp("info", tagger).out, "")
    assert "cheese" in result.out
    result = hashnlp("test", tags, "-m", tagger, "--top", 2, "-q")
    assert [line.split("\t")[0] for line in result.out.splitlines()] == ["N", "P@1", "R@1", "P@2", "R@2"]
    assert result.err == ""


def test_a_header_of_one_column_is_named(hashnlp: Any, spam: Path) -> None:
    result = hashnlp("predict", "-m", spam, stdin="text\nwin a prize\n")
    assert "The first line, 'text', is read as a text; --format csv reads it as a header" in result.err
    assert len(result.out.splitlines()) == 2
    assert hashnlp("predict", "-m", spam, "--format", "lines", stdin="text\nwin\n").err == ""


def test_several_labels_in_the_validation_file_alone_give_a_precision(hashnlp: Any, tmp_path: Path) -> None:
    train, valid = tmp_path / "a.txt", tmp_path / "b.txt"
    train.write_text("__label__a good\n__label__b bad\n" * 4, encoding="utf-8")
    valid.write_text("__label__a __label__c good\n__label__b bad\n", encoding="utf-8")
    result = hashnlp("train", train, "-m", tmp_path / "m", "--valid", valid, *SMALL)
    assert result.code == 0, result.err
    assert "Validation precision at 1 " in result.out
    assert f"Labels of {valid} that the model was not trained on and never predicts: c" in result.err


def test_advice_that_does_not_work_is_not_given(hashnlp: Any, spam: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("label,text\nspam,win\n".encode("utf-16"))
    err = hashnlp("test", tmp_path / "a.csv", "-m", spam).err
    assert ("iconv -f utf-16" in err, "--errors" in err) == (True, False)
    assert "/dev/stdin" in hashnlp("test", "-", "-m", spam).err
    err = hashnlp("predict", "-m", spam, "-o", tmp_path / "no" / "a.txt", stdin="win\n").err
    assert f"there is no folder {tmp_path / 'no'}." in err


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["train", "a.csv", "-m", "m", "-lr", 1], "fastText's -lr is --learning-rate here"),
        (["supervised", "-input", "a"], "fastText's supervised is hashnlp train here"),
        (["train", "a.csv", "-m", "m", "--valid", "b.csv", "--holdout", 0.1], "See: hashnlp train --help"),
    ],
)
def test_wrong_usage_names_what_is_right(
    hashnlp: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[Any], hint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = hashnlp(*arguments)
    assert (result.code, hint in result.err) == (2, True), result.err
