"""Rows of more columns than 31 bits number: several columns of texts beside numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_hashnlp import (
    HashEmbeddingClassifier,
    make_text_classifier,
)

MAILS = pd.DataFrame(
    {
        "text": ["you have won a prize", "see you at lunch", "a prize for you", "lunch was good"] * 10,
        "subject": ["win now", "lunch", "prize", "yesterday"] * 10,
        "length": np.arange(40.0) % 7,
    }
)
SPAM = ["spam", "ham"] * 20
SMALL = {"n_buckets": 1000, "n_embeddings": 1000, "random_state": 0}


def test_two_text_columns_stand_beside_a_number():
    columns = make_column_transformer(
        (make_text_classifier()["vectorizer"], "text"),
        (make_text_classifier(features="words+characters")["vectorizer"], "subject"),
        (StandardScaler(), ["length"]),
    )
    model = make_pipeline(columns, HashEmbeddingClassifier(**SMALL)).fit(MAILS, SPAM)
    assert model[0].transform(MAILS).shape[1] == 2**31 + 1
    assert model.score(MAILS, SPAM) == 1


def test_columns_beyond_31_bits_are_columns_of_their_own():
    last = 2**31 - 1 + 2**16
    rows = csr_array((np.ones(40, np.float32), np.array([last - 1, 2**31 - 2**16] * 20), range(41)), shape=(40, last))
    model = HashEmbeddingClassifier(**SMALL).fit(rows, SPAM)
    assert model.score(rows, SPAM) == 1


def test_too_many_columns_are_refused_with_advice_that_helps():
    rows = csr_array((2, 2**31 + 2**16), dtype=np.float32)
    with pytest.raises(ValueError, match=r"at most 2\*\*31 - 1 \+ 2\*\*16 are supported.*n_features=2\*\*28"):
        HashEmbeddingClassifier().fit(rows, ["a", "b"])
