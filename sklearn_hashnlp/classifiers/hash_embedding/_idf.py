"""Inverse document frequencies: initial importance weights of features, and the evidence of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from sklearn_hashnlp._idf import smoothed_idf
from sklearn_hashnlp.classifiers.hash_embedding._linear_scores import map_row_blocks
from sklearn_hashnlp.classifiers.hash_embedding._sparse_rows import SparseRows
from sklearn_hashnlp.kernels.embeddings._hash_ids import count_rows
from sklearn_hashnlp.kernels.embeddings._tables import TableSpec
from sklearn_hashnlp.kernels.linear._evidence import row_evidence

if TYPE_CHECKING:
    from sklearn_hashnlp.nn import HashEmbeddingBag

_MAX_FREQUENCY = np.iinfo(np.int32).max


def idf_of_rows(
    spec: TableSpec, columns: NDArray[Any], n_rows: int, frequencies: NDArray[np.int32] | None = None
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Add to the document frequencies (num_embeddings,), and return the rows of the columns and their idf."""
    rows, counts = count_rows(columns, spec.constants[0], spec.num_embeddings)
    if frequencies is not None:
        frequencies[rows] = np.minimum(frequencies[rows] + counts.astype(np.int64), _MAX_FREQUENCY)
    return rows, smoothed_idf(counts, n_rows)


def mean_idf(weights: NDArray[np.float64]) -> float:
    """Return the divisor of inverse document frequencies."""
    return float(weights.mean()) if len(weights) else 1.0


def initialize_importance(
    bag: HashEmbeddingBag,
    columns: NDArray[Any],
    n_rows: int,
    divisor: float | None = None,
    frequencies: NDArray[np.int32] | None = None,
) -> float:
    """Set importance rows that are still zero to inverse document frequencies; return the divisor."""
    import torch

    assert bag.importance is not None
    rows, weights = idf_of_rows(bag.spec, columns, n_rows, frequencies)
    table = bag.importance.detach()
    indices = torch.from_numpy(rows).to(table.device)
    if divisor is None:
        divisor = mean_idf(weights)
    else:
        untouched = ~table[indices].any(dim=1)
        indices, weights = indices[untouched], weights[untouched.cpu().numpy()]
    initial = torch.from_numpy((weights / divisor).astype(np.float32))
    table[indices] = initial.unsqueeze(1).to(table.device, table.dtype)
    return divisor


_QUANTILE = 0.02  # share of the training rows with less than enough evidence
_UNMARKED = 0.3  # factor of enough evidence if texts have no boundary tokens
_MAX_ROWS = 10_000  # for a quantile
_MIN_UNMARKED = 200  # rows without boundary tokens, for a reliable quantile
_REPEATED, _OTHER_SHARE = 5, 0.15  # minimum number of rows of a repeated text, and difference of a label's share
_SIGNIFICANT = 1.64  # standard deviations of a sign test
_LOW = 0.1  # quantile of the evidence of rows whose scores are right
_LEAST = 0.05  # minimum, relative to the quantile with n-grams of single rows: few rows may share none


class KnownColumns(NamedTuple):
    """The table that indicates known columns: importance weights or, without them, the pool."""

    spec: TableSpec
    table: NDArray[np.float32]

    def evidence(
        self, rows: SparseRows, *, common: float = np.inf, rare: float = np.inf, enough: float = np.inf
    ) -> NDArray[np.float64]:
        """Return the evidence of rows, see :func:`row_evidence`."""
        constants = self.spec.constant_array
        counts = rows.data.astype(np.float32, copy=False)
        evidence = np.empty(len(rows))

        def compute(block: slice) -> None:
            indptr = rows.indptr[block.start : block.stop + 1]
            evidence[block] = row_evidence(rows.indices, indptr, counts, self.table, constants, common, rare, enough)

        map_row_blocks(compute, len(rows), len(counts))
        return evidence


def least_importance(divisor: float | None) -> float:
    """Return the importance weight below which a column tells nothing: all training rows have it."""
    return np.inf if divisor is None else 1 / divisor * (1 + 1e-6)


def evidence_shares(
    known: KnownColumns, rows: SparseRows, divisor: float | None, enough: float, evidence: NDArray[np.float64] | None
) -> NDArray[np.float64]:  # (n_rows,)
    """Return the factor of the scores of each row: 0 without a known column, 1 with enough evidence."""
    # The scores of a text with only frequent n-grams, such as "the", are an extrapolation: rows are normalized.
    if not known.spec.has_importance:
        return (known.evidence(rows, common=0.0, enough=0.0) >= 0).astype(np.float64)  # to the first known column
    if divisor is None:
        return (np.diff(rows.indptr) > 0).astype(np.float64)
    if evidence is None:
        evidence = known.evidence(rows, common=least_importance(divisor), enough=enough)
    if enough == 0:
        return (evidence >= 0).astype(np.float64)
    share = np.minimum(evidence / enough, 1.0)
    return np.asarray(np.maximum(share, 0.0) ** 2)


def enough_evidence(known: KnownColumns, rows: SparseRows, divisor: float, n_rows: int) -> float:
    """Compute the evidence that is enough, from training rows with initial importance weights; 0: any is."""
    rows = _sample(rows)
    is_marked = _are_marked(rows)
    are_counts = is_marked or (len(rows) >= _MIN_UNMARKED and rows.data.min(initial=1.0) >= 0.5)
    if known.spec.normalize is None or not are_counts:
        return 0.0
    alone, whole = (
        float(np.quantile(np.maximum(evidence, 0.0), _QUANTILE))
        for evidence in (
            _evidence_of_others(known, rows, divisor, n_rows),
            known.evidence(rows, common=least_importance(divisor)),
        )
    )
    return max(alone, _LEAST * whole) * (1.0 if is_marked else _UNMARKED)


def _evidence_of_others(known: KnownColumns, rows: SparseRows, divisor: float, n_rows: int) -> NDArray[np.float64]:
    """Return the evidence of training rows by the columns that other training rows have, too."""
    once = (np.log((1 + n_rows) / 2) + 1) / divisor
    return known.evidence(rows, common=least_importance(divisor), rare=once * (1 - 1e-4))


def evidence_of_training(known: KnownColumns, rows: SparseRows, divisor: float | None, enough: float) -> float:
    """Lower the evidence that is enough to that of training rows with trained importance weights."""
    # At most to that of a repeated text with other label shares than all rows.
    if divisor is None or enough == 0:
        return 0.0
    rows = _sample(rows)
    evidence = known.evidence(rows, common=least_importance(divisor))
    enough = min(enough, float(np.quantile(np.maximum(evidence, 0.0), _QUANTILE)))
    values, group, counts = np.unique(evidence, return_inverse=True, return_counts=True)
    repeated = (counts >= _REPEATED) & (values >= 0)
    if not repeated.any():
        return enough
    labels = rows.targets
    if labels.ndim == 1:
        labels = csr_array((np.ones(len(labels)), labels, np.arange(len(labels) + 1)))
    members = csr_array((np.ones(len(group)), (group, np.arange(len(group)))))[repeated]
    shares = _dense(members @ labels) / counts[repeated, np.newaxis]
    differ = np.abs(shares - np.asarray(labels.mean(axis=0)).ravel()).max(axis=1) > _OTHER_SHARE
    return min(enough, float(values[repeated][differ].min(initial=np.inf)))


def evidence_of_left_out(
    known: KnownColumns,
    rows: SparseRows,
    divisor: float,
    enough: float,
    left_out: NDArray[np.int64],  # (n,)
    scores: NDArray[np.float64],  # (n, n_classes): of models that were not trained on these rows
) -> float:
    """Lower the evidence that is enough where the scores of left-out rows are right more often than the prior."""
    prior = int(np.bincount(rows.targets, rows.row_weights).argmax())
    some = rows.select(left_out)
    evidence = _evidence_of_others(known, some, divisor, len(rows))
    has_less, is_right, is_prior = evidence < enough, scores.argmax(axis=1) == some.targets, some.targets == prior
    better, worse = has_less & is_right & ~is_prior, has_less & is_prior & ~is_right
    n_better, n_worse = np.count_nonzero(better), np.count_nonzero(worse)
    if n_better - n_worse <= _SIGNIFICANT * np.sqrt(n_better + n_worse):
        return enough
    return max(float(np.quantile(evidence[better], _LOW)), 0.0)


def _sample(rows: SparseRows) -> SparseRows:
    """Sample rows for a quantile, evenly spaced."""
    step = -(-len(rows) // _MAX_ROWS)
    return rows if step <= 1 else rows.select(np.arange(0, len(rows), step))


def _dense(matrix: Any) -> NDArray[np.float64]:
    return np.asarray(matrix.toarray() if issparse(matrix) else matrix, dtype=np.float64)


def _are_marked(rows: SparseRows) -> bool:
    """Return whether all rows have columns in common, such as boundary tokens, with one value."""
    first = rows.indices[: rows.indptr[1]]  # a column of all rows is one of the first row
    if not len(first):
        return False
    at = np.minimum(np.searchsorted(first, rows.indices), len(first) - 1)
    counts = np.bincount(at[first[at] == rows.indices], minlength=len(first))
    values = rows.data[np.isin(rows.indices, first[counts == len(rows)])]
    return bool(len(values)) and bool((values == values[0]).all())
