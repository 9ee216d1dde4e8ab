"""SGNNClassifier behind projections of texts: outputs, searches, folders."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline

from sklearn_hashnlp import (
    CharNgramFeaturizer,
    SGNNClassifier,
    SGNNProjector,
    SGNNWordProjector,
    load_model,
    save_model,
)

WORDS = ["goal", "match", "team", "vote", "law", "minister"]
RNG = np.random.default_rng(0)
LABELS = np.array(["sport", "politics"])[RNG.integers(0, 2, 80)]
TEXTS = [" ".join(RNG.choice(WORDS[:3] if label == "sport" else WORDS[3:], 5)) for label in LABELS]
SMALL = {"hidden_layer_sizes": (16,), "random_state": 0, "max_epochs": 10}


def pipeline(**options):
    return Pipeline(
        [
            ("ngrams", CharNgramFeaturizer()),
            ("bits", SGNNProjector(n_projections=20, **options)),
            ("layers", SGNNClassifier(**SMALL, packed=options.get("output") == "packed")),
        ]
    )


@pytest.mark.parametrize("output", ["binary", "sign", "packed", "float"])
def test_every_output_of_the_projector_is_read(output):
    model = pipeline(output=output).fit(TEXTS, LABELS)
    assert model.score(TEXTS, LABELS) == 1.0
    assert model.predict(["goal team", "law vote", ""])[:2].tolist() == ["sport", "politics"]


def test_bits_packed_or_not_make_the_same_model_to_the_last_bit():
    plain, packed = (pipeline(output=output).fit(TEXTS, LABELS) for output in ("binary", "packed"))
    assert packed.predict_proba(TEXTS).tobytes() == plain.predict_proba(TEXTS).tobytes()


def test_a_grid_search_over_projections_and_bits():
    grid = {"bits__n_projections": [2, 20], "bits__n_bits": [4, 14]}
    search = GridSearchCV(pipeline(), grid, cv=2).fit(TEXTS, LABELS)
    assert search.best_score_ == 1.0
    assert search.best_estimator_[-1].n_features_in_ == np.prod([*search.best_params_.values()])
    assert search.predict(["goal team", "law vote"]).tolist() == ["sport", "politics"]


def test_a_grid_search_over_the_bits_of_words():
    model = make_pipeline(
        SGNNWordProjector(CharNgramFeaturizer(), SGNNProjector(n_projections=20)), SGNNClassifier(**SMALL)
    )
    grid = {"sgnnwordprojector__projector__n_bits": [4, 14], "sgnnclassifier__dropout": [0.0, 0.5]}
    search = GridSearchCV(model, grid, cv=2).fit(TEXTS, LABELS)
    assert search.best_score_ == 1.0
    assert set(search.best_params_) == set(grid)


@pytest.mark.parametrize("output", ["binary", "packed"])
def test_a_saved_pipeline_answers_the_same(output, tmp_path):
    model = pipeline(output=output).fit(TEXTS, LABELS)
    save_model(model, tmp_path / "model")
    assert load_model(tmp_path / "model").predict_proba(TEXTS).tobytes() == model.predict_proba(TEXTS).tobytes()
