"""A linear layer whose answers for a row do not hang on the rows beside it."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional


class SteadyLinear(nn.Linear):
    """A linear layer that, on the CPU and not in training, gives a row the same bytes whatever rows come with it."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__(layer.in_features, layer.out_features, bias=layer.bias is not None, device="meta")
        self.weight, self.bias = layer.weight, layer.bias

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - torch's name for it
        """Multiply and add."""
        if self.training or input.device.type != "cpu":
            return super().forward(input)
        bias = None if self.bias is None else self.bias.double()
        return functional.linear(input.double(), self.weight.double(), bias).to(input.dtype)
