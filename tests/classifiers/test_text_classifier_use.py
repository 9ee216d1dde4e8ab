"""TextClassifier alone: the pipeline that it is, and a classifier among classifiers."""

from __future__ import annotations

import joblib
import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.base import clone, is_classifier
from sklearn.ensemble import VotingClassifier
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator

from sklearn_hashnlp import AugmentedTextClassifier, TextClassifier, make_text_classifier
from sklearn_hashnlp.plotting import TrainingHistoryDisplay
from tests.text_classifiers import text_classifier

TEXTS = ["a fine, funny film", "dull and far too long", "funny and fine acting", "too dull to sit through"] * 6
LABELS = ["good", "bad", "good", "bad"] * 6
SMALL = {"n_buckets": 1000, "n_embeddings": 1000, "random_state": 0}


def classifier(**options):
    return text_classifier(**SMALL | options)


@pytest.fixture(scope="module")
def fitted():
    return classifier().fit(TEXTS, LABELS)


def test_fit_predict_and_score(fitted):
    assert fitted.predict(["fine and funny", "so dull"]).tolist() == ["good", "bad"]
    assert fitted.score(TEXTS, LABELS) == 1
    assert fitted.classes_.tolist() == ["bad", "good"]
    assert fitted.predict_topk(["so dull"], k=1)[0][0][0] == "bad"
    assert fitted.predict_topk(["so dull"], threshold=0.999999) == [[]]
    assert fitted.decision_function(["so dull"])[0] < 0
    np.testing.assert_allclose(fitted.predict_log_proba(TEXTS), np.log(fitted.predict_proba(TEXTS)))


@pytest.mark.parametrize(
    ("features", "lowercase"), [("words", True), ("words+characters", False), ("characters", True)]
)
def test_it_is_the_pipeline(features, lowercase):
    options = SMALL | {"features": features, "lowercase": lowercase, "learning_rate": 0.1, "n_hashes": 2}
    texts = [text.title() for text in TEXTS]
    pipeline = make_text_classifier(**options).fit(texts, LABELS)
    model = TextClassifier(**options).fit(texts, LABELS)
    assert model.predict_proba(TEXTS).tobytes() == pipeline.predict_proba(TEXTS).tobytes()
    assert model.pipeline_["classifier"].get_params() == pipeline["classifier"].get_params()


def test_lowercase_false_tells_us_from_us():
    texts, labels = ["US troops", "give us more"] * 10, ["world", "home"] * 10
    model = classifier(lowercase=False, ngram_range=(1, 1)).fit(texts, labels)
    assert model.predict(["US", "us"]).tolist() == ["world", "home"]


def test_it_is_a_classifier_among_classifiers(tmp_path):
    assert is_classifier(classifier())
    assert cross_val_score(classifier(), TEXTS, LABELS, cv=3, scoring="roc_auc").mean() > 0.9
    votes = VotingClassifier([("a", classifier(random_state=1)), ("b", classifier(random_state=2))], voting="soft")
    assert votes.fit(TEXTS, LABELS).score(TEXTS, LABELS) == 1
    model = AugmentedTextClassifier(classifier()).fit(TEXTS, LABELS)
    assert model.partial_fit(TEXTS, LABELS).score(TEXTS, LABELS) == 1
    joblib.dump(classifier().fit(TEXTS, LABELS), tmp_path / "model.joblib")
    assert joblib.load(tmp_path / "model.joblib").score(TEXTS, LABELS) == 1


def test_warm_start_goes_on():
    warm = classifier(features="words", warm_start=True).fit(TEXTS, LABELS)
    n_epochs = len(warm.history_)
    assert len(warm.fit(TEXTS, LABELS).history_) == 2 * n_epochs
    with pytest.raises(ValueError, match=r"cannot continue training with features='characters'.* 'words'"):
        warm.set_params(features="characters").fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match="was not seen before"):
        warm.set_params(features="words").partial_fit(["x"], ["other"])
    assert warm.score(TEXTS, LABELS) == 1


def test_a_failed_fit_leaves_the_old_model(fitted):
    model = clone(fitted).fit(TEXTS, LABELS)
    before = model.predict_proba(TEXTS).tobytes()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(TEXTS, LABELS[:5])
    assert model.predict_proba(TEXTS).tobytes() == before


@pytest.mark.parametrize("ngram_range", [(2, 1), (1, 2, 3), (0, 1), ("1", "2")])
def test_a_wrong_ngram_range_is_said(ngram_range):
    with pytest.raises(ValueError, match="'ngram_range' parameter of TextClassifier must be a pair"):
        classifier(ngram_range=ngram_range).fit(TEXTS, LABELS)


def test_scikit_learns_checks_pass():
    with pytest.warns(
        UserWarning, match="Can't test estimator TextClassifier which requires input"
    ):  # it takes texts, and scikit-learn has numbers
        results = check_estimator(TextClassifier(), on_fail=None)
    assert {result["check_name"] for result in results if result["status"] == "failed"} == set()


def test_its_learning_curve_can_be_drawn(fitted):
    with pytest.raises(ValueError, match=r"Dual coordinate descent.* solver='sgd'"):
        TrainingHistoryDisplay.from_estimator(fitted)
    by_epochs = classifier(solver="sgd").fit(TEXTS, LABELS)
    assert TrainingHistoryDisplay.from_estimator(by_epochs, ax=Figure().subplots()).ax_ is not None
