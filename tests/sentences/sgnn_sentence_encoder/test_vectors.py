"""Learning from vectors: SGNNSentenceEncoder.fit(texts, y=vectors)."""

from __future__ import annotations

import copy
import pickle
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sklearn_hashnlp.persistence import load_model, save_model
from sklearn_hashnlp.sentences import SGNNSentenceEncoder
from sklearn_hashnlp.sentences import _sgnn_sentence_encoder as module
from sklearn_hashnlp.sentences._vector_regression import center, is_matrix
from tests.sentence_texts import LISTS, PARAGRAPHS, QUERIES, TOPICS, bytes_of, make

TEXTS = [sentence for sentences in LISTS for sentence in sentences]
RNG = np.random.default_rng(0)
TOPIC_VECTORS = RNG.normal(size=(len(TOPICS), 12))
VECTORS = np.stack(
    [
        sum(TOPIC_VECTORS[topic] for topic, words in enumerate(TOPICS) if text[:-1].split()[-1].lower() in words)
        + 0.1 * RNG.normal(size=12)
        for text in TEXTS
    ]
)


def fit(**options):
    return SGNNSentenceEncoder(**{"alpha": 0.1, "vector_weight": 1.0} | options).fit(TEXTS, VECTORS)


@cache
def fitted():
    return fit()


def test_vectors_are_reproduced():
    encoder = fit(n_components=None)
    vectors = encoder.transform(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == VECTORS.shape
    lengths = np.linalg.norm(VECTORS, axis=1)
    assert np.einsum("ij,ij->i", vectors, VECTORS / lengths[:, np.newaxis]).mean() > 0.97
    unseen = encoder.transform(["Fopu cop"])[0]
    assert unseen @ TOPIC_VECTORS[3] / np.linalg.norm(TOPIC_VECTORS[3]) > 0.8


def test_rows_are_unit_vectors():
    vectors = fitted().transform(QUERIES)
    assert vectors.shape == (6, 12)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1)[[0, 1, 5]], 1, atol=1e-6)
    assert not vectors[3].any()
    assert np.isfinite(vectors).all()
    assert fitted().transform([]).shape == (0, 12)
    assert fit(n_components=None).transform([""]).tolist() == [[0.0] * 12]


def test_components():
    few, all_ = fit(n_components=3), fit(n_components=12)
    assert few.transform(TEXTS).shape == (len(TEXTS), 3)
    first = all_.transform(TEXTS)[:, :3]
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    np.testing.assert_allclose(few.transform(TEXTS), first, atol=1e-4)
    assert list(few.get_feature_names_out()) == [f"sgnnsentenceencoder{i}" for i in range(3)]


def test_the_least_squares_problem():
    targets, mean = center(VECTORS, None)
    units = VECTORS / np.linalg.norm(VECTORS, axis=1, keepdims=True)
    np.testing.assert_allclose(mean, units.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(targets, units - units.mean(axis=0), atol=1e-6)
    components, zero = center(VECTORS, 5)
    assert not zero.any()
    covariance = components.T @ components
    np.testing.assert_allclose(covariance, np.diag(np.diag(covariance)), atol=1e-4)
    expected = np.linalg.svd(units - units.mean(axis=0), compute_uv=False)[:5]
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), expected, rtol=1e-4)


def test_history_and_parameters():
    assert [entry["epoch"] for entry in fitted().history_] == list(range(1, 31))
    losses = [entry["train_loss"] for entry in fitted().history_]
    assert 0 < losses[-1] < losses[4] < losses[0] < 1
    assert fitted().n_parameters_ == fitted()._regression.coefficients.size
    assert not hasattr(fitted(), "net_")
    small = fit(n_features=20)
    assert small.n_parameters_ <= 20 * 12


def test_any_input_gives_the_same_bytes():
    expected = bytes_of(fitted())
    assert bytes_of(fit()) == expected
    for n_jobs in (2, 3):
        assert bytes_of(fit(n_jobs=n_jobs)) == expected
    assert bytes_of(SGNNSentenceEncoder(alpha=0.1, vector_weight=1.0).fit(iter(TEXTS), VECTORS.tolist())) == expected
    assert bytes_of(SGNNSentenceEncoder(alpha=0.1, vector_weight=1.0).fit(np.array(TEXTS), list(VECTORS))) == expected
    # Only the direction of a vector is learned.
    longer = SGNNSentenceEncoder(alpha=0.1, vector_weight=1.0).fit(TEXTS, 2 * VECTORS)
    assert bytes_of(longer) == expected


def test_a_vector_does_not_depend_on_the_other_texts():
    together = fitted().transform([*QUERIES, *TEXTS])
    for index, text in enumerate(QUERIES):
        assert fitted().transform([text])[0].tobytes() == together[index].tobytes()


def test_copies(tmp_path):
    encoder = copy.deepcopy(fitted()).set_params(monitor=None)
    save_model(encoder, tmp_path / "folder")
    for other in (pickle.loads(pickle.dumps(encoder)), load_model(tmp_path / "folder")):
        assert bytes_of(other) == bytes_of(fitted())
        assert other.get_params() == encoder.get_params()
        for name in ("history_", "log_", "n_parameters_"):
            assert getattr(other, name) == getattr(encoder, name)
    with pytest.raises(ValueError, match="no training state"):
        save_model(encoder, tmp_path / "other", training_state=True)


@pytest.mark.parametrize(("precision", "error"), [("float16", 1e-3), ("int8", 0.03)])
def test_lower_precision(tmp_path, precision, error):
    save_model(fitted(), tmp_path / "whole")
    save_model(fitted(), tmp_path / "small", precision=precision)
    loaded = load_model(tmp_path / "small")
    np.testing.assert_allclose(loaded.transform(TEXTS), fitted().transform(TEXTS), atol=error)
    assert bytes_of(loaded) != bytes_of(fitted())
    sizes = [(tmp_path / name / "weights.safetensors").stat().st_size for name in ("small", "whole")]
    assert sizes[0] < 0.8 * sizes[1]


def test_damaged_folders_are_refused():
    values, arrays = fitted()._get_model_state()
    arrays["regression.counts"] = arrays["regression.counts"][1:]
    with pytest.raises(ValueError, match="n-grams, got"):
        SGNNSentenceEncoder()._set_model_state(values, arrays)


def test_search():
    indices, similarities = fitted().most_similar(["cop dopu"], ["bar carn", "gop bop", ""], k=3)
    assert indices.tolist()[0][0] == 1
    assert (np.abs(similarities) <= 1).all()


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (VECTORS[1:], r"y must have one row for each text of X. Got 99 rows and 100 texts"),
        (np.zeros_like(VECTORS), "all vectors of y are zero"),
        (np.where(np.arange(12) == 3, np.nan, VECTORS), "Input y contains NaN"),
        (np.where(np.arange(12) == 3, np.inf, VECTORS), "Input y contains infinity"),
        (VECTORS[:, :, np.newaxis], "with dim 3"),
    ],
)
def test_bad_vectors(y, message):
    encoder = clone(fitted()).fit(TEXTS, VECTORS)
    before = bytes_of(encoder)
    with pytest.raises(ValueError, match=message):
        encoder.fit(TEXTS, y)
    assert bytes_of(encoder) == before
    with pytest.raises(ValueError, match=message):
        (unfitted := SGNNSentenceEncoder()).fit(TEXTS, y)
    assert not vars(unfitted).keys() - unfitted.get_params().keys()


def test_bad_texts():
    with pytest.raises(ValueError, match="there is no word in X"):
        SGNNSentenceEncoder().fit(["", " "], VECTORS[:2])
    with pytest.raises(TypeError, match="document 1"):
        SGNNSentenceEncoder().fit(["a", ["b"]], VECTORS[:2])
    with pytest.raises(ValueError, match="Iterable over raw text documents expected"):
        SGNNSentenceEncoder().fit("a", VECTORS[:1])
    with pytest.raises(ValueError, match="lone surrogate"):
        SGNNSentenceEncoder().fit(["a", "b\ud800"], VECTORS[:2])
    with pytest.warns(UserWarning, match="the longest text has 5 words; texts are truncated to 2"):
        truncated = SGNNSentenceEncoder(max_words=2, vector_weight=1.0).fit(["bar carn car barn far"] * 2, VECTORS[:2])
    assert truncated.n_parameters_ < fitted().n_parameters_


def test_what_goes_with_paragraphs_alone(tmp_path):
    with pytest.raises(ValueError, match="has no checkpoints"):
        SGNNSentenceEncoder(checkpoint_dir=tmp_path / "folder").fit(TEXTS, VECTORS)
    with pytest.raises(ValueError, match="partial_fit trains on paragraphs"):
        copy.deepcopy(fitted()).partial_fit(PARAGRAPHS)
    with pytest.raises(ValueError, match="partial_fit trains on paragraphs"):
        SGNNSentenceEncoder().partial_fit(TEXTS, VECTORS)


def test_texts_without_words_count_nothing():
    texts, vectors = [*TEXTS, "", " "], np.concatenate((VECTORS, VECTORS[:2]))
    encoder = SGNNSentenceEncoder(alpha=0.1, vector_weight=1.0, n_components=None).fit(texts, vectors)
    assert encoder.similarity(TEXTS[:5], TEXTS[:5]) == pytest.approx(1)


def test_labels_are_ignored():
    labels = [text[-2] for text in PARAGRAPHS]
    indicators = np.eye(2, dtype=np.int64)[np.arange(len(PARAGRAPHS)) % 2]
    encoder = make(n_layers=0, max_epochs=0)
    expected = bytes_of(encoder.fit(PARAGRAPHS))
    numbers = np.arange(len(PARAGRAPHS))
    columns = numbers[:, None] * [1.0]
    for y in (labels, numbers / 3, columns, indicators, indicators.tolist(), indicators.astype(float)):
        assert not is_matrix(y)
        assert bytes_of(encoder.fit(PARAGRAPHS, y)) == expected
    assert not is_matrix([["a"], ["a", "b"]])
    assert not is_matrix([[1], [1, 2]])
    assert is_matrix(2 * indicators)
    pipeline = make_pipeline(make(n_layers=0, max_epochs=0), LogisticRegression()).fit(PARAGRAPHS, labels)
    assert pipeline.predict(TEXTS).shape == (len(TEXTS),)


def test_from_one_to_the_other():
    encoder = make(alpha=0.1, vector_weight=1.0)
    of_paragraphs = bytes_of(encoder.fit(PARAGRAPHS))
    of_vectors = bytes_of(encoder.fit(TEXTS, VECTORS))
    assert not hasattr(encoder, "net_")
    assert of_vectors == bytes_of(fitted())
    assert bytes_of(encoder.fit(PARAGRAPHS)) == of_paragraphs
    assert encoder._regression is None


def test_an_interrupt_leaves_what_was_there(monkeypatch):
    encoder = make(alpha=0.1, vector_weight=1.0).fit(PARAGRAPHS)
    before = bytes_of(encoder)
    monkeypatch.setattr(module.VectorRegression, "fit", lambda *_args, **_options: _interrupt())
    with pytest.raises(KeyboardInterrupt):
        encoder.fit(TEXTS, VECTORS)
    assert bytes_of(encoder) == before
    encoder.partial_fit(PARAGRAPHS)


def _interrupt():
    raise KeyboardInterrupt


def test_progress(capsys):
    encoder = fit(verbose=1, monitor=lambda encoder: float(len(encoder.transform(["bar"]))))
    printed = capsys.readouterr().out
    assert "12 of 12 columns" in printed
    assert "of the variance is left" in printed
    assert encoder.log_ == [{"stage": "vectors", "epoch": 0, "step": 0, "score": 1.0}]


@cache
def both():
    return make(alpha=0.1, vector_weight=0.75, n_layers=0).fit(TEXTS, VECTORS)


def test_vectors_beside_the_two_parts():
    without = make(n_layers=0, max_epochs=0)
    without.fit([[text] for text in TEXTS])
    parts = fitted().transform(QUERIES), without.transform(QUERIES)
    vectors = both().transform(QUERIES)
    assert vectors.shape == (6, 12 + 24)
    assert both().n_parameters_ == fitted().n_parameters_ + without.n_parameters_
    for query in (0, 1, 5):
        expected = np.concatenate([np.sqrt(0.75) * parts[0][query], np.sqrt(0.25) * parts[1][query]])
        np.testing.assert_allclose(vectors[query], expected, atol=1e-5)
    assert not vectors[3].any()
    changed = copy.deepcopy(both()).set_params(vector_weight=0.0, context_weight=0.3)
    assert not changed.transform(QUERIES)[:, :12].any()
    np.testing.assert_allclose(
        changed.transform(QUERIES)[:, 12:], without.set_params(context_weight=0.3).transform(QUERIES), atol=1e-6
    )
    with pytest.raises(ValueError, match="'vector_weight' parameter of SGNNSentenceEncoder must be a number from 0"):
        changed.set_params(vector_weight=2).transform(QUERIES)


def test_copies_of_both(tmp_path):
    save_model(both(), tmp_path / "folder")
    for other in (pickle.loads(pickle.dumps(both())), load_model(tmp_path / "folder")):
        assert bytes_of(other) == bytes_of(both())
        assert other.n_parameters_ == both().n_parameters_
        assert other.history_ == both().history_
        with pytest.raises(ValueError, match="partial_fit trains on paragraphs"):
            other.partial_fit(PARAGRAPHS)
    assert bytes_of(clone(both()).set_params(n_jobs=2).fit(TEXTS, VECTORS)) == bytes_of(both())
    again = copy.deepcopy(both()).fit(PARAGRAPHS)
    assert bytes_of(again) == bytes_of(clone(both()).fit(PARAGRAPHS))
