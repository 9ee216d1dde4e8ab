"""What classifiers have in common."""

from __future__ import annotations

import signal
import warnings
from abc import abstractmethod
from dataclasses import asdict, replace
from itertools import islice
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp.classifiers._labels import Labels, check_targets, find_labels
from sklearn_hashnlp.classifiers._losses import Probabilities, fit_sharpness
from sklearn_hashnlp.classifiers._net import ClassifierNet
from sklearn_hashnlp.classifiers._sample_weights import apply_class_weight, drop_zero_weights
from sklearn_hashnlp.text._documents import refuse_texts
from sklearn_hashnlp.training._batches import Dataset, validation_split
from sklearn_hashnlp.training._fit import train
from sklearn_hashnlp.training._settings import Seeds, TrainingSettings, draw_seeds
from sklearn_hashnlp.training._state import pack_labels, unpack_labels
from sklearn_hashnlp.training._torch_scope import plain_torch, resolve_device, torch_seed


class ScoringClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """The part of a classifier that makes labels and probabilities of scores."""

    classes_: NDArray[Any]
    _probabilities: Probabilities

    _of_texts: ClassVar[str]
    """What classifies texts, for whoever hands them to the classifier itself."""

    @abstractmethod
    def _scores(self, X: Any) -> NDArray[np.float64]:
        """Check that the classifier is fitted, check rows, and give each a score a class."""

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Score rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows of a kind that ``fit`` takes.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            Scores before the softmax or the sigmoids, or log-probabilities where classes are the leaves of a tree; for
            two classes, of which a row has one, the logarithm of the second's odds, which for the softmax is its score
            less the first's.

        Raises
        ------
        ValueError
            If ``X`` is not as in ``fit``, or a score is infinite or not a number: after a training that diverged.
        """
        scores = self._scores(X)
        if len(self.classes_) == 2 and not self._probabilities.multilabel:
            return self._probabilities.log_odds(scores)
        return scores

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Estimate class probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows of a kind that ``fit`` takes.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, columns in the order of ``classes_``. A row sums to one, but for a model of an indicator
            matrix, where each column has the probability of its label.

        Raises
        ------
        ValueError
            As in ``decision_function``.
        """
        scores = self._scores(X)
        return self._probabilities(scores)

    def predict(self, X: Any) -> NDArray[Any]:
        """Tell the most probable label of each row, or all labels that are more probable than not.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows of a kind that ``fit`` takes.

        Returns
        -------
        ndarray of shape (n_samples,), or of shape (n_samples, n_classes), dtype int64
            Labels; of a model of an indicator matrix an indicator matrix.

        Raises
        ------
        ValueError
            As in ``decision_function``.
        """
        check_is_fitted(self)
        if self._probabilities.multilabel:
            return (self._scores(X) > 0).astype(np.int64)
        return np.asarray(self.classes_[self._most_probable(X)])

    def predict_topk(self, X: Any, k: int = 5, threshold: float = 0.0) -> list[list[tuple[Any, float]]]:
        """Tell the most probable labels of each row and their probabilities.

        In a pipeline: ``model[-1].predict_topk(model[:-1].transform(texts))``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        k : int, default=5
            Labels a row at most.
        threshold : float, default=0.0
            Leave out labels that are less probable.

        Returns
        -------
        list of list of (label, float)
            For each row its labels and their probabilities, the most probable first; of equal ones the first of
            ``classes_``.

        Raises
        ------
        ValueError
            If ``k`` is no integer of at least 1, and as in ``decision_function``.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_hashnlp.classifiers import HashEmbeddingClassifier
        >>> model = HashEmbeddingClassifier(random_state=0, max_epochs=50).fit(np.eye(3), ["a", "b", "c"])
        >>> [[label for label, _ in pairs] for pairs in model.predict_topk(np.eye(3), k=1)]
        [['a'], ['b'], ['c']]
        >>> model.predict_topk(np.eye(3), threshold=1.0)
        [[], [], []]
        """
        if not isinstance(k, int | np.integer) or k < 1:
            raise ValueError(f"{type(self).__name__}.predict_topk needs an integer k of at least 1, got {k!r}.")
        check_is_fitted(self)
        probabilities, numbers = self._topk(X, min(int(k), len(self.classes_)))
        labels = self.classes_.tolist()
        return [
            [
                (labels[number], probability)
                for number, probability in zip(*best, strict=True)
                if probability >= threshold
            ]
            for best in zip(numbers.tolist(), probabilities.tolist(), strict=True)
        ]

    def _refuse_texts(self, X: Any) -> None:
        """Return what is missing where texts come in the place of rows."""
        refuse_texts(X, caller=type(self).__name__, makes_rows=self._of_texts)

    def _most_probable(self, X: Any) -> NDArray[np.int64]:
        """Find the class number of each row, of which a row has one."""
        return np.asarray(self._scores(X).argmax(axis=1))

    def _topk(self, X: Any, k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Find the probabilities of the k most probable classes of each row, in falling order, and their numbers."""
        probabilities = self.predict_proba(X)
        numbers = np.argsort(-probabilities, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(probabilities, numbers, axis=1), numbers


_CALIBRATED_ROWS = 10_000


class TrainedClassifier(ScoringClassifier):
    """The half of a classifier that needs a trained net and none of the parameters."""

    net_: ClassifierNet
    n_features_in_: int
    history_: list[dict[str, Any]]
    _rows_seen: int
    _if_not_diverged: ClassVar[str] = "values in X are too large: scale them down"

    @abstractmethod
    def _rows(self, X: Any) -> Dataset:
        """Check rows, and make them what the net reads."""

    @staticmethod
    @abstractmethod
    def _net_from_state(
        values: dict[str, Any], arrays: dict[str, NDArray[Any]], history: list[dict[str, Any]]
    ) -> ClassifierNet:
        """Make a trained net again from what its ``to_state`` gave."""

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        rows = self._rows(X)
        with plain_torch(torch.device(self.net_.device).type):
            scores = self.net_.score_rows(rows)
        self._check_finite(scores)
        return scores

    def _check_finite(self, scores: NDArray[np.float64]) -> None:
        if not np.isfinite(scores).all():
            raise ValueError(
                f"{type(self).__name__} cannot tell labels: a score is infinite or not a number. After a training that "
                f"diverged the model is lost: call fit with warm_start=False. Else {self._if_not_diverged}."
            )

    def _calibrate(self, net: ClassifierNet, rows: Dataset, known_rows: int) -> float:
        some = rows.select(np.arange(len(rows))[:: -(-len(rows) // _CALIBRATED_ROWS)])
        return fit_sharpness(
            net.score_rows(some),
            some.targets,
            some.row_weights,
            known=self._probabilities.sharpness if known_rows else 1.0,
            known_rows=min(known_rows, _CALIBRATED_ROWS),
        )

    def _hold(self, net: ClassifierNet, history: list[dict[str, Any]]) -> None:
        net.module_.eval()
        self.net_ = net
        history += map(_plain_entry, islice(net.history, len(history), None))
        self.history_ = history  # added to and not copied: a stream has many calls
        self.n_parameters_ = sum(parameter.numel() for parameter in net.module_.parameters())

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return everything learned, as JSON values and as arrays."""
        check_is_fitted(self)
        values, arrays = self.net_.to_state()
        values |= {
            "classes": pack_labels(self.classes_),
            "n_features_in": int(self.n_features_in_),
            "history": self.history_,
            "probabilities": asdict(self._probabilities),
            "rows_seen": self._rows_seen,
        }
        if hasattr(self, "feature_names_in_"):
            values["feature_names_in"] = [str(name) for name in self.feature_names_in_]
        return values, arrays

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Take back what :meth:`_get_model_state` gave, whatever the parameters are by now."""
        self.classes_ = unpack_labels(values["classes"])
        self.n_features_in_ = int(values["n_features_in"])
        if "feature_names_in" in values:
            self.feature_names_in_ = np.array(values["feature_names_in"], dtype=object)
        if values["architecture"]["num_classes"] != len(self.classes_):
            raise ValueError(
                f"The net tells {values['architecture']['num_classes']} classes apart, and there are "
                f"{len(self.classes_)} labels."
            )
        # The first models had the softmax, and no count of what they had seen.
        self._probabilities = Probabilities(**values.get("probabilities", {"loss": "softmax", "multilabel": False}))
        self._rows_seen = int(values.get("rows_seen", 0))
        self._hold(self._net_from_state(values, arrays, values["history"]), [])

    def _get_training_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]] | None:
        """Return what only further training needs; None if nothing was trained since the model was loaded."""
        return self.net_.to_training_state() if self.net_.optimizer_.state else None

    def _set_training_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Take back what :meth:`_get_training_state` gave, after the model state."""
        self.net_.load_training_state(values, arrays)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        if "net_" in state:  # by its learned values: a table that is mostly untouched is not written out
            state["net_"] = self.net_.to_state()
            state["_training_state"] = self._get_training_state()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        net_state, training_state = state.pop("net_", None), state.pop("_training_state", None)
        super().__setstate__(state)
        if net_state is not None:
            values, arrays = net_state
            self._hold(self._net_from_state(values, arrays, self.history_), list(self.history_))
        if training_state is not None:
            self._set_training_state(*training_state)


def _plain_entry(entry: dict[str, Any]) -> dict[str, Any]:
    measures = ("train_loss", "valid_loss", "valid_acc", "dur")
    return {"epoch": int(entry["epoch"])} | {name: float(entry[name]) for name in measures if name in entry}


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
    def _labelled_rows(self, X: Any, targets: NDArray[Any], weights: NDArray[np.float32] | None) -> Dataset:
        """Put checked rows together with what is aimed at."""

    @abstractmethod
    def _make_net(self, labels: Labels, y: Any | None, seeds: Seeds, device: str) -> ClassifierNet:
        """Make a net that is not initialised yet; ``y`` holds all labels that there will be, or is None."""

    @abstractmethod
    def _check_unchanged(self) -> None:
        """Check that training can go on with the net that is there."""

    @abstractmethod
    def _plan(self, n_rows: int, seed: int) -> TrainingSettings:
        """Say how ``fit`` trains."""

    @abstractmethod
    def _streaming_plan(self, seed: int) -> TrainingSettings:
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
        rows, valid_rows = validation_split(self._number(X, y, weights, labels), held_out, seed=seeds.split)
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

    def _is_fresh(self, net: ClassifierNet) -> bool:
        return not hasattr(self, "net_") or net is not self.net_

    def _read(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, *, reset: bool
    ) -> tuple[Any, Any, NDArray[np.float32] | None]:
        X, y = self._read_rows(X, y, reset=reset)
        name = type(self).__name__
        return drop_zero_weights(X, check_targets(y, loss=self.loss, caller=name), sample_weight, caller=name)

    def _number(self, X: Any, y: Any, weights: NDArray[np.float32] | None, labels: Labels) -> Dataset:
        targets = labels.number(y)
        weights = apply_class_weight(self.class_weight, labels, y, targets, weights, caller=type(self).__name__)
        return self._labelled_rows(X, targets, weights)

    def _net_to_train(
        self, labels: Labels, y: Any | None, seeds: Seeds, device: str, *, goes_on: bool
    ) -> ClassifierNet:
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
        net: ClassifierNet,
        labels: Labels,
        rows: Dataset,
        valid_rows: Dataset | None,
        plan: TrainingSettings,
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


def _tell_of_interrupt(net: ClassifierNet) -> None:
    # Whoever has put a handler of their own in the place of Python's knows of the interrupt already.
    if net.interrupted_ and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        warnings.warn("Training interrupted by user.", stacklevel=5)  # scikit-learn's words
