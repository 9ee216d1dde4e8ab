"""ClassifierNet: the skorch net of the classifiers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from skorch import NeuralNetClassifier
from skorch.callbacks import PassthroughScoring
from torch import Tensor, nn

from sklearn_hashnlp.classifiers._calibration import Calibration, Scored, evenly_spaced
from sklearn_hashnlp.classifiers._losses import Loss, SoftmaxLoss, loss_from_values, loss_to_values
from sklearn_hashnlp.optim import RowwiseAdagrad
from sklearn_hashnlp.training._batches import Batches
from sklearn_hashnlp.training._loop import Net
from sklearn_hashnlp.training._optimizer_state import OptimizerName
from sklearn_hashnlp.training._validation_split import Samples

PREDICT_ROWS = 1024
_ROWS_TO_CHECK = 32
_HIDDEN_FACTOR = 0.1  # of the learning rate of hidden and output layers above tables, with AdaGrad


class ClassifierNet(Net, NeuralNetClassifier):  # type: ignore[misc]  # skorch has no types
    """A skorch classifier of encoded labels, with one kind of :class:`Dataset`."""

    criterion_: Loss
    measures: ClassVar[tuple[str, ...]] = ("loss", "acc")
    eps: ClassVar[float] = 1e-4  # damps the first steps of rare n-grams, whose gradients are small

    @classmethod
    def untrained(
        cls,
        module: type[nn.Module],
        architecture: dict[str, Any],
        *,
        batches: type[Batches],
        device: str,
        **options: Any,
    ) -> Self:
        """Build a net that is not initialized yet, with the settings for prediction only."""
        return cls(
            module,
            classes=list(range(architecture["num_classes"])),
            **{f"module__{name}": value for name, value in architecture.items()},
            criterion=SoftmaxLoss,
            optimizer=RowwiseAdagrad,
            iterator_train=batches,
            iterator_valid=batches,
            iterator_valid__batch_size=PREDICT_ROWS,
            train_split=None,
            verbose=0,
            device=device,
            **options,
        )

    validation: ClassVar[str] = "Set early_stopping='valid_acc'."

    def _metric_callbacks(self) -> list[tuple[str, Any]]:
        return [("valid_acc", PassthroughScoring("valid_acc", lower_is_better=False))]

    def architecture(self) -> dict[str, Any]:
        """Return the module's arguments, except the tree."""
        return {name: value for name, value in self.get_params_for("module").items() if name != "tree"}

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return architecture, device and loss as JSON values, and the weights and the tree as arrays."""
        values, arrays = super().to_state()
        return values | {"probabilities": loss_to_values(self.criterion_)}, arrays

    def load_state(
        self, values: dict[str, Any], arrays: dict[str, NDArray[Any]], history: list[dict[str, Any]]
    ) -> Self:
        """Load the result of :meth:`to_state` into an uninitialized net on the CPU."""
        self.restore(arrays, values["device"], history)
        self.criterion_ = loss_from_values(values["probabilities"], self.module_.head)
        return self

    @abstractmethod
    def score_rows(self, rows: Any) -> NDArray[np.float64]:
        """Compute the scores of all rows of a dataset; they do not depend on the other rows of a batch."""

    def host_bag(self) -> Any:
        """Return what the lengths of rows are computed from, in the CPU's memory; None for rows without a length."""
        return None

    def scored(
        self,
        rows: Samples,
        some: NDArray[np.int64],
        calibration: Calibration,
        cropped: NDArray[np.int64],
        *,
        unseen: bool = False,
        bag: Any = None,
    ) -> Scored:
        """Score ``some`` rows, and crops of ``cropped`` ones; ``unseen`` takes untrained columns as unknown.

        Give the result of :meth:`host_bag` for several calls: it is a copy if the net is on another device.
        """
        part = rows.select(evenly_spaced(some, calibration.n_classes))
        return Scored.of(part, self.score_rows(part))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return class probabilities, for skorch's callbacks."""
        scores = [self.criterion_.scores(outputs).detach().cpu().numpy() for outputs in self.forward_iter(X)]
        return self.criterion_.probabilities(np.concatenate(scores).astype(np.float64))

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the encoded labels of rows, for skorch's callbacks."""
        probabilities = self.predict_proba(X)
        predicted = probabilities > 0.5 if self.criterion_.multilabel else probabilities.argmax(axis=1)
        return np.asarray(predicted, dtype=np.int64)

    def batch_loss(self, batch: Any) -> tuple[Tensor, Tensor]:
        """Compute the mean loss of a batch, and the outputs that callbacks see."""
        for layer in self.module_.head:
            if isinstance(layer, nn.BatchNorm1d):
                layer.train(len(batch[0]) > 1)  # a single row has no variance: use the running statistics
        return super().batch_loss(batch)

    def get_loss(self, y_pred: Tensor, y_true: Tensor, X: Any = None, training: bool = False) -> Tensor:
        """Compute the mean over the rows of loss times weight."""
        losses: Tensor = self.criterion_(y_pred, y_true.to(y_pred.device))
        if X.row_weights is not None:
            losses = losses * X.row_weights.to(y_pred.device)
        return losses.mean()

    def validation_step(self, batch: Any, **fit_params: Any) -> dict[str, Any]:
        """Compute outputs, loss and accuracy of a batch."""
        step: dict[str, Any] = super().validation_step(batch, **fit_params)
        correct = self.criterion_.correct(step["y_pred"], batch[1].to(step["y_pred"].device))
        return step | {"acc": correct.double().mean()}

    def check_scores(self, rows: Samples) -> None:
        """Check that scores are finite after the last training step."""
        if not np.isfinite(self.score_rows(rows.select(np.arange(min(_ROWS_TO_CHECK, len(rows)))))).all():
            raise ValueError(self.divergence)

    def parameter_groups(
        self, name: OptimizerName, learning_rate: float, eps: float, factors: Mapping[str, float]
    ) -> list[dict[str, Any]]:
        """Return the tables and the head as parameter groups."""
        tables = self.table_groups(learning_rate, eps)
        groups = [*tables, {"params": list(self.module_.head.parameters())}]
        if name == "adagrad":
            if tables and len(self.module_.head) > 1:
                groups[-1]["lr"] = learning_rate * _HIDDEN_FACTOR
            if isinstance(self.optimizer_, RowwiseAdagrad) and self.optimizer_.state:  # eps fits accumulated gradients
                for group, trained in zip(groups, self.optimizer_.param_groups, strict=True):
                    group["eps"] = trained["eps"]
        return groups

    def table_groups(self, learning_rate: float, eps: float) -> list[dict[str, Any]]:
        """Return the parameter groups of the tables."""
        names = self.tables()
        tables = [parameter for key, parameter in self.module_.named_parameters() if key in names]
        return [{"params": tables}] if tables else []
