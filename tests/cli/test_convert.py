"""``hashnlp convert``: a model of fastText as a folder that the other commands read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from sklearn_hashnlp import load_model
from sklearn_hashnlp.datasets import load_labelled
from tests.persistence.fasttext_models import DATA

STORED = json.loads((DATA / "predictions.json").read_text(encoding="utf-8"))


def test_the_folder_predicts_what_fasttext_printed(hashnlp: Any, tmp_path: Path) -> None:
    folder, name = tmp_path / "model", "ova.bin"
    result = hashnlp("convert", DATA / name, "--model", folder)
    assert result.code == 0, result.err
    assert f"Wrote {folder}: " in result.out
    assert f"hashnlp predict --model {folder}" in result.err
    (tmp_path / "texts.txt").write_text("\n".join(STORED["texts"]) + "\n", encoding="utf-8")
    predicted = hashnlp(
        "predict", "--model", folder, tmp_path / "texts.txt", "--proba", "--format", "lines"
    )
    assert predicted.code == 0, predicted.err
    for line, (best, *_) in zip(predicted.out.splitlines(), STORED[name], strict=True):
        label, probability = line.split("\t")
        assert label == best[0]
        assert abs(float(probability) - best[1]) < 1e-4


def test_the_model_is_described_and_trained_further(hashnlp: Any, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    report = hashnlp("convert", DATA / "pruned.ftz", "--model", folder, "--json").json
    assert (report["labels"], report["loss"]) == (["baking", "equipment", "sauce"], "softmax")
    assert report["bytes_before"] == (DATA / "pruned.ftz").stat().st_size
    described = hashnlp("info", folder, "--json").json
    assert (described["model"], described["estimator"]) == ("Pipeline", "HashEmbeddingClassifier")
    assert (described["n_words"], list(described["labels"])) == (
        report["n_words"],
        report["labels"],
    )
    assert (described["parameters"]["loss"], described["parameters"]["word_ngrams"]) == (
        "softmax",
        2,
    )
    assert "Converted from fastText" in (folder / "README.md").read_text(encoding="utf-8")
    vectorizer, classifier = load_model(folder)
    assert (
        len(classifier.partial_fit(vectorizer.transform(["how to bake bread"]), ["sauce"]).history_)
        == 1
    )


def test_there_and_back(hashnlp: Any, data: Path, tmp_path: Path) -> None:
    folder, file = tmp_path / "trained", tmp_path / "model.bin"
    result = hashnlp(
        "train", data, "--model", folder, "--fasttext", "--set", "vectorizer__word_ngrams=2"
    )
    assert result.code == 0, result.err
    report = hashnlp("convert", folder, "--model", file, "--json").json
    assert report["bytes"] == file.stat().st_size
    assert hashnlp("convert", file, "--model", tmp_path / "back").code == 0
    texts = [*load_labelled(data, multilabel=False)[0], "other words"]
    one, other = (load_model(path).predict_proba(texts) for path in (folder, tmp_path / "back"))
    np.testing.assert_allclose(one, other, atol=1e-5)
    assert hashnlp("convert", folder, "--model", tmp_path / "model.ftz").code == 0
    assert "end with .bin or .ftz" in hashnlp("convert", folder, "--model", tmp_path / "model").err
    by_epochs = hashnlp("train", data, "--model", tmp_path / "sgd", "--fasttext", "--epochs", 3)
    assert by_epochs.code == 0, by_epochs.err
    assert load_model(tmp_path / "sgd")[-1].get_params()["solver"] == "sgd"
    assert (
        "--precision is for model folders"
        in hashnlp("convert", folder, "-m", file, "--precision", "int8").err
    )
    assert "misspelled" in hashnlp("convert", tmp_path / "misspelled", "-m", tmp_path / "new").err
    assert hashnlp("train", data, "--model", tmp_path / "plain").code == 0
    refused = hashnlp("convert", tmp_path / "plain", "--model", file)
    reason = "is a TextClassifier, which fastText cannot compute: train a model by"
    expected = f"hashnlp: {tmp_path / 'plain'} {reason}"
    assert (refused.code, refused.err.startswith(expected)) == (1, True)


def test_what_is_no_model_of_fasttext_is_refused(hashnlp: Any, data: Path, tmp_path: Path) -> None:
    result = hashnlp("convert", data, "--model", tmp_path / "model")
    assert result.code == 1
    assert f"hashnlp: {data} is not a model of fastText" in result.err
    result = hashnlp("convert", data.parent, "--model", tmp_path / "model.bin")
    assert result.code == 1
    assert f"No model in '{data.parent}'" in result.err
    assert not (tmp_path / "model").exists()
    other = hashnlp("convert", DATA / "hs.bin", "--model", data)
    assert other.code == 1
    assert "is a file. Choose a folder" in other.err


def test_several_labels_for_fasttext(hashnlp: Any, tmp_path: Path) -> None:
    lines = ["__label__a __label__b both words", "__label__a one", "__label__b words"] * 8
    (tmp_path / "train.txt").write_text("\n".join(lines), encoding="utf-8")
    result = hashnlp(
        "train",
        tmp_path / "train.txt",
        "--model",
        tmp_path / "m",
        "--fasttext",
        "--format",
        "fasttext",
    )
    assert result.code == 0, result.err
    parameters = load_model(tmp_path / "m")[-1].get_params()
    assert [parameters[name] for name in ("loss", "solver", "learning_rate")] == ["ova", "sgd", 0.5]
    assert hashnlp("convert", tmp_path / "m", "--model", tmp_path / "m.bin").code == 0
