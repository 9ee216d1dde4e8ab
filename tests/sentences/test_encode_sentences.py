from functools import cache

import numpy as np
import pytest
import torch

from sklearn_hashnlp.sentences import _encode_sentences
from sklearn_hashnlp.sentences._encode_sentences import encode_sentences
from sklearn_hashnlp.sentences._paragraph_batches import TrainingText, take_rows
from sklearn_hashnlp.sentences._sentence_reader import (
    WORD_SPLITTER,
    CachedProjections,
    Paragraphs,
    truncate_words,
)
from sklearn_hashnlp.text._word_projections import encode_words
from tests.sentence_texts import PARAGRAPHS, QUERIES, fitted

ENCODER = fitted()
TEXTS = [*QUERIES, *PARAGRAPHS[:14]]
WORDS, ROWS = encode_words(TEXTS, first=0, featurizer=WORD_SPLITTER, caller="Me")


def encode(max_words=100, n_jobs=1, words=WORDS, rows=ROWS):
    rows = truncate_words(rows, max_words)
    return encode_sentences(
        ENCODER.net_, ENCODER._reader, words, rows, context_weight="auto", n_jobs=n_jobs
    )


@cache
def encode_one_by_one(max_words):
    reader, vectors = ENCODER._reader, np.zeros((len(TEXTS), 24), dtype=np.float32)
    projections = CachedProjections(WORDS, np.ones(len(WORDS)), reader.featurizer, reader.projector)
    for index, text in enumerate(TEXTS):
        row = take_rows(ROWS, np.array([index]))
        row = row._replace(
            values=row.values[:max_words], offsets=np.minimum(row.offsets, max_words)
        )
        if text:
            with torch.inference_mode():
                paragraph = Paragraphs(WORDS, row, np.array([0, 1]))
                batch = TrainingText(
                    paragraph, reader.frequencies.weights(WORDS), projections
                ).batch(np.array([0]))
                vectors[index] = ENCODER.net_.module_(batch)[0].numpy()
    return vectors


@pytest.mark.parametrize(("batch_words", "words_at_once"), [(1, 1), (30, 7), (2**14, 2**12)])
@pytest.mark.parametrize("max_words", [3, 100])
def test_batches_of_any_size_agree_with_single_sentences(
    batch_words, words_at_once, max_words, monkeypatch
):
    monkeypatch.setattr(_encode_sentences, "_BATCH_WORDS", batch_words)
    monkeypatch.setattr(_encode_sentences, "_WORDS_AT_ONCE", words_at_once)
    np.testing.assert_allclose(encode(max_words), encode_one_by_one(max_words), atol=1e-6)


def test_same_bytes_at_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(_encode_sentences, "_BATCH_WORDS", 30)
    monkeypatch.setattr(_encode_sentences, "_WORDS_AT_ONCE", 7)
    before = torch.get_num_threads()
    try:
        results = set()
        for n_threads in (1, 2):
            torch.set_num_threads(n_threads)
            results |= {encode(n_jobs=n_jobs).tobytes() for n_jobs in (1, 2, 3, -1, None)}
            assert torch.get_num_threads() == n_threads
    finally:
        torch.set_num_threads(before)
    assert len(results) == 1


def test_batches_hold_each_sentence_once_and_few_words(monkeypatch):
    monkeypatch.setattr(_encode_sentences, "_BATCH_WORDS", 20)
    lengths = np.random.default_rng(0).integers(1, 30, 200)
    order = np.argsort(lengths, kind="stable")
    batches = _encode_sentences._split_batches(order, lengths)
    assert np.concatenate(batches).tolist() == order.tolist()
    for batch, following in zip(batches, [*batches[1:], []], strict=True):
        assert len(batch) * lengths[batch].max() <= 20 or len(batch) == 1
        if len(following):  # one sentence more would have been too many
            assert (len(batch) + 1) * lengths[following[0]] > 20
    assert _encode_sentences._split_batches(order[:0], lengths) == []
