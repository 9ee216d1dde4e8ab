"""What classifiers do with the scores of rows, wherever those come from."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp.estimators._probabilities import Probabilities
from sklearn_hashnlp.text._refuse_texts import refuse_texts


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
        >>> from sklearn_hashnlp.estimators import HashEmbeddingClassifier
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
