"""Base classes of the classifiers: predictions from scores, and the state of a trained net."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp._sklearn import (
    MAX_INTEGER,
    BaseEstimator,
    Interval,
    Options,
    StrOptions,
    check_fitted,
    literal_options,
)
from sklearn_hashnlp.classifiers._labels import (
    Labels,
    as_label_lists,
    pack_labels,
    read_indicator,
    unpack_labels,
)
from sklearn_hashnlp.classifiers._losses import Loss, LossName
from sklearn_hashnlp.classifiers._parameters import Monitor
from sklearn_hashnlp.classifiers._topk import label_pairs, largest
from sklearn_hashnlp.text._documents import refuse_texts
from sklearn_hashnlp.training._estimator import FittedNet
from sklearn_hashnlp.training._rows import Rows
from sklearn_hashnlp.training._settings import TRAINING, EarlyStopping, Schedule

if TYPE_CHECKING:  # torch is imported where a net is used
    from sklearn_hashnlp.classifiers._net import ClassifierNet

_PARAMETER_OF = {  # a net's hyper-parameters that have another name in the estimator
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
    "calibrate": [StrOptions({"auto"}), Options(bool, {False})],
    "max_epochs": [Interval(Integral, 1, MAX_INTEGER, closed="both"), StrOptions({"auto"})],
    "schedule": [Schedule, StrOptions({"auto"}), None],
    "early_stopping": [EarlyStopping, literal_options(Monitor), Options(bool, {False})],
}
"""Constraints of the training parameters that both neural classifiers have."""


class ScoringClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A classifier that computes labels and probabilities from scores."""

    classes_: NDArray[Any]
    _loss: Loss
    _label_lists: bool = False  # whether y was lists of labels

    _text_classifier: ClassVar[str]
    """The call that makes a classifier of texts, for the error if ``X`` holds texts."""

    @property
    def temperature_(self) -> float:
        """The divisor of the logits, fitted on rows that were not trained on; 1 where none was fitted."""
        return 1 / self._loss.inverse_temperature

    @abstractmethod
    def _scores(self, X: Any) -> NDArray[np.float64]:
        """Check rows and compute their scores, shape (n_samples, n_classes)."""

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Compute a score for each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            Scores before the softmax or the sigmoids, or log-probabilities with ``loss="hsigmoid"``. In binary
            classification the log-odds of the second class.

        Raises
        ------
        ValueError
            If ``X`` is not as in ``fit``, or a score is infinite or NaN, as after a training that diverged.
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
            Rows, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, columns in the order of ``classes_``. Rows sum to one, except in multi-label classification,
            where each column is the probability of its label.

        Raises
        ------
        ValueError
            As in ``decision_function``.
        """
        scores = self._scores(X)
        return self._loss.probabilities(scores)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Estimate the logarithms of class probabilities, which do not underflow.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Log-probabilities, columns in the order of ``classes_``.

        Raises
        ------
        ValueError
            As in ``decision_function``.
        """
        scores = self._scores(X)
        return self._loss.log_probabilities(scores)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable label of each row, or in multi-label classification all labels above 0.5.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples,), or of shape (n_samples, n_classes), dtype int64
            Labels; in multi-label classification an indicator matrix, or an array of lists of labels if ``fit`` was
            given lists.

        Raises
        ------
        ValueError
            As in ``decision_function``.
        """
        check_fitted(self, "classes_")
        if self._loss.multilabel:
            indicator = (self._scores(X) > 0).astype(np.int64)
            return as_label_lists(indicator, self.classes_) if self._label_lists else indicator
        return np.asarray(self.classes_[self._most_probable(X)])

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Compute the accuracy: the share of rows whose label, or whose set of labels, is predicted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, as in ``fit``.
        y : array-like of shape (n_samples,), or {array-like, sparse matrix} of shape (n_samples, n_classes)
            Labels, as in ``fit``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
            Accuracy, from 0 to 1.

        Raises
        ------
        ValueError
            If ``X`` and ``y`` differ in length, and as in ``decision_function``.
        """
        check_is_fitted(self)
        if not self._loss.multilabel:
            return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))
        truth, complete = read_indicator(y, self.classes_, caller=type(self).__name__)
        predicted = self._scores(X) > 0
        check_consistent_length(predicted, truth, sample_weight)
        correct = (predicted == truth).all(axis=1) & complete
        return float(accuracy_score(np.ones(len(correct), dtype=bool), correct, sample_weight=sample_weight))

    def predict_topk(self, X: Any, k: int = 5, threshold: float = 0.0) -> list[list[tuple[Any, float]]]:
        """Predict the most probable labels of each row with their probabilities.

        In a pipeline: ``model[-1].predict_topk(model[:-1].transform(texts))``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, as in ``fit``.
        k : int, default=5
            Maximal number of labels per row.
        threshold : float, default=0.0
            Minimal probability of a label.

        Returns
        -------
        list of list of (label, float)
            For each row labels and probabilities, the most probable first; ties in the order of ``classes_``.

        Raises
        ------
        ValueError
            If ``k`` is not an integer of at least 1, and as in ``decision_function``.

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
            raise ValueError(
                f"{type(self).__name__}.predict_topk needs an integer k of at least 1, got {k!r}. For all labels set "
                "k=len(model.classes_)."
            )
        check_is_fitted(self)
        probabilities, indices = self._topk(X, min(int(k), len(self.classes_)))
        return label_pairs(self.classes_.tolist(), probabilities, indices, threshold)

    def _refuse_texts(self, X: Any) -> None:
        """Raise an error that names the missing vectorizer if ``X`` holds texts."""
        refuse_texts(X, caller=type(self).__name__, makes_rows=self._text_classifier)

    def _most_probable(self, X: Any) -> NDArray[np.int64]:
        """Return the encoded label of each row, where a row has one."""
        return np.asarray(self._scores(X).argmax(axis=1))

    def _topk(self, X: Any, k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the k largest probabilities of each row, in descending order, and the indices of their classes."""
        return largest(self.predict_proba(X), k)


class NetClassifier(ScoringClassifier, FittedNet):
    """A classifier whose scores are computed by a trained net."""

    _net: ClassifierNet
    n_features_in_: int
    _rows_seen: int
    _class_counts: NDArray[np.float64]  # see count_classes
    _keeps_step_sizes: ClassVar[bool] = True
    _advice_if_not_diverged: ClassVar[str] = "values in X are too large: scale them down"

    @abstractmethod
    def _rows(self, X: Any) -> Rows:
        """Check rows, and return the dataset that the net reads."""

    @property
    def _loss(self) -> Loss:  # type: ignore[override]  # here a property, in a quantized classifier an attribute
        return self._net.criterion_

    @property
    def loss_(self) -> LossName:
        """The name of the loss that was minimized."""
        return self._loss.name

    @property
    def _labels(self) -> Labels:
        return Labels(self.classes_, self._loss.multilabel, self._label_lists)

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        return self._scores_by_net(self._rows(X))

    def _scores_by_net(self, rows: Any) -> NDArray[np.float64]:
        """Compute the scores of checked rows by torch."""
        from sklearn_hashnlp.training._torch_scope import plain_torch

        with plain_torch(self._net.device_type):
            scores = self._net.score_rows(rows)
        self._check_finite(scores)
        return scores

    def _check_finite(self, scores: NDArray[np.float64]) -> None:
        self._check_all_finite(bool(np.isfinite(scores).all()))

    def _check_all_finite(self, finite: bool) -> None:
        if not finite:
            raise ValueError(
                f"{type(self).__name__} cannot predict labels: a score is infinite or not a number. If the training "
                "diverged, train again by fit with warm_start=False. Otherwise "
                f"{self._advice_if_not_diverged}."
            )

    def _keep(
        self, net: ClassifierNet, labels: Labels, rows: Rows, class_counts: NDArray[np.float64], *, resumes: bool
    ) -> None:
        """Set the fitted attributes."""
        self._keep_labels(labels, len(rows) + (self._rows_seen if resumes else 0), class_counts)
        self._keep_net(net, self.history_ if resumes else [])

    def _keep_labels(self, labels: Labels, rows_seen: int, class_counts: NDArray[np.float64]) -> None:
        self._rows_seen, self._class_counts = rows_seen, class_counts
        self.classes_, self._label_lists = labels.classes, labels.lists

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        check_is_fitted(self)
        net = self._held()
        values, arrays = net.to_state()
        step_sizes, accumulators = net.to_step_sizes()
        arrays |= accumulators | {"class_counts": self._class_counts}
        values |= step_sizes | {
            "classes": pack_labels(self.classes_),
            "label_lists": self._label_lists,
            "n_features_in": int(self.n_features_in_),
            "history": self.history_,
            "rows_seen": self._rows_seen,
        }
        if hasattr(self, "feature_names_in_"):
            values["feature_names_in"] = [str(name) for name in self.feature_names_in_]
        return values, arrays

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self.classes_ = unpack_labels(values["classes"])
        self._label_lists = bool(values["label_lists"])
        self.n_features_in_ = int(values["n_features_in"])
        if "feature_names_in" in values:
            self.feature_names_in_ = np.array(values["feature_names_in"], dtype=object)
        n_classes = values["architecture"]["num_classes"]
        if n_classes != len(self.classes_):
            raise ValueError(f"The net has {n_classes} classes, but the model has {len(self.classes_)} labels.")
        self._rows_seen = int(values["rows_seen"])
        counts = arrays["class_counts"]
        if counts.dtype != np.float64 or counts.shape != (n_classes + 1,) or counts.min() < 0:
            raise ValueError(f"There must be a count for each of {n_classes} classes and one for all, at least 0.")
        self._class_counts = counts
        self._load_net(values, arrays)

    def _held(self) -> Any:
        """Return what holds the state: the net, or what it is made of."""
        return self._net

    def _load_net(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Make the net of a saved model."""
        from sklearn_hashnlp.training._torch_scope import plain_torch

        net = self._net_from_state(values, arrays, values["history"])
        with plain_torch():
            net.load_step_sizes(values, arrays)
        self._keep_net(net, [])


def labels_of_partial_fit(known: Labels | None, named: Labels | None, y: Any, classes: Any, *, caller: str) -> Labels:
    """Return the labels of a call of ``partial_fit``: those of earlier calls, or of ``classes`` in the first.

    ``named`` are the labels that y itself names.
    """
    if known is not None and classes is None and named is None:
        return known
    if known is None and classes is None and (y.ndim == 1 or (named is not None and named.lists)):
        raise ValueError(
            "classes must be passed on the first call to partial_fit: all labels that can occur in any call, since "
            "later rows may have labels that these rows do not have."
        )
    labels = named or Labels.of(y, classes, caller=caller)
    if known is not None:
        known.check_same(labels)
    return labels


def refuse_balanced(class_weight: Any) -> None:
    """Refuse balanced class weights, which need the labels of all calls."""
    if class_weight == "balanced":
        raise ValueError(
            "class_weight='balanced' is not for partial_fit: a part of the rows does not have the label frequencies. "
            "Compute the weights from a sample of the labels, by sklearn.utils.class_weight.compute_class_weight, "
            "and set class_weight to a dict of them."
        )


def check_optimizer(estimator: Any) -> None:
    """Check that training continues with the optimizer that has the step sizes."""
    from sklearn_hashnlp.training._optimizers import OPTIMIZERS

    optimizer = estimator.net_.optimizer_
    if optimizer.state and type(optimizer) is not OPTIMIZERS[estimator.optimizer]:
        raise ValueError(
            f"{type(estimator).__name__}(optimizer={estimator.optimizer!r}) cannot continue a training with "
            f"{type(optimizer).__name__}, whose step sizes are part of the model. Set 'optimizer' back, or call fit "
            "with warm_start=False to train a new net."
        )


def check_unchanged(estimator: Any, wanted: dict[str, Any], net: dict[str, Any], device: str) -> None:
    """Check that training can continue with a net whose hyper-parameters are ``net``."""
    for name, value in wanted.items():
        if net[name] != value:
            parameter = _PARAMETER_OF.get(name, name)
            raise ValueError(
                f"{type(estimator).__name__} cannot continue training its net, which was made with another "
                f"{parameter!r} than {getattr(estimator, parameter)!r}. Set it back, or call fit with warm_start=False "
                "to train a new net."
            )
    if estimator.device not in ("auto", device):
        raise ValueError(
            f"{type(estimator).__name__}(device={estimator.device!r}) cannot continue training its net, which is on "
            f"{device!r}. Set device={device!r}, or call fit with warm_start=False to train a new net."
        )
