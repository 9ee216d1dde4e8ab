"""TextClassifier(augmentation=...): altered copies of the training texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.utils import shuffle

from sklearn_hashnlp import TextClassifier, load_model, save_model
from sklearn_hashnlp.classifiers._calibration import Calibration
from sklearn_hashnlp.classifiers._net import OutOfBatchScores
from sklearn_hashnlp.classifiers.hash_embedding._sparse_rows import SparseRows
from sklearn_hashnlp.datasets import load_stdlib_docstrings
from sklearn_hashnlp.training import EarlyStopping
from tests.trainings import assert_other_bits, assert_same_bits

ALL_TEXTS, ALL_LABELS = shuffle(*load_stdlib_docstrings(return_X_y=True), random_state=0)
TEXTS, LABELS = ALL_TEXTS[::20], np.array(ALL_LABELS[::20])
SMALL: dict[str, Any] = {"n_buckets": 2**14, "n_embeddings": 2**14, "random_state": 0}
KINDS = ["crops", "typos"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{}, {"early_stopping": "valid_loss"}])
def test_left_out_texts_are_left_out_with_their_copies(kind, options):
    """Of labels without a meaning nothing can be learned, and copies must not suggest it."""
    texts, labels = ALL_TEXTS[::3], np.random.default_rng(0).permutation(["no", "yes"] * 10**4)
    train = texts[: len(texts) // 2]
    model = TextClassifier(augmentation=kind, **SMALL, **options).fit(train, labels[: len(train)])
    assert np.median(model.predict_proba(texts[len(train) :]).max(axis=1)) < 0.6


def test_scores_before_the_training_are_of_whole_texts():
    rows = SparseRows(csr_array(np.ones((400, 1))))
    rows.n_copies = 2
    calibration = Calibration.of(rows, 2)
    settings = TextClassifier().fit(["a", "b"], [0, 1]).pipeline_[-1]._settings(400, 3)
    order = OutOfBatchScores(rows, settings, calibration, calibrate="auto").order
    assert (order.reshape(200, 2) % 200 == order.reshape(200, 2)[:, :1] % 200).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_summary_of_validation_texts_has_no_copies(kind):
    stopping = EarlyStopping(validation_fraction=0.25)
    model = TextClassifier(augmentation=kind, early_stopping=stopping, **SMALL).fit(TEXTS, LABELS)
    calibration = model.pipeline_[-1]._calibration
    assert calibration.summary.sizes.sum() == pytest.approx(len(TEXTS) / 4, abs=1)
    n_trained = {"crops": 2, "typos": 4}[kind] * calibration.summary.n_trained
    assert calibration.n_rows == n_trained


@pytest.mark.parametrize("kind", KINDS)
def test_the_kinds_of_labels_and_weights(kind):
    matrix = np.stack([label == LABELS for label in np.unique(LABELS)], axis=1).astype(int)
    lists = [[label, "any"] for label in LABELS]
    frame = pd.Series(LABELS, index=np.arange(len(LABELS))[::-1])
    for y in (LABELS.tolist(), frame, matrix, lists):
        model = TextClassifier(augmentation=kind, **SMALL).fit(iter(TEXTS), y)
        assert len(model.predict(TEXTS[:3])) == 3
    weights = np.ones(len(TEXTS))
    weights[::2] = 0
    model = TextClassifier(augmentation=kind, **SMALL)
    probabilities = model.fit(TEXTS, LABELS, sample_weight=weights).predict_proba(TEXTS)
    half = model.fit(TEXTS[1::2], LABELS[1::2], sample_weight=weights[1::2])
    assert_same_bits(half.predict_proba(TEXTS), probabilities)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(TEXTS, LABELS[:-1])
    with pytest.raises(TypeError, match="document 1 is None"):
        model.fit(["a text", None], ["a", "b"])


@pytest.mark.parametrize("kind", KINDS)
def test_ngrams_of_a_text_are_not_known_from_its_copies(kind):
    model = TextClassifier(augmentation=kind, random_state=0).fit(TEXTS, LABELS)
    rows = model.pipeline_[0].transform(TEXTS)
    columns, n_texts = np.unique(rows.indices, return_counts=True)
    is_unknown = n_texts[np.searchsorted(columns, rows.indices)] == 1
    shares = np.add.reduceat(is_unknown, rows.indptr[:-1]) / np.diff(rows.indptr)
    unknown_share = model.pipeline_[-1]._calibration.summary.means[:, 0].mean()
    assert shares.mean() > unknown_share > 0.8 * shares.mean()


@pytest.mark.parametrize("kind", KINDS)
def test_further_training_is_augmented_and_reported_by_texts(kind, tmp_path):
    model = TextClassifier(augmentation=kind, **SMALL).fit(TEXTS, LABELS)
    alone = TextClassifier(augmentation=kind, **SMALL).fit(TEXTS, LABELS)
    summary = model.pipeline_[-1]._calibration.summary
    assert summary is not None
    assert summary.n_trained == len(TEXTS) >= summary.sizes.sum()
    save_model(model, tmp_path / "model", training_state=True)
    loaded = load_model(tmp_path / "model")
    assert loaded.augmentation == kind
    more = ALL_TEXTS[2::20], ALL_LABELS[2::20]
    for one in (model, loaded):
        one.partial_fit(*more)
        assert one.pipeline_[-1]._n_copies == 1  # the classifier can be used by itself
        assert one.pipeline_[-1]._calibration.summary.n_trained == len(TEXTS) + len(more[0])
    assert_same_bits(model.predict_proba(TEXTS), loaded.predict_proba(TEXTS))
    alone.set_params(augmentation=None).partial_fit(*more)
    assert_other_bits(alone.predict_proba(TEXTS), model.predict_proba(TEXTS))
