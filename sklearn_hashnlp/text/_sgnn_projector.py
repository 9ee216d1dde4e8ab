"""Sign random projections of rows for self-governing neural networks."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_array, validate_data

from sklearn_hashnlp._device import resolve_device
from sklearn_hashnlp._sklearn import (
    MAX_INTEGER,
    ArrayTransformerMixin,
    BaseEstimator,
    Interval,
    ParameterChecks,
    StrOptions,
    fit_context,
)
from sklearn_hashnlp._threads import effective_n_jobs, map_blocks
from sklearn_hashnlp.kernels.projections._hyperplanes import PROJECTION_SPECIFICATION, Hyperplanes
from sklearn_hashnlp.kernels.projections._project_rows import ProjectionForm, project_rows
from sklearn_hashnlp.text._documents import refuse_texts

# Maximum size of the blocks of rows that are projected at a time: a block needs up to 16 bytes per
# value in addition to its results, and equal rows are found within a block.
_MAX_ROWS, _MAX_VALUES = 2**15, 2**22
_MAX_VALUE = 1e30  # the sums of larger values may overflow float32


class _Form(NamedTuple):
    kernel: ProjectionForm
    dtype: type[np.generic]
    per_byte: int


_FORMS = {
    "binary": _Form("bits", np.uint8, 1),
    "sign": _Form("signs", np.int8, 1),
    "packed": _Form("packed", np.uint8, 8),
    "float": _Form("sums", np.float32, 1),
}


# scikit-learn has no types
class SGNNProjector(
    ParameterChecks,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    ArrayTransformerMixin,
    BaseEstimator,
):
    r"""Project rows of any width to a few bits that preserve angles, without fitting or matrix.

    These are sign random projections, also known as SimHash or random hyperplane LSH [3]_. Bit (t,
    i) of a row x, for projection t = 0 ... T-1 and i = 0 ... d-1, is the side of a random
    hyperplane on which the row lies, [sum_j x_j r(j; t, i) > 0]. The coefficient r(j; t, i) is
    computed from the seed and the column index j on demand: no matrix is stored, so any number of
    columns is possible, such as hashed n-grams. The expected share of bits in which two rows differ
    is the angle between them divided by pi.

    Parameters
    ----------
    n_projections : int, default=80
        T in the paper.
    n_bits : int, default=14
        Number of bits of a projection; d in the paper. The result has T d columns, with (t, i) in
        column t d + i; the first columns do not depend on the number of columns.
    output : {'binary', 'sign', 'packed', 'float'}, default='binary'
        Type of the columns: 'binary' is 0 and 1 as uint8; 'sign' is -1 and 1 as int8; 'packed' is
        eight bits in a uint8, in the order of ``numpy.packbits``; 'float' is the sums themselves as
        float32, scaled so that dot products of results are unbiased estimates of the dot products
        of rows.
    density : float, default=1.0
        The share of nonzero coefficients, in (0, 1]: very sparse random projections [2]_. Angles
        are preserved if a row has many values, so that some of them have nonzero coefficients
        (1/sqrt(values) is the usual density), and no value outweighs the others; so not for single
        words, nor for counts of n-grams that each word has.
    hyperplanes : {'normal', 'sign', 'google'}, default='normal'
        Distribution of the coefficients r. 'normal' is one of 256 integers, the quantiles of a
        normal distribution. 'sign' is -1 or 1: slightly faster, but sums over the few n-grams of a
        word are often zero, and a tie has no information about the word. 'google' is the projection
        in the code released by the paper's authors, for comparison: r = (j s mod p), centered to
        between -p/2 and p/2, with p = 2**31 - 1 and a seed s for each hyperplane; 'float' is then
        their mean over the n-grams, divided by p/2.
    random_state : int, default=0
        The seed. It must be an integer, so that the hyperplanes of the stateless transformer are
        the same in each call and process.
    n_jobs : int or None, default=None
        The number of threads on a CPU; None is 1 and -1 is the number of cores. The results do not
        depend on it.
    device : {'cpu', 'cuda', 'auto'} or str, default='cpu'
        Device to compute on; 'auto' is a CUDA device if there is one. Other devices than 'cpu',
        which may be any of torch, use :class:`sklearn_hashnlp.nn.SGNNProjection`, with bitwise
        equal results.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns seen by ``fit``. Without ``fit`` any number is accepted.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns seen by ``fit``, if all are strings.

    See Also
    --------
    CharNgramFeaturizer : Convert texts or words to rows of n-gram counts.
    SGNNWordProjector : The mean projection of a text's words.
    sklearn.random_projection.SparseRandomProjection : Projections by a stored random matrix.

    Notes
    -----
    A row of zeros, such as for an empty text, has all bits 0 (-1 for 'sign', 0.0 for 'float'). For
    other rows, a sum of zero is a tie with a fixed bit for each hyperplane.

    Each sum is computed in float64 over ascending columns, or in integers if the result is the
    same: results do not depend on other rows, threads or the machine. Values are converted to
    float64.

    The coefficients are specified in ``sklearn_hashnlp/kernels/projections/_hyperplanes.py``; a
    saved model has the version of that specification.

    References
    ----------
    .. [1] S. Ravi and Z. Kozareva, "Self-governing neural networks for on-device short text
           classification", EMNLP 2018, section 2.
    .. [2] P. Li, T. Hastie and K. Church, "Very sparse random projections", KDD 2006.
    .. [3] M. Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002,
           section 3.

    Examples
    --------
    >>> from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector
    >>> bits = SGNNProjector().transform(
    ...     CharNgramFeaturizer().transform(["start", "started", "cow"])
    ... )
    >>> bits.shape, bits.dtype
    ((3, 1120), dtype('uint8'))
    >>> (bits[0] != bits[1:]).mean(axis=1).round(2).tolist()
    [0.19, 0.44]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_projections": [Interval(Integral, 1, MAX_INTEGER, closed="both")],
        "n_bits": [Interval(Integral, 1, MAX_INTEGER, closed="both")],
        "output": [StrOptions(set(_FORMS))],
        "density": [Interval(Real, 0, 1, closed="right")],
        "hyperplanes": [StrOptions({"normal", "sign", "google"})],
        "random_state": [Integral],
        "n_jobs": [Integral, None],
        "device": [str],
    }

    def __init__(
        self,
        *,
        n_projections: int = 80,
        n_bits: int = 14,
        output: Literal["binary", "sign", "packed", "float"] = "binary",
        density: float = 1.0,
        hyperplanes: Literal["normal", "sign", "google"] = "normal",
        random_state: int = 0,
        n_jobs: int | None = None,
        device: str = "cpu",
    ) -> None:
        self.n_projections = n_projections
        self.n_bits = n_bits
        self.output = output
        self.density = density
        self.hyperplanes = hyperplanes
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the parameters and store the number of columns; the transformer is stateless."""
        self._check_fit(X)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    # it takes nothing else
    def fit_transform(self, X: Any, y: Any = None) -> NDArray[Any]:  # type: ignore[override]
        """Fit, and project the same rows, which are checked once; see :meth:`transform`."""
        return self._project(self._check_fit(X))

    def transform(self, X: Any) -> NDArray[Any]:
        """Project rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows. They are not modified; a matrix that is not CSR with sorted, unique columns is
            copied.

        Returns
        -------
        ndarray of shape (n_samples, n_projections * n_bits)
            The projections, uint8, int8 or float32 depending on ``output``; for ``output='packed'``
            an eighth of the columns, rounded up.
        """
        self._validate_params()
        self._check_density()
        self._refuse_texts(X)
        if hasattr(self, "n_features_in_"):
            X = validate_data(self, X, reset=False, accept_sparse="csr", ensure_min_samples=0)
        else:  # not fitted: validate_data would warn about feature names
            X = check_array(
                X, accept_sparse="csr", estimator=self, input_name="X", ensure_min_samples=0
            )
        return self._project(X)

    def _check_fit(self, X: Any) -> Any:
        self._check_density()
        self._refuse_texts(X)
        return validate_data(self, X, accept_sparse="csr")

    def _project(self, X: Any) -> NDArray[Any]:
        rows = X
        if issparse(X) and not X.has_canonical_format:  # with sorted, unique columns
            rows = X.copy()
            rows.sum_duplicates()
        self._check_sizes(rows.data if issparse(rows) else rows)
        form = _FORMS[self.output]
        out = np.empty((rows.shape[0], self._n_features_out), dtype=form.dtype)
        device = resolve_device(self.device, caller=type(self).__name__)
        if device == "cpu":
            hyperplanes = Hyperplanes.of(
                self.hyperplanes,
                int(self.n_projections) * int(self.n_bits),
                density=float(self.density),
                seed=int(self.random_state),
            )

            def project(block: slice) -> None:
                project_rows(*_block(rows, block), hyperplanes, form.kernel, out[block])

            map_blocks(project, len(out), effective_n_jobs(self.n_jobs), max_rows=_block_rows(rows))
        else:
            # Imported only for other devices, because it imports torch.
            from sklearn_hashnlp.nn import SGNNProjection

            module = SGNNProjection(
                int(self.n_projections),
                int(self.n_bits),
                output=self.output,
                density=float(self.density),
                hyperplanes=self.hyperplanes,
                seed=int(self.random_state),
                device=device,
            )

            def project_on_device(block: slice) -> None:
                indptr, indices, data = _block(rows, block)
                out[block] = module.project_arrays(indptr, indices.astype(np.int64), data)

            map_blocks(project_on_device, len(out), 1, max_rows=_block_rows(rows))
        return out

    @property
    def _n_features_out(self) -> int:
        return -(-int(self.n_projections) * int(self.n_bits) // _FORMS[self.output].per_byte)

    def _check_density(self) -> None:
        if self.density < 1 and self.hyperplanes == "google":
            raise ValueError(
                f"{type(self).__name__}: hyperplanes='google' is the projection of the released "
                f"code, which is dense. Got density={self.density!r}; set density=1.0, or "
                "hyperplanes='normal' or 'sign'."
            )

    def _refuse_texts(self, X: Any) -> None:
        refuse_texts(
            X,
            caller=type(self).__name__,
            makes_rows="make_pipeline(CharNgramFeaturizer(), SGNNProjector())",
        )

    def _check_sizes(self, values: NDArray[Any]) -> None:
        largest = max(float(values.max(initial=0)), -float(values.min(initial=0)))
        if largest > _MAX_VALUE:
            raise ValueError(
                f"{type(self).__name__} takes values up to {_MAX_VALUE:g}, got one of size "
                f"{largest:g}. Scale X down: the bits do not depend on the length of a row."
            )

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        names = getattr(self, "feature_names_in_", None)
        values = {
            "specification": PROJECTION_SPECIFICATION,
            "n_features_in": getattr(self, "n_features_in_", None),
            "feature_names_in": None if names is None else names.tolist(),
        }
        return values, {}

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        if values["specification"] != PROJECTION_SPECIFICATION:
            raise ValueError(
                f"it has version {values['specification']!r} of the projections, and this version "
                f"of sklearn-hashnlp has {PROJECTION_SPECIFICATION}. Load it with the version that "
                "saved it, or train anew"
            )
        if values["n_features_in"] is not None:
            self.n_features_in_ = values["n_features_in"]
        if values["feature_names_in"] is not None:
            self.feature_names_in_ = np.array(values["feature_names_in"], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.requires_fit = False
        tags.transformer_tags.preserves_dtype = []
        return tags


def _block(X: Any, rows: slice) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[np.float64]]:
    """Return rows as arrays for the kernels."""
    if not issparse(X):
        X, rows = csr_matrix(X[rows].astype(np.float64)), slice(0, rows.stop - rows.start)
    ends = X.indptr[rows.start : rows.stop + 1]
    values = slice(ends[0], ends[-1])
    return (
        ends.astype(np.int64) - int(ends[0]),
        np.ascontiguousarray(X.indices[values], X.indices.dtype.newbyteorder("=")),
        np.ascontiguousarray(X.data[values], np.float64),
    )


def _block_rows(X: Any) -> int:
    n_rows, n_columns = X.shape
    per_row = X.nnz / max(n_rows, 1) if issparse(X) else n_columns
    return min(int(_MAX_VALUES / max(per_row, 1)) + 1, _MAX_ROWS)
