"""DistilledSentenceEncoder: sentence embeddings learned from the vectors of another model."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array
from threadpoolctl import threadpool_limits

from sklearn_hashnlp._sklearn import MAX_INTEGER, MAX_REAL, BaseEstimator, Interval, fit_context
from sklearn_hashnlp._threads import effective_n_jobs
from sklearn_hashnlp.sentences._ngram_regression import NgramDictionary, ridge_regression
from sklearn_hashnlp.sentences._ngram_vectors import NgramModel, NgramVectors
from sklearn_hashnlp.sentences._sentence_reader import read_texts

_STEPS = 30  # of conjugate gradients; the loss on other texts hardly changes after 20
_MIN_DEVIATION = 1e-6  # from the mean of unit vectors: what is less is rounding of float32
_ROW_BLOCK = 2**12  # vectors whose second moments are summed at once


class DistilledSentenceEncoder(NgramVectors, BaseEstimator):
    """Encode sentences as embeddings that reproduce the vectors of another model.

    Distillation of a slow model, the teacher, such as a Transformer: ``fit`` needs the vectors of
    the teacher for the training texts, ``transform`` computes similar vectors of any text without
    the teacher. It is a ridge regression from hashed words, pairs of neighboring words and
    character 3- to 5-grams of words to the principal components of the vectors, solved by conjugate
    gradients [1]_. Unknown words have the vectors of their n-grams.

    A :class:`~sklearn.pipeline.FeatureUnion` combines it with :class:`SGNNSentenceEncoder`, which
    needs no teacher: with ``transformer_weights`` of sqrt(w) and sqrt(1 - w), cosine similarities
    are weighted by w and 1 - w.

    Parameters
    ----------
    n_features : int, default=2**18
        Maximum number of words, pairs and character n-grams: the most frequent ones in the training
        texts.
    n_components : int or None, default=384
        Number of principal components of the vectors to learn, without their mean. None learns the
        vectors in their own coordinates, so that they can be compared with vectors of the teacher.
    alpha : float, default=3.0
        Penalty of the ridge regression.
    max_words : int, default=512
        Longer texts are truncated, with a warning.
    n_jobs : int or None, default=1
        Number of threads of ``fit`` and ``transform``. The results are the same bit for bit for any
        number.
    verbose : int, default=0
        With 1, the progress of ``fit`` is printed.

    Attributes
    ----------
    coef_ : ndarray of shape (n_ngrams, dim), dtype float32
        The coefficients of the n-grams.
    intercept_ : ndarray of shape (dim,), dtype float32
        The mean of the vectors; zeros with ``n_components``.
    history_ : list of dict
        One entry per step of the conjugate gradients: ``epoch``, and ``train_loss``, the
        unexplained share of the variance.
    n_parameters_ : int
        Number of coefficients.

    See Also
    --------
    SGNNSentenceEncoder : Learns from paragraphs, without a teacher.

    References
    ----------
    .. [1] Hestenes & Stiefel (1952). Methods of conjugate gradients for solving linear systems.
           Journal of Research of the National Bureau of Standards 49.

    Examples
    --------
    >>> from sklearn_hashnlp.sentences import DistilledSentenceEncoder
    >>> texts = [
    ...     "a cat sleeps",
    ...     "cats purr",
    ...     "the cat purrs",
    ...     "shares fell",
    ...     "investors sold shares",
    ...     "a share fell",
    ... ]
    >>> # the teacher's vectors
    >>> vectors = [[0.9, 0.1], [1.0, 0.0], [0.9, 0.0]]
    >>> vectors += [[0.1, 1.0], [0.0, 0.8], [0.0, 1.0]]
    >>> student = DistilledSentenceEncoder().fit(texts, vectors)
    >>> near, far = student.similarity(
    ...     ["My cat is asleep."] * 2, ["cats purr", "shares fell"]
    ... )
    >>> bool(near > far)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features": [Interval(Integral, 1, 2**30, closed="both")],
        "n_components": [Interval(Integral, 1, MAX_INTEGER, closed="both"), None],
        "alpha": [Interval(Real, 0, MAX_REAL, closed="right")],
        "max_words": [Interval(Integral, 1, MAX_INTEGER, closed="both")],
        "n_jobs": [Integral, None],
        "verbose": [Interval(Integral, 0, 2, closed="both")],
    }

    def __init__(
        self,
        *,
        n_features: int = 2**18,
        n_components: int | None = 384,
        alpha: float = 3.0,
        max_words: int = 512,
        n_jobs: int | None = 1,
        verbose: int = 0,
    ) -> None:
        self.n_features = n_features
        self.n_components = n_components
        self.alpha = alpha
        self.max_words = max_words
        self.n_jobs = n_jobs
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Fit the regression to the vectors of texts.

        Parameters
        ----------
        X : iterable of str
            Sentences or short texts, like the texts to encode later; they are not split.
        y : array-like of shape (n_texts, n_columns)
            Vectors to reproduce; only their directions are learned.

        Returns
        -------
        self : DistilledSentenceEncoder
            The fitted encoder.

        Raises
        ------
        TypeError
            If a text is not a ``str``.
        ValueError
            If a parameter is invalid, ``X`` has no words, or ``y`` is not a matrix of numbers with
            a row for each text, or has NaN, infinite values, only zeros or only one direction.
        """
        name, n_jobs = type(self).__name__, effective_n_jobs(self.n_jobs)
        words, rows = read_texts(X, max_words=int(self.max_words), caller=name)
        if not words:
            raise ValueError(f"{name}: there is no word in X to learn from.")
        vectors = _check_vectors(y, len(rows.offsets) - 1, caller=name)
        targets, mean = center(
            vectors, None if self.n_components is None else int(self.n_components)
        )
        if max(targets.max(), -targets.min()) < _MIN_DEVIATION:
            raise ValueError(
                f"{name}: all vectors of y have the same direction, so there is nothing to learn. "
                "Pass vectors that differ."
            )
        dictionary = NgramDictionary.learn(words, rows, int(self.n_features))

        def report(n_fitted: int, n_targets: int) -> None:
            if self.verbose:
                print(f"{name}: {n_fitted} of {n_targets} columns", flush=True)

        coefficients, losses = ridge_regression(
            dictionary.design(words, rows),
            targets,
            float(self.alpha),
            n_steps=_STEPS,
            n_threads=n_jobs,
            report=report,
        )
        if self.verbose:
            print(f"{name}: {losses[-1] / losses[0]:.4f} of the variance is left", flush=True)
        shares = enumerate((losses[1:] / losses[0]).tolist(), 1)
        self._set(
            NgramModel(dictionary, coefficients, mean),
            [{"epoch": step, "train_loss": share} for step, share in shares],
        )
        return self

    def _set(self, model: NgramModel, history: list[dict[str, Any]]) -> None:
        self._model = model
        self.history_ = history
        self.n_parameters_ = math.prod(model.coefficients.shape)

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        values, arrays = super()._get_model_state()
        return values | {"history": self.history_}, arrays

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        self._set(NgramModel.from_state(values, arrays), values["history"])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


def _check_vectors(y: Any, n_texts: int, *, caller: str) -> NDArray[np.floating]:
    """Check the target vectors, one row for each text."""
    if y is None:
        raise ValueError(
            f"{caller}.fit needs y, the vectors of the teacher, one row per text; got None."
        )
    try:
        array = np.asarray(y)
        if array.dtype.kind not in "biufc":
            array = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{caller}: y must be a matrix of numbers, the vectors of the teacher, one row per "
            f"text; got {type(y).__name__}: {error}"
        ) from error
    # Native byte order: check_array would round big-endian float64.
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    vectors: NDArray[np.floating] = check_array(
        array,
        dtype=[np.float32, np.float64],
        order="C",
        ensure_min_samples=0,
        input_name="y",
        estimator=caller,
    )  # in C order, as sums depend on it
    if len(vectors) != n_texts:
        raise ValueError(
            f"{caller}: y must have one row for each text of X. Got {len(vectors):,} rows and "
            f"{n_texts:,} texts, which are not split into sentences."
        )
    if not vectors.any():
        raise ValueError(f"{caller}: all vectors of y are zero, so there is nothing to learn.")
    return vectors


# With n_components the targets are principal components, and the offset is zero: cosine
# similarities of centered vectors agree better with human judgements. Without, they are the vectors
# themselves, and the offset is their mean.
def center(
    vectors: NDArray[np.floating], n_components: int | None
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the targets of unit vectors, without their mean, and the offset of predictions."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    scales = 1 / np.where(lengths > 0, lengths, 1)
    blocks = [slice(start, start + _ROW_BLOCK) for start in range(0, len(vectors), _ROW_BLOCK)]
    mean = np.zeros(vectors.shape[1])
    for block in blocks:
        mean += (vectors[block] * scales[block, np.newaxis]).sum(axis=0)
    mean /= len(vectors)
    n_columns = vectors.shape[1] if n_components is None else min(n_components, vectors.shape[1])
    targets = np.empty((len(vectors), n_columns), dtype=np.float32)
    with threadpool_limits(1, user_api="blas"):  # more threads would sum in another order
        axes = np.eye(vectors.shape[1])
        if n_components is not None:
            moment = np.zeros((vectors.shape[1],) * 2)
            for block in blocks:
                rows = vectors[block] * scales[block, np.newaxis] - mean
                moment += rows.T @ rows
            axes = np.linalg.eigh(moment)[1][:, ::-1][:, :n_columns]
        for block in blocks:
            targets[block] = (vectors[block] * scales[block, np.newaxis] - mean) @ axes
    offset = mean if n_components is None else np.zeros(n_columns)
    return targets, offset.astype(np.float32)
