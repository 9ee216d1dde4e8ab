"""``hashnlp lm train``: saved models, output, checkpoints and errors."""

from __future__ import annotations

import gzip
import os
import re
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sklearn_hashnlp import HsigmoidLanguageModel
from sklearn_hashnlp.cli._progress import Progress
from sklearn_hashnlp.cli.lm._train_language_model import LanguageOptions
from sklearn_hashnlp.language import LanguageSchedule, Regularization
from sklearn_hashnlp.persistence import load_model
from sklearn_hashnlp.training import EarlyStopping

SMALL = ["--order", 3, "--epochs", 2]
SMALL += ["--set", "embedding_dim=4", "--set", "hidden_size=8", "--set", "batch_size=32"]
SIZES = {"order": 3, "embedding_dim": 4, "hidden_size": 8, "batch_size": 32, "max_epochs": 2}


def test_the_saved_model_is_that_of_fit(
    hashnlp: Any, sentences: Path, corpus: list[str], tmp_path: Path
) -> None:
    result = hashnlp("lm", "train", sentences, "--model", tmp_path / "m", *SMALL, "--seed", 7)
    assert result.code == 0, result.err
    assert "Trained 2 epochs with a vocabulary of 12 words" in result.out
    assert f"Saved in {tmp_path / 'm'}" in result.out
    assert "Epoch 2/2   training perplexity" in result.err
    assert f"hashnlp lm sample --model {tmp_path / 'm'}" in result.err
    expected = HsigmoidLanguageModel(**SIZES, random_state=7).fit(corpus)
    loaded = load_model(tmp_path / "m")
    assert loaded.callbacks is None
    np.testing.assert_array_equal(loaded.score_samples(corpus), expected.score_samples(corpus))


def test_defaults_are_those_of_the_estimator(hashnlp: Any, sentences: Path, tmp_path: Path) -> None:
    assert hashnlp("lm", "train", sentences, "-m", tmp_path / "m").code == 0
    assert (
        load_model(tmp_path / "m").get_params()
        == HsigmoidLanguageModel(random_state=0).get_params()
    )


def test_every_option_reaches_the_model(hashnlp: Any, sentences: Path, tmp_path: Path) -> None:
    options = [
        "--learning-rate",
        0.01,
        "--seed",
        5,
        "--device",
        "auto",
        "--checkpoint-dir",
        tmp_path / "p",
        "--resume",
    ]
    options += [
        "--max-time",
        60,
        "--log-every",
        1,
        "--set",
        "tree=cluster",
        "--set",
        "regularization__dropout=0.5",
    ]
    options += ["--set", "early_stopping__patience=3", "--set", "schedule__decay=constant"]
    result = hashnlp("lm", "train", sentences, "-m", tmp_path / "m", *SMALL, *options)
    assert result.code == 0, result.err
    expected = HsigmoidLanguageModel(
        **SIZES,
        learning_rate=0.01,
        random_state=5,
        device="auto",
        checkpoint_dir=str(tmp_path / "p"),
        resume=True,
        tree="cluster",
        regularization=Regularization(dropout=0.5),
        early_stopping=EarlyStopping("valid_loss", 3, 0.1),
        schedule=LanguageSchedule("constant"),
    )
    model = load_model(tmp_path / "m")
    assert repr(model.get_params()) == repr(expected.get_params())
    assert {entry["epoch"] for entry in model.log_} == {1, 2}
    limit, log = LanguageOptions(max_time=60.0, log_every=2).callbacks()
    assert (limit.seconds, log.every) == (60.0, 2)


def test_validation_log_and_json(
    hashnlp: Any, sentences: Path, corpus: list[str], tmp_path: Path
) -> None:
    arguments = [
        "lm",
        "train",
        sentences,
        "--model",
        tmp_path / "m",
        *SMALL,
        "--valid",
        sentences,
        "--log-every",
        2,
    ]
    result = hashnlp(*arguments)
    assert result.code == 0, result.err
    assert "  step 2   training perplexity" in result.err
    perplexity = load_model(tmp_path / "m").perplexity(corpus)
    assert f"Validation perplexity {perplexity:.2f} after epoch 2" in result.out
    quiet = hashnlp(*arguments, "--quiet")
    assert (quiet.out, quiet.err) == (f"{perplexity:.4f}\n", "")
    report = hashnlp(*arguments, "--json").json
    assert report["valid_perplexity"] == pytest.approx(perplexity, rel=1e-6)
    assert (report["n_words"], report["epoch"], len(report["history"])) == (12, 2, 2)
    assert [entry["step"] for entry in report["log"]] == [2, 4, 2, 4]
    assert report["model"] == str(tmp_path / "m")


def test_early_stopping_reports_the_best_epoch(
    hashnlp: Any, sentences: Path, tmp_path: Path
) -> None:
    (tmp_path / "other.txt").write_text("mat the on sat cat the\n" * 3)
    arguments = [
        *(
            *SMALL,
            "--epochs",
            60,
            "--set",
            "schedule__decay=constant",
            "--valid",
            tmp_path / "other.txt",
        ),
        *("--set", "early_stopping=valid_loss", "--set", "early_stopping__patience=3"),
    ]
    report = hashnlp("lm", "train", sentences, "-m", tmp_path / "m", *arguments, "--json").json
    losses = [entry["valid_perplexity"] for entry in report["history"]]
    assert len(losses) == report["epoch"] + 3 < 60
    assert report["valid_perplexity"] == min(losses) == losses[report["epoch"] - 1]
    perplexity = hashnlp(
        "lm", "score", "-m", tmp_path / "m", tmp_path / "other.txt", "--perplexity"
    ).out
    assert float(perplexity) == pytest.approx(min(losses), abs=1e-3)
    arguments += ["--set", "early_stopping__restore_best=False"]
    report = hashnlp("lm", "train", sentences, "-m", tmp_path / "m", *arguments, "--json").json
    assert (report["epoch"], report["valid_perplexity"]) == (len(losses), losses[-1])


def test_checkpoints_are_saved_and_training_is_resumed(
    hashnlp: Any, sentences: Path, corpus: list[str], tmp_path: Path
) -> None:
    kept = [
        "--set",
        f"checkpoint_dir=({str(tmp_path / 'p')!r}, 'all')",
        "--quiet",
        "--set",
        "schedule__decay=constant",
    ]
    assert hashnlp("lm", "train", sentences, "-m", tmp_path / "m", *SMALL, *kept).code == 0
    assert sorted(path.name for path in (tmp_path / "p").iterdir()) == [
        "epoch-00001",
        "epoch-00002",
    ]
    again = hashnlp("lm", "train", sentences, "-m", tmp_path / "m", *SMALL, *kept)
    assert again.code == 1
    assert (
        f"--checkpoint-dir {str(tmp_path / 'p')!r} already has epoch-00001. Use --resume to "
        "continue the training in it, or give another" in again.err
    )
    other = hashnlp(
        "lm", "train", sentences, "-m", tmp_path / "m", *SMALL, *kept, "--resume", "--order", 4
    )
    assert (other.code, "use another --checkpoint-dir than" in other.err) == (1, True), other.err
    result = hashnlp(
        "lm",
        "train",
        sentences,
        "-m",
        tmp_path / "m",
        *SMALL,
        *kept,
        "--epochs",
        4,
        "--set",
        "resume=True",
    )
    assert result.code == 0, result.err
    sizes = SIZES | {"max_epochs": 4, "schedule": LanguageSchedule("constant")}
    expected = HsigmoidLanguageModel(**sizes, random_state=0).fit(corpus)
    for folder in (tmp_path / "m", tmp_path / "p" / "epoch-00004"):
        np.testing.assert_array_equal(
            load_model(folder).score_samples(corpus), expected.score_samples(corpus)
        )


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_an_interrupt_leaves_finished_epochs_and_no_model(
    hashnlp: Any, sentences: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_self: Any, _done: float, _n_epochs: int, history: Any) -> None:
        if len(history) == 2:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Progress, "__call__", interrupt)
    arguments = ["lm", "train", sentences, "-m", tmp_path / "m", *SMALL, "--epochs", 9]
    result = hashnlp(*arguments, "--set", f"checkpoint_dir=({str(tmp_path / 'p')!r}, 'all')")
    assert result.code == 130
    assert result.err.endswith(
        f"Finished epochs are saved in {tmp_path / 'p'}; --resume continues from there.\n\n"
        "hashnlp: interrupted.\n"
    )
    assert not (tmp_path / "m").exists()
    assert [path.name for path in (tmp_path / "p").iterdir()] == ["epoch-00001"]


def test_a_training_that_diverges_is_an_error_and_the_old_model_stays(
    hashnlp: Any, sentences: Path, tmp_path: Path
) -> None:
    command = (
        "lm",
        "train",
        sentences,
        "--model",
        tmp_path / "m",
        *SMALL,
        "--epochs",
        1,
        "--set",
        "batch_size=8",
    )
    result = hashnlp(*command)
    assert "Trained 1 epoch with" in result.out
    before = {path.name: path.read_bytes() for path in (tmp_path / "m").iterdir()}
    result = hashnlp(*command, "--learning-rate", 1e5, "--log-every", 1, "--valid", sentences)
    assert result.code == 1
    assert "diverged" in result.err
    assert "learning_rate" in result.err
    assert {path.name: path.read_bytes() for path in (tmp_path / "m").iterdir()} == before
    assert max(map(len, re.findall(r"\d+", result.out + result.err))) < 20


@pytest.mark.parametrize("compressed", [True, False], ids=["gzip", "pipe"])
def test_a_compressed_file_and_a_pipe_are_read(
    hashnlp: Any, sentences: Path, tmp_path: Path, compressed: bool
) -> None:
    path, content = tmp_path / ("text.gz" if compressed else "pipe"), sentences.read_bytes()
    if compressed:
        path.write_bytes(gzip.compress(content))
    elif hasattr(os, "mkfifo"):
        os.mkfifo(path)
        threading.Thread(target=path.write_bytes, args=[content]).start()
    else:
        pytest.skip("the system has no pipes with names")
    result = hashnlp("lm", "train", path, "-m", tmp_path / "m", *SMALL)
    assert "vocabulary of 12 words" in result.out, result.err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "text.txt does not exist."),
        (b"", "text.txt has no sentences; expected one per line, words separated by spaces."),
        (b"\n  \n", "text.txt has no sentences; expected one per line, words separated by spaces."),
        (b"a b\nb\xe9d\n", "text.txt, line 2: expected UTF-8"),
    ],
)
@pytest.mark.parametrize("option", ["FILE", "--valid"])
def test_errors_in_files_are_one_line(
    hashnlp: Any,
    sentences: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    content: bytes | None,
    message: str,
    option: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / "text.txt").write_bytes(content)
    files = ["text.txt"] if option == "FILE" else [sentences, "--valid", "text.txt"]
    result = hashnlp("lm", "train", *files, "-m", "m", *SMALL)
    assert result.code == 1
    assert result.err.startswith(f"hashnlp: {message}")
    assert len(result.err.splitlines()) == 1
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--resume"], "--resume needs --checkpoint-dir,"),
        (
            ["--set", "across_sentences=true"],
            "--set across_sentences=true: The 'across_sentences' parameter of "
            "HsigmoidLanguageModel must be True or False. Got 'true'",
        ),
        (["--set", "output=softmax", "--set", "direct_connections=hashed"], "direct_connections"),
        (["--learning-rate", 0], "The 'learning_rate' parameter"),
        (["--max-time", 0], "TimeLimit needs a number of more than 0 seconds"),
        (["--order", 1], "--order"),
    ],
)
def test_wrong_usage_is_an_error_before_anything_is_read(
    hashnlp: Any, tmp_path: Path, arguments: list[Any], message: str
) -> None:
    result = hashnlp("lm", "train", "no-such-file", "-m", tmp_path / "m", *arguments)
    assert result.code == 2
    assert message in " ".join(result.err.replace("│", " ").split())


def test_a_folder_of_other_files_is_an_error_before_training(
    hashnlp: Any, sentences: Path, tmp_path: Path
) -> None:
    result = hashnlp("lm", "train", sentences, "-m", tmp_path, *SMALL)
    assert result.code == 1
    assert "but no model" in result.err
    assert "Epoch" not in result.err
    result = hashnlp("lm", "train", tmp_path, "-m", tmp_path / "m", *SMALL)
    assert result.err == f"hashnlp: {tmp_path} is a folder; expected a text file.\n"
