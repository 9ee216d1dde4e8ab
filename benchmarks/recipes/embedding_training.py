"""Networks over any embedding: summed vectors of n-grams, hidden layers and a softmax layer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from torch import Tensor, nn

from benchmarks.recipes.hash_embedding_settings import NetworkSettings
from benchmarks.recipes.hash_embedding_trial import CountedTexts, drop_ngrams
from benchmarks.runner.load_recipe import load_object
from benchmarks.runner.recipe import Result, Run
from sklearn_hashnlp._device import resolve_device
from sklearn_hashnlp.nn import HashEmbedding
from sklearn_hashnlp.optim import RowwiseAdam
from sklearn_hashnlp.training._torch_scope import plain_torch, torch_seed

_BUCKETS_PER_COLUMN = 0.1  # of hash embeddings, as in the paper's experiments: B = n / 10
_BATCH_SIZE_OF_PREDICTION = 1024


class Rows(NamedTuple):
    """Sparse rows of texts, and their encoded labels."""

    X: Any  # scipy CSR
    labels: NDArray[np.int64]

    def select(self, rows: NDArray[np.int64]) -> Rows:
        """Return some of the rows."""
        return Rows(self.X[rows], self.labels[rows])

    def batches(
        self,
        order: NDArray[np.int64],
        batch_size: int,
        device: str,
        limits: tuple[int, ...] = (),
        random_state: Any = None,
    ) -> Iterator[tuple[Tensor, ...]]:
        """Yield n-gram ids, their batch rows, weights and labels; n-gram dropout has ``limits``."""
        for first in range(0, len(order), batch_size):
            rows = order[first : first + batch_size]
            X = drop_ngrams(self.X[rows], limits, random_state) if limits else self.X[rows]
            row_of = np.repeat(np.arange(len(rows)), np.diff(X.indptr))
            arrays = (
                X.indices.astype(np.int64),
                row_of,
                X.data.astype(np.float32),
                self.labels[rows],
            )
            yield tuple(torch.from_numpy(array).to(device) for array in arrays)


class TextNetwork(nn.Module):
    """An embedding of n-grams with layers above the weighted sum that is the vector of a text."""

    def __init__(
        self, embedding: nn.Module, width: int, hidden_sizes: tuple[int, ...], n_classes: int
    ) -> None:
        super().__init__()
        self.embedding = embedding
        layers: list[nn.Module] = []
        for size in hidden_sizes:
            layers += [nn.Linear(width, size), nn.BatchNorm1d(size), nn.ReLU()]
            width = size
        self.head = nn.Sequential(*layers, nn.Linear(width, n_classes))

    def forward(
        self,
        ids: Tensor,  # (n_ngrams,)
        row_of: Tensor,  # (n_ngrams,)
        weights: Tensor,  # (n_ngrams,)
        n_rows: int,
    ) -> Tensor:  # (n_rows, n_classes)
        """Compute the scores of the classes."""
        vectors = self.embedding(ids)
        texts = vectors.new_zeros(n_rows, vectors.shape[1]).index_add(
            0, row_of, vectors * weights[:, None]
        )
        scores: Tensor = self.head(texts)
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
            f"The embedding {name} must be a class or function that is called with num_embeddings "
            "and embedding_dim and returns a torch module, as torch.nn.Embedding is; it is "
            f"{found!r}."
        )
    return found  # type: ignore[no-any-return]  # of the user's module


def _hash_embedding(num_embeddings: int, embedding_dim: int) -> nn.Module:
    n_buckets = max(int(num_embeddings * _BUCKETS_PER_COLUMN), 1)
    return HashEmbedding(num_embeddings, embedding_dim, num_buckets=n_buckets, sparse=True)


def _standard_embedding(num_embeddings: int, embedding_dim: int) -> nn.Module:
    return HashEmbedding(
        num_embeddings,
        embedding_dim,
        num_buckets=1,
        variant="standard",
        hash_rows=False,
        sparse=True,
    )


def make_network(
    name: str,
    num_embeddings: int,
    embedding_dim: int,
    n_classes: int,
    hidden_sizes: tuple[int, ...] = (),
) -> TextNetwork:
    """Make the network of an embedding with vectors of any width."""
    embedding = find_embedding(name)(num_embeddings, embedding_dim)
    if not isinstance(embedding, nn.Module):
        raise TypeError(
            f"The embedding {name} must return a torch.nn.Module, it returned {embedding!r}."
        )
    ids = torch.tensor([0, num_embeddings - 1])
    with torch.no_grad():
        vectors = embedding(ids)
    if not isinstance(vectors, Tensor) or vectors.ndim != 2 or len(vectors) != len(ids):
        shape = tuple(vectors.shape) if isinstance(vectors, Tensor) else vectors
        raise ValueError(
            f"The embedding {name} must return a vector for each of {len(ids)} ids, it returned "
            f"{shape}."
        )
    return TextNetwork(embedding, vectors.shape[1], hidden_sizes, n_classes)


def train_embedding(
    name: str,
    settings: NetworkSettings,
    counted: CountedTexts,
    run: Run,
    on_progress: Callable[[float], None],
) -> Result:
    """Train the network of an embedding, or an ensemble of them, and test it."""
    classes, labels = np.unique(counted.train_labels, return_inverse=True)
    known = np.isin(counted.test_labels, classes)
    if not known.all():
        raise ValueError(
            "Test labels without training rows: "
            f"{', '.join(sorted(set(counted.test_labels[~known].tolist())))}."
        )
    rows = Rows(counted.train, labels.astype(np.int64))
    test = Rows(counted.test, np.searchsorted(classes, counted.test_labels))
    settings = replace(
        settings, device=cast(Any, resolve_device(settings.device, caller="compare-embeddings"))
    )
    on_progress(0.0)
    n_epochs = 0
    n_parameters = 0
    seconds = 0.0
    scores: dict[str, list[NDArray[np.float32]]] = {"train": [], "test": []}
    for member in range(settings.members):
        seed = settings.members * run.seed + member

        def on_epoch(epoch: int, accuracy: float, member: int = member) -> None:
            run.log(
                f"{settings.dataset}, {name}: epoch {epoch}, validation accuracy "
                f"{100 * accuracy:.2f} %"
            )
            on_progress((member + epoch / settings.max_epochs) / settings.members)

        with plain_torch(settings.device), torch_seed(seed, settings.device):
            sizes = (
                counted.train.shape[1],
                settings.embedding_dim,
                len(classes),
                settings.hidden_layer_sizes,
            )
            network = make_network(name, *sizes)
            started = perf_counter()
            n_epochs += train(network, rows, settings, seed, on_epoch)
            seconds += perf_counter() - started
            n_parameters += sum(parameter.numel() for parameter in network.embedding.parameters())
            scores["test"].append(probabilities(network, test, settings.device))
            scores["train"].append(
                probabilities(network, rows, settings.device, settings.ngram_dropout, seed)
            )
    predicted = {part: np.mean(values, axis=0).argmax(axis=1) for part, values in scores.items()}
    return {
        "accuracy": float(np.mean(predicted["test"] == test.labels)),
        "train_accuracy": float(np.mean(predicted["train"] == rows.labels)),
        "n_parameters": n_parameters,
        "epochs": n_epochs,
        "fit_seconds": seconds,
        "device": settings.device,
    }


def train(
    network: TextNetwork,
    rows: Rows,
    settings: NetworkSettings,
    seed: int,
    on_epoch: Callable[[int, float], None],
) -> int:
    """Train a network with Adam and return to its best epoch; return the number of epochs."""
    n_valid = max(round(settings.validation_fraction * len(rows.labels)), 1)
    parts = train_test_split(np.arange(len(rows.labels)), test_size=n_valid, random_state=seed)
    rows, valid = (rows.select(part) for part in parts)
    random_state = np.random.RandomState(seed)
    network.to(settings.device)
    optimizer = RowwiseAdam(network.parameters(), lr=settings.learning_rate)
    best = -1.0
    best_epoch = 0
    best_weights = {}
    epoch = 0
    for epoch in range(1, settings.max_epochs + 1):
        network.train()
        order = random_state.permutation(len(rows.labels))
        options = (settings.batch_size, settings.device, settings.ngram_dropout, random_state)
        for ids, row_of, weights, labels in rows.batches(order, *options):
            if len(labels) == 1 and settings.hidden_layer_sizes:
                continue  # batch normalization compares rows
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(network(ids, row_of, weights, len(labels)), labels)
            loss.backward()  # type: ignore[no-untyped-call]  # torch has no types for it
            optimizer.step()
        accuracy = float(
            np.mean(probabilities(network, valid, settings.device).argmax(axis=1) == valid.labels)
        )
        on_epoch(epoch, accuracy)
        if accuracy > best:
            best, best_epoch = accuracy, epoch
            best_weights = {name: value.clone() for name, value in network.state_dict().items()}
        elif settings.n_iter_no_change and epoch - best_epoch >= settings.n_iter_no_change:
            break
    network.load_state_dict(best_weights)
    return epoch


@torch.no_grad()
def probabilities(
    network: TextNetwork, rows: Rows, device: str, limits: tuple[int, ...] = (), seed: int = 0
) -> NDArray[np.float32]:
    """Return the class probabilities of all rows, under n-gram dropout if it has ``limits``."""
    network.eval()
    batches = rows.batches(
        np.arange(len(rows.labels)),
        _BATCH_SIZE_OF_PREDICTION,
        device,
        limits,
        np.random.RandomState(seed),
    )
    scores = [
        network(ids, row_of, weights, len(labels)) for ids, row_of, weights, labels in batches
    ]
    return torch.cat(scores).softmax(dim=1).cpu().numpy()
