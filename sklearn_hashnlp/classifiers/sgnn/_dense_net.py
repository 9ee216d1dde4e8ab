"""The skorch net of SGNNClassifier, and its batches of dense rows."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from joblib import cpu_count
from numpy.typing import NDArray
from torch import Tensor

from sklearn_hashnlp._threads import map_in_order
from sklearn_hashnlp.classifiers._losses import loss_from_values, loss_to_values
from sklearn_hashnlp.classifiers._more_classes import MoreClasses
from sklearn_hashnlp.classifiers._net import PREDICT_ROWS, ClassifierNet
from sklearn_hashnlp.nn._layers import DenseNetwork
from sklearn_hashnlp.training._batches import Batches, Dataset, as_tensor
from sklearn_hashnlp.training._optimizers import read_state
from sklearn_hashnlp.training._torch_scope import one_torch_thread, plain_torch
from sklearn_hashnlp.training._validation_split import Samples


@dataclass(frozen=True)
class DenseBatch:
    """Some rows as tensors."""

    values: Tensor  # (n_rows, n_columns): in the dtype of the matrix
    row_weights: Tensor | None = None  # (n_rows,): weights in the loss; None is one each

    def __len__(self) -> int:
        return len(self.values)

    def to(self, device: torch.device | str) -> DenseBatch:
        """Copy to a device, unless it is there already."""
        return DenseBatch(
            self.values.to(device),
            None if self.row_weights is None else self.row_weights.to(device),
        )


class DenseDataset(Samples, Dataset):
    """Rows of a matrix with their targets, read batch by batch."""

    def __init__(
        self,
        matrix: NDArray[Any],
        targets: NDArray[Any] | None = None,
        row_weights: NDArray[np.float32] | None = None,
    ) -> None:
        super().__init__(len(matrix), targets, row_weights)
        self.matrix = matrix

    def select(self, rows: NDArray[np.int64]) -> DenseDataset:
        """Return a dataset of some of the rows."""
        weights = None if self.row_weights is None else self.row_weights[rows]
        return DenseDataset(self.matrix[rows], self.targets[rows], weights)

    def take(self, rows: NDArray[np.int64] | slice) -> tuple[DenseBatch, Tensor]:
        """Return some rows as a batch, and their targets."""
        values = as_tensor(np.ascontiguousarray(self.matrix[rows]))
        weights = None if self.row_weights is None else as_tensor(self.row_weights[rows])
        return DenseBatch(values, weights), as_tensor(self.targets[rows])

    def on_device(self, device: torch.device) -> Callable[[Tensor], tuple[DenseBatch, Tensor]]:
        """Copy all rows to a device, and return the function that gathers rows there."""
        batch, targets = self.take(slice(0, len(self)))
        batch, targets = batch.to(device), targets.to(device)

        def gather(rows: Tensor) -> tuple[DenseBatch, Tensor]:
            weights = None if batch.row_weights is None else batch.row_weights[rows]
            return DenseBatch(batch.values[rows], weights), targets[rows]

        return gather


class DenseNet(ClassifierNet):
    """A skorch classifier of encoded labels with batches of :class:`DenseBatch`."""

    divergence: ClassVar[str] = (
        "The training diverged: the loss or a score is infinite or not a number. Set a smaller "
        "learning_rate, or scale X down."
    )

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return architecture, device and loss as JSON values, and the weights as arrays."""
        values, arrays = super().to_state()
        return values | {"probabilities": loss_to_values(self.criterion_)}, arrays

    def update_standardization(self, rows: DenseDataset) -> None:
        """Update the mean and variance by which rows are standardized."""
        for part in Batches(rows, PREDICT_ROWS).parts():
            values = self.module_.unpack(rows.take(part)[0].values, torch.float64)
            self.module_.standardize.update(values.numpy())

    def infer(self, x: DenseBatch) -> Tensor:
        """Compute the scores of one batch."""
        scores: Tensor = self.module_(x.to(self.device).values)
        return scores

    def score_rows(self, rows: DenseDataset) -> NDArray[np.float64]:
        """Compute the scores of all rows of a dataset."""
        module = deepcopy(self.module_).double().eval()
        parts = Batches(rows, PREDICT_ROWS).parts() or [slice(0)]  # for no rows
        n_threads = cpu_count() if self.device_type == "cpu" else 1
        scores = list(map_in_order(partial(self._score, module, rows), parts, n_threads))
        return np.concatenate(scores).astype(np.float64)

    def _score(self, module: DenseNetwork, rows: DenseDataset, part: slice) -> NDArray[np.float32]:
        batch = rows.take(part)[0].to(self.device)
        with one_torch_thread(), torch.inference_mode():  # torch's modes hold for one thread
            scores: NDArray[np.float32] = module(batch.values).float().cpu().numpy()
        return scores


def make_dense_net(architecture: dict[str, Any], device: str) -> DenseNet:
    """Build a net that is not initialized yet."""
    return DenseNet.untrained(DenseNetwork, architecture, batches=Batches, device=device)


def with_classes(
    net: DenseNet, more: MoreClasses, bias: NDArray[np.float64], history: list[dict[str, Any]]
) -> DenseNet:
    """Return a net of more classes, of which new ones have a constant score."""
    values, arrays = net.to_state()
    names = [f"head.{len(net.module_.head) - 1}.{key}" for key in ("weight", "bias")]
    n_known = len(arrays[names[1]])
    arrays |= {
        name: more.rows(arrays[name], new) for name, new in zip(names, (0, bias), strict=True)
    }
    values["architecture"] = values["architecture"] | {"num_classes": len(more.previous)}
    wider = dense_net_from_state(values, arrays, history)
    state = read_state(net.module_, net.optimizer_)
    with plain_torch():
        wider.restore_optimizer(more.optimizer(state, dict.fromkeys(names, n_known)))
    wider.rows_per_step, wider.was_trained = net.rows_per_step, net.was_trained
    wider.has_only_step_sizes = net.has_only_step_sizes
    return wider


def dense_net_from_state(
    values: dict[str, Any], arrays: dict[str, NDArray[Any]], history: list[dict[str, Any]]
) -> DenseNet:
    """Build a trained net from the state that its ``to_state`` returned."""
    net = make_dense_net(values["architecture"], "cpu").restore(arrays, values["device"], history)
    net.criterion_ = loss_from_values(values["probabilities"])
    return net
