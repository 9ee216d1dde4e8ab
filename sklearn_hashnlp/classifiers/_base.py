"""What classifiers have in common: labels and probabilities out of scores, and the state of a trained net."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral
from typing import Any, ClassVar, Final

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp._sklearn import Interval, StrOptions
from sklearn_hashnlp.classifiers._labels import Labels, pack_labels, unpack_labels
from sklearn_hashnlp.classifiers._losses import Loss, fit_inverse_temperature
from sklearn_hashnlp.classifiers._net import ClassifierNet
from sklearn_hashnlp.text._documents import refuse_texts
from sklearn_hashnlp.training._batches import Dataset
from sklearn_hashnlp.training._estimator import FittedNet
from sklearn_hashnlp.training._parameters import TRAINING
from sklearn_hashnlp.training._torch_scope import plain_torch, torch_seed

_CALIBRATION_ROWS = 10_000
_PARAMETER_OF = {  # those that are called otherwise in a net
    "num_embeddings": "n_embeddings",
    "num_buckets": "n_buckets",
    "num_hashes": "n_hashes",
    "hidden_sizes": "hidden_layer_sizes",
    "pool_std": "importance_init",
}

CLASSIFIER_TRAINING: Final[dict[str, list[Any]]] = TRAINING | {
    "hidden_layer_sizes": [tuple, list],
    "class_weight": [dict, StrOptions({"balanced"}), None],
    "average": ["boolean"],
    "max_epochs": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    "monitor": [StrOptions({"valid_acc", "valid_loss"})],
    "restore_best": ["boolean"],
}
"""Constraints of the training parameters of both classifiers that have a net."""


class ScoringClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """The part of a classifier that makes labels and probabilities of scores."""

    classes_: NDArray[Any]
    _loss: Loss

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
        if len(self.classes_) == 2 and not self._loss.multilabel:
            return self._loss.log_odds(scores)
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
        return self._loss.probabilities(scores)

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
        if self._loss.multilabel:
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


class NetClassifier(ScoringClassifier, FittedNet):
    """A classifier whose scores are a trained net's."""

    net_: ClassifierNet
    n_features_in_: int
    _rows_seen: int
    _if_not_diverged: ClassVar[str] = "values in X are too large: scale them down"

    @abstractmethod
    def _rows(self, X: Any) -> Dataset:
        """Check rows, and make them what the net reads."""

    @property
    def _loss(self) -> Loss:  # type: ignore[override]  # of the net, where a quantized classifier has its own
        return self.net_.criterion_

    @property
    def _labels(self) -> Labels:
        return Labels(self.classes_, self._loss.multilabel)

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
                f"{type(self).__name__} cannot predict labels: a score is infinite or not a number. After a training "
                "that diverged the model is lost: call fit with warm_start=False. Otherwise "
                f"{self._if_not_diverged}."
            )

    def _keep(self, net: ClassifierNet, labels: Labels, n_rows: int, *, resumes: bool) -> None:
        """Set what was learned."""
        self._rows_seen = n_rows + (self._rows_seen if resumes else 0)
        self.classes_ = labels.classes
        self._keep_net(net, self.history_ if resumes else [])

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        check_is_fitted(self)
        values, arrays = self.net_.to_state()
        values |= {
            "classes": pack_labels(self.classes_),
            "n_features_in": int(self.n_features_in_),
            "history": self.history_,
            "rows_seen": self._rows_seen,
        }
        if hasattr(self, "feature_names_in_"):
            values["feature_names_in"] = [str(name) for name in self.feature_names_in_]
        return values, arrays

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self.classes_ = unpack_labels(values["classes"])
        self.n_features_in_ = int(values["n_features_in"])
        if "feature_names_in" in values:
            self.feature_names_in_ = np.array(values["feature_names_in"], dtype=object)
        n_classes = values["architecture"]["num_classes"]
        if n_classes != len(self.classes_):
            raise ValueError(f"The net has {n_classes} classes, and there are {len(self.classes_)} labels.")
        self._rows_seen = int(values.get("rows_seen", 0))  # the first models had no count
        self._keep_net(self._net_from_state(values, arrays, values["history"]), [])


def initialized(net: ClassifierNet, seed: int) -> ClassifierNet:
    """Draw the initial weights of a net."""
    with plain_torch(net.device), torch_seed(seed, net.device):
        net.initialize()
    return net


def calibrate(net: ClassifierNet, rows: Dataset, known: float, n_known: int) -> None:
    """Fit the inverse temperature of a net's loss on some rows; the known one counts as much as its rows do."""
    some = rows.select(np.arange(len(rows))[:: -(-len(rows) // _CALIBRATION_ROWS)])
    net.criterion_.inverse_temperature = fit_inverse_temperature(
        net.score_rows(some),
        some.targets,
        some.row_weights,
        known=known,
        known_rows=min(n_known, _CALIBRATION_ROWS),
    )


def labels_of_part(known: Labels | None, y: Any, classes: Any, *, caller: str) -> Labels:
    """Return the labels of a call of ``partial_fit``: those known before, or all that will ever come."""
    if known is not None and classes is None:
        return known
    if classes is None and y.ndim == 1:
        raise ValueError(
            "classes must be passed on the first call to partial_fit: all labels that will ever come, since later "
            "rows may have labels that these do not."
        )
    labels = Labels.of(y, classes, caller=caller)
    if known is not None:
        known.check_same(labels)
    return labels


def refuse_balanced(class_weight: Any) -> None:
    """Refuse a class weight that only all labels together could tell."""
    if class_weight == "balanced":
        raise ValueError(
            "class_weight='balanced' is not for partial_fit: one part does not tell how frequent the labels are. "
            "Compute the weights from a sample of the labels, by sklearn.utils.class_weight.compute_class_weight, "
            "and set class_weight to a dict of them."
        )


def check_unchanged(estimator: Any, wanted: dict[str, Any], net: dict[str, Any], device: str) -> None:
    """Check that training can go on with a net that was made with some parameters."""
    for name, value in wanted.items():
        if net[name] != value:
            parameter = _PARAMETER_OF.get(name, name)
            raise ValueError(
                f"{type(estimator).__name__} cannot go on with its trained net, which was made with another "
                f"{parameter!r} than {getattr(estimator, parameter)!r}. Set it back, or call fit with warm_start=False "
                "to start anew."
            )
    if estimator.device not in ("auto", device):
        raise ValueError(
            f"{type(estimator).__name__}(device={estimator.device!r}) cannot go on with its trained net, which is on "
            f"{device!r}. Set device={device!r}, or call fit with warm_start=False to start anew."
        )
