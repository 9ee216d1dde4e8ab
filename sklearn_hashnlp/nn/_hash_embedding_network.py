"""The network over sparse rows: a hash embedding bag, and dense layers or hierarchical softmax."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy

import torch
from torch import Tensor, nn

from sklearn_hashnlp.kernels.embeddings._tables import Aggregation, Norm, Variant
from sklearn_hashnlp.kernels.linear._linear_model import LinearModel
from sklearn_hashnlp.nn._hash_embedding import HashEmbeddingBag
from sklearn_hashnlp.nn._hierarchical_softmax import HierarchicalSoftmax
from sklearn_hashnlp.nn._tensors import is_traced
from sklearn_hashnlp.trees import SoftmaxTree

# Initial length of the weight of a tree's node; chosen from 0.06 to 6 on validation rows of 79
# languages and on 10,000 synthetic labels.
_INITIAL_LENGTH = 3.0


class ScoreHead(nn.Sequential):
    """Hidden layers, and a linear layer with one score for each class."""

    def __init__(self, in_features: int, hidden_sizes: Sequence[int], n_classes: int) -> None:
        layers, width = _hidden_layers(in_features, hidden_sizes)
        last = nn.Linear(width, n_classes, device="cpu", dtype=torch.float32)
        # Orthogonal rows, so that each class has its own gradient on embeddings that are
        # initialized with zeros.
        nn.init.orthogonal_(last.weight)
        nn.init.zeros_(last.bias)
        super().__init__(*layers, last)

    def in_double(self) -> ScoreHead:
        """Return a copy in float64 for evaluation."""
        return deepcopy(self).double().eval()

    def scores(
        self,
        documents: Tensor,  # (n_documents, in_features)
    ) -> Tensor:  # (n_documents, n_classes)
        """Compute the scores of all classes."""
        scores: Tensor = self(documents)
        return scores


class TreeHead(nn.Sequential):
    """Hidden layers and a hierarchical softmax; ``forward`` computes the input of the softmax."""

    def __init__(self, in_features: int, hidden_sizes: Sequence[int], tree: SoftmaxTree) -> None:
        layers, width = _hidden_layers(in_features, hidden_sizes)
        softmax = HierarchicalSoftmax(
            tree, width, ignore_index=None, sparse=True, device="cpu", dtype=torch.float32
        )
        if not hidden_sizes:
            # The document vectors are initially zero: large weights give their embeddings a
            # gradient.
            nn.init.normal_(softmax.weight, std=_INITIAL_LENGTH / math.sqrt(width))
        super().__init__(*layers, softmax)

    @property
    def softmax(self) -> HierarchicalSoftmax:
        """The last layer."""
        layer = self[-1]
        assert isinstance(layer, HierarchicalSoftmax)
        return layer

    def forward(self, documents: Tensor) -> Tensor:
        """Compute the last hidden layer, the input of the hierarchical softmax."""
        hidden = documents
        for layer in list(self)[:-1]:
            hidden = layer(hidden)
        return hidden

    def in_double(self) -> TreeHead:
        """Return a copy in float64 for evaluation."""
        tree = self.softmax.tree
        return deepcopy(self, {id(tree): tree}).double().eval()  # the immutable tree is shared

    def scores(
        self,
        documents: Tensor,  # (n_documents, in_features)
    ) -> Tensor:  # (n_documents, n_classes)
        """Compute the log-probabilities of all classes."""
        return self.softmax.log_prob(self(documents))


class HashEmbeddingNetwork(nn.Module):
    """A :class:`HashEmbeddingBag` and a head for scores or the input of hierarchical softmax."""

    def __init__(
        self,
        *,
        num_embeddings: int,
        num_buckets: int,
        embedding_dim: int,
        num_hashes: int,
        variant: Variant,
        aggregation: Aggregation,
        append_weight: bool,
        normalize: Norm | None,
        importance_init: float,
        hash_seed: int,
        hidden_sizes: Sequence[int],
        num_classes: int,
        hash_rows: bool = True,
        pool_std: float = 0.0,
        tree: SoftmaxTree | None = None,
    ) -> None:
        super().__init__()
        self.bag = HashEmbeddingBag(
            num_embeddings,
            embedding_dim,
            num_buckets=num_buckets,
            num_hashes=num_hashes,
            variant=variant,
            aggregation=aggregation,
            append_weight=append_weight,
            hash_rows=hash_rows,
            normalize=normalize,
            seed=hash_seed,
            pool_std=pool_std,
            importance_init=importance_init,
            sparse=True,
            device="cpu",
            dtype=torch.float32,
        )
        width = self.bag.output_dim
        self.head: ScoreHead | TreeHead
        if tree is not None and tree.n_classes != num_classes:
            raise ValueError(
                f"The tree must have num_classes={num_classes} classes, got {tree.n_classes}."
            )
        if tree is None:
            self.head = ScoreHead(width, hidden_sizes, num_classes)
        else:
            self.head = TreeHead(width, hidden_sizes, tree)

    def forward(
        self,
        ids: Tensor,  # (n_values,)
        offsets: Tensor,  # (n_documents + 1,)
        weights: Tensor,  # (n_values,)
    ) -> Tensor:  # (n_documents, num_classes), or with a tree (n_documents, width)
        """Compute the input of the loss."""
        outputs: Tensor = self.head(self.bag(ids, offsets, weights))
        return outputs

    def linear_model(self) -> LinearModel | None:
        """Return a linear network's arrays, sharing memory; None if kernels cannot compute it."""
        layer = self.head[0]
        if len(self.head) != 1 or type(layer) is not nn.Linear:
            return None
        return self._arrays(layer.weight, layer.bias, (self, self.bag, self.head, layer))

    def bag_model(self) -> LinearModel | None:
        """Return arrays of the bag and a layer without outputs; None if kernels do not apply."""
        return self._arrays(torch.empty(0, self.bag.output_dim), torch.empty(0), (self.bag,))

    def _arrays(
        self, weight: Tensor, bias: Tensor, modules: Sequence[nn.Module]
    ) -> LinearModel | None:
        bag = self.bag
        pool, importance = bag.pool, bag.importance
        is_median = bag.aggregation == "median" and importance is not None
        if (
            is_median
            or is_traced()
            or any(one._forward_hooks or one._forward_pre_hooks for one in modules)
        ):
            return None
        tensors = (pool, weight, bias) if importance is None else (pool, weight, bias, importance)
        if not all(
            one.dtype == torch.float32
            and one.device.type == "cpu"
            and one.is_contiguous()
            and type(one.data) is Tensor
            for one in tensors
        ):
            return None
        arrays = [one.detach().numpy() for one in tensors]
        return LinearModel(
            bag.spec, arrays[0], None if importance is None else arrays[3], arrays[1], arrays[2]
        )

    @property
    def tables(self) -> dict[str, float]:
        """The initial values of tables with few updated rows per batch, by state dict name."""
        initial = {"pool": 0.0, "importance": self.bag.importance_init}
        return {f"bag.{name}": initial[name] for name, _ in self.bag.named_parameters()}


def _hidden_layers(in_features: int, hidden_sizes: Sequence[int]) -> tuple[list[nn.Module], int]:
    """Return linear layers with batch normalization and ReLU, and the width of the last."""
    layers: list[nn.Module] = []
    width = in_features
    for size in hidden_sizes:
        linear = nn.Linear(width, size, device="cpu", dtype=torch.float32)
        layers += [linear, nn.BatchNorm1d(size, device="cpu", dtype=torch.float32), nn.ReLU()]
        width = size
    return layers, width
