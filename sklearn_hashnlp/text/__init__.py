"""Transformers from strings to sparse rows; they load no torch."""

from ._char_ngram_featurizer import CharNgramFeaturizer
from ._hashing_ngram_vectorizer import HashingNgramVectorizer

__all__ = ["CharNgramFeaturizer", "HashingNgramVectorizer"]
