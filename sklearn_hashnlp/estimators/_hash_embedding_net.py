"""The network inside HashEmbeddingClassifier and the skorch net that trains it."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from skorch import NeuralNet
from skorch.callbacks import PassthroughScoring
from skorch.history import History
from torch import Tensor, nn

from sklearn_hashnlp.estimators._batches import RaggedBatch, RaggedBatches, RaggedRows
from sklearn_hashnlp.estimators._model_state import pack_table, unpack_table
from sklearn_hashnlp.estimators._training import torch_seed
from sklearn_hashnlp.nn import HashEmbeddingBag, RowwiseAdagrad
from sklearn_hashnlp.nn._mlp import make_head

PREDICT_ROWS = 1024
_DIVERGED = (
    "The training diverged: the loss or a score is infinite or not a number. Set a smaller learning_rate; and with "
    "normalize=None scale X down, or set normalize='l2'."
)


class BagOfHashEmbeddings(nn.Module):
    """Documents to one score a class: a :class:`HashEmbeddingBag` and a head.

    The pool starts at zero and so does the importance: an n-gram that no training document holds then adds nothing to
    a document, and a fresh table costs neither time nor memory. The head's orthogonal rows break the symmetry.

    Parameters
    ----------
    num_embeddings : int
        Rows of the importance table.
    num_buckets : int
        Vectors in the pool.
    embedding_dim : int
        Columns of the pool.
    num_hashes : int
        Component vectors of a feature.
    variant : {"improved", "paper", "standard"}
        See :class:`HashEmbeddingBag`.
    aggregation : {"sum", "concat", "median"}
        See :class:`HashEmbeddingBag`.
    append_weight : bool
        See :class:`HashEmbeddingBag`.
    normalize : {None, "l1", "l2"}
        See :class:`HashEmbeddingBag`.
    importance_init : float
        Every importance weight at the start.
    hash_seed : int
        Of the hash functions.
    hidden_sizes : sequence of int
        Widths of hidden layers.
    num_classes : int
        Scores that come out.
    """

    def __init__(
        self,
        *,
        num_embeddings: int,
        num_buckets: int,
        embedding_dim: int,
        num_hashes: int,
        variant: str,
        aggregation: str,
        append_weight: bool,
        normalize: str | None,
        importance_init: float,
        hash_seed: int,
        hidden_sizes: Sequence[int],
        num_classes: int,
    ) -> None:
        super().__init__()
        self.bag = HashEmbeddingBag(
            num_embeddings,
            num_buckets,
            embedding_dim,
            num_hashes=num_hashes,
            variant=variant,
            aggregation=aggregation,
            append_weight=append_weight,
            normalize=normalize,
            seed=hash_seed,
            pool_std=0.0,
            importance_init=importance_init,
            sparse=True,
            device="cpu",
            dtype=torch.float32,
        )
        self.head = make_head(self.bag.output_dim, hidden_sizes, num_classes).float()

    def forward(self, ids: Tensor, offsets: Tensor, weights: Tensor) -> Tensor:
        """Score documents.

        Parameters
        ----------
        ids : Tensor of shape (n_values,), dtype int64
            Feature ids, document after document.
        offsets : Tensor of shape (n_documents + 1,), dtype int64
            Where each document begins, and after the last where it ends.
        weights : Tensor of shape (n_values,), dtype float32
            Weight of each feature.

        Returns
        -------
        Tensor of shape (n_documents, num_classes)
            Scores before the softmax.
        """
        scores: Tensor = self.head(self.bag(ids, offsets, weights))
        return scores

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Give all weights as arrays; of a table that is mostly untouched only the rows that were.

        Returns
        -------
        dict of str to ndarray
            See :func:`pack_table`.
        """
        arrays: dict[str, NDArray[Any]] = {}
        for name, tensor in self.state_dict().items():
            array = tensor.detach().cpu().numpy()
            initial = {"bag.pool": 0.0, "bag.importance": self.bag.importance_init}.get(name)
            arrays |= {name: array.copy()} if initial is None else pack_table(name, array, initial)
        return arrays

    def load_arrays(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take back what :meth:`to_arrays` gave, in a fresh module of the same kind on the CPU.

        Parameters
        ----------
        arrays : dict of str to ndarray
            The weights.
        """
        for name, tensor in self.state_dict().items():  # these share memory with the module
            if name.startswith("bag."):
                unpack_table(name, arrays, tensor.numpy())
            else:
                tensor.copy_(torch.from_numpy(np.array(arrays[name])))


class RaggedNet(NeuralNet):  # type: ignore[misc]
    """A skorch net whose batches are :class:`RaggedBatch` and whose history holds the validation accuracy."""

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Give what :func:`net_from_state` needs to make this net again.

        Returns
        -------
        values : dict
            JSON values: ``architecture``, the module's keyword arguments, and ``device``.
        arrays : dict of str to ndarray
            The weights.
        """
        values = {"architecture": self.get_params_for("module"), "device": torch.device(self.device).type}
        return values, self.module_.to_arrays()

    @property
    def _default_callbacks(self) -> list[tuple[str, Any]]:
        return [*super()._default_callbacks, ("valid_acc", PassthroughScoring("valid_acc", lower_is_better=False))]

    def infer(self, x: RaggedBatch) -> Tensor:
        """Score one batch.

        Parameters
        ----------
        x : RaggedBatch
            On any device.

        Returns
        -------
        Tensor of shape (n_documents, n_classes)
            Scores, on the net's device.
        """
        x = x.to(self.device)
        scores: Tensor = self.module_(x.ids, x.offsets, x.weights)
        return scores

    def score_rows(self, rows: RaggedRows) -> NDArray[np.float64]:
        """Score all rows of a set.

        The head runs in float64: a matrix product's last bits depend on its number of rows, and a document's scores
        must not depend on its neighbours.

        Parameters
        ----------
        rows : RaggedRows
            Documents.

        Returns
        -------
        ndarray of shape (n_documents, n_classes)
            Scores before the softmax.
        """
        head = deepcopy(self.module_.head).double().eval()
        scores = []
        with torch.inference_mode():
            for batch, _ in RaggedBatches(rows, PREDICT_ROWS):
                batch = batch.to(self.device)
                documents = self.module_.bag(batch.ids, batch.offsets, batch.weights)
                scores.append(head(documents.double()).cpu().numpy())
        return np.concatenate(scores)

    def train_step(self, batch: Any, **fit_params: Any) -> dict[str, Any]:
        """Learn from one batch.

        Parameters
        ----------
        batch : (RaggedBatch, Tensor)
            Documents and class numbers.
        **fit_params : dict
            Handed on to skorch.

        Returns
        -------
        dict
            As skorch's.

        Raises
        ------
        ValueError
            If the loss is infinite or not a number: nothing can be learned from there on.
        """
        step: dict[str, Any] = super().train_step(batch, **fit_params)
        if not torch.isfinite(step["loss"]):
            raise ValueError(_DIVERGED)
        return step

    def check_scores(self, rows: RaggedRows) -> None:
        """Make sure that the last step, whose loss nobody sees, left usable weights.

        Parameters
        ----------
        rows : RaggedRows
            Some rows to score.

        Raises
        ------
        ValueError
            If a score is infinite or not a number.
        """
        if not np.isfinite(self.score_rows(rows)).all():
            raise ValueError(_DIVERGED)

    def validation_step(self, batch: Any, **fit_params: Any) -> dict[str, Any]:
        """Measure loss and accuracy of one batch.

        Parameters
        ----------
        batch : (RaggedBatch, Tensor)
            Documents and class numbers.
        **fit_params : dict
            Handed on to skorch.

        Returns
        -------
        dict
            As skorch's.
        """
        step: dict[str, Any] = super().validation_step(batch, **fit_params)
        right = step["y_pred"].argmax(dim=1) == batch[1].to(step["y_pred"].device)
        self.history.record_batch("valid_acc", right.double().mean().item())
        return step


def make_net(architecture: dict[str, Any], device: str) -> RaggedNet:
    """Make a net that is not initialised yet.

    Parameters
    ----------
    architecture : dict
        Keyword arguments of :class:`BagOfHashEmbeddings`.
    device : {"cpu", "cuda"}
        Where it computes.

    Returns
    -------
    RaggedNet
        The net, silent and without anything that only training needs.
    """
    return RaggedNet(
        BagOfHashEmbeddings,
        **{f"module__{name}": value for name, value in architecture.items()},
        criterion=nn.CrossEntropyLoss,
        optimizer=RowwiseAdagrad,
        optimizer__eps=1e-4,  # against 1e-10 it damps the first steps of rare n-grams, whose gradients are small
        iterator_train=RaggedBatches,
        iterator_valid=RaggedBatches,
        iterator_valid__batch_size=PREDICT_ROWS,
        train_split=None,
        verbose=0,
        device=device,
    )


def net_from_state(values: dict[str, Any], arrays: dict[str, NDArray[Any]], history: list[dict[str, Any]]) -> RaggedNet:
    """Make a trained net again.

    Parameters
    ----------
    values, arrays
        What :meth:`RaggedNet.to_state` gave.
    history : list of dict
        Measures an epoch.

    Returns
    -------
    RaggedNet
        The net; on the CPU if it was trained on CUDA and there is none.
    """
    with torch_seed(0):  # what is drawn is overwritten; the user's generator stays where it is
        net = make_net(values["architecture"], "cpu")
        net.initialize()
    net.module_.load_arrays(arrays)
    if values["device"] == "cuda" and torch.cuda.is_available():
        net.set_params(device="cuda")
        net.module_.to("cuda")
    net.history = History({"batches": []} | entry for entry in history)
    return net
