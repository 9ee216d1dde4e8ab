"""Hostile folders and files on the command line: one line on stderr, no traceback, and nothing in
them runs.
"""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sklearn_hashnlp import TextClassifier, save_model
from sklearn_hashnlp.cli import app
from tests.canary import Canary

TEXTS, LABELS = ["a fine film", "dull and long"] * 3, ["good", "bad"] * 3


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    small = {
        "n_buckets": 40,
        "n_embeddings": 60,
        "embedding_dim": 2,
        "max_epochs": 1,
        "random_state": 0,
    }
    save_model(TextClassifier(**small, features="words").fit(TEXTS, LABELS), tmp_path / "model")
    return tmp_path / "model"


def run(*arguments: Any, stdin: bytes = b"a fine film\n") -> tuple[int, str]:
    """Run a command, and return its exit code and what it wrote to stderr."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result.exit_code, result.stderr


def refused(*arguments: Any) -> str:
    code, message = run(*arguments)
    assert code == 1, message
    assert message.startswith("hashnlp: ")
    assert message.count("\n") == 1, message
    assert "unexpected" not in message, message
    return message


def test_a_model_that_is_whole_is_used(folder: Path) -> None:
    assert run("predict", "--model", folder, "--quiet")[0] == 0
    assert run("info", folder)[0] == 0


@pytest.mark.parametrize("command", [("predict", "--model"), ("info",)])
@pytest.mark.parametrize("name", ["weights.safetensors", "parameters.json"])
def test_pickles_and_links(
    folder: Path, tmp_path: Path, command: tuple[str, ...], name: str
) -> None:
    canary, path = tmp_path / "canary", folder / name
    whole = path.read_bytes()
    path.write_bytes(pickle.dumps(Canary(canary)))
    assert name in refused(*command, folder)
    path.unlink()
    path.symlink_to("/dev/zero")
    assert "is a link to a file outside of the folder" in refused(*command, folder)
    path.unlink()
    path.write_bytes(whole[: len(whole) // 2])
    assert name in refused(*command, folder)
    assert not canary.exists()


@pytest.mark.parametrize(
    "report",
    [
        *(b"\x80\x04", b"[" * 100_000, b"[]", b"null", b"\xff\xfe"),
        *(
            {"data": "x"},
            {"labels": 5},
            {"labels": {"good": "many", "bad": None}},
            {"versions": "1"},
        ),
        *(
            {"validation": 3},
            {"validation": {"accuracy": "high"}},
            {"date": 5},
            {"best_epoch": [1]},
        ),
        {"data": "x", "n_texts": "six", "seconds": "long", "history": 3},
    ],
)
def test_reports_of_trainings_that_are_none(folder: Path, report: Any) -> None:
    """A report that is none is left out."""
    if not isinstance(report, bytes):
        digest = json.loads((folder / "parameters.json").read_text())["digest"]
        report = json.dumps(report | {"model_digest": digest}).encode()
    (folder / "training.json").write_bytes(report)
    for options in ((), ("--json",)):
        code, message = run("info", folder, *options)
        assert (code, message) == (0, "")


@pytest.mark.parametrize(
    "content", [b"\0\1\2", b"[" * 100_000, b'{"a":', b"\xff\xfeh\0", b"a,b\n1", b'"', b""]
)
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl"])
def test_tables_that_are_none(folder: Path, tmp_path: Path, content: bytes, suffix: str) -> None:
    path = tmp_path / f"texts{suffix}"
    path.write_bytes(content)
    code, message = run("predict", "--model", folder, path, "--quiet")
    assert code in (0, 1)
    assert "--debug prints" not in message
    assert code == 0 or path.name in message.replace("\n", "")
