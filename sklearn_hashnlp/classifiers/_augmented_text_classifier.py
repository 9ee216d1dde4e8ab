"""A text classifier that has seen typing errors."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_consistent_length, check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp._sklearn import HasMethods, Interval, fit_context, index_rows, index_rows_of_parameters
from sklearn_hashnlp.text import distort_texts
from sklearn_hashnlp.text._documents import as_documents

_LARGEST_SEED = 2**31 - 1
_ROUTES = {"fit": "estimator", "partial_fit": "last_step"}  # whose parameters a method takes, as metadata routing says


def _has(method: str) -> Callable[[Any], bool]:
    """Make a check that the classifier has a method, for ``available_if``."""

    def check(self: Any) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), method)  # its AttributeError says why not
        return True

    return check


def _has_partial_fit(self: Any) -> bool:
    return hasattr(_last_step(self.estimator), "partial_fit")


def _last_step(estimator: Any) -> Any:
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


class AugmentedTextClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Train a text classifier on the texts and on copies of them with random typing errors.

    A model that has seen misspelt words takes them for what they are more often. Predictions are the classifier's own:
    nothing is distorted there, and they take no longer.

    Parameters
    ----------
    estimator : estimator
        What takes strings and tells labels, such as what :func:`make_text_classifier` gives, or a
        :class:`~sklearn.pipeline.Pipeline` of vectorizer and classifier.
    distortion : float, default=0.05
        Edits a character in the copies, from 0 to 1: deletions, swaps of neighbours and insertions alike; see
        :func:`~sklearn_hashnlp.text.distort_texts`.
    n_copies : int, default=1
        Distorted copies of each text, each with other errors. The classifier sees each text ``1 + n_copies`` times, and
        so trains that much longer. With 0 it is trained as it would be by itself.
    random_state : int, RandomState instance or None, default=None
        Of the errors. The same int gives the same errors in each call of ``fit``; the classifier has its own
        ``random_state``.

    Attributes
    ----------
    estimator_ : estimator
        The trained classifier. It takes strings and is all that is needed to predict: it can be saved by
        :func:`~sklearn_hashnlp.persistence.save_model` where its kind can.
    classes_ : ndarray of shape (n_classes,)
        Its labels.

    See Also
    --------
    sklearn_hashnlp.text.distort_texts : Makes the errors.
    make_text_classifier : Makes a classifier for strings.

    Notes
    -----
    Where the classifier itself holds out rows (``early_stopping``), copies of texts that it learns from are among them,
    and its validation accuracy is too good. Compare models by :class:`~sklearn.model_selection.GridSearchCV` around the
    whole, which holds texts out before any is copied.

    Parameters of ``fit`` that have a value for each text, such as ``sample_weight``, are repeated for the copies.

    References
    ----------
    .. [1] Belinkov & Bisk (2018). Synthetic and natural noise both break neural machine translation. ICLR, section 5.

    Examples
    --------
    >>> from sklearn_hashnlp.classifiers import AugmentedTextClassifier, make_text_classifier
    >>> texts = ["a fine, funny film", "dull and far too long", "funny and fine acting", "too dull to sit through"]
    >>> classifier = make_text_classifier(random_state=0)
    >>> model = AugmentedTextClassifier(classifier, distortion=0.1, n_copies=3, random_state=0)
    >>> model.fit(texts, ["good", "bad", "good", "bad"]).predict(["fien and funny", "so dull"])
    array(['good', 'bad'], dtype='<U4')
    >>> model.set_params(estimator__classifier__max_epochs=5, distortion=0.05).get_params()["distortion"]
    0.05
    """

    estimator_: Any
    _random: RandomState
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"])],
        "distortion": [Interval(Real, 0, 1, closed="both")],
        "n_copies": [Interval(Integral, 0, None, closed="left")],
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

    @fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Train a clone of the classifier on texts and distorted copies of them.

        Parameters
        ----------
        X : iterable of str
            The texts: a list, tuple or generator, a numpy array, a column of pandas, polars or Arrow.
        y : array-like of shape (n_texts,), or {array-like, sparse matrix} of shape (n_texts, n_classes)
            Labels of a kind that the classifier takes.
        **fit_params : dict
            Handed to the classifier's ``fit``, or routed to where they are asked for if metadata routing is enabled.
            ``sample_weight`` goes to the last step of a pipeline.

        Returns
        -------
        AugmentedTextClassifier
            Itself.

        Raises
        ------
        ValueError
            If a parameter has a value that it cannot have, ``X`` is a single string or a table, or ``X`` and ``y``
            differ in length; and what the classifier raises.
        TypeError
            If a text is no ``str``.
        """
        random = check_random_state(self.random_state)
        texts, y, fit_params = self._augment(X, y, self._route("fit", fit_params), random)
        self.estimator_ = clone(self.estimator).fit(texts, y, **fit_params)
        self._random = random
        return self

    @available_if(_has_partial_fit)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    @fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def partial_fit(self, X: Any, y: Any, classes: ArrayLike | None = None, **partial_fit_params: Any) -> Self:
        """Train on more texts and distorted copies of them; each call makes other errors.

        Of a pipeline, which has no ``partial_fit`` of its own, the last step is trained on what the steps before make
        of the texts; these steps must be stateless, as :class:`~sklearn_hashnlp.text.HashingNgramVectorizer` is, or
        fitted by an earlier ``fit``.

        Parameters
        ----------
        X : iterable of str
            The texts, as in ``fit``.
        y : array-like of shape (n_texts,), or {array-like, sparse matrix} of shape (n_texts, n_classes)
            Labels, as in ``fit``.
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever come. Needed in the first call, where the classifier needs it.
        **partial_fit_params : dict
            Handed to the ``partial_fit`` of the classifier, or of the pipeline's last step, such as ``sample_weight``.

        Returns
        -------
        AugmentedTextClassifier
            Itself.

        Raises
        ------
        ValueError, TypeError
            As in ``fit``.
        AttributeError
            If the classifier has no ``partial_fit``.
        """
        goes_on = hasattr(self, "estimator_")
        random = self._random if goes_on else check_random_state(self.random_state)
        estimator = self.estimator_ if goes_on else clone(self.estimator)
        params = self._route("partial_fit", partial_fit_params)
        rows, y, params = self._augment(X, y, params, random)
        if isinstance(estimator, Pipeline):
            for _, step in estimator.steps[:-1]:
                rows = rows if step in (None, "passthrough") else step.transform(rows)
        _last_step(estimator).partial_fit(rows, y, classes=classes, **params)
        self.estimator_, self._random = estimator, random
        return self

    def predict(self, X: Any) -> Any:
        """Tell the label of each text.

        Parameters
        ----------
        X : iterable of str
            The texts.

        Returns
        -------
        ndarray of shape (n_texts,) or (n_texts, n_classes)
            What the classifier predicts.
        """
        check_is_fitted(self)
        return self.estimator_.predict(X)

    @available_if(_has("predict_proba"))  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def predict_proba(self, X: Any) -> Any:
        """Estimate class probabilities.

        Parameters
        ----------
        X : iterable of str
            The texts.

        Returns
        -------
        ndarray of shape (n_texts, n_classes)
            The classifier's probabilities, columns in the order of ``classes_``.
        """
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    @available_if(_has("predict_log_proba"))  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def predict_log_proba(self, X: Any) -> Any:
        """Estimate the logarithms of class probabilities.

        Parameters
        ----------
        X : iterable of str
            The texts.

        Returns
        -------
        ndarray of shape (n_texts, n_classes)
            The classifier's log-probabilities, columns in the order of ``classes_``.
        """
        check_is_fitted(self)
        return self.estimator_.predict_log_proba(X)

    @available_if(_has("decision_function"))  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def decision_function(self, X: Any) -> Any:
        """Score texts.

        Parameters
        ----------
        X : iterable of str
            The texts.

        Returns
        -------
        ndarray of shape (n_texts, n_classes) or (n_texts,)
            The classifier's scores.
        """
        check_is_fitted(self)
        return self.estimator_.decision_function(X)

    @property
    def classes_(self) -> NDArray[Any]:
        """Labels of the trained classifier."""
        return np.asarray(self.estimator_.classes_)

    def _augment(self, X: Any, y: Any, params: dict[str, Any], random: RandomState) -> tuple[Any, Any, dict[str, Any]]:
        name = type(self).__name__
        texts = list(as_documents(X, caller=name))
        if y is None:
            raise ValueError(f"{name} requires y to be passed, but the target y is None.")
        check_consistent_length(texts, y)
        rows = np.tile(np.arange(len(texts)), 1 + self.n_copies)
        params, y = index_rows_of_parameters(texts, params, rows), index_rows(y, rows)
        copies = [
            copy
            for seed in random.randint(_LARGEST_SEED, size=self.n_copies)
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
        """Say where the parameters of ``fit`` and ``partial_fit`` go.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRouter
            To the classifier, and of ``partial_fit`` to the last step of a pipeline.
        """
        router = MetadataRouter(owner=self)
        for method, estimator in (("fit", self.estimator), ("partial_fit", _last_step(self.estimator))):
            router.add(method_mapping=MethodMapping().add(caller=method, callee=method), **{_ROUTES[method]: estimator})
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        of_classifier = get_tags(self.estimator).classifier_tags
        if of_classifier is not None:
            tags.classifier_tags = of_classifier
        return tags
