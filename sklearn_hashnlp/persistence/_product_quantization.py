"""Product quantization of a matrix: each two columns of a row become one byte, the number of a centroid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

N_CENTROIDS = 256
_PART = 2  # columns of a part; the last may have one
_MAX_ROWS = 2**16  # of a sample from which centroids are computed, as in fastText
_ITERATIONS = 25
_BLOCK = 2**20  # rows that are compared with the centroids at once


def quantize(matrix: NDArray[np.float32]) -> tuple[NDArray[np.uint8], list[NDArray[np.float32]]]:
    """Return the codes of all rows, (n_rows, n_parts), and for each part its centroids, (256, columns).

    The first centroid is zero: rows that were never trained stay zero. The others are those of k-means.
    """
    parts = range(0, matrix.shape[1], _PART)
    codes, centroids = np.zeros((len(matrix), len(parts)), dtype=np.uint8), []
    for index, start in enumerate(parts):
        part = np.ascontiguousarray(matrix[:, start : start + _PART])
        centroids.append(_centroids(part))
        for first in range(0, len(part), _BLOCK):
            codes[first : first + _BLOCK, index] = _nearest(part[first : first + _BLOCK], centroids[-1])
    return codes, centroids


def _centroids(part: NDArray[np.float32]) -> NDArray[np.float32]:
    from scipy.cluster.vq import kmeans2

    found = np.zeros((N_CENTROIDS, part.shape[1]), dtype=np.float32)
    rng, trained = np.random.default_rng(0), np.flatnonzero(part.any(axis=1))
    sample = part[trained if len(trained) <= _MAX_ROWS else rng.choice(trained, _MAX_ROWS, replace=False)]
    points = np.unique(sample, axis=0)
    if len(points) >= N_CENTROIDS:
        initial = points[rng.choice(len(points), N_CENTROIDS - 1, replace=False)]
        points = kmeans2(sample, initial, iter=_ITERATIONS, minit="matrix", missing="warn")[0]
    found[1 : 1 + len(points)] = points
    return found


def _nearest(part: NDArray[np.float32], centroids: NDArray[np.float32]) -> NDArray[np.int32]:
    from scipy.cluster.vq import vq

    return np.asarray(vq(part, centroids)[0])
