"""What training, stopping and saving ask of a classifier's network."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn


class RowModule(nn.Module):
    """A network that ends in a head and may begin with tables, of which a batch has few rows."""

    head: nn.Sequential  # the layers; all parameters that are in no table are theirs

    def tables(self) -> dict[str, Tensor]:
        """Return the tables."""
        return {}

    def clear_tables(self) -> None:
        """Put the initial value back into every row of the tables that was touched."""

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all weights as arrays."""
        return {name: tensor.detach().cpu().numpy().copy() for name, tensor in self.state_dict().items()}

    def load_arrays(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take back what :meth:`to_arrays` gave, in a module of the same kind whose tables are untouched."""
        for name, tensor in self.state_dict().items():  # these share memory with the module
            if arrays[name].shape != tuple(tensor.shape):
                raise ValueError(
                    f"The array {name!r} must have shape {tuple(tensor.shape)}, the stored one has "
                    f"{arrays[name].shape}."
                )
            tensor.copy_(torch.from_numpy(np.array(arrays[name])))
