"""``hashnlp export``: a model as one file."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from sklearn_hashnlp import (
    CharNgramFeaturizer,
    HashEmbeddingClassifier,
    SGNNClassifier,
    SGNNProjector,
)
from sklearn_hashnlp.classifiers import quantize_classifier
from sklearn_hashnlp.persistence import load_model, save_model

from .conftest import small_model


@pytest.fixture(name="folder")
def _folder(tmp_path: Path, rows: list[tuple[str, str]]) -> Path:
    classifier = SGNNClassifier(hidden_layer_sizes=(16,), max_epochs=5, random_state=0)
    pipeline = make_pipeline(CharNgramFeaturizer(), SGNNProjector(n_projections=8), classifier)
    save_model(
        pipeline.fit([text for _, text in rows], [label for label, _ in rows]), tmp_path / "model"
    )
    return tmp_path / "model"


def test_the_file_predicts_as_the_quantized_model(
    hashnlp: Any, folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "small.py"
    result = hashnlp("export", "--model", folder, path)
    assert result.code == 0, result.err
    assert f"Wrote {path}: {path.stat().st_size:,} bytes" in result.out
    assert "layer 1 weights" in result.out
    assert "python" in result.err
    texts = ["a fine film", "", "long and dull"]
    labels = runpy.run_path(str(path))["predict"](texts).tolist()
    assert labels == quantize_classifier(load_model(folder)).predict(texts).tolist()


def test_the_report_has_the_size_of_each_part(hashnlp: Any, folder: Path, tmp_path: Path) -> None:
    arguments = ["export", "--model", folder, tmp_path / "small.py"]
    report = hashnlp(*arguments, "--json").json
    assert report["bytes"] == (tmp_path / "small.py").stat().st_size
    assert report["parts"][-1]["part"] == "total"
    assert hashnlp(*arguments, "--quiet").out == ""


@pytest.mark.parametrize("name", ["small.py", "small"])
def test_a_classifier_of_hash_embeddings(
    hashnlp: Any, model: Path, tmp_path: Path, name: str
) -> None:
    result = hashnlp("export", "--model", model, tmp_path / name)
    assert result.code == 0, result.err
    assert result.err.startswith("Exporting ")
    size = hashnlp(
        "export", "--model", model, tmp_path / name, "--precision", "int8", "--json"
    ).json["bytes"]
    paths = [tmp_path / name] if name.endswith(".py") else list((tmp_path / name).glob("*.*"))
    assert size == sum(path.stat().st_size for path in paths)
    texts = ["a fine film", "", "long and dull"]
    assert (
        runpy.run_path(str(tmp_path / name))["predict"](texts).tolist()
        == load_model(model).predict(texts).tolist()
    )


def test_errors_leave_files_alone(hashnlp: Any, folder: Path, model: Path, tmp_path: Path) -> None:
    other = make_pipeline(HashingVectorizer(n_features=64), Normalizer(), HashEmbeddingClassifier())
    save_model(other.fit(["a", "b"], ["x", "y"]), tmp_path / "other")
    mails = tmp_path / "mails.csv"
    mails.write_text("kept")
    for arguments, message in (
        (
            [tmp_path / "other", tmp_path / "small.py"],
            "got HashingVectorizer, Normalizer, HashEmbeddingClassifier",
        ),
        ([folder, tmp_path / "nowhere" / "small.py"], "nowhere"),
        ([model, mails], "mails.csv' is a file. Choose a name that ends with '.py'"),
    ):
        result = hashnlp("export", "--model", *arguments)
        assert (result.code, result.out) == (1, "")
        assert message in result.err.splitlines()[-1]
    assert not (tmp_path / "small.py").exists()
    assert mails.read_text() == "kept"


def test_a_classifier_with_the_vectors_of_an_encoder(
    hashnlp: Any, tmp_path: Path, rows: list[tuple[str, str]]
) -> None:
    texts = [text for _, text in rows]
    model = small_model().fit(texts, [label for label, _ in rows], unlabeled=texts)
    save_model(model, tmp_path / "model")
    result = hashnlp("export", "--model", tmp_path / "model", tmp_path / "exported.py")
    assert result.code == 0, result.err
    program = runpy.run_path(str(tmp_path / "exported.py"))
    assert program["predict"](texts).tolist() == model.predict(texts).tolist()
