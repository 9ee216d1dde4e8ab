"""A network over any embedding: vectors of n-grams, summed for each text, and a softmax layer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from benchmarks.runner.load_recipe import load_object
from sklearn_hashnlp._clock import clock
from sklearn_hashnlp.nn import HashEmbedding
from sklearn_hashnlp.optim import RowwiseAdam

_BUCKETS_PER_COLUMN = 0.1  # of hash embeddings, as in the paper's experiments: B = n / 10
_BATCH_SIZE_OF_PREDICTION = 1024


class Rows(NamedTuple):
    """Sparse rows of texts, and their encoded labels."""

    X: Any  # scipy CSR
    labels: NDArray[np.int64]

    def select(self, rows: NDArray[np.int64]) -> Rows:
        """Return some of the rows."""
        return Rows(self.X[rows], self.labels[rows])

    def batches(self, order: NDArray[np.int64], batch_size: int, device: str) -> Iterator[tuple[Tensor, ...]]:
        """Yield the ids of the n-grams, the row of each in the batch, their weights, and the labels."""
        for first in range(0, len(order), batch_size):
            rows = order[first : first + batch_size]
            X = self.X[rows]
            row_of = np.repeat(np.arange(len(rows)), np.diff(X.indptr))
            arrays = (X.indices.astype(np.int64), row_of, X.data.astype(np.float32), self.labels[rows])
            yield tuple(torch.from_numpy(array).to(device) for array in arrays)


class TextNetwork(nn.Module):
    """An embedding of n-grams, whose weighted sum is the vector of a text, and a linear layer."""

    def __init__(self, embedding: nn.Module, width: int, n_classes: int) -> None:
        super().__init__()
        self.embedding = embedding
        self.output = nn.Linear(width, n_classes)

    def forward(
        self,
        ids: Tensor,  # (n_ngrams,)
        row_of: Tensor,  # (n_ngrams,)
        weights: Tensor,  # (n_ngrams,)
        n_rows: int,
    ) -> Tensor:  # (n_rows, n_classes)
        """Compute the scores of the classes."""
        vectors = self.embedding(ids)
        texts = vectors.new_zeros(n_rows, vectors.shape[1]).index_add(0, row_of, vectors * weights[:, None])
        scores: Tensor = self.output(texts)
        return scores


def find_embedding(name: str) -> Callable[[int, int], nn.Module]:
    """Return the class that a setting names: hash, standard, or MODULE:NAME."""
    if name == "hash":
        return _hash_embedding
    if name == "standard":
        return _standard_embedding
    if ":" not in name:
        raise ValueError(f"An embedding must be hash, standard or MODULE:NAME, got {name!r}.")
    found = load_object(name)
    if not callable(found) or isinstance(found, nn.Module):
        raise TypeError(
            f"The embedding {name} must be a class or function that is called with num_embeddings and embedding_dim "
            f"and returns a torch module, as torch.nn.Embedding is; it is {found!r}."
        )
    return found  # type: ignore[no-any-return]  # of the user's module


def _hash_embedding(num_embeddings: int, embedding_dim: int) -> nn.Module:
    n_buckets = max(int(num_embeddings * _BUCKETS_PER_COLUMN), 1)
    return HashEmbedding(num_embeddings, n_buckets, embedding_dim, sparse=True)


def _standard_embedding(num_embeddings: int, embedding_dim: int) -> nn.Module:
    return HashEmbedding(num_embeddings, 1, embedding_dim, variant="standard", hash_rows=False, sparse=True)


def make_network(name: str, num_embeddings: int, embedding_dim: int, n_classes: int) -> TextNetwork:
    """Make the network of an embedding, whose vectors may have any width."""
    embedding = find_embedding(name)(num_embeddings, embedding_dim)
    if not isinstance(embedding, nn.Module):
        raise TypeError(f"The embedding {name} must return a torch.nn.Module, it returned {embedding!r}.")
    ids = torch.tensor([0, num_embeddings - 1])
    with torch.no_grad():
        vectors = embedding(ids)
    if not isinstance(vectors, Tensor) or vectors.ndim != 2 or len(vectors) != len(ids):
        shape = tuple(vectors.shape) if isinstance(vectors, Tensor) else vectors
        raise ValueError(f"The embedding {name} must return a vector for each of {len(ids)} ids, it returned {shape}.")
    return TextNetwork(embedding, vectors.shape[1], n_classes)


class EarlyStop(NamedTuple):
    """When training ends."""

    max_epochs: int
    patience: int


def train(
    network: TextNetwork,
    rows: Rows,
    valid: Rows,
    *,
    stop: EarlyStop,
    batch_size: int,
    learning_rate: float,
    device: str,
    random_state: np.random.RandomState,
    on_epoch: Callable[[int, float], None],
) -> dict[str, Any]:
    """Train a network with Adam, return to its best epoch, and return the figures of the training."""
    network.to(device)
    optimizer = RowwiseAdam(network.parameters(), lr=learning_rate)
    best, best_epoch, best_weights = -1.0, 0, {}
    started, epoch = clock(), 0
    for epoch in range(1, stop.max_epochs + 1):
        network.train()
        for ids, row_of, weights, labels in rows.batches(
            random_state.permutation(len(rows.labels)), batch_size, device
        ):
            optimizer.zero_grad()
            scores = network(ids, row_of, weights, len(labels))
            loss = nn.functional.cross_entropy(scores, labels)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        accuracy = accuracy_of(network, valid, device)
        on_epoch(epoch, accuracy)
        if accuracy > best:
            best, best_epoch = accuracy, epoch
            best_weights = {name: value.clone() for name, value in network.state_dict().items()}
        elif epoch - best_epoch >= stop.patience:
            break
    network.load_state_dict(best_weights)
    return {"valid_accuracy": best, "epochs": epoch, "fit_seconds": clock() - started}


@torch.no_grad()
def accuracy_of(network: TextNetwork, rows: Rows, device: str) -> float:
    """Return the accuracy of the most probable classes."""
    network.eval()
    n_correct = 0
    for ids, row_of, weights, labels in rows.batches(np.arange(len(rows.labels)), _BATCH_SIZE_OF_PREDICTION, device):
        n_correct += int((network(ids, row_of, weights, len(labels)).argmax(dim=1) == labels).sum())
    return n_correct / len(rows.labels)
