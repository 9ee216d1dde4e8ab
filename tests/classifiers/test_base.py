"""Labels, probabilities and rankings computed from scores."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_hashnlp.classifiers._base import ScoringClassifier
from sklearn_hashnlp.classifiers._losses import make_loss


class OwnScores(ScoringClassifier):
    """Its rows are its scores."""

    def __init__(self, *, loss: str = "softmax", multilabel: bool = False, labels: tuple[str, ...] = ("a", "b", "c")):
        self.loss = loss
        self.multilabel = multilabel
        self.labels = labels

    def fit(self, X=None, y=None):
        self.classes_ = np.array(self.labels)
        self._loss = make_loss(self.loss, multilabel=self.multilabel)
        return self

    def _scores(self, X):
        return np.asarray(X, dtype=np.float64)


def test_labels_and_probabilities_are_made_of_scores():
    scores = np.log([[1.0, 2.0, 1.0], [3.0, 3.0, 2.0]])
    model = OwnScores().fit()
    np.testing.assert_allclose(model.predict_proba(scores), [[0.25, 0.5, 0.25], [0.375, 0.375, 0.25]])
    assert model.predict(scores).tolist() == ["b", "a"]  # the first of equal ones
    assert model.decision_function(scores) is not None
    assert [[label for label, _ in row] for row in model.predict_topk(scores, k=2)] == [["b", "a"], ["a", "b"]]
    assert model.predict_topk(scores, threshold=0.3)[0] == [("b", pytest.approx(0.5))]
    two = OwnScores(labels=("no", "yes")).fit()
    assert two.decision_function(scores[:, :2]).tolist() == pytest.approx([np.log(2), 0])
    several = OwnScores(loss="ova", multilabel=True).fit()
    assert several.predict(scores - 0.1).tolist() == [[0, 1, 0], [1, 1, 1]]
    assert several.decision_function(scores).shape == (2, 3)


@pytest.mark.parametrize("k", [0, 1.0, "all"])
def test_how_many_labels_must_be_a_number(k):
    with pytest.raises(ValueError, match=r"OwnScores\.predict_topk needs an integer k of at least 1"):
        OwnScores().fit().predict_topk(np.eye(3), k=k)
