"""Which columns of rows a model knows, how much these say, and a summary of left-out rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sklearn_hashnlp._idf import smoothed_idf
from sklearn_hashnlp.classifiers._training_summary import TrainingSummary
from sklearn_hashnlp.classifiers.hash_embedding._model import score_rows
from sklearn_hashnlp.classifiers.hash_embedding._sparse_rows import MAX_COLUMNS, SparseRows
from sklearn_hashnlp.kernels.embeddings._hash_ids import locate_ids
from sklearn_hashnlp.kernels.linear._linear_model import LinearModel

_RARE = 1000  # training rows; of more frequent columns one row does not change the weight


class DocumentFrequencies(NamedTuple):
    """Document frequencies in the training, to find the columns that other training rows have."""

    of_rows: NDArray[np.integer[Any]]  # of rows of the importance table
    of_slots: NDArray[np.int32]  # of rows of the pool
    n_rows: int  # that the model was trained on
    are_weights: bool  # whether importance weights started as inverse document frequencies
    # Whether rows of the tables are zero that no column of the training has.
    by_rows: bool  # of the table by which columns are known; else all are
    by_slots: bool  # of the pool; else all columns count for the length
    table_rows: NDArray[np.int32] | None = None  # ascending, of ``of_rows``; None for all

    @classmethod
    def of(
        cls,
        architecture: Mapping[str, Any],
        tables: LinearModel,
        rows: SparseRows,
        of_rows: NDArray[np.int32] | None = None,
    ) -> DocumentFrequencies:
        """Count training rows; ``of_rows``, if there are some, are inverse importance weights."""
        table_rows, slots = _located(tables, rows)
        is_zero = not architecture["pool_std"]
        has_importance = tables.importance is not None
        counts = (
            np.bincount(table_rows, minlength=len(tables.known)).astype(np.int32)
            if of_rows is None
            else of_rows
        )
        return cls(
            counts,
            np.bincount(slots.reshape(-1), minlength=len(tables.pool)).astype(np.int32),
            len(rows),
            are_weights=of_rows is not None,
            by_rows=architecture["importance_init"] == 0 if has_importance else is_zero,
            by_slots=is_zero and not (has_importance and architecture["append_weight"]),
        )

    @classmethod
    def continued(
        cls,
        tables: LinearModel,
        rows: SparseRows,
        known_before: NDArray[np.int32],  # table rows of the columns known before these rows
        *,
        n_rows: int,  # trained on, these included
        are_weights: bool,
    ) -> DocumentFrequencies:
        """Count rows on which training was continued; columns known before are frequent."""
        unique, counts = np.unique(_located(tables, rows)[0], return_counts=True)
        counts[np.isin(unique, known_before)] = _RARE
        no_slots = np.empty(0, dtype=np.int32)
        return cls(counts, no_slots, n_rows, are_weights, True, False, table_rows=unique)

    def at(self, table_rows: NDArray[np.int32]) -> NDArray[np.integer[Any]]:
        """Return the document frequencies of table rows, which training rows have."""
        if self.table_rows is not None:
            return self.of_rows[np.searchsorted(self.table_rows, table_rows)]
        return self.of_rows[table_rows]

    def factors(self, table_rows: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return the factors of weights of columns of training rows without their own row."""
        every = np.arange(1, _RARE + 1)
        factors = smoothed_idf(every - 1, self.n_rows - 1) / smoothed_idf(every, self.n_rows)
        of_frequency = np.append(1.0, factors).astype(np.float32)
        return np.asarray(of_frequency[np.minimum(self.at(table_rows), _RARE)])


class KnownColumns(NamedTuple):
    """The known columns of rows: those that a training row has.

    A column of a training row may have no weights: it is known, but does not count for the length.
    """

    is_known: NDArray[np.bool_]  # (n_values,)
    unknown_shares: NDArray[np.float64]  # (n_rows,): of the columns of each row
    lengths: NDArray[np.float64]  # (n_rows,): of the known columns, see :class:`Calibration`

    @classmethod
    def of(
        cls, tables: LinearModel, rows: SparseRows, training: DocumentFrequencies | None = None
    ) -> KnownColumns:
        """Find the known columns of new rows or, without their own row, of training rows."""
        table_rows, slots = _located(tables, rows)
        is_known = np.asarray(tables.known[table_rows].any(axis=1))
        said = rows
        if training is not None:
            says = np.ones_like(is_known)
            if training.by_rows:
                is_known &= training.at(table_rows) > 1
                says = is_known
            if training.by_slots:
                says = says & (training.of_slots[slots] > 1).any(axis=1)
            data = rows.data * training.factors(table_rows) if training.are_weights else rows.data
            n_said = _sums(says, rows.indptr)
            shape = len(rows), MAX_COLUMNS
            said = SparseRows(csr_array((data[says], rows.indices[says], n_said), shape=shape))
        n_known = np.diff(_sums(is_known, rows.indptr))
        n_columns = np.diff(rows.indptr)
        shares = np.where(n_columns > 0, 1 - n_known / np.maximum(n_columns, 1), 0.0)
        return cls(is_known, shares, score_rows(tables, said).lengths)


def _sums(is_one: NDArray[np.bool_], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of true values before each end."""
    return np.asarray(np.concatenate([[0], np.cumsum(is_one)])[ends])


def _located(
    tables: LinearModel, rows: SparseRows
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:  # (n_values,), (n_values, k)
    """Return the rows of the importance table and of the pool of each value."""
    sizes = len(tables.known), len(tables.pool)
    return locate_ids(rows.indices, tables.constants, *sizes, tables.spec.layout.variant)


def known_table_rows(tables: LinearModel, rows: SparseRows) -> NDArray[np.int32]:
    """Return the rows of the table by which the known columns of rows are known."""
    table_rows = np.unique(_located(tables, rows)[0])
    return table_rows[tables.known[table_rows].any(axis=1)]


def summarize(
    tables: LinearModel,  # with the squared length of what all training rows have
    frequencies: DocumentFrequencies,
    left_out: SparseRows,
    probabilities: NDArray[np.float64],  # (n_left_out, n_classes)
    *,
    fold_of: NDArray[np.int64] | None = None,  # the model that predicted each left-out row
    in_training: bool = True,  # whether the left-out rows are training rows of the final model
    earlier: TrainingSummary | None = None,  # of a training that was continued
) -> TrainingSummary:
    """Summarize left-out rows."""
    known = KnownColumns.of(tables, left_out, frequencies if in_training else None)
    values = np.stack([known.unknown_shares, known.lengths, probabilities.max(axis=1)], axis=1)
    if earlier is not None:
        return earlier.continued(values, probabilities, frequencies.n_rows)
    return TrainingSummary.of(
        values,
        probabilities,
        np.zeros(len(left_out), dtype=np.int64) if fold_of is None else fold_of,
        frequencies.of_rows,
        frequencies.n_rows,
    )
