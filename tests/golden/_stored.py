"""Digests and samples of arrays, and the files that hold them."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.golden._configurations import NAMES, arrays_of
from tests.golden._register import DATA, Arrays

DIGESTS, VALUES = DATA / "digests.json", DATA / "values.npz"
N_VALUES = 200


def digests_of(name: str) -> dict[str, str]:
    """Compute the SHA-256 digest of each array of a configuration: its type, its shape, its bytes."""
    return {key: _digest(array) for key, array in arrays_of(name).items()}


def _digest(array: NDArray[Any]) -> str:
    little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
    head = f"{little.dtype.kind}{little.dtype.itemsize} {little.shape} "
    return hashlib.sha256(head.encode() + little.tobytes()).hexdigest()


def is_label(array: NDArray[Any]) -> bool:
    """Check whether an array holds labels, words or indices rather than floating-point numbers."""
    return array.dtype.kind != "f"


def values_of(arrays: Arrays) -> NDArray[np.float32]:
    """Return float32 values evenly spaced over all floating-point arrays of a configuration, end to end."""
    flat = np.concatenate([np.ravel(array).astype(np.float64) for array in arrays.values() if not is_label(array)])
    return flat[np.linspace(0, len(flat) - 1, N_VALUES).round().astype(np.int64)].astype(np.float32)


def labels_of(arrays: Arrays) -> NDArray[np.str_]:
    """Return all labels of a configuration as strings, end to end."""
    parts = [np.ravel(array).astype(str) for array in arrays.values() if is_label(array)]
    return np.concatenate([np.array([], dtype="<U1"), *parts])


def read_digests() -> dict[str, dict[str, str]]:
    """Read the stored digests of the exact configurations."""
    digests: dict[str, dict[str, str]] = json.loads(DIGESTS.read_text(encoding="utf-8"))
    return digests


def read_values() -> dict[str, NDArray[Any]]:
    """Read the stored values and labels of the trained configurations, each an array by name."""
    with np.load(VALUES, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def write_stored() -> None:
    """Replace the stored digests and values by those of this tree."""
    digests = {name: digests_of(name) for name in NAMES["exact"]}
    DIGESTS.write_text(json.dumps(digests, indent=1) + "\n", encoding="utf-8")
    stored: dict[str, Any] = {}
    for name in NAMES["trained"]:
        stored[f"{name}.values"] = values_of(arrays_of(name))
        stored[f"{name}.labels"] = labels_of(arrays_of(name))
    np.savez_compressed(VALUES, **stored)
