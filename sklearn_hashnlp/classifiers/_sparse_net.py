"""The skorch net inside HashEmbeddingClassifier."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from joblib import cpu_count
from numpy.typing import NDArray
from torch import Tensor

from sklearn_hashnlp._threads import map_in_order
from sklearn_hashnlp.classifiers._compiled_step import CompiledTraining, trains_compiled
from sklearn_hashnlp.classifiers._net import PREDICT_ROWS, ClassifierNet
from sklearn_hashnlp.classifiers._sparse_rows import SparseBatch, SparseBatches, SparseDataset
from sklearn_hashnlp.nn._hash_embedding_network import BagOfHashEmbeddings
from sklearn_hashnlp.training._loop import Step, stored_tree
from sklearn_hashnlp.training._torch_scope import one_torch_thread
from sklearn_hashnlp.trees import SoftmaxTree

PREDICT_VALUES = 2**18  # long rows: some 40 MB of component vectors at the default sizes
_CLOSE = 1e-6  # relative: log-probabilities that float32 may not tell apart
_DIVERGED = (
    "The training diverged: the loss or a score is infinite or not a number. Set a smaller learning_rate; and with "
    "normalize=None scale X down, or set normalize='l2'."
)


class SparseNet(ClassifierNet):
    """A skorch classifier of class numbers whose batches are :class:`SparseBatch`."""

    divergence: ClassVar[str] = _DIVERGED

    def tables(self) -> dict[str, float]:
        """Return the tables of the bag, by name, and the value that their rows start at."""
        tables: dict[str, float] = self.module_.tables
        return tables

    def infer(self, x: SparseBatch) -> Tensor:
        """Compute what the loss of one batch is computed from."""
        x = x.to(self.device)
        outputs: Tensor = self.module_(x.ids, x.offsets, x.weights)
        return outputs

    def score_rows(self, rows: SparseDataset) -> NDArray[np.float64]:
        """Score all rows of a set."""
        head = self.module_.head.in_double()
        with torch.inference_mode():
            scores = [head.scores(block).float().cpu().numpy() for block in self._documents(rows)]
        return np.concatenate(scores).astype(np.float64)

    def best_classes(self, rows: SparseDataset, k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Find the most probable classes of each row in the tree, without a score of every class."""
        head = self.module_.head.in_double()
        log_probs, classes = [], []
        with torch.inference_mode():
            for block in self._documents(rows):
                hidden = head(block)
                found = head.softmax.topk(hidden, min(k + 1, head.softmax.n_classes))
                best, numbers = (tensor.cpu().numpy() for tensor in found)
                close = ~(np.diff(best, axis=1) < _CLOSE * best[:, 1:]).all(axis=1)
                best, numbers = best[:, :k].astype(np.float32), numbers[:, :k].copy()
                if close.any():
                    scores = head.softmax.log_prob(hidden[torch.from_numpy(close).to(hidden.device)])
                    scores = scores.float().cpu().numpy()
                    numbers[close] = np.argsort(-scores, axis=1, kind="stable")[:, :k]
                    best[close] = np.take_along_axis(scores, numbers[close], axis=1)
                log_probs.append(best)
                classes.append(numbers)
        return np.concatenate(log_probs).astype(np.float64), np.concatenate(classes)

    def _documents(self, rows: SparseDataset) -> Iterator[Tensor]:
        documents: list[Tensor] = []
        n_documents = 0
        parts = SparseBatches(rows, PREDICT_ROWS, max_values=PREDICT_VALUES).parts()
        n_threads = cpu_count() if torch.device(self.device).type == "cpu" else 1
        for vectors in map_in_order(partial(self._embed, rows), parts, n_threads):
            documents.append(vectors)
            n_documents += len(vectors)
            if n_documents % PREDICT_ROWS == 0 or n_documents == len(rows):
                yield torch.cat(documents).double()
                documents = []

    def _embed(self, rows: SparseDataset, part: slice) -> Tensor:
        batch = rows.take(part)[0].to(self.device)
        with one_torch_thread(), torch.inference_mode():  # each thread has modes of its own
            vectors: Tensor = self.module_.bag(batch.ids, batch.offsets, batch.weights)
        return vectors

    def training_steps(self, batches: Any) -> Iterable[tuple[Any, Step]]:
        """Return each batch with the function that trains on it: compiled kernels where they can."""
        if (
            self.criterion_.has_compiled_step
            and not self.hooks("on_grad_computed")
            and trains_compiled(self.module_, self.optimizer_)
        ):
            self._set_training(True)
            return CompiledTraining(self.module_, self.optimizer_).steps(batches)
        return super().training_steps(batches)


def make_net(architecture: dict[str, Any], device: str, tree: SoftmaxTree | None = None) -> SparseNet:
    """Make a net that is not initialised yet."""
    return SparseNet.untrained(
        BagOfHashEmbeddings,
        architecture,
        batches=SparseBatches,
        device=device,
        module__tree=tree,
        iterator_valid__max_values=PREDICT_VALUES,
    )


def net_from_state(values: dict[str, Any], arrays: dict[str, NDArray[Any]], history: list[dict[str, Any]]) -> SparseNet:
    """Build a trained net from the state that its ``to_state`` returned."""
    return make_net(values["architecture"], "cpu", stored_tree(arrays)).load_state(values, arrays, history)
