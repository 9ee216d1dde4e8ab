"""The way of :class:`HierarchicalSoftmax` through compiled kernels, there and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sklearn_hashnlp._threads import run_in_background
from sklearn_hashnlp.kernels._tree_backward import input_gradients, score_gradients, weight_gradients
from sklearn_hashnlp.kernels._tree_features import add_direct, direct_gradients, locate_features
from sklearn_hashnlp.kernels._tree_forward import TreeWalk, add_scores, decide, visit_paths
from sklearn_hashnlp.nn._tree_torch import Climb, Scorer, path_log_probs

_DTYPES = (torch.float32, torch.float64)
_N_ARGUMENTS = 10  # of CompiledPaths.forward
_FEW = 2**22  # multiplications that are not worth another thread


class CompiledPaths(torch.autograd.Function):
    """Log-probabilities of classes, node by node of a tree, with gradients of the visited nodes alone."""

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,  # (rows, in_features)
        weight: Tensor,
        bias: Tensor,
        direct: Tensor | None,  # (n_direct,)
        target: Tensor,  # (rows,)
        features: Tensor | None,  # (rows, n_features)
        walk: TreeWalk,
        climb: Climb,
        constants: tuple[int, int],
        sparse: bool,
    ) -> Tensor:  # (rows,)
        """Return the log-probability of each row's class."""
        # Torch notices when one of them is changed before the way back.
        ctx.save_for_backward(inputs, weight, bias, direct, target, features)
        inputs, weight, bias = (tensor.detach().contiguous() for tensor in (inputs, weight, bias))
        visits = visit_paths(target.contiguous().numpy(), walk)
        scores: NDArray[Any] = np.zeros(visits.places[-1], dtype=inputs.numpy().dtype)
        ctx.slots = None
        if direct is not None and features is not None:
            ctx.slots = locate_features(features.contiguous().numpy(), visits, constants, len(direct))
            add_direct(direct.detach().contiguous().numpy(), ctx.slots, visits.starts, visits.places, scores)
        add_scores(inputs.numpy(), weight.numpy(), bias.numpy(), visits, scores)
        log_probs, ctx.slopes = decide(scores, visits, len(target))
        ctx.visits, ctx.n_scores, ctx.sparse = visits, len(weight), sparse
        ctx.climb, ctx.constants = climb, constants
        ctx.n_direct = 0 if direct is None else len(direct)
        return torch.from_numpy(log_probs)

    @staticmethod
    def backward(
        ctx: Any,
        gradient: Tensor,  # (rows,)
    ) -> tuple[Tensor | None, ...]:
        """Return the gradients of the input and of all parameters."""
        if torch.is_grad_enabled():
            return _differentiable_gradients(ctx, gradient)
        inputs, weight = (tensor.detach().contiguous() for tensor in ctx.saved_tensors[:2])
        visits, (of_inputs, of_weight, of_bias, of_direct) = ctx.visits, ctx.needs_input_grad[:4]
        rows = visits.weight_rows
        results: list[Tensor | None] = [None] * _N_ARGUMENTS
        changes = score_gradients(gradient.detach().contiguous().numpy(), ctx.slopes, visits)
        task = None
        if of_weight or of_bias:
            work = (weight_gradients, inputs.numpy(), changes, visits)
            # Both products read the same numbers and write their own: neither waits for the other.
            task = run_in_background(*work) if of_inputs and changes.size * weight.shape[1] > _FEW else None
            if task is None:
                weights, biases = weight_gradients(*work[1:])
        if of_inputs:
            results[0] = torch.from_numpy(input_gradients(weight.numpy(), changes, visits, len(inputs)))
        if of_direct and ctx.slots is not None:
            results[3] = _as_gradient(*direct_gradients(ctx.slots, changes, visits, ctx.n_direct), ctx.n_direct, ctx)
        if task is not None:
            weights, biases = task.result()
        if of_weight:
            results[1] = _as_gradient(rows, weights, ctx.n_scores, ctx)
        if of_bias:
            results[2] = _as_gradient(rows, biases, ctx.n_scores, ctx)
        return tuple(results)


def runs_compiled(inputs: Tensor, weight: Tensor) -> bool:
    """Return whether :class:`CompiledPaths` can do a layer's work."""
    return (
        weight.device.type == "cpu"
        and weight.dtype in _DTYPES
        and inputs.dtype == weight.dtype
        and inputs.device.type == "cpu"
        and not torch.compiler.is_compiling()
        and not torch._C._are_functorch_transforms_active()
        and not torch._C._is_tracing()
        and type(weight.data) is Tensor  # asked last: transforms forbid the look
        and type(inputs.data) is Tensor
    )


def _differentiable_gradients(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    inputs, weight, bias, direct, target, features = ctx.saved_tensors
    scorer = Scorer(weight, bias, direct, ctx.constants, sparse=False)
    log_probs = path_log_probs(scorer, ctx.climb, inputs, target, features)
    sources, wanted = (inputs, weight, bias, direct), ctx.needs_input_grad[:4]
    some = [source for source, is_wanted in zip(sources, wanted, strict=True) if is_wanted]
    found = iter(torch.autograd.grad(log_probs, some, gradient, create_graph=True, allow_unused=True))
    results = [next(found) if is_wanted else None for is_wanted in wanted]
    return (*results, *[None] * (_N_ARGUMENTS - len(results)))


def _as_gradient(rows: NDArray[np.int64], values: NDArray[Any], n_rows: int, ctx: Any) -> Tensor:
    places, gradients = torch.from_numpy(rows), torch.from_numpy(values)
    shape = (n_rows, *gradients.shape[1:])
    if ctx.sparse:
        return torch.sparse_coo_tensor(
            places.unsqueeze(0), gradients, shape, device="cpu", is_coalesced=True, check_invariants=False
        )
    return torch.zeros(shape, dtype=gradients.dtype, device="cpu").index_copy_(0, places, gradients)
