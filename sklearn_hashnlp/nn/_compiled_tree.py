"""Forward and backward pass of :class:`HierarchicalSoftmax` by compiled kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sklearn_hashnlp._threads import run_in_background
from sklearn_hashnlp.kernels.trees._features import add_direct, direct_gradients, locate_features
from sklearn_hashnlp.kernels.trees._paths import (
    UpwardTree,
    add_scores,
    find_path_nodes,
    input_gradients,
    score_gradients,
    sum_log_probs,
    weight_gradients,
)
from sklearn_hashnlp.nn._tensors import kernels_apply, row_gradient
from sklearn_hashnlp.nn._tree_torch import PathTensors, Scorer, path_log_probs

_N_ARGUMENTS = 10  # number of arguments of CompiledPaths.forward
_MIN_BACKGROUND = 2**22  # minimum number of multiplications for another thread


class CompiledPaths(torch.autograd.Function):
    """Log-probabilities of classes by tree paths, with gradients of the visited nodes only."""

    # torch's own operations gather a row of the weight, and add a gradient row, for each visit of a
    # node. Here all visits of a node in the batch are one small matrix product, forward and
    # backward.

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,  # (rows, in_features)
        weight: Tensor,  # (n_scores, in_features)
        bias: Tensor,  # (n_scores,)
        direct: Tensor | None,  # (n_direct,)
        target: Tensor,  # (rows,)
        features: Tensor | None,  # (rows, n_features)
        tree: UpwardTree,
        paths: PathTensors,  # the same tree, for second derivatives
        constants: tuple[int, int],  # hash function of direct connections
        sparse: bool,
    ) -> Tensor:  # (rows,)
        """Compute the log-probability of the target of each row."""
        # Saved tensors let torch detect changes before the backward pass.
        ctx.save_for_backward(inputs, weight, bias, direct, target, features)
        inputs, weight, bias = (tensor.detach().contiguous() for tensor in (inputs, weight, bias))
        path_nodes = find_path_nodes(target.contiguous().numpy(), tree)
        scores: NDArray[Any] = np.zeros(path_nodes.score_starts[-1], dtype=inputs.numpy().dtype)
        ctx.slots = None
        if direct is not None and features is not None:
            hash_constants = np.array(constants, dtype=np.uint64)
            ctx.slots = locate_features(
                features.contiguous().numpy(), path_nodes, hash_constants, len(direct)
            )
            add_direct(direct.detach().contiguous().numpy(), ctx.slots, path_nodes, scores)
        add_scores(inputs.numpy(), weight.numpy(), bias.numpy(), path_nodes, scores)
        log_probs, ctx.derivatives = sum_log_probs(scores, path_nodes, len(target))
        ctx.path_nodes, ctx.sparse = path_nodes, sparse
        ctx.paths, ctx.constants = paths, constants
        ctx.n_direct = 0 if direct is None else len(direct)
        return torch.from_numpy(log_probs)

    @staticmethod
    def backward(
        ctx: Any,
        gradient: Tensor,  # (rows,)
    ) -> tuple[Tensor | None, ...]:
        """Compute the gradients of the input and of all parameters."""
        if torch.is_grad_enabled():
            return _differentiable_gradients(ctx, gradient)
        inputs, weight = (tensor.detach().contiguous() for tensor in ctx.saved_tensors[:2])
        path_nodes, (needs_inputs, needs_weight, needs_bias, needs_direct) = (
            ctx.path_nodes,
            ctx.needs_input_grad[:4],
        )
        rows = path_nodes.weight_rows
        results: list[Tensor | None] = [None] * _N_ARGUMENTS
        d_scores = score_gradients(
            gradient.detach().contiguous().numpy(), ctx.derivatives, path_nodes
        )
        task = None
        if needs_weight or needs_bias:
            work = (weight_gradients, inputs.numpy(), d_scores, path_nodes)
            # Both products read the same arrays and write different ones, so they can run
            # concurrently.
            is_large = d_scores.size * weight.shape[1] > _MIN_BACKGROUND
            task = run_in_background(*work) if needs_inputs and is_large else None
            if task is None:
                d_weight, d_bias = weight_gradients(*work[1:])
        if needs_inputs:
            results[0] = torch.from_numpy(
                input_gradients(weight.numpy(), d_scores, path_nodes, len(inputs))
            )
        if needs_direct and ctx.slots is not None:
            entries, d_direct = direct_gradients(ctx.slots, d_scores, path_nodes, ctx.n_direct)
            results[3] = row_gradient(entries, d_direct, (ctx.n_direct,), sparse=ctx.sparse)
        if task is not None:
            d_weight, d_bias = task.result()
        if needs_weight:
            results[1] = row_gradient(rows, d_weight, tuple(weight.shape), sparse=ctx.sparse)
        if needs_bias:
            results[2] = row_gradient(rows, d_bias, (len(weight),), sparse=ctx.sparse)
        return tuple(results)


def _differentiable_gradients(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    """Compute gradients that are differentiable themselves, by plain torch."""
    inputs, weight, bias, direct, target, features = ctx.saved_tensors
    scorer = Scorer(weight, bias, direct, ctx.constants, sparse=False)
    log_probs = path_log_probs(scorer, ctx.paths, inputs, target, features)
    sources, needed = (inputs, weight, bias, direct), ctx.needs_input_grad[:4]
    chosen = [source for source, is_needed in zip(sources, needed, strict=True) if is_needed]
    gradients = iter(
        torch.autograd.grad(log_probs, chosen, gradient, create_graph=True, allow_unused=True)
    )
    results = [next(gradients) if is_needed else None for is_needed in needed]
    return (*results, *[None] * (_N_ARGUMENTS - len(results)))


def runs_compiled(inputs: Tensor, weight: Tensor) -> bool:
    """Return whether :class:`CompiledPaths` can compute a layer."""
    return inputs.dtype == weight.dtype and kernels_apply(inputs) and kernels_apply(weight)
