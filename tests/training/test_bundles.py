"""Parameters that belong together are parameters by scikit-learn's means."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from sklearn_hashnlp import (
    HashEmbeddingClassifier,
    HsigmoidLanguageModel,
    SGNNClassifier,
    TextClassifier,
)
from sklearn_hashnlp.language import Regularization
from sklearn_hashnlp.sentences import Network, SGNNSentenceEncoder
from sklearn_hashnlp.training import EarlyStopping, Schedule
from tests.trainings import assert_same_bits

TEXTS = [
    "a fine, funny film",
    "dull and far too long",
    "funny and fine acting",
    "too dull to sit through",
] * 10
LABELS = ["good", "bad", "good", "bad"] * 10


@pytest.mark.parametrize(
    ("model", "name", "bundle"),
    [
        (HashEmbeddingClassifier(), "schedule__warmup_steps", Schedule()),
        (SGNNClassifier(), "early_stopping__patience", EarlyStopping()),
        (TextClassifier(), "classifier__n_buckets", HashEmbeddingClassifier()),
        (HsigmoidLanguageModel(), "regularization__dropout", Regularization()),
        (SGNNSentenceEncoder(), "network__n_layers", Network()),
    ],
)
def test_a_field_of_a_bundle_that_is_not_there_is_refused(
    model: Any, name: str, bundle: BaseEstimator
) -> None:
    parameter, _, field = name.partition("__")
    message = (
        rf"{parameter}=.* has no '{field}' to set. Set {parameter}={type(bundle).__name__}\(\) "
        r"before"
    )
    with pytest.raises(ValueError, match=message):
        model.set_params(**{name: 3})
    model.set_params(**{name: 3, parameter: bundle})
    assert getattr(getattr(model, parameter), field) == 3
    with pytest.raises(ValueError, match="Invalid parameter 'none'"):
        model.set_params(none__decay=1)


def test_a_metric_stands_for_early_stopping_with_it() -> None:
    by_metric, by_fields = (
        HashEmbeddingClassifier(
            n_buckets=50,
            n_embeddings=500,
            solver="sgd",
            max_epochs=3,
            random_state=0,
            early_stopping=value,
        ).fit(np.tile(np.eye(40), (10, 1)), LABELS * 10)
        for value in ("valid_loss", EarlyStopping("valid_loss"))
    )
    assert_same_bits(
        [epoch["valid_loss"] for epoch in by_metric.history_],
        [epoch["valid_loss"] for epoch in by_fields.history_],
    )


def test_flat_parameters_and_a_classifier_exclude_each_other() -> None:
    model = TextClassifier(n_buckets=64, classifier=HashEmbeddingClassifier())
    with pytest.raises(
        ValueError,
        match="n_buckets=64 or a classifier, not both: set 'n_buckets' of the classifier",
    ):
        model.fit(TEXTS, LABELS)


def test_the_fitted_classifier_has_bundles_of_its_own() -> None:
    model = TextClassifier(
        early_stopping=EarlyStopping(validation_fraction=0.5), n_buckets=64, random_state=0
    )
    model.fit(TEXTS, LABELS)
    model.set_params(early_stopping__patience=3)
    assert model.pipeline_[-1].early_stopping == EarlyStopping(validation_fraction=0.5)
