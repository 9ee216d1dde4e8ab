"""``hashnlp compare``: drift on the terminal and as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sklearn_hashnlp.persistence import save_model

from .conftest import ROWS, small_model


@pytest.fixture(scope="module")
def remembering(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a model that was trained on enough texts. Read only."""
    folder = tmp_path_factory.mktemp("compare") / "model"
    rows = ROWS * 4
    model = small_model(n_buckets=2**16, n_embeddings=2**16, features="words")
    save_model(model.fit([text for _, text in rows], [label for label, _ in rows]), folder)
    return folder


OTHER = "\n".join(["ein langer Film", "sehr lang und fad"] * 40)


def test_texts_of_another_language(hashnlp: Any, remembering: Path) -> None:
    result = hashnlp("compare", "--model", remembering, stdin=OTHER)
    assert result.code == 0, result.err
    assert result.out.startswith("The texts differ from those of the training (80 new texts")
    assert "lang" in result.out
    answer = hashnlp("compare", "-m", remembering, "--json", stdin=OTHER).json
    assert answer["alarm"]
    assert {measure["name"] for measure in answer["measures"]} >= {"unknown texts", "row length"}
    assert hashnlp("compare", "-m", remembering, "--quiet", stdin=OTHER).out == "drift\n"


def test_texts_of_the_training(hashnlp: Any, remembering: Path, data: Path) -> None:
    result = hashnlp("compare", "--model", remembering, data, "--level", "0.001")
    assert result.code == 0, result.err
    assert result.out.startswith("No difference was found")
    assert "24 texts from column text" in result.err
    result = hashnlp("compare", "-m", remembering, data, "--quiet", "--level", "0.001")
    assert result.out == "no drift\n"


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        (["--level", "1"], "a film", "--level: expected a number between 0 and 1, got 1.0"),
        ([], "", "compare_texts needs at least 20 texts, got 0"),
    ],
)
def test_what_cannot_be_compared(
    hashnlp: Any, remembering: Path, arguments: list[str], stdin: str, message: str
) -> None:
    result = hashnlp("compare", "--model", remembering, *arguments, stdin=stdin)
    assert result.code in (1, 2)
    assert message in result.err


def test_a_model_that_remembers_nothing(hashnlp: Any, model: Path) -> None:
    result = hashnlp("compare", "--model", model, stdin="a film\n" * 20)
    assert result.code == 1
    assert f"{model}: compare_texts needs a model that remembers" in result.err
