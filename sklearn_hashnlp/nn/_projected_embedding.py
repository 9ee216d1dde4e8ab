"""Word vectors from projections of the words' characters, without a table."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

_STD = 0.1  # of a fresh vector's elements, as of a table's


class ProjectedEmbedding(nn.Module):
    """Return a word the vector that a learned linear layer makes of its bits, taken as signs."""

    signs_of_byte: Tensor

    def __init__(self, n_bits: int, embedding_dim: int) -> None:
        super().__init__()
        for name, value in (("n_bits", n_bits), ("embedding_dim", embedding_dim)):
            if value < 1:
                raise ValueError(f"ProjectedEmbedding: {name} must be 1 or more, got {value}.")
        self.n_bits = n_bits
        self.linear = nn.Linear(n_bits, embedding_dim, bias=False)
        nn.init.normal_(self.linear.weight, std=_STD)
        bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, np.newaxis], axis=1)
        signs = (2 * bits.astype(np.float32) - 1) / np.float32(math.sqrt(n_bits))
        self.register_buffer("signs_of_byte", torch.from_numpy(signs), persistent=False)

    def forward(
        self,
        words: Tensor,  # (..., 1 + ceil(n_bits / 64)
    ) -> Tensor:  # (..., embedding_dim)
        """Make vectors; on the CPU, of each word once."""
        width = 1 + -(-self.n_bits // 64)
        if words.shape[-1] != width:
            raise ValueError(
                f"ProjectedEmbedding: words must have an id and {self.n_bits} bits in {width} numbers of 64 bits each, "
                f"got {words.shape[-1]}."
            )
        rows = words.reshape(-1, width)
        different, places = (rows, None) if rows.device.type != "cpu" else _distinct(rows)
        packed = different[:, 1:].contiguous().view(torch.uint8)
        signs = functional.embedding(packed.int(), self.signs_of_byte).flatten(1)[:, : self.n_bits]
        vectors: Tensor = self.linear(signs)
        if places is not None:
            vectors = functional.embedding(places, vectors)
        return vectors.view(*words.shape[:-1], -1)


def _distinct(rows: Tensor) -> tuple[Tensor, Tensor | None]:
    """Return rows with different ids, and where each row is among them; all, if two words share an id."""
    array = rows.numpy()
    _, firsts, places = np.unique(array[:, 0], return_index=True, return_inverse=True)
    different = array[firsts]
    if not np.array_equal(different[places], array):
        return rows, None
    return torch.from_numpy(different), torch.from_numpy(places)
