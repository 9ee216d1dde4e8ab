"""The scores of a linear classifier that are not moved towards those of the class shares."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp import HashEmbeddingClassifier
from sklearn_hashnlp.classifiers.hash_embedding._model import score_rows


def raw_scores(model: HashEmbeddingClassifier, X: Any) -> NDArray[np.float64]:
    assert model._model.linear is not None
    return score_rows(model._model.linear, model._rows(X)).scores
