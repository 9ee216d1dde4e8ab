"""Accuracy on real text: docstrings, TREC and AG News. *Slow*, and but for the docstrings in need
of HASHNLP_DATA.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from sklearn_hashnlp import (
    CharNgramFeaturizer,
    SGNNClassifier,
    SGNNProjector,
    TextClassifier,
    load_model,
    save_model,
)
from sklearn_hashnlp.classifiers import export_predictor, quantize_classifier
from sklearn_hashnlp.datasets import load_labelled, load_stdlib_docstrings
from tests.classifiers.export.test_linear_predictor import load
from tests.trainings import SEEDS, assert_as_good

pytestmark = pytest.mark.slow


def read(name, part):
    if "HASHNLP_DATA" not in os.environ:
        pytest.skip("HASHNLP_DATA names no folder")
    return load_labelled(Path(os.environ["HASHNLP_DATA"]) / name / f"{part}.csv", multilabel=False)


def test_docstrings_are_classified_as_well_as_by_a_linear_model():
    texts, labels = load_stdlib_docstrings(return_X_y=True)
    linear = make_pipeline(
        TfidfVectorizer(token_pattern=r"\w+|[^\w\s]", ngram_range=(1, 2)), LinearSVC(random_state=0)
    )
    scores = []
    for seed in SEEDS:
        train, test, y, y_test = train_test_split(
            texts, labels, test_size=0.25, stratify=labels, random_state=seed
        )
        models = [model.fit(train, y) for model in (TextClassifier(random_state=seed), linear)]
        scores.append([model.score(test, y_test) for model in models])
    assert_as_good(*np.transpose(scores), margin=0)
    assert np.mean(scores) > 0.84


def test_an_exported_small_network_answers_the_questions_of_trec(tmp_path):
    (texts, labels), (unseen, expected) = read("trec", "train"), read("trec", "test")
    pipeline = make_pipeline(
        CharNgramFeaturizer(), SGNNProjector(), SGNNClassifier(random_state=0)
    ).fit(texts, labels)
    assert export_predictor(pipeline, tmp_path / "model.py") < 400_000
    quantized = quantize_classifier(pipeline)
    assert (
        load(tmp_path / "model.py").predict(unseen).tolist() == quantized.predict(unseen).tolist()
    )
    accuracy = pipeline.score(unseen, expected)
    assert accuracy >= 0.73
    assert abs(quantized.score(unseen, expected) - accuracy) <= 0.01


def test_ag_news_at_once_in_two_megabytes_and_in_twenty_parts(tmp_path):
    (texts, labels), test = read("ag_news", "train"), read("ag_news", "test")
    whole = TextClassifier(random_state=0).fit(texts, labels).score(*test)
    small = TextClassifier(n_buckets=300_000, n_embeddings=300_000, random_state=0).fit(
        texts, labels
    )
    save_model(small, tmp_path / "m", precision="int8")
    assert sum(path.stat().st_size for path in (tmp_path / "m").iterdir()) <= 2_000_000
    streamed = TextClassifier(random_state=0)
    for part in np.array_split(np.random.default_rng(0).permutation(len(texts)), 20):
        streamed.partial_fit(
            [texts[index] for index in part], labels[part], classes=np.unique(labels)
        )
    assert whole > 0.9
    assert load_model(tmp_path / "m").score(*test) > 0.89
    assert streamed.score(*test) > 0.89
