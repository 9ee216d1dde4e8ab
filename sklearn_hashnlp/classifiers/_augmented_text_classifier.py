"""AugmentedTextClassifier: data augmentation by typing errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_consistent_length, check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp._sklearn import (
    MAX_INTEGER,
    BaseEstimator,
    HasMethods,
    Interval,
    TextInputMixin,
    available_if,
    fit_context,
    index_rows,
    index_rows_of_parameters,
)
from sklearn_hashnlp.classifiers._base import ScoringClassifier
from sklearn_hashnlp.classifiers._text_classifier import TextClassifier
from sklearn_hashnlp.text import distort_texts
from sklearn_hashnlp.text._documents import as_documents
from sklearn_hashnlp.training._estimator import FittedNet

_MAX_SEED = 2**31 - 1
_ROUTES = {"fit": "estimator", "partial_fit": "last_step"}  # the consumers of the methods' parameters


def _method_of_classifier(name: str) -> Any:
    """Return a method that calls the fitted classifier, available if the classifier has it."""

    @wraps(getattr(ScoringClassifier, name))
    def method(self: Any, X: Any) -> Any:
        check_is_fitted(self)
        return getattr(self.estimator_, name)(X)

    def has_method(self: Any) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), name)  # raises AttributeError
        return True

    return available_if(has_method)(method)


def _last_step(estimator: Any) -> Any:
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


class AugmentedTextClassifier(TextInputMixin, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Train a text classifier on the texts and on copies of them with random typing errors.

    Training on misspelled words makes a model robust to them. Prediction uses the classifier on the unchanged texts.

    Parameters
    ----------
    estimator : estimator
        Classifier of strings, such as a :class:`TextClassifier` or the result of :func:`make_text_classifier`.
    distortion : float, default=0.05
        Edits per character in the copies, from 0 to 1: deletions, transpositions and insertions with equal
        probability; see :func:`~sklearn_hashnlp.text.distort_texts`.
    n_copies : int, default=1
        Number of distorted copies of each text, each with different errors. The training set and the training time
        grow by the factor ``1 + n_copies``.
    random_state : int, RandomState instance or None, default=None
        Seeds the errors. The classifier has a separate ``random_state``.

    Attributes
    ----------
    estimator_ : estimator
        The fitted classifier. It takes strings and suffices for prediction: save it by
        :func:`~sklearn_hashnlp.persistence.save_model`, if that supports its type.
    classes_ : ndarray of shape (n_classes,)
        The labels.

    See Also
    --------
    sklearn_hashnlp.text.distort_texts : Inserts the errors.
    make_text_classifier : Builds a classifier of strings.

    Notes
    -----
    With ``early_stopping`` the validation set contains copies of training texts, and the validation accuracy is too
    optimistic. :class:`~sklearn.model_selection.GridSearchCV` around the ``AugmentedTextClassifier`` splits the texts
    before they are copied.

    Parameters of ``fit`` with one value per text, such as ``sample_weight``, are repeated for the copies.

    References
    ----------
    .. [1] Belinkov & Bisk (2018). Synthetic and natural noise both break neural machine translation. ICLR, section 5.

    Examples
    --------
    >>> from sklearn_hashnlp.classifiers import (
    ...     AugmentedTextClassifier,
    ...     make_text_classifier,
    ... )
    >>> texts = [
    ...     "a fine, funny film",
    ...     "dull and far too long",
    ...     "funny and fine acting",
    ...     "too dull to sit through",
    ... ]
    >>> labels = ["good", "bad", "good", "bad"]
    >>> classifier = make_text_classifier(random_state=0)
    >>> model = AugmentedTextClassifier(
    ...     classifier, distortion=0.1, n_copies=3, random_state=0
    ... )
    >>> model.fit(texts, labels).predict(["fien and funny", "so dull"])
    array(['good', 'bad'], dtype='<U4')
    """

    estimator_: Any
    _random: RandomState
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"])],
        "distortion": [Interval(Real, 0, 1, closed="both")],
        "n_copies": [Interval(Integral, 0, MAX_INTEGER, closed="both")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        distortion: float = 0.05,
        n_copies: int = 1,
        random_state: int | RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.distortion = distortion
        self.n_copies = n_copies
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Train a clone of the classifier on texts and distorted copies of them.

        Parameters
        ----------
        X : iterable of str
            The texts.
        y : array-like of shape (n_texts,), or {array-like, sparse matrix} of shape (n_texts, n_classes)
            Labels, as the classifier takes them.
        **fit_params : dict
            Parameters of the classifier's ``fit``, or of the estimators that request them if metadata routing is
            enabled. ``sample_weight`` is passed to the last step of a pipeline.

        Returns
        -------
        self : AugmentedTextClassifier
            The fitted classifier.

        Raises
        ------
        ValueError
            If a parameter is invalid, or ``X`` and ``y`` differ in length; and as the classifier.
        TypeError
            If a text is not a ``str``.
        """
        random = check_random_state(self.random_state)
        texts, y, fit_params = self._augment(X, y, self._route("fit", fit_params), random)
        estimator = clone(self.estimator)
        with self._keeping(estimator, random):
            estimator.fit(texts, y, **fit_params)
        return self

    @available_if(lambda self: hasattr(_last_step(self.estimator), "partial_fit"))
    @fit_context(prefer_skip_nested_validation=False)
    def partial_fit(self, X: Any, y: Any, classes: ArrayLike | None = None, **partial_fit_params: Any) -> Self:
        """Train on more texts and distorted copies of them; the errors differ between calls.

        A pipeline has no ``partial_fit``: its last step is trained on the texts transformed by the other steps, which
        must be stateless, as :class:`~sklearn_hashnlp.text.HashingNgramVectorizer`, or fitted by an earlier ``fit``.

        Parameters
        ----------
        X : iterable of str
            The texts, as in ``fit``.
        y : array-like of shape (n_texts,), or {array-like, sparse matrix} of shape (n_texts, n_classes)
            Labels, as in ``fit``.
        classes : array-like of shape (n_classes,), default=None
            All labels that can occur in any call. Required in the first call, if the classifier requires it.
        **partial_fit_params : dict
            Parameters of ``partial_fit`` of the classifier or of the pipeline's last step, such as ``sample_weight``.

        Returns
        -------
        self : AugmentedTextClassifier
            The fitted classifier.

        """
        resumes = hasattr(self, "estimator_")
        random = self._random if resumes else check_random_state(self.random_state)
        estimator = self.estimator_ if resumes else clone(self.estimator)
        params = self._route("partial_fit", partial_fit_params)
        rows, y, params = self._augment(X, y, params, random)
        if isinstance(estimator, Pipeline):
            for _, step in estimator.steps[:-1]:
                rows = rows if step in (None, "passthrough") else step.transform(rows)
        with self._keeping(estimator, random):
            _last_step(estimator).partial_fit(rows, y, classes=classes, **params)
        return self

    def predict(self, X: Any) -> Any:
        """Predict the label of each text.

        Parameters
        ----------
        X : iterable of str
            The texts.

        Returns
        -------
        ndarray of shape (n_texts,) or (n_texts, n_classes)
            Predicted labels.
        """
        check_is_fitted(self)
        return self.estimator_.predict(X)

    predict_proba = _method_of_classifier("predict_proba")
    predict_log_proba = _method_of_classifier("predict_log_proba")
    decision_function = _method_of_classifier("decision_function")

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels of the fitted classifier."""
        return np.asarray(self.estimator_.classes_)

    @contextmanager
    def _keeping(self, estimator: Any, random: RandomState) -> Iterator[None]:
        """Set the fitted attributes after training, also after an interrupt that leaves the estimator fitted."""
        try:
            yield
        except KeyboardInterrupt:
            last = _last_step(estimator)
            if isinstance(last, FittedNet | TextClassifier) and hasattr(last, "history_"):  # others may be half fitted
                self.estimator_, self._random = estimator, random
            raise
        self.estimator_, self._random = estimator, random

    def _augment(self, X: Any, y: Any, params: dict[str, Any], random: RandomState) -> tuple[Any, Any, dict[str, Any]]:
        name = type(self).__name__
        texts = list(as_documents(X, caller=name))
        if y is None:
            raise ValueError(f"{name} requires y to be passed, but the target y is None.")
        check_consistent_length(texts, y)
        rows = np.tile(np.arange(len(texts)), 1 + self.n_copies)
        classes = {key: params.pop(key) for key in [*params] if key.split("__")[-1] == "classes"}  # not one per text
        params, y = index_rows_of_parameters(texts, params, rows) | classes, index_rows(y, rows)
        copies = [
            copy
            for seed in random.randint(_MAX_SEED, size=self.n_copies)
            for copy in distort_texts(texts, self.distortion, random_state=seed)
        ]
        return texts + copies, y, params

    def _route(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if get_config()["enable_metadata_routing"]:
            return dict(process_routing(self, method, **params)[_ROUTES[method]][method]) if params else {}
        if method == "fit" and isinstance(self.estimator, Pipeline) and "sample_weight" in params:
            last = self.estimator.steps[-1][0]
            return {f"{last}__{name}" if name == "sample_weight" else name: value for name, value in params.items()}
        return params

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the routing of the parameters of ``fit`` and ``partial_fit``.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRouter
            Routes parameters to the classifier, for ``partial_fit`` to the last step of a pipeline.
        """
        router = MetadataRouter(owner=self)
        for method, estimator in (("fit", self.estimator), ("partial_fit", _last_step(self.estimator))):
            router.add(method_mapping=MethodMapping().add(caller=method, callee=method), **{_ROUTES[method]: estimator})
        return router

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        check_is_fitted(self)
        return {"estimator": self.estimator_}, {}

    def _set_model_state(self, values: dict[str, Any], _arrays: dict[str, NDArray[Any]]) -> None:
        estimator = values["estimator"]
        if not hasattr(estimator, "predict"):
            raise ValueError(f"The fitted estimator must be a classifier, got {type(estimator).__name__}.")
        self.estimator_, self._random = estimator, check_random_state(self.random_state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_classifier = get_tags(self.estimator).classifier_tags
        if of_classifier is not None:
            tags.classifier_tags = of_classifier
        return tags
