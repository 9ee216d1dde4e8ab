"""Small hash embeddings with random importance weights."""

import torch


def make(kind, **options):
    torch.manual_seed(0)
    options = {
        "num_embeddings": 40,
        "num_buckets": 11,
        "embedding_dim": 3,
        "seed": 5,
        "dtype": torch.float64,
    } | options
    module = kind(**options)
    if module.importance is not None:
        torch.nn.init.normal_(module.importance)
    return module
