"""TextRegressor: ridge regression on hashed n-grams of raw strings."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import RegressorMixin
from sklearn.linear_model import Ridge
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from sklearn_hashnlp._idf import mean_idf, smoothed_idf
from sklearn_hashnlp._sklearn import BaseEstimator, Interval, StrOptions, check_fitted, fit_context
from sklearn_hashnlp.classifiers._make_text_classifier import Features, build_vectorizer
from sklearn_hashnlp.classifiers._sample_weights import drop_zero_weights
from sklearn_hashnlp.classifiers.hash_embedding._dual_fit import Located, costs_of
from sklearn_hashnlp.classifiers.hash_embedding._model import score_rows
from sklearn_hashnlp.classifiers.hash_embedding._sparse_rows import SparseRows, canonical_rows
from sklearn_hashnlp.kernels.embeddings._tables import TableSpec, lazy_table
from sklearn_hashnlp.kernels.linear._dual_coordinate_descent import LinearRows, normalize_rows
from sklearn_hashnlp.kernels.linear._linear_model import LinearModel
from sklearn_hashnlp.kernels.linear._online_ridge import learn_rows
from sklearn_hashnlp.persistence._tables import check_stored, pack_table, unpack_table
from sklearn_hashnlp.text._documents import as_documents
from sklearn_hashnlp.text._text_vectorizer import with_n_jobs
from sklearn_hashnlp.training._settings import draw_seeds

_ALPHAS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4)
_FOLDS, _MIN_ROWS, _MAX_ROWS = 5, 30, 20_000  # of the cross-validation
_ROWS_OF_ONE_FOLD = 2000  # above, a fifth of the rows is enough to compare penalties
_TABLES = ("pool", "importance", "curvature")


class TextRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Predict a number for each text: ridge regression on hashed n-grams, without a vocabulary.

    The features are those of :class:`TextClassifier`: n-grams of words and characters, weighted by inverse document
    frequencies; rows are normalized to length one. For scores of texts, such as a quality, a rating or the log-odds of
    another model.

    Parameters
    ----------
    features : {"auto", "words", "words+characters", "characters"}, default="auto"
        As in :class:`TextClassifier`; the weight of characters is not chosen by the targets.
    lowercase : bool, default=True
        Whether to convert texts to lowercase.
    ngram_range : (int, int), default=(1, 2)
        Minimal and maximal length of the n-grams of words.
    n_buckets : int, default=2**20
        Number of weights. N-grams are hashed to them.
    alpha : float or "auto", default="auto"
        Strength of the l2 penalty. ``"auto"`` chooses one of 0.1, 0.2, 0.4, ..., 6.4 on at most 20,000 texts: by
        five-fold cross-validation of up to 2,000, else on a held-out fifth. It is 1 for fewer than 30 texts, and if
        training starts with ``partial_fit``.
    n_jobs : int or None, default=-1
        Number of threads that count n-grams; results do not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the hash function and of the cross-validation.

    Attributes
    ----------
    alpha_ : float
        The strength of the penalty.
    n_parameters_ : int
        Number of parameters, importance weights included.

    See Also
    --------
    TextClassifier : Predict labels.

    Notes
    -----
    ``fit`` finds the optimum by scikit-learn's :class:`~sklearn.linear_model.Ridge`. ``partial_fit`` takes one step for
    each text, the exact minimum for it, where a diagonal replaces the covariance matrix of earlier texts [1]_: weights
    of n-grams that many texts had move little, so that later texts do not undo what was learned.

    References
    ----------
    .. [1] Crammer, Kulesza & Dredze (2009). Adaptive regularization of weight vectors. NeurIPS (for classification).

    Examples
    --------
    >>> from sklearn_hashnlp import TextRegressor
    >>> texts = [
    ...     "a fine, funny film",
    ...     "dull and far too long",
    ...     "funny and fine acting",
    ...     "too dull to sit through",
    ... ]
    >>> model = TextRegressor(random_state=0).fit(texts, [4.5, 1.0, 4.0, 1.5])
    >>> low, high = model.predict(["so dull", "fine and funny"])
    >>> bool(low < 3 < high)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "features": [StrOptions({"auto", "words", "words+characters", "characters"})],
        "lowercase": ["boolean"],
        "ngram_range": [tuple, list],
        "n_buckets": [Interval(Integral, 1, 2**31 - 1, closed="both")],
        "alpha": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }
    vectorizer_: Any
    alpha_: float
    _model: LinearModel
    _curvature: NDArray[np.float32]  # (n_buckets,): see learn_rows
    _bias: NDArray[np.float64]  # (2,)
    _idf_divisor: float
    _rows_seen: int

    def __init__(
        self,
        *,
        features: Features = "auto",
        lowercase: bool = True,
        ngram_range: tuple[int, int] = (1, 2),
        n_buckets: int = 2**20,
        alpha: float | Literal["auto"] = "auto",
        n_jobs: int | None = -1,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.features = features
        self.lowercase = lowercase
        self.ngram_range = ngram_range
        self.n_buckets = n_buckets
        self.alpha = alpha
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the weights of the n-grams of texts.

        Parameters
        ----------
        X : iterable of str of length n_texts
            The texts: any iterable, or a column or a one-column frame of pandas, polars or Arrow.
        y : array-like of shape (n_texts,)
            The numbers to predict.
        sample_weight : array-like of shape (n_texts,), default=None
            Weights of the texts, at least 0; None is 1.

        Returns
        -------
        self : TextRegressor

        Raises
        ------
        ValueError
            If a parameter, ``X``, ``y`` or ``sample_weight`` is not as described.
        TypeError
            If a text is not a ``str``.
        """
        vectorizer, seeds = self._new_vectorizer(), draw_seeds(self.random_state)
        rows, targets = self._dataset(self._count(vectorizer.fit_transform, X), y, sample_weight)
        self._start(vectorizer, seeds.hash)
        located = self._locate(rows)
        table = self._table(rows, located)
        costs = costs_of(rows).astype(np.float64)
        self.alpha_ = _choose_alpha(table, targets, costs, seeds.order) if self.alpha == "auto" else float(self.alpha)
        ridge = _ridge(table, targets, costs, self.alpha_)
        self._model.pool[located.slots, 0] = ridge.coef_
        self._curvature[located.slots] = table.multiply(table).T @ costs
        self._bias[:] = ridge.intercept_, costs.sum()
        self._model.bias[0] = ridge.intercept_
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from more texts, one after the other, continuing from earlier calls of ``fit`` or ``partial_fit``.

        Parameters
        ----------
        X, y, sample_weight : array-like
            As in ``fit``.

        Returns
        -------
        self : TextRegressor
        """
        starts = not hasattr(self, "vectorizer_")
        vectorizer = self._new_vectorizer() if starts else self.vectorizer_
        counts = self._count(with_n_jobs(vectorizer, self.n_jobs).transform, X)
        rows, targets = self._dataset(counts, y, sample_weight)
        if starts:
            self._start(vectorizer, draw_seeds(self.random_state).hash)
            self.alpha_ = 1.0 if self.alpha == "auto" else float(self.alpha)
            self._bias[:] = np.average(targets, weights=rows.row_weights), 1.0
        elif not self._model.pool.flags.writeable:  # mapped from a file, as in workers of joblib
            self._model, self._curvature, self._bias = deepcopy((self._model, self._curvature, self._bias))
        located = self._locate(rows)
        table = self._table(rows, located)
        pool, curvature = self._model.pool[located.slots, 0], self._curvature[located.slots]
        indptr, data = table.indptr.astype(np.int64), table.data.astype(np.float32)
        one = LinearRows(indptr, table.indices.astype(np.int32), data, np.zeros(len(rows), dtype=np.int64))
        learn_rows(one, targets, costs_of(rows), pool, curvature, self._bias, self.alpha_)
        self._model.pool[located.slots, 0], self._curvature[located.slots] = pool, curvature
        self._model.bias[0] = self._bias[0]
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict a number for each text.

        Parameters
        ----------
        X : iterable of str of length n_texts
            The texts, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_texts,)
            The numbers; for a text without known n-grams about the mean of the training texts.
        """
        check_fitted(self, "vectorizer_")
        counts = self._count(with_n_jobs(self.vectorizer_, self.n_jobs).transform, X)
        return self._score(canonical_rows(counts, any_scale=True))

    def _score(self, counts: Any) -> NDArray[np.float64]:
        return score_rows(self._model, SparseRows(counts)).scores[:, 0]

    @property
    def n_parameters_(self) -> int:
        """Number of parameters, importance weights included."""
        check_fitted(self, "vectorizer_")
        return self._model.n_parameters

    def _new_vectorizer(self) -> Any:
        return build_vectorizer(self.get_params(deep=False), caller=type(self).__name__)

    def _count(self, transform: Any, X: Any) -> Any:
        with config_context(transform_output="default"):  # a frame cannot hold a sparse matrix
            return transform(as_documents(X, caller=type(self).__name__))

    def _dataset(self, counts: Any, y: Any, sample_weight: Any) -> tuple[SparseRows, NDArray[np.float64]]:
        caller = type(self).__name__
        y = column_or_1d(check_array(y, ensure_2d=False, dtype=np.float64, input_name="y"), warn=True)
        check_consistent_length(counts, y)
        counts, y, weights = drop_zero_weights(counts, y, sample_weight, caller=caller)
        return SparseRows(canonical_rows(counts, any_scale=True), row_weights=weights), y

    def _start(self, vectorizer: Any, hash_seed: int) -> None:
        """Set a model of zeros."""
        spec = _spec(int(self.n_buckets), hash_seed)
        self.vectorizer_, self._model = vectorizer, LinearModel.zeros(spec, 1)
        self._model.weight[:] = 1
        self._curvature, self._bias = lazy_table((spec.num_buckets,)), np.zeros(2)
        self._idf_divisor = self._rows_seen = 0

    def _locate(self, rows: SparseRows) -> Located:
        """Return where the columns of rows are, after new ones have got an importance."""
        located, importance = Located.of(self._model, rows), self._model.importance
        assert importance is not None
        self._rows_seen += len(rows)
        idf = smoothed_idf(np.bincount(located.rows, minlength=len(located.table_rows)), self._rows_seen)
        self._idf_divisor = self._idf_divisor or mean_idf(idf)
        is_new = importance[located.table_rows, 0] == 0
        importance[located.table_rows[is_new], 0] = idf[is_new] / self._idf_divisor
        return located

    def _table(self, rows: SparseRows, located: Located) -> csr_array:
        """Return weighted and normalized rows, with a column for each weight that they have."""
        assert self._model.importance is not None
        values = rows.data.astype(np.float32) * self._model.importance[located.table_rows, 0][located.rows]
        normalize_rows(values, rows.indptr)
        table = csr_array((values, located.columns, rows.indptr), shape=(len(rows), len(located.slots)))
        table.sum_duplicates()  # of n-grams that share a weight
        return table

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        check_fitted(self, "vectorizer_")
        values: dict[str, Any] = {"vectorizer": self.vectorizer_, "alpha": self.alpha_, "rows_seen": self._rows_seen}
        spec = self._model.spec
        values |= {"idf_divisor": self._idf_divisor, "n_buckets": spec.num_buckets, "hash_seed": spec.seed}
        tables = (self._model.pool, self._model.importance, self._curvature)
        arrays: dict[str, NDArray[Any]] = {"bias": self._bias}
        for name, table in zip(_TABLES, tables, strict=True):
            assert table is not None
            arrays |= pack_table(name, table, 0.0)
        return values, arrays

    def _set_model_state(self, values: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        spec = _spec(int(values["n_buckets"]), int(values["hash_seed"]))
        shapes = (spec.pool_shape, spec.importance_shape, spec.pool_shape[:1])
        for name, shape in zip(_TABLES, shapes, strict=True):
            check_stored(name, arrays, shape)
        if arrays["bias"].dtype != np.float64 or arrays["bias"].shape != (2,):
            raise ValueError("The bias of a TextRegressor must be two numbers of float64.")
        model, curvature = LinearModel.zeros(spec, 1), lazy_table((spec.num_buckets,))
        model.weight[:], model.bias[:] = 1, arrays["bias"][0]
        for name, table in zip(_TABLES, (model.pool, model.importance, curvature), strict=True):
            assert table is not None
            unpack_table(name, arrays, table)
        self.vectorizer_, self.alpha_ = values["vectorizer"], float(values["alpha"])
        self._rows_seen, self._idf_divisor = int(values["rows_seen"]), float(values["idf_divisor"])
        self._model, self._curvature, self._bias = model, curvature, np.array(arrays["bias"])


def _spec(n_buckets: int, seed: int) -> TableSpec:
    return TableSpec(n_buckets, n_buckets, 1, num_hashes=1, append_weight=False, normalize="l2", seed=seed)


def _ridge(table: csr_array, targets: NDArray[np.float64], costs: NDArray[np.float64], alpha: float) -> Ridge:
    return Ridge(alpha=alpha, solver="sparse_cg", tol=1e-4, max_iter=1000).fit(table, targets, sample_weight=costs)


def _choose_alpha(table: csr_array, targets: NDArray[np.float64], costs: NDArray[np.float64], seed: int) -> float:
    """Choose the penalty by cross-validation."""
    if len(targets) < _MIN_ROWS:
        return 1.0
    rows = np.random.default_rng(seed).permutation(len(targets))[:_MAX_ROWS]
    fold_of, errors = np.arange(len(rows)) % _FOLDS, dict.fromkeys(_ALPHAS, 0.0)
    for fold in range(_FOLDS if len(rows) <= _ROWS_OF_ONE_FOLD else 1):
        train, valid = rows[fold_of != fold], rows[fold_of == fold]
        seen, held_out = table[train], table[valid]
        for alpha in _ALPHAS:
            predicted = _ridge(seen, targets[train], costs[train], alpha).predict(held_out)
            errors[alpha] += float((costs[valid] * (predicted - targets[valid]) ** 2).sum())
    return min(errors, key=lambda alpha: errors[alpha])
