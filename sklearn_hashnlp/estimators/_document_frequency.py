"""How rare a feature is among the training rows: where its importance starts."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._count_rows import count_rows
from sklearn_hashnlp.nn import HashEmbeddingBag


def inverse_document_frequency(
    bag: HashEmbeddingBag, columns: NDArray[Any], n_rows: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Weigh the importance rows that occur by the number of documents they occur in.

    With N documents, df_r of which have a feature that the importance table keeps in row r, its weight is
    scikit-learn's smoothed one,

        idf_r = ln((1 + N) / (1 + df_r)) + 1.

    Parameters
    ----------
    bag : HashEmbeddingBag
        Tells in which row a feature's importance is.
    columns : ndarray of int of shape (n_values,)
        Feature ids of all documents; within a document each once.
    n_rows : int
        N.

    Returns
    -------
    rows : ndarray of shape (n,), dtype int32
        The rows that occur, ascending.
    weights : ndarray of shape (n,), dtype float64
        Their weights.

    References
    ----------
    .. [1] Sparck Jones (1972). A statistical interpretation of term specificity and its application in retrieval.
           Journal of Documentation 28.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_hashnlp.nn import HashEmbeddingBag
    >>> bag = HashEmbeddingBag(1000, 50, 4)
    >>> _, weights = inverse_document_frequency(bag, np.array([5, 5, 5, 8]), n_rows=3)
    >>> sorted(weights.round(3).tolist())
    [1.0, 1.693]
    """
    rows, counts = count_rows(columns, bag._constants[0], bag.num_embeddings)
    frequency = np.minimum(counts, n_rows)  # features may collide
    return rows, np.log((1 + n_rows) / (1 + frequency)) + 1


def start_from_document_frequency(
    bag: HashEmbeddingBag, columns: NDArray[Any], n_rows: int, divisor: float | None = None
) -> float:
    """Write inverse document frequencies into an importance table, where nothing was written yet.

    They are divided by a number that lets weights start at 1 on the average whatever N is, so that one learning rate
    serves small and large data. Of later documents only the rows that none before had are written. Those documents
    that have such a row are all among the later ones, so its frequency among all is known.

    Parameters
    ----------
    bag : HashEmbeddingBag
        Written in place: every column of the importance rows that occur and are zero.
    columns : ndarray of int of shape (n_values,)
        Feature ids of the documents; within a document each once.
    n_rows : int
        Number of documents, with all earlier ones.
    divisor : float, default=None
        What the first documents gave. None for the first, when the whole table is zero.

    Returns
    -------
    float
        The divisor: the mean weight of the rows that occurred among the first documents.

    Raises
    ------
    ValueError
        If the bag has no importance.
    """
    if bag.importance is None:
        raise ValueError(f"A bag of variant {bag.variant!r} has no importance to start.")
    rows, weights = inverse_document_frequency(bag, columns, n_rows)
    table = bag.importance.detach()
    places = torch.from_numpy(rows).to(table.device)
    if divisor is None:
        divisor = float(weights.mean()) if len(weights) else 1.0
    else:
        untouched = ~table[places].any(dim=1)
        places, weights = places[untouched], weights[untouched.cpu().numpy()]
    start = torch.from_numpy((weights / divisor).astype(np.float32))
    table[places] = start.unsqueeze(1).to(table.device, table.dtype)
    return divisor
