"""``hashnlp train``: saved models, output and errors."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sklearn_hashnlp.classifiers import TextClassifier
from sklearn_hashnlp.cli._progress import Progress
from sklearn_hashnlp.persistence import load_model, save_model
from sklearn_hashnlp.sentences import Network, SGNNSentenceEncoder


def test_the_saved_model_is_that_of_fit(
    hashnlp: Any, small: Any, data: Path, rows: Any, tmp_path: Path
) -> None:
    result = hashnlp("train", data, "--model", tmp_path / "m", "--seed", 7, "--epochs", 2)
    assert result.code == 0, result.err
    assert "Trained on 24 texts" in result.out
    assert f"Saved in {tmp_path / 'm'}" in result.out
    assert "Epoch 2/2   training loss" in result.err
    assert f"hashnlp predict --model {tmp_path / 'm'}" in result.err
    texts = [text for _, text in rows]
    expected = small(random_state=7, max_epochs=2).fit(texts, [label for label, _ in rows])
    loaded = load_model(tmp_path / "m")
    assert (loaded.pipeline_[-1].callbacks, loaded.pipeline_[-1].schedule) == (None, "auto")
    np.testing.assert_array_equal(loaded.predict_proba(texts), expected.predict_proba(texts))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("context_weight", ["auto", 0.0])
def test_a_pretrained_encoder(
    hashnlp: Any, data: Path, rows: Any, tmp_path: Path, context_weight: Any
) -> None:
    encoder = SGNNSentenceEncoder(
        n_projections=8,
        n_tables=0,
        projection_dim=16,
        network=Network(8),
        max_epochs=0,
        context_weight=context_weight,
    ).fit([text for _, text in rows])
    save_model(encoder, tmp_path / "encoder")
    result = hashnlp(
        "train", data, "-m", tmp_path / "m", "--pretrained", tmp_path / "encoder", "--holdout", 0.25
    )
    assert result.code == 0, result.err
    model = load_model(tmp_path / "m")
    assert model.pretrained.context_weight == (0 if context_weight == 0 else 1)
    assert hashnlp("predict", "-m", tmp_path / "m", stdin="a fine film").out in ("good\n", "bad\n")
    refused = hashnlp("train", data, "-m", tmp_path / "m", "--pretrained", tmp_path / "m")
    assert (refused.code, "is a TextClassifier, not a sentence encoder" in refused.err) == (1, True)
    refused = hashnlp("train", data, "-m", tmp_path / "m", "--pretrained", "German")
    assert refused.code == 1
    assert "no folder 'German'" in refused.err
    assert "Expected one of 'english'." in refused.err
    assert (
        hashnlp(
            "train", data, "-m", tmp_path / "m", "--pretrained", tmp_path / "encoder", "--sgnn"
        ).code
        == 2
    )


@pytest.mark.usefixtures("small")
def test_unlabeled_texts_and_the_encoder_in_the_package(
    hashnlp: Any, data: Path, rows: Any, tmp_path: Path
) -> None:
    unlabeled = tmp_path / "more.txt"
    unlabeled.write_text("\n".join([text for text, _ in rows] * 4), encoding="utf-8")
    options = ["--unlabeled", unlabeled, "--pretrained", "english"]
    result = hashnlp("train", data, "-m", tmp_path / "m", *options)
    assert result.code == 0, result.err
    assert f"Read 96 texts without labels from {unlabeled}" in result.err
    info = hashnlp("info", tmp_path / "m").out
    assert f"{unlabeled}: 96 texts" in info
    assert re.search("Pretrained +english", info)
    model = load_model(tmp_path / "m")
    assert model.pretrained == "english"
    encoders = [encoder.estimator for encoder in model.pipeline_[0].encoders]
    assert [type(each).__name__ for each in encoders] == [
        "DistilledSentenceEncoder",
        "CooccurrenceEncoder",
    ]
    assert hashnlp("predict", "-m", tmp_path / "m", stdin="a fine film").out in ("good\n", "bad\n")
    for refused in ("--sgnn", "--fasttext", "--stream"):
        found = hashnlp("train", data, "-m", tmp_path / "m", *options[:2], refused)
        assert (found.code, "--unlabeled" in found.err) == (2, True)
    missing = hashnlp("train", data, "-m", tmp_path / "m", "--unlabeled", tmp_path / "nothing")
    assert (missing.code, "nothing" in missing.err) == (1, True)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("name", "content", "options", "note"),
    [
        (
            "more.csv",
            "id;body;text\n1;a fine film;x\n2;;x\n",
            [],
            "2 texts (1 empty) {}column body",
        ),
        ("more.jsonl", '{"text": "a fine film", "body": "x"}\n', [], "1 text {}column text"),
        ("more.txt", "a fine film\nso; dull\n", ["--format", "csv"], "2 texts {}"),
    ],
)
def test_unlabeled_texts_are_read_as_the_data(
    hashnlp: Any, rows: Any, tmp_path: Path, name: str, content: str, options: Any, note: str
) -> None:
    data, unlabeled = tmp_path / "films.csv", tmp_path / name
    lines = [f"{label};{text};x" for label, text in rows]
    data.write_text("\n".join(["label;body;text", *lines]), encoding="utf-8")
    unlabeled.write_text(content, encoding="utf-8")
    of_data = ["--text-column", "body", "--delimiter", ";", *options]
    result = hashnlp("train", data, "-m", tmp_path / "m", "--unlabeled", unlabeled, *of_data)
    assert result.code == 0, result.err
    assert f"Read {note.format('without labels from ')}" in result.err


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("more.csv", "id;kind\n1;a\n", "no column 'body' for the text; the columns are"),
        ("more.csv", "body\n", "has no texts; expected one per line, or a column"),
        ("more.txt", "\n \n", "has no texts; expected one per line, or a column"),
        ("more.csv", "id;body\n1;a\n2\n", "line 3: expected 2 fields"),
    ],
)
def test_unlabeled_files_that_are_refused(
    hashnlp: Any, rows: Any, tmp_path: Path, name: str, content: str, message: str
) -> None:
    data, unlabeled = tmp_path / "films.csv", tmp_path / name
    lines = [f"{label};{text}" for label, text in rows]
    data.write_text("\n".join(["label;body", *lines]), encoding="utf-8")
    unlabeled.write_text(content, encoding="utf-8")
    of_data = ["--text-column", "body", "--delimiter", ";"]
    result = hashnlp("train", data, "-m", tmp_path / "m", "--unlabeled", unlabeled, *of_data)
    assert (result.code, message in result.err) == (1, True)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("option", ["--valid", "--holdout"])
def test_validation_accuracy_and_json(
    hashnlp: Any, data: Path, tmp_path: Path, option: str
) -> None:
    value = {"--valid": data, "--holdout": 0.25}[option]
    result = hashnlp(
        "train", data, "--model", tmp_path / "m", option, value, "--json", "--epochs", 5
    )
    assert result.code == 0, result.err
    report = result.json
    assert report["validation_accuracy"] == 1.0
    assert (report["n_validation_texts"], report["n_texts"]) == {
        "--valid": (24, 24),
        "--holdout": (6, 18),
    }[option]
    assert report["labels"] == ["bad", "good"]
    assert report["model"] == str(tmp_path / "m")
    lines = [line for line in result.err.splitlines() if line.startswith("Epoch ")]
    assert len(lines) == 5
    assert all("validation accuracy" in line for line in lines)


def test_options_reach_the_model(hashnlp: Any, data: Path, rows: Any, tmp_path: Path) -> None:
    options = [
        "--features",
        "words+characters",
        "--seed",
        3,
        "--epochs",
        2,
        "--n-jobs",
        2,
        "--set",
        "lowercase=False",
    ]
    options += [
        "--set",
        "ngram_range=(1, 3)",
        "--set",
        "embedding_dim=8",
        "--buckets",
        50,
        "--set",
        "loss=hinge",
    ]
    options += [
        "--learning-rate",
        0.1,
        "--set",
        "class_weight={'good': 2, 'bad': 0.5}",
        "--early-stopping",
    ]
    assert hashnlp("train", data, "-m", tmp_path / "m", *options).code == 0
    expected = TextClassifier(
        features="words+characters",
        random_state=3,
        max_epochs=2,
        n_jobs=2,
        lowercase=False,
        ngram_range=(1, 3),
        embedding_dim=8,
        n_buckets=50,
        loss="hinge",
        learning_rate=0.1,
        class_weight={"good": 2, "bad": 0.5},
        early_stopping="valid_acc",
    )
    model = load_model(tmp_path / "m")
    assert repr(model.get_params()) == repr(expected.get_params())
    texts, labels = [text for _, text in rows], [label for label, _ in rows]
    with pytest.warns(UserWarning, match="too few for a validation set"):
        expected.fit(texts, labels)
    assert model.predict_proba(texts).tobytes() == expected.predict_proba(texts).tobytes()


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("stream", [[], ["--stream"]])
def test_labels_like_numbers_have_weights(hashnlp: Any, tmp_path: Path, stream: list[str]) -> None:
    (tmp_path / "films.csv").write_text(
        "label,text\n" + "0,dull film\n1,fine film\n" * 6, encoding="utf-8"
    )
    options = ["--set", "class_weight={'0': 1, '1': 3}", *stream]
    result = hashnlp("train", tmp_path / "films.csv", "-m", tmp_path / "m", *options)
    assert result.code == 0, result.err
    assert load_model(tmp_path / "m").class_weight == {"0": 1, "1": 3}


@pytest.mark.usefixtures("small")
def test_precision_reaches_the_model(hashnlp: Any, data: Path, rows: Any, tmp_path: Path) -> None:
    for precision in ("float32", "int8"):
        result = hashnlp("train", data, "-m", tmp_path / precision, "--precision", precision)
        assert result.code == 0, result.err
    texts = [text for _, text in rows]
    exact, rounded = (
        load_model(tmp_path / precision).predict_proba(texts) for precision in ("float32", "int8")
    )
    assert 0 < np.abs(exact - rounded).max() < 0.02


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("options", "out"), [([], ""), (["--holdout", 0.25, "--epochs", 5], "1.0000\n")]
)
def test_quiet_prints_only_the_validation_accuracy(
    hashnlp: Any, data: Path, tmp_path: Path, options: list[Any], out: str
) -> None:
    result = hashnlp("train", data, "-m", tmp_path / "m", "--quiet", *options)
    assert (result.code, result.out, result.err) == (0, out, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sgnn", "--buckets", 4], "--sgnn has no --buckets"),
        (
            ["--fasttext", "--buckets", 4],
            "--fasttext has no --buckets: its features are those of fastText",
        ),
        (["--fasttext", "--sgnn"], "--sgnn and --fasttext exclude each other"),
        (["--sgnn", "--set", "classifier__loss=hinge"], "The 'loss' parameter of SGNNClassifier"),
        (
            ["--learning-rate", 0],
            "The 'learning_rate' parameter of TextClassifier must be a float in the range (0.0",
        ),
        (
            ["--set", "ngram_range=(3, 1)"],
            "The 'ngram_range' parameter of TextClassifier must be a pair",
        ),
        (
            ["--set", "n_buckets=3", "--set", "classifier__n_hashes=2"],
            "use --set classifier__n_buckets=3 instead.",
        ),
        (["--valid", "films.csv", "--holdout", 0.5], "--valid and --holdout exclude each other"),
        (["--precision", "int4"], "--precision"),
        (["--seed", 2**32], "4294967295"),
        (["--n-jobs", 0], "got 0"),
        (["--device", "cuda"], "--device cuda: torch finds no CUDA device"),
    ],
)
def test_values_out_of_range_are_usage_errors_before_reading(
    hashnlp: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: Any, message: str
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    result = hashnlp("train", tmp_path / "never read.csv", "-m", tmp_path / "m", *arguments)
    assert result.code == 2
    assert message in result.err


@pytest.mark.skipif(sys.platform != "linux", reason="a folder that even root cannot write into")
def test_a_folder_that_is_not_writable_is_an_error_before_reading(
    hashnlp: Any, tmp_path: Path
) -> None:
    result = hashnlp("train", tmp_path / "never read.csv", "-m", "/proc/m")
    assert result.code == 1
    assert "/proc/m: no model can be saved there" in result.err


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX pipe")
@pytest.mark.usefixtures("small")
def test_the_data_can_be_a_pipe(hashnlp: Any, data: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[data.read_bytes()])
    writer.start()
    result = hashnlp("train", "--format", "csv", "-m", tmp_path / "m", pipe)
    assert result.code == 0, result.err
    writer.join()


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("content", "options"),
    [
        (
            'kind\tsaid\na\t"one" word\nb\ttwo words\n',
            ["--format", "tsv", "--text-column", "said", "--label-column", "kind", "--no-quotes"],
        ),
        ("#a one word\n#b two words\n", ["--format", "fasttext", "--label-prefix", "#"]),
    ],
    ids=["columns", "prefix"],
)
def test_format_columns_and_prefix(
    hashnlp: Any, tmp_path: Path, content: str, options: list[str]
) -> None:
    (tmp_path / "data.unknown").write_text(content, encoding="utf-8")
    result = hashnlp(
        "train", tmp_path / "data.unknown", "--model", tmp_path / "m", "--epochs", 1, *options
    )
    assert result.code == 0, result.err
    assert load_model(tmp_path / "m").classes_.tolist() == ["a", "b"]


@pytest.mark.usefixtures("small")
def test_empty_texts_are_counted(hashnlp: Any, tmp_path: Path) -> None:
    path = tmp_path / "mails.csv"
    for last, read in (("spam,", "4 texts (1 empty)"), ("spam,x", "4 texts")):
        path.write_text(
            f"label,text\nspam,win a prize\nham,see you\nham,thanks\n{last}\n", encoding="utf-8"
        )
        err = hashnlp("train", path, "--model", tmp_path / "m", "--epochs", 1).err
        assert f"Read {read} with 2 labels from columns text, label of {path}" in err


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("stream", [[], ["--stream"]])
def test_one_label_that_a_text_has_or_has_not(
    hashnlp: Any, tmp_path: Path, stream: list[str]
) -> None:
    rows = '{"text": "a fine film", "label": ["good"]}\n{"text": "a dull film", "label": []}\n' * 10
    (tmp_path / "films.jsonl").write_text(rows, encoding="utf-8")
    result = hashnlp(
        "train", tmp_path / "films.jsonl", "-m", tmp_path / "m", "--epochs", 20, *stream
    )
    assert result.code == 0, result.err
    assert load_model(tmp_path / "m").predict(["a fine film", "a dull film"]).tolist() == [
        ["good"],
        [],
    ]
    assert hashnlp("test", tmp_path / "films.jsonl", "-m", tmp_path / "m").code == 0


@pytest.mark.usefixtures("small")
def test_a_file_of_fasttext_with_several_labels(hashnlp: Any, tmp_path: Path) -> None:
    train, valid = tmp_path / "a.txt", tmp_path / "b.txt"
    train.write_text("__label__a __label__b good\n__label__b bad\n" * 10, encoding="utf-8")
    valid.write_text("__label__b __label__c good\n__label__b bad\n", encoding="utf-8")
    arguments = ["train", train, "-m", tmp_path / "m", "--epochs", 30]
    result = hashnlp(*arguments, "--sgnn", "--valid", train, "--quiet")
    assert (result.code, result.out) == (0, "1.0000\n")
    assert load_model(tmp_path / "m")[-1].loss == "ova"
    result = hashnlp(*arguments, "--valid", valid)
    assert result.code == 0, result.err
    assert "Validation precision at 1 1.0" in result.out
    assert (
        f"Labels of {valid} that the model was not trained on and never predicts: c" in result.err
    )
    report = hashnlp(*arguments, "--valid", valid, "--json").json
    assert all(
        {"train_loss", "valid_loss", "valid_acc"} <= set(entry) for entry in report["history"]
    )


@pytest.mark.parametrize("stream", [[], ["--stream"]])
@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("", [], "expected labeled texts, got a file without rows"),
        ("label,text\na,b\na,c\n", [], "expected at least two different labels, got only 'a'"),
        ("label,text\na,b\n", ["--text-column", "body"], "line 1: no column 'body' for the text"),
        ("label,text\na,b\nc\n", [], "line 3: expected 2 fields"),
        (
            '{"label": [], "text": "x"}\n' * 3,
            ["--format", "jsonl"],
            "expected labeled texts, got no label in 3 rows",
        ),
        (
            '[{"text": "a", "label": "b"}]',
            ["--format", "jsonl"],
            "got a list. Is the file a JSON array?",
        ),
        (
            '[\n{"text": "a"}\n]',
            ["--format", "jsonl"],
            'with df.to_json(path, orient="records", lines=True)',
        ),
        ("3\n", ["--format", "jsonl"], "expected one JSON object on each line, got a number.\n"),
        (
            'label,text\n"a,b",x\nb,y\n',
            ["--label-separator", ",", "--set", "loss=softmax"],
            "loss='softmax'",
        ),
        (None, [], "films.csv does not exist"),
    ],
)
def test_errors_in_the_data_are_one_line(
    hashnlp: Any, tmp_path: Path, content: str | None, options: Any, message: str, stream: list[str]
) -> None:
    path = tmp_path / "films.csv"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    result = hashnlp("train", path, "--model", tmp_path / "m", "--quiet", *options, *stream)
    assert (result.code, result.out, result.err.count("\n")) == (1, "", 1)
    assert message in result.err
    assert result.err.startswith("hashnlp: ")
    assert not (tmp_path / "m").exists()


def test_a_folder_of_other_files_is_an_error_before_training(hashnlp: Any, data: Path) -> None:
    result = hashnlp("train", data, "--model", data.parent)
    assert result.code == 1
    assert "holds 'films.csv' but no model" in result.err


def test_validation_texts_do_not_change_the_model(hashnlp: Any, data: Path, tmp_path: Path) -> None:
    arguments = ["--features", "words", "--buckets", 1000, "--json"]
    assert hashnlp("train", data, "--model", tmp_path / "alone", *arguments).code == 0
    result = hashnlp("train", data, "--model", tmp_path / "m", "--valid", data, *arguments)
    assert result.code == 0, result.err
    assert result.json["validation_accuracy"] == 1.0
    alone, validated = (load_model(tmp_path / name) for name in ("alone", "m"))
    texts = ["a fine film", "dull"]
    assert validated.decision_function(texts).tobytes() == alone.decision_function(texts).tobytes()
    assert len(validated.history_) == len(alone.history_) == 1


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("valid", [True, False], ids=["file", "split"])
def test_early_stopping_keeps_and_names_the_best_epoch(
    hashnlp: Any, tmp_path: Path, valid: bool
) -> None:
    rng = np.random.default_rng(0)
    paths = [tmp_path / "train.csv", tmp_path / "valid.csv"]
    for path in paths:  # random labels: the accuracy goes up and down
        texts = [
            " ".join(words) for words in rng.choice(list("abcdefghijklmnop"), (400, 4)).tolist()
        ]
        rows = zip(rng.choice(["x", "y"], 400).tolist(), texts, strict=True)
        path.write_text(
            "label,text\n" + "".join(f"{label},{text}\n" for label, text in rows), encoding="utf-8"
        )
    options = ["--early-stopping", "--epochs", 60, *(["--valid", paths[1]] if valid else [])]
    result = hashnlp("train", paths[0], "-m", tmp_path / "m", *options)
    report = hashnlp("info", tmp_path / "m", "--json").json
    accuracies = [entry["valid_acc"] for entry in report["history"]]
    best = accuracies.index(max(accuracies)) + 1
    assert report["best_epoch"] == best
    assert len(accuracies) == best + 10
    assert f"Stopped after {len(accuracies)} epochs: best epoch {best}" in result.out
    assert f"best epoch {best}" in hashnlp("info", tmp_path / "m").out
    if valid:
        # The share of naive Bayes, and the shares of the labels for short texts, come after the
        # last epoch.
        assert report["validation"]["accuracy"] == pytest.approx(max(accuracies), abs=0.05)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_ctrl_c_keeps_the_old_model(
    hashnlp: Any,
    small: Any,
    data: Path,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Progress, "__call__", interrupt)
    result = hashnlp("train", data, "--model", tmp_path / "m")
    assert result.code == 130
    assert "interrupted" in result.err
    assert not (tmp_path / "m").exists()
