"""What mypy knows of parameters and results in a file of a user: ``make check`` reads it, and
nothing runs it.

An error that is not there any more is an error: strict warns of each ``type: ignore`` that nothing
needs.
"""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import sklearn_hashnlp as h
from sklearn_hashnlp import HashEmbeddingClassifier, TextClassifier, make_text_classifier
from sklearn_hashnlp._sklearn import Pipeline
from sklearn_hashnlp.nn import HashEmbedding

TEXTS, LABELS = ["good", "bad"], [1, 0]


def results() -> None:
    model = TextClassifier(loss="ova")
    assert_type(model.fit(TEXTS, LABELS), TextClassifier)
    assert_type(model.partial_fit(TEXTS, LABELS), TextClassifier)
    assert_type(model.set_params(loss=None), TextClassifier)
    assert_type(model.predict(TEXTS), NDArray[Any])
    assert_type(model.predict_proba(TEXTS), NDArray[np.float64])
    assert_type(model.predict_topk(TEXTS, k=1), list[list[tuple[Any, float]]])
    pipeline = make_text_classifier()
    assert_type(pipeline.fit(TEXTS, LABELS), Pipeline)
    assert_type(pipeline.predict(TEXTS), NDArray[Any])
    assert_type(h.SGNNProjector().fit_transform([[1.0]]), NDArray[Any])
    assert_type(h.nn.HashEmbedding(8, 2, num_buckets=8), HashEmbedding)


def mistakes() -> None:
    HashEmbeddingClassifier(embeding_dim=3)  # type: ignore[call-arg]
    HashEmbeddingClassifier(loss="sofmax")  # type: ignore[arg-type]
    TextClassifier(feature="words")  # type: ignore[call-arg]
    make_text_classifier(device="gpu")  # type: ignore[arg-type]
    h.nn.HashEmbedding(8, 2, num_buckets=8, variant="best")  # type: ignore[arg-type]
    h.HashEmbedingClassifier()  # type: ignore[attr-defined]
