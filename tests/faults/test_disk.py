"""Full disks, read-only folders and files cut short: what was there stays, and the error names the
path.
"""

from __future__ import annotations

import errno
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks.runner.results_file import ResultsFile, read_results
from sklearn_hashnlp import KneserNeyLanguageModel
from sklearn_hashnlp.classifiers import TextClassifier, export_predictor
from sklearn_hashnlp.cli import app
from sklearn_hashnlp.persistence import ModelFormatError, load_model, save_model, save_word_vectors
from sklearn_hashnlp.training._checkpoints import Checkpoints
from tests import sentence_texts
from tests.faults.jobs import FILMS, rows, small_classifier
from tests.faults.limits import full_disk, public_folder, read_only
from tests.language.hsigmoid import small_models
from tests.trainings import assert_same_bits

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits and permissions of POSIX")

Write = Callable[[Path], Any]
WORDS = [f"word{number}" for number in range(200)]


def save_classifier(folder: Path, n_epochs: int = 1) -> None:
    save_model(
        small_classifier(max_epochs=n_epochs).fit(*rows()), folder / "model", training_state=True
    )


def save_checkpoint(folder: Path) -> None:
    Checkpoints(folder / "epochs").save(
        small_models.make(max_epochs=1).fit(small_models.SENTENCES), 1
    )


def save_vectors(folder: Path) -> None:
    save_word_vectors(folder / "vectors.txt", WORDS, np.ones((len(WORDS), 9), dtype=np.float32))


def save_arpa(folder: Path) -> None:
    KneserNeyLanguageModel(order=3).fit(small_models.SENTENCES).save_arpa(folder / "model.arpa")


def export_folder(folder: Path) -> None:
    model = TextClassifier(n_buckets=100, random_state=0).fit(
        [text for _, text in FILMS], [name for name, _ in FILMS]
    )
    export_predictor(model, folder / "exported")


def fit_language_model(folder: Path) -> None:
    small_models.make(checkpoint_dir=folder / "epochs", resume=True).fit(small_models.SENTENCES)


def fit_encoder(folder: Path) -> None:
    options: dict[str, Any] = {
        "checkpoint_dir": folder / "encoder",
        "resume": True,
        "checkpoint_every": 0,
    }
    sentence_texts.make(**options).fit(sentence_texts.PARAGRAPHS)


WRITERS: list[Write] = [save_classifier, save_checkpoint, save_vectors, save_arpa, export_folder]
TRAININGS: list[Write] = [fit_language_model, fit_encoder]


def contents(folder: Path) -> dict[str, bytes]:
    """Return the bytes of all files in a folder, hidden ones too."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("write", [*WRITERS, *TRAININGS])
def test_a_full_disk_is_an_os_error_and_leaves_nothing(write: Write, tmp_path: Path) -> None:
    with full_disk(), pytest.raises(OSError, match=f"File too large.*{tmp_path.name}") as caught:
        write(tmp_path)
    assert caught.value.errno == errno.EFBIG
    assert contents(tmp_path) == {}
    write(tmp_path)  # once there is room
    assert contents(tmp_path)


@pytest.mark.parametrize("write", WRITERS)
def test_a_full_disk_keeps_what_was_there(write: Write, tmp_path: Path) -> None:
    write(tmp_path)
    before = contents(tmp_path)
    with full_disk(), pytest.raises(OSError, match="File too large"):
        write(tmp_path)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("write", WRITERS)
def test_a_read_only_folder_raises_a_permission_error(write: Write) -> None:
    with public_folder() as folder:
        write(folder)
        before = contents(folder)
        with (
            read_only(folder),
            pytest.raises(PermissionError, match=f"Permission denied.*{folder.name}"),
        ):
            write(folder)
        assert contents(folder) == before


def test_a_model_in_a_read_only_folder_is_loaded() -> None:
    with public_folder() as folder:
        save_classifier(folder)
        with read_only(folder):
            assert len(load_model(folder / "model").history_) == 1


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_checkpoint_cut_short_is_refused_by_name(share: float, tmp_path: Path) -> None:
    save_classifier(tmp_path)
    path = tmp_path / "model" / "weights.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ModelFormatError, match=r"weights\.safetensors is damaged"):
        load_model(tmp_path / "model")


def test_a_truncated_checkpoint_is_reported_and_the_previous_one_resumed(tmp_path: Path) -> None:
    options: dict[str, Any] = {"checkpoint_dir": (tmp_path, "all"), "resume": True}
    whole = small_models.make(**options).fit(small_models.SENTENCES)
    weights = tmp_path / "epoch-00003" / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(ModelFormatError, match=r"epoch-00003.weights\.safetensors is damaged"):
        small_models.make(**options).fit(small_models.SENTENCES)
    shutil.rmtree(tmp_path / "epoch-00003")
    resumed = small_models.make(**options).fit(small_models.SENTENCES)
    assert_same_bits(small_models.bytes_of(resumed), small_models.bytes_of(whole))


def test_results_that_cannot_be_written_say_that_the_run_resumes(tmp_path: Path) -> None:
    path = tmp_path / "found.jsonl"
    result = {"recipe": "counting", "settings": {}, "seed": 0, "text": "x" * 1500}
    message = r"a result cannot be written \(File too large\).*resumes after the last result"
    with full_disk(), pytest.raises(OSError, match=message), ResultsFile(path) as file:  # noqa: PT012
        file.add(result | {"step": 0})
        file.add(result | {"step": 1})
    assert [found["step"] for found in read_results(path)] == [0]
    with ResultsFile(path) as file:
        file.add(result | {"step": 1})
    assert [found["step"] for found in read_results(path)] == [0, 1]
    assert all(json.loads(line) for line in path.read_text().splitlines())


def hashnlp(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_hashnlp_train_on_a_full_disk_keeps_the_old_model(tmp_path: Path) -> None:
    data = tmp_path / "films.csv"
    data.write_text(
        "label,text\n" + "".join(f"{label},{text}\n" for label, text in FILMS), encoding="utf-8"
    )
    small = ["--buckets", 100, "--set", "embedding_dim=4", "--features", "words", "--quiet"]
    command = ["train", data, "--model", tmp_path / "model", *small]
    assert hashnlp(*command).exit_code == 0
    before = contents(tmp_path)
    with full_disk():
        result = hashnlp(*command, "--epochs", 7)
    assert result.exit_code == 1
    assert (
        result.stderr
        == f"hashnlp: {tmp_path / 'model'}: the model cannot be saved there (File too large)\n"
    )
    assert contents(tmp_path) == before
