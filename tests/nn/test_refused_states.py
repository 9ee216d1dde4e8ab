"""States and arguments that modules refuse, since they would compute something else with them."""

from __future__ import annotations

import re

import pytest
import torch

from sklearn_hashnlp.nn import (
    NPLM,
    AttentionSeq2Seq,
    HashEmbedding,
    HashEmbeddingBag,
    SGNNProjection,
)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"seed": 1}, "seed"),
        ({"hyperplanes": "sign"}, "hyperplanes"),
        ({"density": 0.5}, "density"),
        ({"output": "sign"}, "output"),
    ],
)
def test_a_checkpoint_is_not_loaded_above_other_random_projections(options, name):
    state = torch.nn.Sequential(SGNNProjection(2, 4), torch.nn.Linear(8, 2)).state_dict()
    other = torch.nn.Sequential(SGNNProjection(2, 4, **options), torch.nn.Linear(8, 2))
    with pytest.raises(ValueError, match=f"differs in {name} from this one"):
        other.load_state_dict(state)


def test_a_checkpoint_of_random_projections_needs_their_parameters():
    state = SGNNProjection(2, 4, seed=-1).state_dict()
    SGNNProjection(2, 4, seed=2**64 - 1).load_state_dict(state)
    with pytest.raises(RuntimeError, match=r'Missing key.*"_extra_state"'):
        SGNNProjection(2, 4).load_state_dict({})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"aggregation": "median"}, "aggregation='sum', this module has aggregation='median'"),
        ({"normalize": "l1"}, "normalize=None, this module has normalize='l1'"),
        ({"hash_rows": False}, "variant='improved', hash_rows=True, this module has variant='improved', hash_rows=F"),
    ],
)
def test_tables_are_not_loaded_into_a_bag_that_reads_them_otherwise(options, message):
    state = HashEmbeddingBag(20, 4, num_buckets=10).state_dict()
    with pytest.raises(ValueError, match=re.escape(message)):
        HashEmbeddingBag(20, 4, num_buckets=10, **options).load_state_dict(state)


def test_strings_that_contain_the_end_symbol_are_refused():
    network, good = AttentionSeq2Seq(5, 2, 2, 2), torch.tensor([[1, 2]])
    ended = torch.tensor([[1, 4]])
    with pytest.raises(ValueError, match="source must be without the end symbol 4"):
        network.generate(ended)
    with pytest.raises(ValueError, match="target must be without the end symbol 4"):
        network(good, ended)


def test_a_linear_layer_is_no_output_layer():
    with pytest.raises(TypeError, match=r"must be an output layer such as FullSoftmax .*, got Linear"):
        AttentionSeq2Seq(5, 2, 2, 2, output=torch.nn.Linear(2, 5))


def test_a_word_embedding_of_another_width_is_refused_by_the_network():
    with pytest.raises(ValueError, match=r"embedding_dim must be 6, the output_dim of the HashEmbedding .*, got 4"):
        NPLM(9, 2, 4, 2, output="softmax", embedding=HashEmbedding(9, 4, num_buckets=5))
    NPLM(9, 2, 6, 2, output="softmax", embedding=HashEmbedding(9, 4, num_buckets=5))
