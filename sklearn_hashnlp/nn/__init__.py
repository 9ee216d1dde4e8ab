"""Torch modules, usable alone: feature ids to vectors without a dictionary."""

from sklearn_hashnlp.nn._attention_seq2seq import AttentionSeq2Seq
from sklearn_hashnlp.nn._cosine_proximity_loss import CosineProximityLoss
from sklearn_hashnlp.nn._full_softmax import FullSoftmax
from sklearn_hashnlp.nn._hash_embedding import HashEmbedding
from sklearn_hashnlp.nn._hash_embedding_bag import HashEmbeddingBag
from sklearn_hashnlp.nn._hierarchical_softmax import HierarchicalSoftmax
from sklearn_hashnlp.nn._info_nce_loss import InfoNCELoss
from sklearn_hashnlp.nn._lsh_embedding import LSHEmbedding
from sklearn_hashnlp.nn._masked_word_head import MaskedWordHead
from sklearn_hashnlp.nn._nplm import NPLM
from sklearn_hashnlp.nn._rowwise_adagrad import RowwiseAdagrad
from sklearn_hashnlp.nn._rowwise_adam import RowwiseAdam
from sklearn_hashnlp.nn._sentence_network import SentenceNetwork
from sklearn_hashnlp.nn._sgnn_projection import SGNNProjection
from sklearn_hashnlp.nn._sgnn_transformer import SGNNTransformer
from sklearn_hashnlp.nn._similarity_bxent import SimilarityBXENT
from sklearn_hashnlp.nn._universal_hash import HASH_SPECIFICATION
from sklearn_hashnlp.nn._von_mises_fisher_loss import VonMisesFisherLoss
from sklearn_hashnlp.nn._word_batch import WordBatch

__all__ = [
    "HASH_SPECIFICATION",
    "NPLM",
    "AttentionSeq2Seq",
    "CosineProximityLoss",
    "FullSoftmax",
    "HashEmbedding",
    "HashEmbeddingBag",
    "HierarchicalSoftmax",
    "InfoNCELoss",
    "LSHEmbedding",
    "MaskedWordHead",
    "RowwiseAdagrad",
    "RowwiseAdam",
    "SGNNProjection",
    "SGNNTransformer",
    "SentenceNetwork",
    "SimilarityBXENT",
    "VonMisesFisherLoss",
    "WordBatch",
]
