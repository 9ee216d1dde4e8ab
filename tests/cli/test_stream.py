"""``hashnlp train`` on a file that is read in batches."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import pytest

from sklearn_hashnlp.classifiers import TextClassifier
from sklearn_hashnlp.cli import _fit_classifier
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
