"""Files of weights and folders of epochs, which are whole at any time."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from sklearn_hashnlp.language import HsigmoidLanguageModel
from sklearn_hashnlp.training import _checkpoints
from sklearn_hashnlp.training._checkpoints import EpochCheckpoints, best_epoch, read_weights, write_weights

ARRAYS = {"table.rows": np.array([3, 9]), "table.values": np.array([[1.5], [-0.0]], np.float32), "count": np.array(7)}


def test_what_was_written_is_read(tmp_path):
    path = tmp_path / "a" / "b" / "weights.safetensors"
    for factor in (1, 2):
        write_weights(path, {name: np.asarray(factor * array) for name, array in ARRAYS.items()})
        found = read_weights(path)
        assert {name: (array.dtype, array.tolist()) for name, array in found.items()} == {
            name: (array.dtype, (factor * array).tolist()) for name, array in ARRAYS.items()
        }
    assert list(path.parent.iterdir()) == [path]


def test_a_writer_that_fails_leaves_the_earlier_weights_and_nothing_else(tmp_path, monkeypatch):
    weights = tmp_path / "weights.safetensors"
    write_weights(weights, ARRAYS)

    def fail(arrays, path):
        path.write_bytes(b"half")
        raise OSError("No space left on device")

    monkeypatch.setattr(_checkpoints, "write_arrays", fail)
    with pytest.raises(OSError, match="No space left"):
        write_weights(weights, {})
    assert read_weights(weights).keys() == ARRAYS.keys()
    assert list(tmp_path.iterdir()) == [weights]


@pytest.fixture(scope="module")
def model():
    return HsigmoidLanguageModel(order=2, embedding_dim=2, hidden_size=2, max_epochs=1, random_state=0).fit(["a b"])


def test_a_folder_an_epoch(tmp_path, model):
    checkpoints = EpochCheckpoints(tmp_path / "deep" / "folder")
    assert checkpoints.epochs() == []
    checkpoints.save(model, 3)
    checkpoints.save(model, 12)
    checkpoints.save(model, 3)
    assert checkpoints.epochs() == [3, 12]
    assert sorted(path.name for path in checkpoints.folder.iterdir()) == ["epoch-00003", "epoch-00012"]
    assert checkpoints.load(3).perplexity(["a"]) == model.perplexity(["a"])
    checkpoints.remove(3)
    checkpoints.remove(4)
    assert checkpoints.epochs() == [12]


def test_nothing_unfinished_stays(tmp_path):
    checkpoints = EpochCheckpoints(tmp_path)
    with pytest.raises(NotFittedError):
        checkpoints.save(HsigmoidLanguageModel(), 1)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / ".unfinished-x").mkdir()
    (tmp_path / "notes.txt").touch()
    checkpoints.clear_unfinished()
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    assert checkpoints.epochs() == []


def test_the_best_epoch():
    losses = [{"train_loss": 3.0}, {"train_loss": 1.0}, {"train_loss": 2.0}, {"train_loss": 2.0}]
    assert [best_epoch(losses, first) for first in (0, 2, 4)] == [2, 3, 0]
