"""DistilledSentenceEncoder: vectors of another model are reproduced, alone and in a union with
SGNNSentenceEncoder.
"""

from __future__ import annotations

import copy
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import Normalizer

from sklearn_hashnlp.persistence import load_model, save_model
from sklearn_hashnlp.sentences import DistilledSentenceEncoder
from sklearn_hashnlp.sentences import _distilled_sentence_encoder as module
from sklearn_hashnlp.sentences._distilled_sentence_encoder import center
from tests.sentence_texts import LISTS, QUERIES, TOPICS, bytes_of, make
from tests.trainings import assert_near, assert_same_bits

TEXTS = [sentence for sentences in LISTS for sentence in sentences]
RNG = np.random.default_rng(0)
TOPIC_VECTORS = RNG.normal(size=(len(TOPICS), 12))
VECTORS = np.stack(
    [
        sum(
            TOPIC_VECTORS[topic]
            for topic, words in enumerate(TOPICS)
            if text[:-1].split()[-1].lower() in words
        )
        + 0.1 * RNG.normal(size=12)
        for text in TEXTS
    ]
)


def fit(**options):
    return DistilledSentenceEncoder(**{"alpha": 0.1} | options).fit(TEXTS, VECTORS)


@cache
def fitted():
    return fit()


def test_vectors_are_reproduced():
    encoder = fit(n_components=None)
    vectors = encoder.transform(TEXTS)
    assert vectors.shape == VECTORS.shape
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    lengths = np.linalg.norm(VECTORS, axis=1)
    assert np.einsum("ij,ij->i", vectors, VECTORS / lengths[:, np.newaxis]).mean() > 0.97
    unseen = encoder.transform(["Fopu cop"])[0]
    assert unseen @ TOPIC_VECTORS[3] / np.linalg.norm(TOPIC_VECTORS[3]) > 0.8
    assert encoder.transform([""]).tolist() == [[0.0] * 12]


def test_components():
    few, all_ = fit(n_components=3), fit(n_components=12)
    assert few.transform(TEXTS).shape == (len(TEXTS), 3)
    first = all_.transform(TEXTS)[:, :3]
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    assert_near(few.transform(TEXTS), first, atol=1e-4)


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


def test_attributes():
    assert [entry["epoch"] for entry in fitted().history_] == list(range(1, 31))
    losses = [entry["train_loss"] for entry in fitted().history_]
    assert 0 < losses[-1] < losses[4] < losses[0] < 1
    assert fitted().n_parameters_ == fitted().coef_.size
    assert not fitted().intercept_.any()
    assert fit(n_features=20).n_parameters_ <= 20 * 12


def test_only_directions_are_learned_and_threads_change_no_bit():
    expected = bytes_of(fitted())
    assert_same_bits(bytes_of(fit(n_jobs=3)), expected)
    for texts, vectors in ((iter(TEXTS), VECTORS.tolist()), (np.array(TEXTS), 2 * VECTORS)):
        assert_same_bits(
            bytes_of(DistilledSentenceEncoder(alpha=0.1).fit(texts, vectors)), expected
        )


def test_damaged_folders_are_refused():
    values, arrays = fitted()._get_model_state()
    arrays["counts"] = arrays["counts"][1:]
    with pytest.raises(ValueError, match="n-grams, got"):
        DistilledSentenceEncoder()._set_model_state(values, arrays)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (VECTORS[1:], r"y must have one row for each text of X. Got 99 rows and 100 texts"),
        (np.zeros_like(VECTORS), "all vectors of y are zero"),
        (np.where(np.arange(12) == 3, np.nan, VECTORS), "Input y contains NaN"),
        (np.where(np.arange(12) == 3, np.inf, VECTORS), "Input y contains infinity"),
        (VECTORS[:, :, np.newaxis], "with dim 3"),
        (VECTORS[:, 0], "Expected 2D array, got 1D array"),
        ([["a"]] * 100, "y must be a matrix of numbers, .* got list: could not convert"),
        ([{"a": 1}] * 100, "y must be a matrix of numbers, .* got list: float"),
        ({"a": 1}, "y must be a matrix of numbers, .* got dict: float"),
        ([[1.0], [1.0, 2.0]], "y must be a matrix of numbers, .* got list: .* inhomogeneous"),
        (
            None,
            (
                r"DistilledSentenceEncoder.fit needs y, the vectors of the teacher, one row per "
                r"text; got None"
            ),
        ),
        (np.ones((100, 5)), "all vectors of y have the same direction"),
        (np.arange(1, 101)[:, np.newaxis], "all vectors of y have the same direction"),
        (
            np.outer(np.arange(1, 101), VECTORS[0]).astype(np.float32),
            "all vectors of y have the same direction",
        ),
    ],
)
@pytest.mark.parametrize("n_components", [None, 5])
def test_bad_vectors(y, message, n_components):
    encoder = clone(fitted()).fit(TEXTS, VECTORS)
    before = bytes_of(encoder)
    with pytest.raises(ValueError, match=message):
        encoder.set_params(n_components=n_components).fit(TEXTS, y)
    assert bytes_of(encoder) == before


def test_binary_vectors_are_learned():
    bits = np.eye(len(TOPICS), dtype=np.int64)[np.arange(len(TEXTS)) % 4]
    assert DistilledSentenceEncoder().fit(TEXTS, bits).transform(TEXTS).shape == (len(TEXTS), 4)


def test_bad_texts():
    with pytest.raises(ValueError, match="there is no word in X"):
        DistilledSentenceEncoder().fit(["", " "], VECTORS[:2])
    with pytest.raises(ValueError, match="there is no word in X"):
        DistilledSentenceEncoder().fit([], np.zeros((0, 3)))
    with pytest.warns(UserWarning, match="the longest text has 5 words; texts are truncated to 2"):
        truncated = DistilledSentenceEncoder(max_words=2).fit(
            ["bar carn car barn far"] * 2, VECTORS[:2]
        )
    assert truncated.n_parameters_ < fitted().n_parameters_


def test_texts_without_words_count_nothing():
    texts, vectors = [*TEXTS, "", " "], np.concatenate((VECTORS, VECTORS[:2]))
    encoder = DistilledSentenceEncoder(alpha=0.1, n_components=None).fit(texts, vectors)
    assert encoder.similarity(TEXTS[:5], TEXTS[:5]) == pytest.approx(1)


def test_an_interrupt_leaves_the_model(monkeypatch):
    encoder = copy.deepcopy(fitted())

    def interrupt(*_arguments, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "ridge_regression", interrupt)
    with pytest.raises(KeyboardInterrupt):
        encoder.fit(TEXTS[:9], VECTORS[:9])
    assert bytes_of(encoder) == bytes_of(fitted())


def test_progress(capsys):
    fit(verbose=1)
    printed = capsys.readouterr().out
    assert "12 of 12 columns" in printed
    assert "of the variance is left" in printed


def test_a_union_with_an_encoder_that_needs_no_teacher(tmp_path):
    parts = [
        ("distilled", DistilledSentenceEncoder(alpha=0.1)),
        ("words", make(network__n_layers=0, max_epochs=0)),
    ]
    weights = {"distilled": 0.8, "words": 0.6}
    union = make_pipeline(FeatureUnion(parts, transformer_weights=weights), Normalizer()).fit(
        TEXTS, VECTORS
    )
    vectors = union.transform(QUERIES)
    assert vectors.dtype == np.float32
    assert_near(vectors[0, :12], 0.8 * fitted().transform(QUERIES[:1])[0], atol=1e-6)
    save_model(union, tmp_path / "folder")
    assert load_model(tmp_path / "folder").transform(QUERIES).tobytes() == vectors.tobytes()
