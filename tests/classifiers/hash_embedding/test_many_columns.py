"""A data scientist has texts in a table, beside other columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_hashnlp import (
    AugmentedTextClassifier,
    CharNgramFeaturizer,
    FrequentNgramVectorizer,
    HashEmbeddingClassifier,
    HashingNgramVectorizer,
    SGNNProjector,
    SGNNWordProjector,
    make_text_classifier,
)
from tests.contract.estimators import as_bytes
from tests.sentence_texts import PARAGRAPHS
from tests.sentence_texts import make as make_encoder

MAILS = pd.DataFrame(
    {
        "text": ["you have won a prize", "see you at lunch", "a prize for you", "lunch was good"] * 10,
        "subject": ["win now", "lunch", "prize", "yesterday"] * 10,
        "length": np.arange(40.0) % 7,
    }
)
SPAM = ["spam", "ham"] * 20
SMALL = {"n_buckets": 1000, "n_embeddings": 1000, "random_state": 0}


def _text_features():
    return make_text_classifier()["vectorizer"]


def test_a_text_column_stands_beside_a_number():
    columns = make_column_transformer((_text_features(), "text"), (StandardScaler(), ["length"]))
    model = make_pipeline(columns, HashEmbeddingClassifier(**SMALL)).fit(MAILS, SPAM)
    assert model.score(MAILS, SPAM) == 1


@pytest.mark.parametrize("features", ["words", "words+characters"])
def test_two_text_columns_stand_beside_a_number(features):
    columns = make_column_transformer(
        (make_text_classifier(features=features)["vectorizer"], "text"),
        (make_text_classifier(features=features)["vectorizer"], "subject"),
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


TRANSFORMERS = [
    HashingNgramVectorizer(),
    CharNgramFeaturizer(),
    SGNNWordProjector(CharNgramFeaturizer(), SGNNProjector(n_projections=3)),
    FrequentNgramVectorizer(max_features=5),
    make_encoder(max_epochs=1),
]


@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=lambda transformer: type(transformer).__name__)
def test_every_text_transformer_takes_a_frame_of_one_column(transformer):
    frame = pd.DataFrame({"body": PARAGRAPHS})
    expected = as_bytes(transformer.fit(PARAGRAPHS).transform(PARAGRAPHS))
    assert as_bytes(transformer.transform(frame)) == expected
    assert as_bytes(transformer.transform(pl.DataFrame({"body": PARAGRAPHS}))) == expected
    assert as_bytes(transformer.transform(pa.table({"body": PARAGRAPHS}))) == expected
    assert as_bytes(transformer.transform(frame.to_numpy())) == expected
    assert as_bytes(transformer.fit(frame).transform(frame)) == expected


def test_classifiers_of_texts_take_a_frame_of_one_column():
    for model in (make_text_classifier(**SMALL), AugmentedTextClassifier(make_text_classifier(**SMALL))):
        assert model.fit(MAILS[["text"]], SPAM).predict(MAILS[["text"]]).tolist() == SPAM
