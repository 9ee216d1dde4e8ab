"""The network inside HashEmbeddingClassifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sklearn_hashnlp.estimators._heads import ScoreHead, TreeHead
from sklearn_hashnlp.estimators._model_state import pack_table, unpack_table
from sklearn_hashnlp.estimators._row_module import RowModule
from sklearn_hashnlp.nn import HashEmbeddingBag
from sklearn_hashnlp.trees import SoftmaxTree

_BLOCK = 2**18


class BagOfHashEmbeddings(RowModule):
    """Documents to one score a class, or to what a tree of classes reads: a :class:`HashEmbeddingBag` and a head."""

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
        hash_rows: bool = True,
        pool_std: float = 0.0,
        tree: SoftmaxTree | None = None,
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
            raise ValueError(f"The tree must have {num_classes} classes, as the net does, got {tree.n_classes}.")
        if tree is None:
            self.head = ScoreHead(width, hidden_sizes, num_classes)
        else:
            self.head = TreeHead(width, hidden_sizes, tree)

    def forward(self, ids: Tensor, offsets: Tensor, weights: Tensor) -> Tensor:
        """Compute what the loss of documents is computed from."""
        outputs: Tensor = self.head(self.bag(ids, offsets, weights))
        return outputs

    def tables(self) -> dict[str, Tensor]:
        """Return the tables of the bag."""
        return {f"bag.{name}": table.detach() for name, table in self.bag.named_parameters()}

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all weights as arrays; of a table that is mostly untouched only the rows that were touched."""
        arrays: dict[str, NDArray[Any]] = {}
        tables = self.tables()
        for name, tensor in self.state_dict().items():
            array = tensor.detach().cpu().numpy()
            arrays |= pack_table(name, array, self._initial(name)) if name in tables else {name: array.copy()}
        return arrays

    def load_arrays(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take back what :meth:`to_arrays` gave, in a module of the same kind whose tables are untouched."""
        tables = self.tables()
        for name, tensor in self.state_dict().items():  # these share memory with the module
            if name == "bag._extra_state":
                self.bag.set_extra_state(torch.from_numpy(np.array(arrays[name])))
            elif name in tables:
                table = tensor.cpu()  # the same memory where it is there already
                unpack_table(name, arrays, table.numpy())
                if tensor.device.type != "cpu":
                    tensor.copy_(table)
            else:
                tensor.copy_(torch.from_numpy(np.array(arrays[name])))

    def clear_tables(self) -> None:
        """Put the initial value back into every row of the tables that was touched."""
        for name, table in self.tables().items():
            for start in range(0, len(table), _BLOCK):  # in blocks, so that nothing table-sized is made
                block = table[start : start + _BLOCK]
                block[(block != self._initial(name)).any(dim=1)] = self._initial(name)

    def _initial(self, name: str) -> float:
        return {"bag.pool": 0.0, "bag.importance": self.bag.importance_init}[name]
