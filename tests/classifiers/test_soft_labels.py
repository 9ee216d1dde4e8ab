"""``loss="soft_softmax"``: rows of y are probabilities of the classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from torch.nn import functional

from sklearn_hashnlp import (
    HashEmbeddingClassifier,
    HashingNgramVectorizer,
    TextClassifier,
    load_model,
    save_model,
)
from sklearn_hashnlp.classifiers import export_predictor
from sklearn_hashnlp.classifiers._calibration import Scored
from sklearn_hashnlp.classifiers._losses import SoftLabelLoss
from sklearn_hashnlp.classifiers._net import _are_informative
from sklearn_hashnlp.inspection import explain
from sklearn_hashnlp.training import EarlyStopping
from tests.trainings import assert_near, assert_same_bits

TEXTS = ["a fine film", "so dull", "funny and fine", "dull and long", "fine but long"] * 12
SOFT = np.tile([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.05, 0.95], [0.5, 0.5]], (12, 1))
CLASSES = ["good", "bad"]


def classifier(**options: Any) -> TextClassifier:
    return TextClassifier(
        **{"loss": "soft_softmax", "features": "words", "random_state": 0} | options
    )


@pytest.fixture(scope="module")
def model() -> TextClassifier:
    return classifier().fit(TEXTS, SOFT, classes=CLASSES)


@pytest.mark.usefixtures("all_epochs")
def test_the_probabilities_are_learned() -> None:
    model = classifier().fit(TEXTS, SOFT, classes=CLASSES)
    assert model.classes_.tolist() == CLASSES  # in the order of the columns
    np.testing.assert_allclose(model.predict_proba(TEXTS[:5]), SOFT[:5], atol=0.03)
    assert model.predict(TEXTS[:4]).tolist() == ["good", "bad", "good", "bad"]
    assert 20 < len(model.history_) < 250  # until the loss no longer falls
    rest = classifier().fit(TEXTS, SOFT)
    assert rest.classes_.tolist() == [0, 1]
    assert_same_bits(rest.predict_proba(TEXTS[:5]), model.predict_proba(TEXTS[:5]))


def test_the_score_is_the_accuracy_of_the_most_probable_class(model: TextClassifier) -> None:
    clear = [row for row in range(len(TEXTS)) if row % 5 != 4]
    texts = [TEXTS[row] for row in clear]
    assert model.score(texts, SOFT[clear]) == 1
    assert model.score(texts, 1 - SOFT[clear]) == 0
    assert model.score(texts[:2], np.array([[1, 0], [1, 0]]), sample_weight=[3, 1]) == 0.75


def test_a_frame_is_read_by_its_columns() -> None:
    frame = pd.DataFrame(SOFT, columns=CLASSES)
    model = classifier().fit(TEXTS, frame)
    assert model.classes_.tolist() == CLASSES
    clear = [row for row in range(len(TEXTS)) if row % 5 != 4]
    texts, part = [TEXTS[row] for row in clear], frame.iloc[clear]
    assert model.score(texts, part) == model.score(texts, part[["bad", "good"]]) == 1
    assert model.score(texts, np.array(CLASSES)[part.to_numpy().argmax(axis=1)]) == 1  # true labels
    other = classifier().fit(TEXTS, frame[["bad", "good"]], classes=CLASSES)
    assert_same_bits(other.predict_proba(TEXTS[:5]), model.predict_proba(TEXTS[:5]))
    with pytest.raises(
        ValueError, match=r"takes a frame with the columns \['good', 'bad'\] in y, got \['a', 'b'\]"
    ):
        model.partial_fit(TEXTS, frame.set_axis(["a", "b"], axis=1))
    assert classifier().fit(TEXTS, pd.DataFrame(SOFT), classes=CLASSES).classes_.tolist() == CLASSES
    assert classifier().fit(TEXTS, SOFT, classes=["a", 1]).classes_.tolist() == ["a", 1]


def test_temperature_of_rows_that_were_not_trained_on() -> None:
    """More than 200 rows are calibrated by out-of-batch scores."""
    rng = np.random.default_rng(0)
    texts = [
        " ".join(rng.choice(["fine", "dull", "long", "funny", "acting"], 4)) for _ in range(400)
    ]
    share = np.array(
        [[text.count("fine") + 1, text.count("dull") + 1] for text in texts], dtype=float
    )
    share /= share.sum(axis=1, keepdims=True)
    model = classifier(max_epochs=3).fit(texts, share)
    assert np.abs(model.predict_proba(texts) - share).mean() < 0.1


def test_scores_of_unseen_rows_are_informative() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(300, 3))
    agree = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    scored = Scored(agree, np.ones(300), scores, np.full(300, np.inf), np.zeros(300, dtype=bool))
    assert _are_informative(SoftLabelLoss(), scored)
    assert not _are_informative(SoftLabelLoss(), scored._replace(scores=-scores))


def test_the_loss_is_the_cross_entropy_of_plain_formulas() -> None:
    rng = np.random.default_rng(0)
    scores, targets = rng.normal(size=(7, 3)), rng.dirichlet(np.ones(3), 7)
    losses = SoftLabelLoss()(torch.tensor(scores), torch.tensor(targets))
    expected = [
        -sum(p * np.log(np.exp(s) / np.exp(row).sum()) for p, s in zip(given, row, strict=True))
        for given, row in zip(targets, scores, strict=True)
    ]
    np.testing.assert_allclose(losses, expected)
    one_hot = functional.one_hot(torch.tensor(targets.argmax(axis=1)), 3)
    assert SoftLabelLoss().correct(torch.tensor(scores), one_hot).tolist() == (
        (scores.argmax(axis=1) == targets.argmax(axis=1)).tolist()
    )


def test_certain_labels_are_labels() -> None:
    labels = np.array(CLASSES)[SOFT.argmax(axis=1)]
    certain = (labels[:, np.newaxis] == np.array(sorted(CLASSES))).astype(float)
    # by one hash, log-odds of naive Bayes would be added to the softmax
    options = {"max_epochs": 3, "n_hashes": 2}
    soft = classifier(**options).fit(TEXTS, certain, classes=sorted(CLASSES))
    hard = classifier(**options, loss="softmax").fit(TEXTS, labels)
    assert_near(soft.predict_proba(TEXTS[:5]), hard.predict_proba(TEXTS[:5]), atol=1e-3)


def test_training_continues(model: TextClassifier, tmp_path: Any) -> None:
    save_model(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.predict_proba(TEXTS[:5]).tobytes() == model.predict_proba(TEXTS[:5]).tobytes()
    for _ in range(30):
        again.partial_fit(["so dull"] * 20, [[0.6, 0.4]] * 20)
    assert again.predict_proba(["so dull"])[0, 0] > 0.4
    with pytest.raises(ValueError, match=r"it was trained with the labels \['good', 'bad'\]"):
        again.partial_fit(TEXTS, SOFT, classes=["bad", "good"])
    stream = classifier()
    for _ in range(50):
        stream.partial_fit(TEXTS, SOFT, classes=CLASSES)
    np.testing.assert_allclose(stream.predict_proba(TEXTS[:4]), SOFT[:4], atol=0.1)


def test_weights_and_early_stopping() -> None:
    double = classifier(max_epochs=2).fit(
        TEXTS, SOFT, sample_weight=[float(text != "so dull") for text in TEXTS]
    )
    dropped = [row for row, text in enumerate(TEXTS) if text != "so dull"]
    same = classifier(max_epochs=2).fit([TEXTS[row] for row in dropped], SOFT[dropped])
    assert_near(double.predict_proba(TEXTS[:5]), same.predict_proba(TEXTS[:5]), atol=1e-6)
    stopped = classifier(
        early_stopping=EarlyStopping(monitor="valid_acc", validation_fraction=0.4)
    ).fit(TEXTS, SOFT)
    assert {"valid_acc", "valid_loss"} <= set(stopped.history_[0])


def test_it_is_searched_explained_and_exported(model: TextClassifier, tmp_path: Any) -> None:
    search = GridSearchCV(classifier(max_epochs=2), {"n_buckets": [1, 1000]}, cv=2).fit(TEXTS, SOFT)
    assert search.best_params_ == {"n_buckets": 1000}
    assert explain(model, "dull").top(1, "bad")[0][0] == "dull"
    export_predictor(model, tmp_path / "exported")
    assert {path.suffix for path in (tmp_path / "exported").iterdir()} >= {".py"}
    pipeline = make_pipeline(
        HashingNgramVectorizer(), HashEmbeddingClassifier(loss="soft_softmax", random_state=0)
    )
    frame = pd.DataFrame(SOFT, columns=CLASSES)
    assert pipeline.fit(TEXTS, frame).classes_.tolist() == CLASSES


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        ([[0.5, 0.5]] * 59 + [[0.6, 0.5]], {}, r"Row 59 is \[0\.6.*, 0\.5\]"),
        (
            [[1.5, -0.5]] * 60,
            {},
            r"at least 0, with a sum of 1 in each row\. Row 0 is \[1\.5, -0\.5\]",
        ),
        ([[0.5, np.nan]] * 60, {}, "y contains NaN"),
        (["good"] * 60, {}, r"takes a probability of each class .* Got one of shape \(60,\)"),
        ([0, 1] * 30, {}, r"an array of shape \(n_samples, n_classes\)\. Got one of shape \(60,\)"),
        ([[1.0]] * 60, {}, r"Got one of shape \(60, 1\)"),
        (SOFT, {"class_weight": "balanced"}, "needs one label per row, got probabilities in y"),
        (SOFT, {"class_weight": {0: 2.0}}, "needs one label per row, got probabilities in y"),
        (SOFT, {"loss": "auto"}, "For probabilities set loss='soft_softmax'"),
    ],
)
def test_other_targets_are_refused(y: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        classifier(**options).fit(TEXTS, y)


@pytest.mark.parametrize("classes", [["good"], ["good", "good"], ["a", "b", "c"]])
def test_classes_are_those_of_the_columns(classes: list[str]) -> None:
    with pytest.raises(
        ValueError, match="as many different classes as y has columns, 2, in their order"
    ):
        classifier().fit(TEXTS, SOFT, classes=classes)
    with pytest.raises(ValueError, match="takes classes with loss='soft_softmax' only"):
        classifier(loss="softmax").fit(TEXTS, [text[0] for text in TEXTS], classes=classes)
