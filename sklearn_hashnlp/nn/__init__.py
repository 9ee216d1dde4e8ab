"""Torch modules, usable alone: feature ids to vectors without a dictionary."""

from sklearn_hashnlp.nn._full_softmax import FullSoftmax
from sklearn_hashnlp.nn._hash_embedding import HashEmbedding
from sklearn_hashnlp.nn._hash_embedding_bag import HashEmbeddingBag
from sklearn_hashnlp.nn._rowwise_adagrad import RowwiseAdagrad
from sklearn_hashnlp.nn._rowwise_adam import RowwiseAdam
from sklearn_hashnlp.nn._universal_hash import HASH_SPECIFICATION

__all__ = ["HASH_SPECIFICATION", "FullSoftmax", "HashEmbedding", "HashEmbeddingBag", "RowwiseAdagrad", "RowwiseAdam"]
