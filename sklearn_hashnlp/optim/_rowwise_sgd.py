"""Stochastic gradient descent that only updates the rows with a gradient."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from sklearn_hashnlp.kernels.embeddings._row_updates import sgd_rows
from sklearn_hashnlp.optim._rowwise_optimizer import RowwiseOptimizer, numpy_type, row_state


class RowwiseSGD(RowwiseOptimizer):
    """Stochastic gradient descent for embedding tables, row by row, and for all other parameters.

    Each row r of a sparse gradient (of an embedding with ``sparse=True``) is updated once, by the sum g_r of the
    gradients of its occurrences in the batch::

        w_r <- w_r - lr g_r

    Rows without a gradient are neither read nor written. There is no momentum, which would move every row in every
    step. The weights are the same as with :class:`torch.optim.SGD`, except that weight decay and averaging are row by
    row.

    Parameters
    ----------
    params : iterable of Tensor or of dict
        Parameters to train, or dicts that define parameter groups.
    lr : float, default=0.1
        Learning rate.
    weight_decay : float, default=0
        Decoupled weight decay, as in AdamW [1]_: each update also subtracts ``lr * weight_decay`` times the parameter.
        Only the rows of a table with a gradient decay, in proportion to the number of their own steps. Put parameters
        that should not decay, such as biases, into a group with ``weight_decay`` 0.
    average_after : int, default=None
        Number of steps after which to start averaging the weights; :meth:`load_average` then replaces the weights by
        their mean. None does not average.

    See Also
    --------
    RowwiseAdagrad : AdaGrad, row by row.
    RowwiseAdam : Adam, row by row.

    References
    ----------
    .. [1] Loshchilov & Hutter (2019). Decoupled weight decay regularization. ICLR, arXiv:1711.05101.

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import HashEmbedding
    >>> from sklearn_hashnlp.optim import RowwiseSGD
    >>> embedding = HashEmbedding(10_000, 16, num_buckets=500, sparse=True)
    >>> optimizer = RowwiseSGD(embedding.parameters(), lr=0.1)
    >>> ids, before = torch.arange(5), embedding.pool.detach().clone()
    >>> embedding(ids).square().sum().backward()
    >>> optimizer.step()
    >>> (embedding.pool != before).any(dim=1).sum().item() <= 10  # five ids of two rows each
    True
    """

    state_names = frozenset({"step", "steps", "average_offset"})
    touched_key = "steps"

    def __init__(
        self, params: Iterable[Any], lr: float = 0.1, *, weight_decay: float = 0.0, average_after: int | None = None
    ) -> None:
        super().__init__(params, {"lr": lr}, weight_decay, average_after)

    def _dense_update(self, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]) -> Tensor:
        state["step"] = state.get("step", 0) + 1
        update: Tensor = gradient * group["lr"]
        return update

    def _has_row_state(self, state: dict[str, Any], parameter: Tensor) -> bool:
        return "steps" in state

    def _to_row_state(self, state: dict[str, Any], parameter: Tensor) -> None:
        if "step" in state:
            state["steps"] = torch.full_like(parameter.view(len(parameter), -1)[:, 0], state.pop("step"))

    def _row_updates(
        self, table: Tensor, rows: Tensor, gradients: Tensor, state: dict[str, Any], group: dict[str, Any]
    ) -> Tensor:
        steps = row_state(state, "steps", table, per_row=True)
        steps[rows] += 1
        updates: Tensor = gradients * group["lr"]
        return updates

    def _update_rows_compiled(
        self,
        table: Tensor,
        average_offset: Tensor,
        rows: Tensor,
        gradients: Tensor,
        state: dict[str, Any],
        group: dict[str, Any],
        steps_averaged: int,
    ) -> None:
        steps = row_state(state, "steps", table, per_row=True)
        number = numpy_type(table)
        sgd_rows(
            *(tensor.numpy() for tensor in (table, steps.unsqueeze(1), average_offset, rows, gradients)),
            *(number(value) for value in (group["lr"], steps_averaged)),
        )
