"""A linear layer whose answers for a row do not hang on the rows beside it."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional


class SteadyLinear(nn.Linear):
    """A linear layer that, on the CPU and not in training, gives a row the same bytes whatever rows come with it.

    The last bits of a matrix product depend on its number of rows. So the product is in float64, and what comes out is
    rounded to the input's dtype.

    Parameters
    ----------
    layer : torch.nn.Linear
        The layer whose parameters it takes over.

    Examples
    --------
    >>> import torch
    >>> layer = SteadyLinear(torch.nn.Linear(3, 2)).eval()
    >>> rows = torch.arange(12.0).reshape(4, 3)
    >>> torch.equal(layer(rows)[:1], layer(rows[:1]))
    True
    """

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__(layer.in_features, layer.out_features, bias=layer.bias is not None, device="meta")
        self.weight, self.bias = layer.weight, layer.bias

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - torch's name for it
        """Multiply and add.

        Parameters
        ----------
        input : Tensor of shape (rows, in_features)
            The rows.

        Returns
        -------
        Tensor of shape (rows, out_features)
            Of the input's dtype.
        """
        if self.training or input.device.type != "cpu":
            return super().forward(input)
        bias = None if self.bias is None else self.bias.double()
        return functional.linear(input.double(), self.weight.double(), bias).to(input.dtype)
