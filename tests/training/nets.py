"""Small nets of hash embeddings, with weights drawn from seed 0."""

from sklearn_hashnlp.classifiers.hash_embedding._sparse_net import make_net
from sklearn_hashnlp.training._torch_scope import plain_torch, torch_seed

ARCHITECTURE = {
    "num_embeddings": 3000,
    "num_buckets": 500,
    "embedding_dim": 4,
    "num_hashes": 2,
    "variant": "improved",
    "aggregation": "sum",
    "append_weight": True,
    "normalize": "l2",
    "importance_init": 1.0,
    "hash_seed": 0,
    "hidden_sizes": [],
    "num_classes": 3,
}


def fresh_net(device="cpu", **changes):
    net = make_net(ARCHITECTURE | changes, device)
    with plain_torch(device), torch_seed(0, device):
        return net.initialize()
