"""Sentence networks in half precision; compiled tables of words."""

from __future__ import annotations

import pytest
import torch

from sklearn_hashnlp.nn import LSHEmbedding, SGNNTransformer, WordBatch
from sklearn_hashnlp.nn._sentence_network import SentenceNetwork


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_sentence_networks_run_in_half_precision(dtype):
    torch.manual_seed(0)
    words = torch.tensor([[0, 1, 2], [2, -1, -1]])
    batch = WordBatch(torch.randn(3, 40), words, (words >= 0).float())
    network = SentenceNetwork(SGNNTransformer(40, 16, 1, 2, 32, pooling="mean"), projection_dim=8, context_weight=0.5)
    network.common = torch.nn.functional.normalize(torch.ones(1, 8), dim=1)
    expected = network(batch)
    vectors = network.to(dtype)(batch)
    assert vectors.dtype == torch.float32
    assert network.transformer.encode_words(batch).dtype == dtype
    torch.testing.assert_close(vectors, expected, atol=0.05, rtol=0)


def test_hashed_tables_of_words_are_compiled_by_torch():
    embedding, projections = LSHEmbedding(2, 3, 16), torch.randn(5, 40)
    torch.nn.init.normal_(embedding.tables.weight)
    torch.compiler.reset()
    compiled = torch.compile(embedding, backend="eager")
    torch.testing.assert_close(compiled(projections), embedding(projections))
