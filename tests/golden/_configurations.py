"""All golden configurations, computed each in the same state."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tests.golden import _classifiers, _features, _language_models, _networks, _sentence_encoders
from tests.golden._register import CONFIGURATIONS, Arrays

# Importing a module enters its configurations.
MODULES = (_features, _classifiers, _networks, _language_models, _sentence_encoders)
KINDS = ("exact", "trained")
NAMES = {
    kind: [name for name, entry in CONFIGURATIONS.items() if entry.kind == kind] for kind in KINDS
}


@cache
def arrays_of(name: str) -> Arrays:
    """Compute a configuration, from fixed states of the global random number generators."""
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002  # what an estimator may read by mistake
    return CONFIGURATIONS[name].compute()


def digests_of(name: str) -> dict[str, str]:
    """Compute the SHA-256 digest of type, shape and bytes of each array of a configuration."""
    return {key: _digest(array) for key, array in arrays_of(name).items()}


def _digest(array: NDArray[Any]) -> str:
    little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
    head = f"{little.dtype.kind}{little.dtype.itemsize} {little.shape} "
    return hashlib.sha256(head.encode() + little.tobytes()).hexdigest()
