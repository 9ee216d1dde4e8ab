"""DenseNet: the skorch net of SGNNClassifier."""

from __future__ import annotations

from contextlib import AbstractContextManager
from copy import deepcopy
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from joblib import cpu_count
from numpy.typing import NDArray
from torch import Tensor

from sklearn_hashnlp._threads import map_in_order
from sklearn_hashnlp.classifiers._net import PREDICT_ROWS, ClassifierNet
from sklearn_hashnlp.classifiers.sgnn._dense_rows import DenseBatch, DenseBatches, DenseDataset
from sklearn_hashnlp.nn._dense_network import DenseNetwork
from sklearn_hashnlp.training._torch_scope import one_torch_thread


class DenseNet(ClassifierNet):
    """A skorch classifier of encoded labels whose batches are :class:`DenseBatch`."""

    divergence: ClassVar[str] = (
        "The training diverged: the loss or a score is infinite or not a number. Set a smaller learning_rate, or scale "
        "X down."
    )

    def seeded(self, seed: int) -> AbstractContextManager[None]:
        """Return a context in which the dropout of the module is seeded."""
        context: AbstractContextManager[None] = self.module_.seeded(seed)
        return context

    def update_standardization(self, rows: DenseDataset) -> None:
        """Update the mean and variance by which rows are standardized."""
        for part in DenseBatches(rows, PREDICT_ROWS).parts():
            values = self.module_.unpack(rows.take(part)[0].values, torch.float64)
            self.module_.standardize.update(values.numpy())

    def infer(self, x: DenseBatch) -> Tensor:
        """Compute the scores of one batch."""
        scores: Tensor = self.module_(x.to(self.device).values)
        return scores

    def score_rows(self, rows: DenseDataset) -> NDArray[np.float64]:
        """Compute the scores of all rows of a dataset."""
        module = deepcopy(self.module_).double().eval()
        parts = DenseBatches(rows, PREDICT_ROWS).parts() or [slice(0)]  # for no rows
        n_threads = cpu_count() if torch.device(self.device).type == "cpu" else 1
        scores = list(map_in_order(partial(self._score, module, rows), parts, n_threads))
        return np.concatenate(scores).astype(np.float64)

    def _score(self, module: DenseNetwork, rows: DenseDataset, part: slice) -> NDArray[np.float32]:
        batch = rows.take(part)[0].to(self.device)
        with one_torch_thread(), torch.inference_mode():  # torch's modes hold for one thread
            scores: NDArray[np.float32] = module(batch.values).float().cpu().numpy()
        return scores


def make_dense_net(architecture: dict[str, Any], device: str) -> DenseNet:
    """Build a net that is not initialized yet."""
    return DenseNet.untrained(DenseNetwork, architecture, batches=DenseBatches, device=device)


def dense_net_from_state(
    values: dict[str, Any], arrays: dict[str, NDArray[Any]], history: list[dict[str, Any]]
) -> DenseNet:
    """Build a trained net from the state that its ``to_state`` returned."""
    return make_dense_net(values["architecture"], "cpu").load_state(values, arrays, history)
