"""The first step of a training, to compare it with plain formulas in float64, within the rounding
of float32.
"""

import copy
from typing import Any

import numpy as np
import torch
from skorch.callbacks import Callback

from tests.oracles import first_step as oracle


class FirstStep(Callback):
    """Draws all weights before the first step, and keeps them, the batch and the options of the
    optimizer.
    """

    def on_train_begin(self, net: Any, **_: Any) -> None:
        generator = torch.Generator().manual_seed(0)
        for parameter in net.module_.parameters():
            if parameter.requires_grad:
                parameter.data.normal_(std=0.3, generator=generator)
        self.module = copy.deepcopy(net.module_)

    def on_batch_begin(self, net: Any, batch: Any = None, **_: Any) -> None:
        self.batch = batch

    def on_batch_end(self, net: Any, **_: Any) -> None:
        groups = {
            parameter: group
            for group in net.optimizer_.param_groups
            for parameter in group["params"]
        }
        self.groups = {
            name: groups[part] for name, part in net.module_.named_parameters() if part in groups
        }

    def weights(self) -> oracle.Weights:
        named = self.module.named_parameters()
        return {
            name: part.detach().double().requires_grad_(part.requires_grad) for name, part in named
        }

    def check(
        self, net: Any, weights: oracle.Weights, *, optimizer: str, tables: set[str], n_terms: int
    ) -> None:
        """Compare each parameter with its update by the gradients that ``weights`` hold."""
        trained = dict(net.module_.named_parameters())
        relative = []
        for name, weight in weights.items():
            after = trained[name].detach().double()
            if weight.grad is None:
                assert torch.equal(after, weight.detach()), name
                continue
            options = {"lr": self.groups[name]["lr"], "eps": self.groups[name].get("eps", 0.0)}
            options |= {"optimizer": optimizer, "by_row": name in tables, "n_terms": n_terms}
            expected, tolerance = oracle.first_update(weight.detach(), weight.grad, **options)
            error = (after - expected).abs()
            assert (error <= tolerance).all(), (
                f"{name}: {(error / tolerance).max():.1f} times the tolerance"
            )
            moved = weight.grad != 0
            relative += (tolerance / (expected - weight.detach()).abs())[moved].flatten().tolist()
        # most weights are held to three digits of their step and more
        assert np.median(relative) < 1e-3
