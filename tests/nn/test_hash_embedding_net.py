"""A net's weights as arrays, and the way back from a trained net to an earlier one."""

from __future__ import annotations

import copy

import pytest
import torch

from sklearn_hashnlp.nn._hash_embedding_network import BagOfHashEmbeddings


def make_module(variant="improved", **changes):
    sizes = {"num_embeddings": 300_000, "num_buckets": 5000, "embedding_dim": 3, "num_hashes": 2, "num_classes": 2}
    options = {"aggregation": "sum", "append_weight": True, "normalize": "l2", "hash_seed": 0, "hidden_sizes": [4]}
    return BagOfHashEmbeddings(**sizes, **options, variant=variant, **{"importance_init": 1.0} | changes)


@pytest.mark.parametrize("variant", ["improved", "standard"])
@pytest.mark.parametrize("all_rows", [False, True], ids=["some rows", "all rows"])
def test_cleared_tables_take_earlier_weights_back(variant, all_rows):
    module = make_module(variant)
    with torch.no_grad():
        for table in module.tables().values():
            table[::3] = 0.5
    state, arrays = copy.deepcopy(module.state_dict()), module.to_arrays()
    with torch.no_grad():
        for table in module.tables().values():
            table[slice(None) if all_rows else [0, 1, len(table) - 1]] = torch.nan  # some that were touched, some not
    module.clear_tables()
    assert all(
        torch.equal(a, b) for a, b in zip(module.tables().values(), make_module(variant).tables().values(), strict=True)
    )
    module.load_arrays(arrays)
    for name, value in module.state_dict().items():
        assert torch.equal(value, state[name]), name
