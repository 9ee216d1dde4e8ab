"""Word vectors to which the hashed n-grams of a window are added."""

from __future__ import annotations

import torch
from torch import Tensor

from sklearn_hashnlp.nn._layers import SeededDropout
from sklearn_hashnlp.nn._word_embeddings import WordTable
from sklearn_hashnlp.nn.ngrams._ngram_hash_embedding import NgramHashEmbedding

# Chosen on the validation text of the Penn Treebank. Without both, a few epochs memorize the
# n-grams of the text.
_DROPOUT = 0.7  # probability that the n-grams of a word are dropped in training
_SCALE = 0.1  # of the rows: their optimizer has the learning rate of the word vectors


class NgramWordTable(WordTable):
    """A table of word vectors; in windows, rows of each word's bigram and trigram are added."""

    def __init__(
        self, num_embeddings: int, embedding_dim: int, num_rows: int, padding_id: int, seed: int
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, sparse=True)
        self.ngrams = NgramHashEmbedding(
            num_rows, embedding_dim, orders=(2, 3), boundary=padding_id, seed=seed
        )
        self.dropout = SeededDropout(_DROPOUT)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - torch's name
        """Return the vectors of single words, or of windows of shape (rows, n_words)."""
        vectors = super().forward(input)
        if input.dim() != 2:
            return vectors
        kept = self.dropout(
            torch.full((*input.shape, 1), _SCALE, dtype=vectors.dtype, device=vectors.device)
        )
        summed: Tensor = vectors + self.ngrams(input) * kept
        return summed
