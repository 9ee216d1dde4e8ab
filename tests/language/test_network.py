"""The network of a language model, from its architecture."""

from __future__ import annotations

from sklearn_hashnlp.language._architecture import word_encoder_of
from sklearn_hashnlp.language._vocabulary import HashEncoder, ProjectionEncoder


def test_the_word_encoder_of_an_architecture():
    assert word_encoder_of({"hashed_words": None, "projected_words": None}) is None
    assert word_encoder_of({"hashed_words": {"seed": 1}, "projected_words": None}) == HashEncoder()
    made_of = {"hashed_words": None, "projected_words": {"n_projections": 3, "n_bits": 4, "seed": 5}}
    assert word_encoder_of(made_of) == ProjectionEncoder(3, 4, 5)
