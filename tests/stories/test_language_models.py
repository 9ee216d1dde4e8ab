"""Stories of people who train language models."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_hashnlp import HsigmoidLanguageModel
from sklearn_hashnlp.persistence import load_word_vectors
from sklearn_hashnlp.persistence._values import ModelFormatError
from tests.language.bigram_model import BigramModel

SENTENCES = ["the cat sat on the mat", "the dog sat on the rug", "a cat saw the dog", ""] * 5
SMALL = {"order": 3, "embedding_dim": 4, "hidden_size": 8, "max_epochs": 1, "random_state": 0}


def test_the_score_of_a_sentence_does_not_depend_on_those_before_it():
    model = BigramModel().fit(SENTENCES)  # its log-probabilities have more digits than those of a network
    alone = model.score_samples(["the dog saw a cat", ""])
    behind = model.score_samples([*SENTENCES * 50, "the dog saw a cat", ""])[-2:]
    assert behind.tobytes() == alone.tobytes()


@pytest.mark.parametrize("embedding", ["table", "hash", "sgnn"])
def test_a_number_in_place_of_a_word_gets_a_clear_error(embedding):
    model = HsigmoidLanguageModel(**SMALL, embedding=embedding, n_embeddings=99, n_buckets=9).fit(SENTENCES)
    with pytest.raises(TypeError, match="has vectors of words: strings, got 5"):
        model.most_similar(5)


def test_word_vectors_with_a_damaged_header_get_a_clear_error(tmp_path):
    (tmp_path / "vectors.bin").write_bytes(b"2 99999999999999\na " + np.ones(2, dtype=np.float32).tobytes())
    with pytest.raises(ModelFormatError, match="damaged"):
        load_word_vectors(tmp_path / "vectors.bin", binary=True)
