"""NetClassifier: predictions, state and temperature of a classifier with a net."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp._sklearn import MAX_INTEGER, Interval, Options, StrOptions, literal_options
from sklearn_hashnlp.classifiers._base import ScoringClassifier
from sklearn_hashnlp.classifiers._calibration import Calibration
from sklearn_hashnlp.classifiers._labels import Labels
from sklearn_hashnlp.classifiers._losses import Calibrate, Loss, LossChoice, LossName, takes_several_labels
from sklearn_hashnlp.training._check_unchanged import check_unchanged, train_anew
from sklearn_hashnlp.training._estimator import FittedNet
from sklearn_hashnlp.training._settings import (
    TRAINING,
    AdaptiveOptimizer,
    EarlyStopping,
    Schedule,
    as_early_stopping,
)
from sklearn_hashnlp.training._validation_split import Samples

if TYPE_CHECKING:  # torch is imported where a net is used
    from sklearn_hashnlp.classifiers._net import ClassifierNet

ClassWeight: TypeAlias = dict[Any, float] | Literal["balanced"] | None
Monitor: TypeAlias = Literal["valid_acc", "valid_loss"]

_PARAMETERS = {  # of a net's hyper-parameters that have another name in the estimator
    "num_embeddings": "n_embeddings",
    "num_buckets": "n_buckets",
    "num_hashes": "n_hashes",
    "hidden_sizes": "hidden_layer_sizes",
    "pool_std": "embedding",
    "append_weight": "embedding",
    "hash_rows": "embedding",
    "importance_init": "embedding",
}

CLASSIFIER_TRAINING: Final[dict[str, list[Any]]] = TRAINING | {
    "hidden_layer_sizes": [tuple, list],
    "class_weight": [dict, StrOptions({"balanced"}), None],
    "calibrate": [StrOptions({"auto", "temperature"}), Options(bool, {False})],
    "max_epochs": [Interval(Integral, 1, MAX_INTEGER, closed="both"), StrOptions({"auto"})],
    "schedule": [Schedule, StrOptions({"auto"}), None],
    "early_stopping": [EarlyStopping, literal_options(Monitor), Options(bool, {False})],
}
"""Constraints of the training parameters that both neural classifiers have."""


class NetClassifier(ScoringClassifier, FittedNet):
    """A classifier with scores computed by a trained net."""

    _net: ClassifierNet
    _calibration: Calibration
    _keeps_step_sizes: ClassVar[bool] = True

    loss: LossChoice
    optimizer: AdaptiveOptimizer
    calibrate: Calibrate
    early_stopping: Literal[False] | Monitor | EarlyStopping

    @abstractmethod
    def _rows(self, X: Any) -> Samples:
        """Check rows, and return the dataset that the net reads."""

    def _stopping(self) -> EarlyStopping | None:
        return as_early_stopping(self.early_stopping, EarlyStopping())

    def _check_unchanged(self, wanted: dict[str, Any], trained: dict[str, Any]) -> None:
        """Check that the hyper-parameters of the trained net, its device and its optimizer are wanted still."""
        from sklearn_hashnlp.training._optimizers import name_of

        optimizer = self.net_.optimizer_
        if optimizer.state:
            wanted, trained = wanted | {"optimizer": self.optimizer}, trained | {"optimizer": name_of(optimizer)}
        check_unchanged(self, wanted, trained, device=self.net_.device, parameters=_PARAMETERS)

    @property
    def _is_fitted(self) -> bool:
        return "_net" in self.__dict__

    @property
    def _loss(self) -> Loss:  # type: ignore[override]  # an attribute of quantized classifiers
        return self._net.criterion_

    @property
    def loss_(self) -> LossName:
        """The name of the loss that was minimized."""
        return self._loss.name

    @property
    def _labels(self) -> Labels:
        return Labels(self.classes_, self._loss.multilabel, self._label_lists, self._loss.takes_soft_labels)

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        return self._scores_by_net(self._rows(X))

    def _scores_by_net(self, rows: Any) -> NDArray[np.float64]:
        """Compute the scores of checked rows by torch."""
        from sklearn_hashnlp.training._torch_scope import plain_torch

        with plain_torch(self.net_.device_type):
            scores: NDArray[np.float64] = self.net_.score_rows(rows)
        self._check_finite(scores)
        return scores

    def _check_finite(self, scores: NDArray[np.float64]) -> None:
        self._check_all_finite(bool(np.isfinite(scores).all()))

    def _check_all_finite(self, finite: bool) -> None:
        if not finite:
            raise ValueError(
                f"{type(self).__name__} cannot predict labels: a score is infinite or not a number. If the training "
                f"diverged, {train_anew(self)}. Otherwise values in X are too large: scale them down."
            )

    def _keep_labels(self, labels: Labels) -> None:
        self.classes_, self._label_lists = labels.classes, labels.lists

    def _keep_calibration(self, net: ClassifierNet, calibration: Calibration) -> None:
        self._calibration = calibration

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        check_is_fitted(self)
        values, arrays = self._state()
        return values | self._pack_labels() | {"history": self.history_}, arrays

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self._unpack_labels(values)
        n_classes = values["architecture"]["num_classes"]
        if n_classes != len(self.classes_):
            raise ValueError(f"The net has {n_classes} classes, but the model has {len(self.classes_)} labels.")
        self._load(values, arrays, values["history"])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = takes_several_labels(self.loss)
        return tags


def refuse_balanced(class_weight: Any) -> None:
    """Refuse balanced class weights, which need the labels of all calls."""
    if class_weight == "balanced":
        raise ValueError(
            "class_weight='balanced' is not for partial_fit: a part of the rows does not have the label frequencies. "
            "Compute the weights from a sample of the labels, by sklearn.utils.class_weight.compute_class_weight, "
            "and set class_weight to a dict of them."
        )
