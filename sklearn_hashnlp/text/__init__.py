"""Transformers from texts to sparse rows and to bits, and sentence splitting, without torch."""

from sklearn_hashnlp.text._auto_ngram_vectorizer import AutoNgramVectorizer
from sklearn_hashnlp.text._char_ngram_featurizer import CharNgramFeaturizer
from sklearn_hashnlp.text._distort_texts import distort_texts
from sklearn_hashnlp.text._frequent_ngram_vectorizer import FrequentNgramVectorizer
from sklearn_hashnlp.text._hashing_ngram_vectorizer import HashingNgramVectorizer
from sklearn_hashnlp.text._sgnn_projector import SGNNProjector
from sklearn_hashnlp.text._sgnn_word_projector import SGNNWordProjector
from sklearn_hashnlp.text._split_sentences import split_sentences
from sklearn_hashnlp.text._word_projections import project_words

__all__ = [
    "AutoNgramVectorizer",
    "CharNgramFeaturizer",
    "FrequentNgramVectorizer",
    "HashingNgramVectorizer",
    "SGNNProjector",
    "SGNNWordProjector",
    "distort_texts",
    "project_words",
    "split_sentences",
]
