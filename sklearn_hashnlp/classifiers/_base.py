"""ScoringClassifier: labels, probabilities and rankings computed from scores."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp._sklearn import BaseEstimator, check_fitted
from sklearn_hashnlp.classifiers._labels import (
    Labels,
    as_label_lists,
    pack_labels,
    plain_labels,
    read_indicator,
    read_targets,
    unpack_labels,
)
from sklearn_hashnlp.classifiers._losses import Loss, label_pairs, largest
from sklearn_hashnlp.text._documents import refuse_texts


# scikit-learn has no types
class ScoringClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that computes labels and probabilities from scores."""

    classes_: NDArray[Any]
    n_features_in_: int
    _loss: Loss
    _label_lists: bool = False  # whether y was lists of labels
    _fitted_attribute: ClassVar[str] = "classes_"

    _text_classifier: ClassVar[str]
    """The call that makes a classifier of texts, for the error if ``X`` holds texts."""

    @property
    def temperature_(self) -> float:
        """The divisor of the logits, fitted on rows that were not trained on; 1 if not fitted."""
        return 1 / self._loss.inverse_temperature

    @property
    def multilabel_(self) -> bool:
        """Return whether a sample may have any number of labels."""
        check_fitted(self, self._fitted_attribute)
        return self._loss.multilabel

    @abstractmethod
    def _scores(self, X: Any) -> NDArray[np.float64]:
        """Check rows and compute their scores, shape (n_samples, n_classes)."""

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Compute a score for each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or iterable of str
            Rows or texts, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            Scores before the softmax or the sigmoids, or log-probabilities with
            ``loss="hsigmoid"``. In binary classification the log-odds of the second class.

        Raises
        ------
        ValueError
            If ``X`` is not as in ``fit``, or a score is infinite or NaN after a training that
            diverged.
        """
        scores = self._scores(X)
        if len(self.classes_) == 2 and not self._loss.multilabel:
            return self._loss.log_odds(scores)
        return scores

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Estimate class probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or iterable of str
            Rows or texts, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, columns in the order of ``classes_``. Rows sum to one, except in
            multi-label classification, where each column is the probability of its label.
        """
        scores = self._scores(X)
        return self._loss.probabilities(scores)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Estimate the logarithms of class probabilities, which do not underflow.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or iterable of str
            Rows or texts, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Log-probabilities, columns in the order of ``classes_``.
        """
        scores = self._scores(X)
        return self._loss.log_probabilities(scores)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable label of each sample; if multi-label, all labels above 0.5.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or iterable of str
            Rows or texts, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples,), or of shape (n_samples, n_classes), dtype int64
            Labels; in multi-label classification an indicator matrix, or an array of lists of
            labels if ``fit`` was given lists.
        """
        check_fitted(self, self._fitted_attribute)
        if self._loss.multilabel:
            indicator = (self._scores(X) > 0).astype(np.int64)
            return as_label_lists(indicator, self.classes_) if self._label_lists else indicator
        return np.asarray(self.classes_[self._most_probable(X)])

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Compute the accuracy; a multi-label prediction is correct if all of the labels are.

        After training with soft labels, ``y`` has labels, or probabilities of which the highest is
        that of the label.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or iterable of str
            Rows or texts, as in ``fit``.
        y : array-like of shape (n_samples,), or \
                {array-like, sparse matrix} of shape (n_samples, n_classes)
            Labels, as in ``fit``.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights.

        Returns
        -------
        float
            Accuracy, from 0 to 1.
        """
        check_is_fitted(self)
        if self._loss.takes_soft_labels and np.ndim(y) == 2:
            soft = read_targets(
                y, known=Labels(self.classes_, False), soft=True, caller=type(self).__name__
            )[0]
            y = self.classes_[soft.argmax(axis=1)]
        if not self._loss.multilabel:
            return float(
                accuracy_score(plain_labels(y), self.predict(X), sample_weight=sample_weight)
            )
        truth, complete = read_indicator(y, self.classes_, caller=type(self).__name__)
        predicted = self._scores(X) > 0
        check_consistent_length(predicted, truth, sample_weight)
        correct = (predicted == truth).all(axis=1) & complete
        return float(
            accuracy_score(np.ones(len(correct), dtype=bool), correct, sample_weight=sample_weight)
        )

    def predict_topk(
        self, X: Any, k: int = 5, threshold: float = 0.0
    ) -> list[list[tuple[Any, float]]]:
        """Predict the most probable labels of each sample with their probabilities.

        In a pipeline: ``model[-1].predict_topk(model[:-1].transform(texts))``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or iterable of str
            Rows or texts, as in ``fit``.
        k : int, default=5
            Maximum number of labels per sample.
        threshold : float, default=0.0
            Minimum probability of a label.

        Returns
        -------
        list of list of (label, float)
            For each sample labels and probabilities, the most probable first; ties in the order of
            ``classes_``.

        Raises
        ------
        ValueError
            If ``k`` is not an integer of at least 1.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_hashnlp.classifiers import HashEmbeddingClassifier
        >>> model = HashEmbeddingClassifier(random_state=0, max_epochs=50)
        >>> best = model.fit(np.eye(3), ["a", "b", "c"]).predict_topk(np.eye(3), k=1)
        >>> [[label for label, _ in pairs] for pairs in best]
        [['a'], ['b'], ['c']]
        """
        if not isinstance(k, int | np.integer) or k < 1:
            raise ValueError(
                f"{type(self).__name__}.predict_topk needs an integer k of at least 1, got {k!r}. "
                "For all labels set k=len(model.classes_)."
            )
        check_fitted(self, self._fitted_attribute)
        probabilities, indices = self._topk(X, min(int(k), len(self.classes_)))
        return label_pairs(self.classes_.tolist(), probabilities, indices, threshold)

    def _pack_labels(self) -> dict[str, Any]:
        """Return labels and names of columns as JSON values."""
        values: dict[str, Any] = {
            "classes": pack_labels(self.classes_),
            "label_lists": self._label_lists,
            "n_features_in": int(self.n_features_in_),
        }
        if hasattr(self, "feature_names_in_"):
            values["feature_names_in"] = [str(name) for name in self.feature_names_in_]
        return values

    def _unpack_labels(self, values: dict[str, Any]) -> None:
        """Set the attributes that :meth:`_pack_labels` returned."""
        self.classes_ = unpack_labels(values["classes"])
        self._label_lists = bool(values["label_lists"])
        self.n_features_in_ = int(values["n_features_in"])
        if "feature_names_in" in values:
            self.feature_names_in_ = np.array(values["feature_names_in"], dtype=object)

    def _refuse_texts(self, X: Any) -> None:
        """Raise an error that names the missing vectorizer if ``X`` holds texts."""
        refuse_texts(X, caller=type(self).__name__, makes_rows=self._text_classifier)

    def _most_probable(self, X: Any) -> NDArray[np.int64]:
        """Return the encoded label of each row, unless the task is multi-label."""
        return np.asarray(self._scores(X).argmax(axis=1))

    def _topk(self, X: Any, k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the k largest probabilities of each row, descending, and their class indices."""
        return largest(self.predict_proba(X), k)
