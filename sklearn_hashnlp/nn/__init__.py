"""Torch modules, usable alone: feature ids to vectors without a dictionary."""

from sklearn_hashnlp.nn._hash_embedding import HashEmbedding, HashEmbeddingBag
from sklearn_hashnlp.nn._hierarchical_softmax import HierarchicalSoftmax
from sklearn_hashnlp.nn._nplm import NPLM
from sklearn_hashnlp.nn._sentence_losses import (
    CosineProximityLoss,
    InfoNCELoss,
    SimilarityBXENT,
    VonMisesFisherLoss,
)
from sklearn_hashnlp.nn._sgnn_projection import SGNNProjection
from sklearn_hashnlp.nn._sgnn_transformer import SGNNTransformer, WordBatch
from sklearn_hashnlp.nn._softmax_layers import FullSoftmax
from sklearn_hashnlp.nn.ngrams._ngram_hash_embedding import NgramHashEmbedding

__all__ = [
    "NPLM",
    "CosineProximityLoss",
    "FullSoftmax",
    "HashEmbedding",
    "HashEmbeddingBag",
    "HierarchicalSoftmax",
    "InfoNCELoss",
    "NgramHashEmbedding",
    "SGNNProjection",
    "SGNNTransformer",
    "SimilarityBXENT",
    "VonMisesFisherLoss",
    "WordBatch",
]
