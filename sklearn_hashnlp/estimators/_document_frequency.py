"""How rare a feature is among the training rows: where its importance starts."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sklearn_hashnlp.nn import HashEmbeddingBag


def inverse_document_frequency(bag: HashEmbeddingBag, columns: NDArray[Any], n_rows: int) -> tuple[Tensor, Tensor]:
    """Weigh the importance rows that occur by the number of documents they occur in.

    With N documents, df_r of which have a feature that the importance table keeps in row r, its weight is

        idf_r = ln((1 + N) / (1 + df_r)) + 1,  divided by the mean of idf over the rows that occur,

    scikit-learn's smoothed formula but for the division, which lets weights start at 1 on the average whatever N, so
    that one learning rate serves small and large data.

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
    rows : Tensor of shape (n,), dtype int64
        The rows that occur, ascending.
    weights : Tensor of shape (n,), dtype float32
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
    >>> rows, weights = inverse_document_frequency(bag, np.array([5, 5, 5, 8]), n_rows=3)
    >>> weights[rows == bag.locate(torch.tensor([8]))[0]] > weights[rows == bag.locate(torch.tensor([5]))[0]]
    tensor([True])
    """
    ids, counts = np.unique(columns, return_counts=True)
    places, _ = bag.locate(torch.from_numpy(ids.astype(np.int64)))
    rows, owner = np.unique(places.numpy(), return_inverse=True)
    frequency = np.minimum(np.bincount(owner, weights=counts, minlength=len(rows)), n_rows)  # features may collide
    idf = np.log((1 + n_rows) / (1 + frequency)) + 1
    if len(idf):
        idf /= idf.mean()
    return torch.from_numpy(rows), torch.from_numpy(idf.astype(np.float32))


def start_from_document_frequency(bag: HashEmbeddingBag, columns: NDArray[Any], n_rows: int) -> None:
    """Write inverse document frequencies into an importance table.

    Parameters
    ----------
    bag : HashEmbeddingBag
        Written in place: every column of the importance rows that occur.
    columns : ndarray of int of shape (n_values,)
        Feature ids of all documents; within a document each once.
    n_rows : int
        Number of documents.

    Raises
    ------
    ValueError
        If the bag has no importance.
    """
    if bag.importance is None:
        raise ValueError(f"A bag of variant {bag.variant!r} has no importance to start.")
    rows, weights = inverse_document_frequency(bag, columns, n_rows)
    device = bag.importance.device
    with torch.no_grad():
        bag.importance[rows.to(device)] = weights.unsqueeze(1).to(device, bag.importance.dtype)
