"""User stories: small things that went wrong without a word, or with the wrong one."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from sklearn_hashnlp import HashEmbeddingClassifier, SGNNClassifier, SGNNSentenceEncoder, TextClassifier
from sklearn_hashnlp.plotting import RobustnessDisplay
from sklearn_hashnlp.sentences import Network

SMALL_TABLES = {"n_buckets": 500, "n_embeddings": 500, "embedding_dim": 4, "random_state": 0}


def _classifier(name: str) -> tuple[Any, list[str] | np.ndarray]:
    texts = [f"word{row % 2} filler{row % 7}" for row in range(440)]
    numbers = np.eye(4, dtype=np.float32)[np.arange(440) % 4]
    options: dict[str, Any] = {"early_stopping": "valid_acc", "max_epochs": 1}
    if name == "TextClassifier":
        return TextClassifier(**SMALL_TABLES, **options), texts
    if name == "HashEmbeddingClassifier":
        return HashEmbeddingClassifier(**SMALL_TABLES, **options), numbers
    return SGNNClassifier(hidden_layer_sizes=(4,), random_state=0, **options), numbers


CLASSIFIERS = ["TextClassifier", "HashEmbeddingClassifier", "SGNNClassifier"]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_label_that_occurs_once_does_not_switch_early_stopping_off(name: str) -> None:
    model, X = _classifier(name)
    y = np.resize(["even", "odd"], 440).astype(object)
    y[0] = "rare"
    history = model.fit(X, y).history_
    assert all(0 <= entry["valid_acc"] <= 1 for entry in history)
    assert model.classes_.tolist() == ["even", "odd", "rare"]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_early_stopping_without_a_validation_set_is_said(name: str) -> None:
    model, X = _classifier(name)
    y = np.resize(["even", "odd"], 100)
    with pytest.warns(UserWarning, match="early_stopping has no effect, because 100 rows are too few") as caught:
        model.fit(X[:100], y)
    assert "EarlyStopping(validation_fraction=...)" in str(caught[0].message)
    assert caught[0].filename == __file__
    assert "valid_acc" not in model.history_[0]
    model.set_params(early_stopping=False).fit(X[:100], y)  # without a warning, which would be an error here


TEXTS = ["The cat sleeps all day.", "Shares fell sharply.", "The dog barks at the cat.", "It rains.", ""]
SMALL_ENCODER = {
    "n_projections": 20,
    "n_bits": 8,
    "projection_dim": 32,
    "network": Network(16),
    "n_tables": 2,
    "table_bits": 6,
}


@pytest.fixture(scope="module")
def encoder() -> SGNNSentenceEncoder:
    return SGNNSentenceEncoder(**SMALL_ENCODER, max_epochs=0, random_state=0).fit(TEXTS[:4] * 3)


def _assert_same(found: tuple[np.ndarray, np.ndarray], expected: tuple[np.ndarray, np.ndarray]) -> None:
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], atol=1e-5)


def test_a_search_takes_vectors_in_place_of_queries_and_of_texts(encoder: SGNNSentenceEncoder) -> None:
    vectors, expected = encoder.transform(TEXTS), encoder.most_similar(TEXTS[:2], TEXTS)
    for queries in (TEXTS[:2], vectors[:2], vectors[:2].astype(np.float64) * 3):
        for texts in (TEXTS, vectors, vectors * 2):
            _assert_same(encoder.most_similar(queries, texts), expected)
    assert encoder.most_similar(vectors[:0], vectors)[0].shape == (0, 5)


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_a_search_takes_frames_of_vectors_and_of_one_column_of_texts(
    encoder: SGNNSentenceEncoder, container: str
) -> None:
    frames = pytest.importorskip(container)
    expected = encoder.most_similar(TEXTS[:2], TEXTS)
    copied = deepcopy(encoder).set_output(transform=container)
    vectors = copied.transform(TEXTS)
    assert isinstance(vectors, frames.DataFrame)
    _assert_same(copied.most_similar(vectors[:2], vectors), expected)
    column = frames.DataFrame({"text": TEXTS})
    _assert_same(copied.most_similar(column[:2], column), expected)


def test_vectors_of_another_encoder_are_refused(encoder: SGNNSentenceEncoder) -> None:
    good, other = encoder.transform(TEXTS), np.ones((2, 3))
    for queries, texts, name in ((other, good, "queries"), (good, other, "texts")):
        with pytest.raises(ValueError, match=f"the vectors of {name} have 3 columns and this encoder's have 48"):
            encoder.most_similar(queries, texts)
    with pytest.raises(ValueError, match="Input queries contains NaN"):
        encoder.most_similar(good[:1] * np.nan, good)


def test_similarities_are_from_minus_one_to_one(encoder: SGNNSentenceEncoder) -> None:
    texts = [f"{text} {number}" for text in TEXTS[:4] for number in range(60)]
    same = encoder.similarity(texts, texts)
    nearest = encoder.most_similar(texts, texts, k=1)[1]
    for cosines in (same, nearest):
        assert cosines.dtype == np.float32
        assert np.isfinite(np.arccos(cosines)).all()
        np.testing.assert_allclose(cosines, 1, atol=1e-5)


def test_robustness_is_measured_on_a_frame_of_one_column() -> None:
    pandas = pytest.importorskip("pandas")
    texts, labels = ["funny film", "boring film"] * 10, ["good", "bad"] * 10
    model = TextClassifier(**SMALL_TABLES, max_epochs=2).fit(texts, labels)
    frame, ax = pandas.DataFrame({"text": texts}), Figure().subplots()
    options: dict[str, Any] = {"rates": [0, 0.2], "n_repeats": 1, "ax": ax}
    found = RobustnessDisplay.from_estimator(model, frame, labels, **options)
    assert (
        found.accuracies.tolist()
        == RobustnessDisplay.from_estimator(model, texts, labels, **options).accuracies.tolist()
    )


def test_empty_texts_of_a_table_are_counted(hashnlp: Any, tmp_path: Path) -> None:
    path = tmp_path / "mails.csv"
    rows = ["spam,win a prize", "ham,see you", "ham,thanks", "spam,"]
    path.write_text("\n".join(["label,text", *rows, ""]), encoding="utf-8")
    arguments = ["--model", tmp_path / "m", "--epochs", 1, "--buckets", 1000, "--dim", 4]
    result = hashnlp("train", path, *arguments)
    assert result.code == 0, result.err
    assert f"Read 4 texts (1 empty) with 2 labels from columns text, label of {path}" in result.err
    path.write_text("\n".join(["label,text", *rows[:3], ""]), encoding="utf-8")
    assert "Read 3 texts with 2 labels from columns text, label" in hashnlp("train", path, *arguments).err


@pytest.mark.parametrize(
    ("text", "found"),
    [('[{"text": "a", "label": "b"}]', "got a list"), ('[\n{"text": "a", "label": "b"}\n]', "got invalid JSON")],
    ids=["one line", "indented"],
)
def test_a_json_array_is_an_error_with_its_remedy(hashnlp: Any, tmp_path: Path, text: str, found: str) -> None:
    path = tmp_path / "rec.json"
    path.write_text(text, encoding="utf-8")
    result = hashnlp("train", path, "--model", tmp_path / "m")
    assert (result.code, len(result.err.splitlines())) == (1, 1)
    assert f"{path}, line 1: expected one JSON object on each line, {found}" in result.err
    assert 'df.to_json(path, orient="records", lines=True)' in result.err


def test_a_line_of_json_that_is_no_array_has_no_word_of_arrays(hashnlp: Any, tmp_path: Path) -> None:
    path = tmp_path / "rec.jsonl"
    path.write_text("3\n", encoding="utf-8")
    assert hashnlp("train", path, "--model", tmp_path / "m").err.endswith("on each line, got a number.\n")
