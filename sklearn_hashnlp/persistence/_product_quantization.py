"""Product quantization of a matrix: each two columns of a row become one byte, the number of a centroid."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

N_CENTROIDS = 256
_PART = 2  # columns of a part; the last may have one
_MAX_ROWS = 2**16  # of a sample from which centroids are computed, as in fastText
_ITERATIONS = 25
_BLOCK = 2**20  # rows that are compared with the centroids at once


def quantize(matrix: NDArray[np.float32]) -> tuple[NDArray[np.uint8], list[NDArray[np.float32]]]:
    """Return the codes of all rows, (n_rows, n_parts), and for each part its centroids, (256, columns).

    Rows that were never trained are zero in the columns that are not constant: the first centroid is their value. The
    others are those of k-means of the other rows.
    """
    from scipy.cluster.vq import vq

    varies = matrix.min(axis=0, initial=np.inf) != matrix.max(axis=0, initial=-np.inf)
    trained = np.flatnonzero(matrix[:, varies].any(axis=1)) if varies.any() else np.arange(len(matrix))
    untrained = np.where(varies | (len(matrix) == 0), 0, matrix[:1].sum(axis=0))
    sample = trained
    if len(trained) > _MAX_ROWS:
        sample = np.sort(np.random.default_rng(0).choice(trained, _MAX_ROWS, replace=False))
    parts = range(0, matrix.shape[1], _PART)
    codes, centroids = np.zeros((len(matrix), len(parts)), dtype=np.uint8), []
    for index, start in enumerate(parts):
        columns = slice(start, start + _PART)
        part = np.ascontiguousarray(matrix[:, columns])
        centroids.append(_centroids(part[sample], untrained[columns]))
        for first in range(0, len(part), _BLOCK):
            codes[first : first + _BLOCK, index] = vq(part[first : first + _BLOCK], centroids[-1])[0]
    return codes, centroids


def _centroids(points: NDArray[np.float32], first: NDArray[np.float32]) -> NDArray[np.float32]:
    from scipy.cluster.vq import kmeans2

    found = np.tile(first.astype(np.float32), (N_CENTROIDS, 1))
    distinct = np.unique(points, axis=0)
    if len(distinct) >= N_CENTROIDS:
        initial = distinct[np.random.default_rng(0).choice(len(distinct), N_CENTROIDS - 1, replace=False)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a cluster without members keeps its centroid
            distinct = kmeans2(points, initial, iter=_ITERATIONS, minit="matrix")[0]
    found[1 : 1 + len(distinct)] = distinct
    return found
