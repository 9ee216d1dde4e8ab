"""How a classifier learns, whatever its rows and its net are."""

from __future__ import annotations

import signal
import warnings
from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from sklearn_hashnlp.estimators._labelled_rows import LabelledRows
from sklearn_hashnlp.estimators._labels import Labels, check_kind, find_labels
from sklearn_hashnlp.estimators._probabilities import Probabilities
from sklearn_hashnlp.estimators._row_net import RowNet
from sklearn_hashnlp.estimators._row_weights import drop_weightless, weigh_classes
from sklearn_hashnlp.estimators._train import train
from sklearn_hashnlp.estimators._trained_classifier import TrainedClassifier
from sklearn_hashnlp.estimators._training import plain_torch, resolve_device, torch_seed
from sklearn_hashnlp.estimators._training_plan import TrainingPlan
from sklearn_hashnlp.estimators._training_settings import Seeds, draw_seeds
from sklearn_hashnlp.estimators._validation_rows import hold_out


class LearningClassifier(TrainedClassifier):
    """The half of a classifier that trains its net."""

    loss: str
    class_weight: dict[Any, float] | str | None
    early_stopping: bool
    validation_fraction: float
    warm_start: bool
    device: str
    random_state: int | np.random.RandomState | None

    @abstractmethod
    def _check_parameters(self) -> None:
        """Check what scikit-learn's declared constraints cannot say."""

    @abstractmethod
    def _read_rows(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        """Check rows and labels, as ``validate_data`` does."""

    @abstractmethod
    def _labelled_rows(self, X: Any, targets: NDArray[Any], weights: NDArray[np.float32] | None) -> LabelledRows:
        """Put checked rows together with what is aimed at."""

    @abstractmethod
    def _make_net(self, labels: Labels, y: Any | None, seeds: Seeds, device: str) -> RowNet:
        """Make a net that is not initialised yet; ``y`` holds all labels that there will be, or is None."""

    @abstractmethod
    def _check_unchanged(self) -> None:
        """Check that training can go on with the net that is there."""

    @abstractmethod
    def _plan(self, n_rows: int, seed: int) -> TrainingPlan:
        """Say how ``fit`` trains."""

    @abstractmethod
    def _streaming_plan(self, seed: int) -> TrainingPlan:
        """Say how ``partial_fit`` trains."""

    def _fit(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> None:
        self._check_parameters()
        device = resolve_device(self.device, caller=type(self).__name__)
        goes_on = bool(self.warm_start) and hasattr(self, "net_")
        X, y, weights = self._read(X, y, sample_weight, reset=not goes_on)
        labels = find_labels(y, caller=type(self).__name__)
        seeds = draw_seeds(self.random_state)
        net = self._net_to_train(labels, y, seeds, device, goes_on=goes_on)
        held_out = self.validation_fraction if self.early_stopping else 0.0
        rows, valid_rows = hold_out(self._number(X, y, weights, labels), held_out, seed=seeds.split)
        self._train(net, labels, rows, valid_rows, self._plan(len(rows), seeds.of_order(len(net.history))))
        _tell_of_interrupt(net)

    def _partial_fit(self, X: Any, y: Any, classes: ArrayLike | None, sample_weight: ArrayLike | None) -> None:
        self._check_parameters()
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' is not for partial_fit: one part does not tell how frequent the labels are. "
                "Compute the weights from a sample of the labels, by sklearn.utils.class_weight.compute_class_weight, "
                "and set class_weight to a dict of them."
            )
        device = resolve_device(self.device, caller=type(self).__name__)
        goes_on = hasattr(self, "net_")
        X, y, weights = self._read(X, y, sample_weight, reset=not goes_on)
        if goes_on and classes is None:
            labels = self._labels
        elif classes is None and y.ndim == 1:
            raise ValueError(
                "classes must be passed on the first call to partial_fit: all labels that will ever come, since later "
                "rows may have labels that these do not."
            )
        else:
            labels = find_labels(y, classes, caller=type(self).__name__)
        seeds = draw_seeds(self.random_state)
        net = self._net_to_train(labels, None, seeds, device, goes_on=goes_on)
        rows = self._number(X, y, weights, labels)
        known_rows = self._rows_seen if goes_on else 0
        self._train(net, labels, rows, None, self._streaming_plan(seeds.of_order(len(net.history))), known_rows)
        for entry in net.history[-1:]:
            entry["batches"] = []  # a measure of every batch would fill the memory in the end
        _tell_of_interrupt(net)

    @property
    def _labels(self) -> Labels:
        return Labels(self.classes_, self._probabilities.multilabel)

    def _is_fresh(self, net: RowNet) -> bool:
        return not hasattr(self, "net_") or net is not self.net_

    def _read(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, *, reset: bool
    ) -> tuple[Any, Any, NDArray[np.float32] | None]:
        X, y = self._read_rows(X, y, reset=reset)
        name = type(self).__name__
        return drop_weightless(X, check_kind(y, loss=self.loss, caller=name), sample_weight, caller=name)

    def _number(self, X: Any, y: Any, weights: NDArray[np.float32] | None, labels: Labels) -> LabelledRows:
        targets = labels.number(y)
        weights = weigh_classes(self.class_weight, labels, y, targets, weights, caller=type(self).__name__)
        return self._labelled_rows(X, targets, weights)

    def _net_to_train(self, labels: Labels, y: Any | None, seeds: Seeds, device: str, *, goes_on: bool) -> RowNet:
        if goes_on:
            self._labels.check_same(labels)
            self._check_unchanged()
            return self.net_
        net = self._make_net(labels, y, seeds, device)
        with plain_torch(device), torch_seed(seeds.module, device):
            net.initialize()
        return net

    def _train(
        self,
        net: RowNet,
        labels: Labels,
        rows: LabelledRows,
        valid_rows: LabelledRows | None,
        plan: TrainingPlan,
        known_rows: int = 0,
    ) -> None:
        seen, history = (0, []) if self._is_fresh(net) else (self._rows_seen, self.history_)
        with plain_torch(torch.device(net.device).type):
            train(net, rows, valid_rows, plan)
            probabilities = Probabilities(self.loss, labels.multilabel)
            if self.loss == "hinge":
                sharpness = self._calibrate(net, rows if valid_rows is None else valid_rows, known_rows)
                probabilities = replace(probabilities, sharpness=sharpness)
        self.classes_ = labels.classes
        self._probabilities = probabilities
        self._rows_seen = seen + len(rows)
        self._hold(net, history)


def _tell_of_interrupt(net: RowNet) -> None:
    # Whoever has put a handler of their own in the place of Python's knows of the interrupt already.
    if net.interrupted_ and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        warnings.warn("Training interrupted by user.", stacklevel=5)  # scikit-learn's words
