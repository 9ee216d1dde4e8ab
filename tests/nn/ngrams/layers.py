"""Small layers of hashed n-grams with random tables, and random sequences."""

import torch

from sklearn_hashnlp.nn import NgramHashEmbedding

OPTIONS = {
    "one row": {},
    "heads": {"num_heads": 3},
    "hashes": {"num_hashes": 2},
    "signs": {"signs": True, "num_hashes": 2},
    "importance": {"num_hashes": 2, "importance": True},
    "importance and signs": {"num_hashes": 3, "importance": True, "signs": True, "num_heads": 2},
    "concat": {"mode": "concat", "num_heads": 2},
    "concat, hashes": {"mode": "concat", "num_hashes": 2, "signs": True},
    "unequal": {"num_embeddings": [7, 64, 100]},
    "xor": {"scheme": "multiplicative_xor", "num_heads": 2},
    "polynomial": {"scheme": ("polynomial", 50), "num_heads": 2},
}


def make(num_embeddings=23, embedding_dim=6, *, seed=5, **options):
    torch.manual_seed(0)
    options = {
        "orders": (1, 2, 4),
        "boundary": 7,
        "padding_idx": 3,
        "dtype": torch.float64,
    } | options
    layer = NgramHashEmbedding(
        options.pop("num_embeddings", num_embeddings), embedding_dim, seed=seed, **options
    )
    torch.nn.init.normal_(layer.weight)
    if layer.importance is not None:
        torch.nn.init.normal_(layer.importance)
    return layer


def sequences(n_sequences=4, time=20, n_ids=12, seed=0):
    """Return ids with boundaries and padding, and a mask of starts."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(0, n_ids, (n_sequences, time), generator=generator)
    return ids, torch.rand(n_sequences, time, generator=generator) < 0.1
