"""Weights on disk are the old ones or the new ones, whatever happens."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_hashnlp.training import _checkpoints
from sklearn_hashnlp.training._checkpoints import read_checkpoint, write_checkpoint

ARRAYS = {"table.rows": np.array([3, 9]), "table.values": np.array([[1.5], [-0.0]], np.float32), "count": np.array(7)}


def test_what_was_written_is_read(tmp_path):
    path = tmp_path / "a" / "b" / "weights.safetensors"
    for factor in (1, 2):
        write_checkpoint(path, {name: np.asarray(factor * array) for name, array in ARRAYS.items()})
        found = read_checkpoint(path)
        assert {name: (array.dtype, array.tolist()) for name, array in found.items()} == {
            name: (array.dtype, (factor * array).tolist()) for name, array in ARRAYS.items()
        }
    assert list(path.parent.iterdir()) == [path]


def test_a_writer_that_fails_leaves_the_earlier_weights_and_nothing_else(tmp_path, monkeypatch):
    weights = tmp_path / "weights.safetensors"
    write_checkpoint(weights, ARRAYS)

    def fail(arrays, path):
        path.write_bytes(b"half")
        raise OSError("No space left on device")

    monkeypatch.setattr(_checkpoints, "save_file", fail)
    with pytest.raises(OSError, match="No space left"):
        write_checkpoint(weights, {})
    assert read_checkpoint(weights).keys() == ARRAYS.keys()
    assert list(tmp_path.iterdir()) == [weights]
