"""Inverse document frequencies of the rows of importance weights."""

import numpy as np
import torch


def inverse_document_frequency(bag, columns, n_rows):
    """Return the importance rows that columns of documents have, and their weights as
    scikit-learn's.
    """
    rows, counts = np.unique(bag.locate(torch.from_numpy(columns))[0].numpy(), return_counts=True)
    return rows, np.log((1 + n_rows) / (1 + np.minimum(counts, n_rows))) + 1
