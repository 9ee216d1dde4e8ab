"""Small layers of a hierarchical softmax with random weights, and batches for them."""

from contextlib import contextmanager

import pytest
import torch

from sklearn_hashnlp.nn import HierarchicalSoftmax
from sklearn_hashnlp.trees import tree_from_nested

MIXED = tree_from_nested([[0, [1, 2, 3]], 4, [5, 6]])


def make(tree=MIXED, in_features=3, *, scale=1.0, seed=0, **options):
    torch.manual_seed(seed)
    layer = HierarchicalSoftmax(tree, in_features, **({"dtype": torch.float64} | options))
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, std=scale)
    return layer


def batch_for(layer, n_rows, seed=0, n_features=2):
    """Return inputs, targets and features; the first row has no features."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(n_rows, layer.in_features, generator=generator, dtype=torch.float64).to(
        layer.weight.dtype
    )
    target = torch.randint(0, layer.n_classes, (n_rows,), generator=generator)
    if not layer.n_direct:
        return inputs, target, None
    features = torch.randint(-(2**61), 2**62, (n_rows, n_features), generator=generator)
    features[:1] = -1
    return inputs, target, features


@contextmanager
def plain_torch():
    """Compute all layers by plain torch, as on other devices."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sklearn_hashnlp.nn._hierarchical_softmax.runs_compiled", lambda *_: False)
        yield
