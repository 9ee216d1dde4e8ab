"""Compiled training steps of a hash embedding bag with linear softmax, without torch's autograd."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.modules.module import _has_any_global_hook

from sklearn_hashnlp._threads import prefetch
from sklearn_hashnlp.classifiers.hash_embedding._sparse_batches import SparseBatch, SparseBatches
from sklearn_hashnlp.kernels.embeddings._bags import (
    BagGroups,
    RowGradients,
    bag_gradients,
    embed_bags,
    group_bags,
)
from sklearn_hashnlp.kernels.embeddings._hash_ids import locate_ids
from sklearn_hashnlp.kernels.linear._softmax_head import softmax_head
from sklearn_hashnlp.nn._hash_embedding_network import HashEmbeddingNetwork
from sklearn_hashnlp.optim._rowwise_optimizer import RowwiseOptimizer
from sklearn_hashnlp.training._loop import Steps

_MAX_CLASSES = 256  # with more, torch's matrix products are faster
_MODULE_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_PARAMETER_HOOKS = ("_backward_hooks", "_post_accumulate_grad_hooks")


class BatchIndices(NamedTuple):
    """Table indices of the features of a batch, which do not depend on the weights."""

    rows: NDArray[np.int32]  # of the importance table, see :func:`locate_ids`
    slots: NDArray[np.int32]  # of the pool
    groups: BagGroups  # the features of each row and slot, see :func:`group_bags`


class CompiledStep:
    """Forward pass, cross-entropy, backward pass and optimizer step in a few compiled kernels."""

    def __init__(
        self,
        module: HashEmbeddingNetwork,
        optimizer: Any,  # a RowwiseOptimizer
        # The factor of a batch's gradients
        scale: Callable[[tuple[SparseBatch, Tensor]], float] = lambda _: 1.0,
    ) -> None:
        self._scale = scale
        self._bag = module.bag
        self._head = cast(nn.Linear, module.head[0])
        self._optimizer = optimizer
        self._layout = module.bag.layout
        self._constants = np.array(module.bag._constants, dtype=np.uint64)
        optimizer.zero_grad()

    def steps(self, batches: SparseBatches) -> Steps:
        """Return each batch with its training step; a second thread prepares the next batch."""
        steps = ((batch, partial(self._step, *batch, self._locate(batch[0]))) for batch in batches)
        return prefetch(steps) if len(batches) > 1 else steps

    def _locate(self, batch: SparseBatch) -> BatchIndices:
        n_rows, n_slots = self._bag.num_embeddings, len(self._bag.pool)
        rows, slots = locate_ids(
            batch.ids.numpy(), self._constants, n_rows, n_slots, self._layout.variant
        )
        return BatchIndices(
            rows, slots, group_bags(rows, slots, batch.offsets.numpy(), n_rows, n_slots)
        )

    def _step(self, batch: SparseBatch, targets: Tensor, indices: BatchIndices) -> dict[str, Any]:
        bag, head = self._bag, self._head
        pool = bag.pool.detach().numpy()
        importance = None if bag.importance is None else bag.importance.detach().numpy()
        counts = batch.weights.numpy()
        scale = np.float32(self._scale((batch, targets)))
        row_weights = (
            np.ones(len(batch), np.float32)
            if batch.row_weights is None
            else batch.row_weights.numpy()
        )
        bags = embed_bags(
            indices.rows,
            indices.slots,
            batch.offsets.numpy(),
            counts,
            pool,
            importance,
            self._layout,
        )
        result = softmax_head(
            bags.documents,
            head.weight.detach().numpy(),
            head.bias.detach().numpy(),
            targets.numpy(),
            row_weights * scale,
        )
        table_gradients = bag_gradients(
            result.inputs, bags, counts, pool, importance, self._layout, indices.groups
        )
        row_gradients: dict[Tensor, RowGradients] = {
            table: gradients
            for table, gradients in zip((bag.pool, bag.importance), table_gradients, strict=True)
            if table is not None and gradients is not None and table.requires_grad
        }
        for parameter, gradient in ((head.weight, result.weight), (head.bias, result.bias)):
            parameter.grad = torch.from_numpy(gradient) if parameter.requires_grad else None
        self._optimizer.step(row_gradients=row_gradients)
        return {
            "loss": torch.tensor(result.loss / float(scale)),
            "y_pred": torch.from_numpy(result.scores),
        }


def supports_compiled_step(module: HashEmbeddingNetwork, optimizer: torch.optim.Optimizer) -> bool:
    """Return whether :class:`CompiledStep` can train a net with cross-entropy."""
    head = module.head
    return (
        isinstance(optimizer, RowwiseOptimizer)
        and module.bag.pool.device.type == "cpu"
        and (module.bag.aggregation != "median" or module.bag.importance is None)
        and len(head) == 1
        and isinstance(head[0], nn.Linear)
        and head[0].out_features <= _MAX_CLASSES
        and not _has_any_global_hook()  # type: ignore[no-untyped-call]  # torch's, without types
        and not any(getattr(part, name) for part in module.modules() for name in _MODULE_HOOKS)
        and not any(
            getattr(parameter, name)
            for parameter in module.parameters()
            for name in _PARAMETER_HOOKS
        )
    )
