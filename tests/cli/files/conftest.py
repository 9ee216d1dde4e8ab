"""A runner of commands for fixtures of any scope, and a small model of mails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sklearn_hashnlp import make_text_classifier
from sklearn_hashnlp.cli import app
from sklearn_hashnlp.persistence import save_model

MAILS = [("spam", "win a prize now"), ("spam", "buy cheap pills"), ("ham", "see you at eight"), ("ham", "thanks, Anna")]


class Result:
    """Exit code and output of a command."""

    def __init__(self, result: Any) -> None:
        self.code: int = result.exit_code
        self.out: str = result.stdout
        self.err: str = result.stderr

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture(scope="session")
def hashnlp() -> Any:
    """Run a command: ``hashnlp("predict", "--model", folder, stdin="text")``."""

    def run(*arguments: Any, stdin: str | bytes | None = None) -> Result:
        return Result(CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin))

    return run


@pytest.fixture(scope="session")
def spam(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a small model of ``MAILS``, a pipeline. Read only."""
    folder = tmp_path_factory.mktemp("files") / "spam"
    pipeline = make_text_classifier(n_buckets=1000, n_embeddings=1000, max_epochs=20, random_state=0)
    save_model(pipeline.fit([text for _, text in MAILS] * 5, [label for label, _ in MAILS] * 5), folder)
    return folder
