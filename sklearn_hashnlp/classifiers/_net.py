"""What the skorch nets inside the classifiers have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from skorch import NeuralNetClassifier
from skorch.callbacks import EpochTimer, PassthroughScoring, PrintLog
from skorch.history import History
from skorch.utils import TeeGenerator
from torch import Tensor, nn

from sklearn_hashnlp.classifiers._losses import SoftmaxLoss
from sklearn_hashnlp.training._batches import Batches, Dataset
from sklearn_hashnlp.training._net import Net
from sklearn_hashnlp.training._optimizers import pack_optimizer, unpack_optimizer
from sklearn_hashnlp.training._settings import TrainingSettings
from sklearn_hashnlp.training._state import RowModule
from sklearn_hashnlp.training._torch_scope import plain_torch, torch_seed

PREDICT_ROWS = 1024


class ClassifierNet(Net, NeuralNetClassifier):  # type: ignore[misc]  # skorch has no types
    """A skorch classifier of class numbers, made for the rows of one kind of :class:`Dataset`."""

    multilabel = False
    measures: ClassVar[tuple[str, ...]] = ("loss", "acc")
    last_measure: ClassVar[str] = "valid_acc"

    @classmethod
    def untrained(
        cls,
        module: type[RowModule],
        architecture: dict[str, Any],
        *,
        batches: type[Batches],
        optimizer: type[torch.optim.Optimizer],
        device: str,
        **options: Any,
    ) -> Self:
        """Make a net that is not initialised yet, silent and without anything that only training needs."""
        return cls(
            module,
            classes=list(range(architecture["num_classes"])),
            **{f"module__{name}": value for name, value in architecture.items()},
            criterion=SoftmaxLoss,
            predict_nonlinearity=partial(torch.softmax, dim=-1),
            optimizer=optimizer,
            iterator_train=batches,
            iterator_valid=batches,
            iterator_valid__batch_size=PREDICT_ROWS,
            train_split=None,
            verbose=0,
            device=device,
            **options,
        )

    def restore(self, arrays: dict[str, NDArray[Any]], device: str, history: list[dict[str, Any]]) -> None:
        """Take back what was learned, as a net on the CPU that is not initialised yet."""
        with plain_torch():
            with torch_seed(0):  # what is drawn is overwritten; the user's generator stays where it is
                self.initialize()
            self.module_.load_arrays(arrays)
            if device == "cuda" and torch.cuda.is_available():
                self.set_params(device="cuda")
                self.module_.to("cuda")
        self.history = History({"batches": []} | entry for entry in history)

    @abstractmethod
    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what is needed to make this net again."""

    @abstractmethod
    def score_rows(self, rows: Dataset) -> NDArray[np.float64]:
        """Score all rows of a set; a row's scores do not depend on its neighbours."""

    @contextmanager
    def following(self, plan: TrainingSettings) -> Iterator[None]:
        """Take from a plan, for as long as it is followed, what this kind of net alone has."""
        yield

    def to_training_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what only further training needs: what the optimiser has gathered."""
        return pack_optimizer(self.module_, self.optimizer_)

    def load_training_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Take back what :meth:`to_training_state` gave."""
        self.optimizer_ = unpack_optimizer(self.module_, values, arrays)

    @property
    def _default_callbacks(self) -> list[tuple[str, Any]]:
        return [
            ("epoch_timer", EpochTimer()),
            ("train_loss", PassthroughScoring("train_loss", on_train=True)),
            ("valid_loss", PassthroughScoring("valid_loss")),
            ("valid_acc", PassthroughScoring("valid_acc", lower_is_better=False)),
            ("print_log", PrintLog()),
        ]

    def predict(self, X: Dataset) -> NDArray[np.int64]:
        """Return the classes of rows, for skorch's callbacks."""
        probabilities = self.predict_proba(X)
        found = probabilities > 0.5 if self.multilabel else probabilities.argmax(axis=1)
        return np.asarray(found, dtype=np.int64)

    def get_loss(self, y_pred: Tensor, y_true: Tensor, X: Any = None, training: bool = False) -> Tensor:
        """Compute one batch."""
        losses: Tensor = self.criterion_(y_pred, y_true.to(y_pred.device))
        if X.row_weights is not None:
            losses = losses * X.row_weights.to(y_pred.device)
        return losses.mean()

    def train_step(self, batch: Any, **fit_params: Any) -> dict[str, Any]:
        """Learn from one batch."""
        rows, targets = batch
        if not self.module_.training:
            self._set_training(True)
        for layer in self.module_.head:
            if isinstance(layer, nn.BatchNorm1d):
                layer.train(len(rows) > 1)
        self.optimizer_.zero_grad()
        outputs = self.infer(rows)
        loss = self.get_loss(outputs, targets, X=rows, training=True)
        torch.autograd.backward(loss)
        for hook in self.hooks("on_grad_computed"):
            parameters = TeeGenerator(self.get_all_learnable_params())
            hook(self, named_parameters=parameters, batch=batch, training=True)
        self.optimizer_.step()
        return {"loss": loss, "y_pred": outputs}

    def check_scores(self, rows: Dataset) -> None:
        """Check that the last step, whose loss nobody sees, left usable weights."""
        if not np.isfinite(self.score_rows(rows)).all():
            raise ValueError(self.divergence)

    def validation_step(self, batch: Any, **fit_params: Any) -> dict[str, Any]:
        """Compute loss and accuracy of one batch."""
        step: dict[str, Any] = super().validation_step(batch, **fit_params)
        right = self.criterion_.right(step["y_pred"], batch[1].to(step["y_pred"].device))
        return step | {"acc": right.double().mean()}
