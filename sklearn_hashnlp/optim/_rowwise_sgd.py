"""Stochastic gradient descent that only updates the rows with a gradient."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from sklearn_hashnlp.kernels.embeddings._row_updates import sgd_rows
from sklearn_hashnlp.optim._rowwise_optimizer import RowKernel, RowwiseOptimizer, row_state


class RowwiseSGD(RowwiseOptimizer):
    r"""Stochastic gradient descent for embedding tables, row by row, and for all other parameters.

    Each row r of a sparse gradient (of an embedding with ``sparse=True``) is updated once, by the
    sum g_r of the gradients of its occurrences in the batch, with the learning rate:

    .. math:: w_r \leftarrow w_r - \eta\, g_r

    Rows without a gradient are neither read nor written. There is no momentum, which would move
    every row in every step. The weights are the same as with :class:`torch.optim.SGD`, except that
    weight decay and averaging are row by row.

    Parameters
    ----------
    params, lr, weight_decay, average_after
        As in :class:`RowwiseAdagrad`.

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import HashEmbedding
    >>> from sklearn_hashnlp.optim import RowwiseSGD
    >>> embedding = HashEmbedding(10_000, 16, num_buckets=500, sparse=True)
    >>> optimizer = RowwiseSGD(embedding.parameters(), lr=0.1)
    >>> embedding(torch.arange(5)).square().sum().backward()
    >>> optimizer.step()
    """

    state_names = frozenset({"step", "steps", "average_offset"})
    touched_key = "steps"

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 0.1,
        *,
        weight_decay: float = 0.0,
        average_after: int | None = None,
    ) -> None:
        super().__init__(params, {"lr": lr}, weight_decay, average_after)

    def _dense_update(
        self, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]
    ) -> Tensor:
        state["step"] = state.get("step", 0) + 1
        update: Tensor = gradient * group["lr"]
        return update

    def _to_row_state(self, state: dict[str, Any], parameter: Tensor) -> None:
        if "step" in state:
            state["steps"] = torch.full_like(
                parameter.view(len(parameter), -1)[:, 0], state.pop("step")
            )

    def _row_updates(
        self,
        table: Tensor,
        rows: Tensor,
        gradients: Tensor,
        state: dict[str, Any],
        group: dict[str, Any],
    ) -> Tensor:
        steps = row_state(state, "steps", table, per_row=True)
        steps[rows] += 1
        updates: Tensor = gradients * group["lr"]
        return updates

    def _row_kernel(self, table: Tensor, state: dict[str, Any], group: dict[str, Any]) -> RowKernel:
        steps = row_state(state, "steps", table, per_row=True)
        return sgd_rows, [steps.unsqueeze(1)], [group["lr"]]
