"""Transformers from strings to sparse rows; they load no torch."""

from sklearn_hashnlp.text._char_ngram_featurizer import CharNgramFeaturizer
from sklearn_hashnlp.text._hashing_ngram_vectorizer import HashingNgramVectorizer

__all__ = ["CharNgramFeaturizer", "HashingNgramVectorizer"]
