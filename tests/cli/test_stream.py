"""``hashnlp train`` on a file that is read in batches."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sklearn_hashnlp.classifiers import TextClassifier
from sklearn_hashnlp.cli import _fit_classifier
from sklearn_hashnlp.cli._screen import Screen
from sklearn_hashnlp.cli.sentences._load_encoder import load_pretrained
from sklearn_hashnlp.persistence import load_model, save_model
from sklearn_hashnlp.sentences import Network, SGNNSentenceEncoder

SMALL = ["--buckets", 100, "--set", "embedding_dim=4"]


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_fit_classifier, "BATCH_SIZE", 10)


def test_the_saved_model_is_that_of_partial_fit(
    hashnlp: Any, data: Path, rows: Any, tmp_path: Path
) -> None:
    result = hashnlp(
        "train", data, "-m", tmp_path / "m", "--stream", "--epochs", 2, "--seed", 3, *SMALL
    )
    assert result.code == 0, result.err
    assert (
        f"Found 24 texts with 2 labels in {data}, which is read in batches of 10 texts"
        in result.err
    )
    assert "Epoch 2/2   training loss" in result.err
    assert "Trained on 24 texts" in result.out
    texts, labels = [text for _, text in rows], [label for label, _ in rows]
    expected = TextClassifier(n_buckets=100, embedding_dim=4, random_state=3)
    for _ in range(2):
        for start in range(0, len(texts), 10):
            expected.partial_fit(
                texts[start : start + 10], labels[start : start + 10], classes=["bad", "good"]
            )
    assert (
        load_model(tmp_path / "m").predict_proba(texts).tobytes()
        == expected.predict_proba(texts).tobytes()
    )


def test_validation_texts_and_balanced_labels(hashnlp: Any, data: Path, tmp_path: Path) -> None:
    with data.open("a", encoding="utf-8") as file:
        file.write("good,so warm\n" * 12)
    packed = tmp_path / "films.csv.gz"
    packed.write_bytes(gzip.compress(data.read_bytes()))
    arguments = ["--stream", "--valid", data, "--set", "class_weight=balanced", "--epochs", 3]
    result = hashnlp("train", packed, "-m", tmp_path / "m", *arguments, "--json", *SMALL)
    assert result.code == 0, result.err
    assert result.json["n_texts"] == 36
    assert [entry["epoch"] for entry in result.json["history"]] == [1, 2, 3]
    assert result.json["validation_accuracy"] == result.json["history"][-1]["valid_accuracy"] > 0.9
    weights = load_model(tmp_path / "m").class_weight
    assert weights == {"good": 36 / (2 * 24), "bad": 36 / (2 * 12)}


def test_several_labels_per_text(hashnlp: Any, tmp_path: Path) -> None:
    data = tmp_path / "films.train"
    data.write_text("__label__a __label__b fine\n__label__a dull\n" * 15, encoding="utf-8")
    result = hashnlp("train", data, "-m", tmp_path / "m", "--stream", "--valid", data, *SMALL)
    assert result.code == 0, result.err
    assert "precision at 1" in result.out
    assert load_model(tmp_path / "m").predict_topk(["fine"], threshold=0.5)


def test_a_pretrained_encoder(hashnlp: Any, data: Path, rows: Any, tmp_path: Path) -> None:
    texts, labels = [text for _, text in rows], [label for label, _ in rows]
    encoder = SGNNSentenceEncoder(
        n_projections=8, n_tables=0, projection_dim=16, network=Network(8), max_epochs=0
    )
    save_model(encoder.fit(texts), tmp_path / "encoder")
    arguments = ["--stream", "--pretrained", tmp_path / "encoder", "--seed", 3]
    result = hashnlp("train", data, "-m", tmp_path / "m", *arguments, *SMALL)
    assert result.code == 0, result.err
    expected = TextClassifier(
        n_buckets=100,
        embedding_dim=4,
        random_state=3,
        pretrained=load_pretrained(tmp_path / "encoder"),
    )
    for start in range(0, len(texts), 10):
        expected.partial_fit(
            texts[start : start + 10], labels[start : start + 10], classes=["bad", "good"]
        )
    assert (
        load_model(tmp_path / "m").predict_proba(texts).tobytes()
        == expected.predict_proba(texts).tobytes()
    )


@pytest.mark.parametrize("options", [["--holdout", 0.2], ["--early-stopping"], ["--sgnn"]])
def test_what_needs_all_texts_is_refused(
    hashnlp: Any, data: Path, tmp_path: Path, options: list[Any]
) -> None:
    result = hashnlp("train", data, "-m", tmp_path / "m", "--stream", *options)
    assert result.code == 2
    assert f"{options[0]} needs all texts at once: leave it out." in result.err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes with names")
def test_a_pipe_cannot_be_read_twice(hashnlp: Any, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    result = hashnlp(
        "train", tmp_path / "pipe", "-m", tmp_path / "m", "--stream", "--format", "csv"
    )
    assert result.code == 2
    assert "--stream reads DATA more than once" in result.err


def test_a_line_without_a_label_is_an_error(hashnlp: Any, tmp_path: Path) -> None:
    data = tmp_path / "films.train"
    for first in ("__label__a fine", "__label__a __label__b fine"):
        data.write_text(f"{first}\nso dull\n__label__b long\n", encoding="utf-8")
        results = [
            hashnlp("train", data, "-m", tmp_path / "m", "-q", *stream, *SMALL)
            for stream in ([], ["--stream"])
        ]
        assert [result.code for result in results] == [1, 1]
        assert "line 2: expected __label__LABEL, got 'so dull' without a label" in results[0].err
        assert results[1].err == results[0].err
    assert not (tmp_path / "m").exists()


def test_batches_whose_texts_all_have_the_weight_0_are_left_out(
    hashnlp: Any, tmp_path: Path
) -> None:
    data = tmp_path / "sorted.csv"
    rows = "a,fine\n" * 20 + "b,dull\n" * 15 + "c,long\n" * 10
    data.write_text(f"label,text\n{rows}", encoding="utf-8")
    options = ["-m", tmp_path / "m", "--stream", *SMALL, "--set"]
    result = hashnlp("train", data, *options, "class_weight={'a': 0, 'c': 0}")
    assert result.code == 0, result.err
    assert len(load_model(tmp_path / "m").history_) == 2  # of the third and the fourth batch
    result = hashnlp("train", data, *options, "class_weight={'a': 0, 'b': 0, 'c': 0}")
    assert result.code == 1
    assert "every row has the weight zero" in result.err


@pytest.mark.parametrize("n_texts", [1, 25])
def test_a_file_that_is_written_meanwhile(
    hashnlp: Any, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_texts: int
) -> None:
    def write(*_arguments: Any) -> None:
        data.write_text("label,text\n" + "good,fine\n" * n_texts, encoding="utf-8")

    monkeypatch.setattr(_fit_classifier, "check_labels", write)  # between counting and training
    result = hashnlp("train", data, "-m", tmp_path / "m", "--stream", *SMALL)
    assert result.code == 1
    counts = f"it had 24 texts first, and {n_texts} in epoch 1. Train on a copy."
    assert f"films.csv was changed while it was read: {counts}" in result.err
    assert not (tmp_path / "m").exists()


def test_the_bar_moves_within_an_epoch_and_empty_texts_are_counted(
    hashnlp: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "films.csv"
    data.write_text("label,text\ngood,\n" + "bad,dull\n" * 2499, encoding="utf-8")
    moves: list[tuple[Any, ...]] = []

    @contextmanager
    def bar(_screen: Screen, description: str) -> Any:
        yield lambda *move: moves.append(move) if description == "Training" else None

    monkeypatch.setattr(_fit_classifier, "BATCH_SIZE", 500)
    monkeypatch.setattr(Screen, "bar", bar)
    result = hashnlp("train", data, "-m", tmp_path / "m", "--stream", "--epochs", 2, *SMALL)
    assert "Found 2,500 texts (1 empty) with 2 labels" in result.err
    done, totals, texts = zip(*moves, strict=True)
    assert set(totals) == {2 * data.stat().st_size}
    assert list(done) == sorted(done)
    assert done[-1] == totals[-1]
    assert list(texts) == ["Epoch 1/2"] * 3 + ["Epoch 2/2"] * 3


def test_the_seconds_do_not_include_the_import_of_torch(data: Path, tmp_path: Path) -> None:
    program = (
        "import sys, time\n"
        "from sklearn_hashnlp.cli import _fit_classifier, app\n"
        "def clock():\n"
        "    assert 'torch' in sys.modules\n"
        "    return time.perf_counter()\n"
        "_fit_classifier.perf_counter = clock\n"
        "app(sys.argv[1:])\n"
    )
    arguments = ["train", data, "-m", tmp_path / "m", "--stream", "--quiet", *SMALL]
    command = [sys.executable, "-c", program, *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
