"""Adam with a step count per row that only updates the rows with a gradient."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from sklearn_hashnlp.kernels.embeddings._row_updates import adam_rows
from sklearn_hashnlp.optim._rowwise_optimizer import RowKernel, RowwiseOptimizer, row_state


class RowwiseAdam(RowwiseOptimizer):
    r"""Adam for embedding tables, row by row; ordinary Adam for all other parameters.

    For a parameter with a sparse gradient (an embedding with ``sparse=True``), each row r of the
    gradient has a first moment for each element, one second moment and its own number of steps:

    .. math::
        t_r \leftarrow t_r + 1, \quad m_r \leftarrow \beta_1 m_r + (1 - \beta_1)\, g_r, \quad
        v_r \leftarrow \beta_2 v_r + (1 - \beta_2)\, \frac{1}{d} \sum_c g_{r,c}^2

    .. math::
        w_r \leftarrow w_r
        - \eta\, \frac{m_r / (1 - \beta_1^{t_r})}{\sqrt{v_r / (1 - \beta_2^{t_r})} + \epsilon}

    So the bias correction of a rare row depends on its own steps, not on all steps of the
    optimizer. Rows without a gradient are neither read nor written, so their momentum does not move
    them. A parameter with dense gradients is trained exactly as by :class:`torch.optim.Adam` [1]_,
    but row by row after its first sparse gradient.

    Parameters
    ----------
    lr : float, default=0.001
        Learning rate.
    betas : (float, float), default=(0.9, 0.999)
        Decay rates of the two moments.
    params, eps, weight_decay, average_after
        As in :class:`RowwiseAdagrad`; ``eps`` is 1e-8 by default.

    References
    ----------
    .. [1] Kingma & Ba (2015). Adam: a method for stochastic optimization. ICLR, arXiv:1412.6980,
           algorithm 1.

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import HashEmbedding
    >>> from sklearn_hashnlp.optim import RowwiseAdam
    >>> embedding = HashEmbedding(10_000, 16, num_buckets=500, sparse=True)
    >>> optimizer = RowwiseAdam(embedding.parameters(), lr=0.01)
    >>> embedding(torch.arange(5)).square().sum().backward()
    >>> optimizer.step()
    """

    state_names = frozenset({"mean", "square", "step", "steps", "average_offset"})
    touched_key = "steps"

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        *,
        weight_decay: float = 0.0,
        average_after: int | None = None,
    ) -> None:
        if not all(0 <= beta < 1 for beta in betas):
            raise ValueError(f"betas must be at least 0 and less than 1, got {betas}.")
        super().__init__(
            params, {"lr": lr, "betas": betas, "eps": eps}, weight_decay, average_after
        )

    def _dense_update(
        self, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]
    ) -> Tensor:
        if "mean" not in state:
            state |= {
                "mean": torch.zeros_like(gradient),
                "square": torch.zeros_like(gradient),
                "step": 0,
            }
        beta_1, beta_2 = group["betas"]
        state["step"] += 1
        state["mean"].lerp_(gradient, 1 - beta_1)
        state["square"].lerp_(gradient.square(), 1 - beta_2)
        size = (state["square"] / (1 - beta_2 ** state["step"])).sqrt_().add_(group["eps"])
        update: Tensor = state["mean"] / size * (group["lr"] / (1 - beta_1 ** state["step"]))
        return update

    def _to_row_state(self, state: dict[str, Any], parameter: Tensor) -> None:
        if "step" in state:
            mean, square = (state[key].unsqueeze(-1).flatten(1) for key in ("mean", "square"))
            state |= {"mean": mean.contiguous(), "square": square.mean(dim=1)}
            state["steps"] = torch.full_like(state["square"], state.pop("step"))

    def _row_updates(
        self,
        table: Tensor,
        rows: Tensor,
        gradients: Tensor,
        state: dict[str, Any],
        group: dict[str, Any],
    ) -> Tensor:
        means, squares, steps = _moments(state, table)
        beta_1, beta_2 = group["betas"]
        mean = means[rows].lerp_(gradients, 1 - beta_1)
        square = squares[rows].lerp_(gradients.square().mean(dim=1), 1 - beta_2)
        step = steps[rows] + 1
        means[rows] = mean
        squares[rows] = square
        steps[rows] = step
        size = (square / (1 - beta_2**step)).sqrt_().add_(group["eps"])
        updates: Tensor = mean * (group["lr"] / ((1 - beta_1**step) * size)).unsqueeze(1)
        return updates

    def _row_kernel(self, table: Tensor, state: dict[str, Any], group: dict[str, Any]) -> RowKernel:
        means, squares, steps = _moments(state, table)
        return (
            adam_rows,
            [means, squares.unsqueeze(1), steps.unsqueeze(1)],
            [group["lr"], *group["betas"], group["eps"]],
        )


def _moments(state: dict[str, Any], table: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return (
        row_state(state, "mean", table, per_row=False),
        row_state(state, "square", table, per_row=True),
        # Its name is not "step": torch would not convert the dtype.
        row_state(state, "steps", table, per_row=True),
    )
