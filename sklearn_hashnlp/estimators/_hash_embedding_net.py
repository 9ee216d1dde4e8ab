"""The network inside HashEmbeddingClassifier and the skorch net that trains it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from skorch import NeuralNet
from skorch.callbacks import PassthroughScoring
from torch import Tensor, nn

from sklearn_hashnlp.estimators._batches import RaggedBatch
from sklearn_hashnlp.nn import HashEmbeddingBag
from sklearn_hashnlp.nn._mlp import make_head


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


class RaggedNet(NeuralNet):  # type: ignore[misc]
    """A skorch net whose batches are :class:`RaggedBatch` and whose history holds the validation accuracy."""

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
