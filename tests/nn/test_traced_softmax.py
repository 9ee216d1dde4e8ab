"""Output layers in traced functions: compiled in one graph, exported, under vmap and
torch.func.grad.
"""

import pytest
import torch

from sklearn_hashnlp.nn import FullSoftmax
from sklearn_hashnlp.trees import complete_tree, huffman_tree, two_level_tree

from .tree_layers import MIXED, batch_for, make

LAYERS = {
    "full": lambda **options: FullSoftmax(3, 7, dtype=torch.float64, **options),
    "mixed": lambda **options: make(MIXED, n_direct=9, **options),
    "binary": lambda **options: make(huffman_tree(range(1, 8)), **options),
    "wide": lambda **options: make(two_level_tree(7), n_direct=9, **options),
    "one class": lambda **options: make(complete_tree(1), **options),
}
IGNORED = [False, True, False, False, True, False]


def layer_and_batch(name, **options):
    layer = LAYERS[name](**options)
    layer.n_direct = getattr(layer, "n_direct", 0)
    inputs, target, features = batch_for(layer, 6)
    target[IGNORED] = -100
    inputs[IGNORED] = torch.nan  # what is ignored has no part in anything
    return layer, inputs.requires_grad_(), (target,) if features is None else (target, features)


def outputs(layer, inputs, rest):
    """Return output and loss, and the gradients of the loss's sum by input and parameters."""
    output, loss = layer(inputs, *rest)
    trained = [inputs, *layer.parameters()]
    gradients = torch.autograd.grad(loss.sum(), trained, allow_unused=True)
    return [
        output,
        loss,
        *(torch.zeros(()) if gradient is None else gradient for gradient in gradients),
    ]


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", LAYERS)
def test_vmap_and_grad_agree(name, reduction):
    layer, inputs, rest = layer_and_batch(name, reduction=reduction)
    expected = outputs(layer, inputs, rest)
    output = torch.vmap(layer)(inputs.unsqueeze(0), *(part.unsqueeze(0) for part in rest)).output
    torch.testing.assert_close(output[0], expected[0])
    gradient = torch.func.grad(lambda inputs: layer(inputs, *rest).loss.sum())(inputs.detach())
    torch.testing.assert_close(gradient, expected[2])


@pytest.mark.parametrize(
    "name",
    ["full", *(pytest.param(name, marks=pytest.mark.slow) for name in LAYERS if name != "full")],
)
def test_compiled_and_exported_layers_agree(name):
    layer, inputs, rest = layer_and_batch(name)
    expected = outputs(layer, inputs, rest)
    torch.compiler.reset()
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    exported = torch.export.export(layer, (inputs, *rest)).module()
    for traced in (compiled, exported):
        output, loss = traced(inputs, *rest)
        torch.testing.assert_close([output, loss], expected[:2])
    trained = [inputs, *layer.parameters()]
    gradients = torch.autograd.grad(compiled(inputs, *rest).loss, trained, allow_unused=True)
    for gradient, known in zip(gradients, expected[2:], strict=True):
        torch.testing.assert_close(torch.zeros(()) if gradient is None else gradient, known)


def test_a_batch_without_targets_has_no_mean():
    layer, inputs, _ = layer_and_batch("binary")
    loss = torch.vmap(lambda inputs: layer(inputs, torch.full((6,), -100)).loss)(
        inputs.unsqueeze(0)
    )
    assert loss.isnan().all()
    assert layer(inputs, torch.full((6,), -100)).loss.isnan()
