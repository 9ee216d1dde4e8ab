"""What output layers that score all classes have in common: predictions from all log-probabilities."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor, nn


class AllScores(nn.Module):
    """The half of an output layer that only needs :meth:`log_prob`."""

    n_classes: int  # number of classes

    @abstractmethod
    def log_prob(self, input: Tensor) -> Tensor:  # noqa: A002 - torch's name for it
        """Compute the log-probabilities of all classes, of shape (rows, n_classes)."""

    def predict(self, input: Tensor) -> Tensor:  # noqa: A002
        """Find the most probable class.

        Parameters
        ----------
        input : Tensor of shape (rows, in_features)
            What the layer below says.

        Returns
        -------
        Tensor of shape (rows,), dtype int64
            A class for each row.
        """
        with torch.no_grad():
            return self.log_prob(input).argmax(dim=1)

    def topk(self, input: Tensor, k: int) -> tuple[Tensor, Tensor]:  # noqa: A002
        """Find the k most probable classes.

        Parameters
        ----------
        input : Tensor of shape (rows, in_features)
            What the layer below says.
        k : int
            How many; 1 to ``n_classes``.

        Returns
        -------
        log_probs : Tensor of shape (rows, k)
            Descending; float32, or float64 for such an input.
        classes : Tensor of shape (rows, k), dtype int64
            Which class each is.

        Raises
        ------
        ValueError
            If there are not so many classes.
        """
        if not 1 <= k <= self.n_classes:
            raise ValueError(f"{type(self).__name__}: k must lie between 1 and the {self.n_classes} classes, got {k}.")
        with torch.no_grad():
            log_probs, classes = self.log_prob(input).topk(k, dim=1)
        return log_probs, classes

    def sample(self, input: Tensor, *, generator: torch.Generator | None = None) -> Tensor:  # noqa: A002
        """Draw a class for each row by its probability.

        Parameters
        ----------
        input : Tensor of shape (rows, in_features)
            What the layer below says.
        generator : torch.Generator, default=None
            Source of the draw; None is torch's own.

        Returns
        -------
        Tensor of shape (rows,), dtype int64
            A class for each row.
        """
        with torch.no_grad():
            return torch.multinomial(self.log_prob(input).exp(), 1, generator=generator).squeeze(1)
