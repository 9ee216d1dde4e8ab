"""Files of weights and folders of epochs, which are whole at any time."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from sklearn_hashnlp.language import HsigmoidLanguageModel
from sklearn_hashnlp.training import _checkpoints
from sklearn_hashnlp.training._checkpoints import EpochCheckpoints, best_epoch, read_checkpoint, write_checkpoint

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


@pytest.fixture(scope="module")
def model():
    return HsigmoidLanguageModel(order=2, embedding_dim=2, hidden_size=2, max_epochs=1, random_state=0).fit(["a b"])


def test_a_folder_a_pass(tmp_path, model):
    passes = EpochCheckpoints(tmp_path / "deep" / "folder")
    assert passes.numbers() == []
    passes.save(model, 3)
    passes.save(model, 12)
    passes.save(model, 3)
    assert passes.numbers() == [3, 12]
    assert sorted(path.name for path in passes.folder.iterdir()) == ["pass-00003", "pass-00012"]
    assert passes.load(3).perplexity(["a"]) == model.perplexity(["a"])
    passes.remove(3)
    passes.remove(4)
    assert passes.numbers() == [12]


def test_nothing_unfinished_stays(tmp_path):
    passes = EpochCheckpoints(tmp_path)
    with pytest.raises(NotFittedError):
        passes.save(HsigmoidLanguageModel(), 1)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / ".unfinished-x").mkdir()
    (tmp_path / "notes.txt").touch()
    passes.clear_unfinished()
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    assert passes.numbers() == []


def test_the_best_epoch():
    losses = [{"train_loss": 3.0}, {"train_loss": 1.0}, {"train_loss": 2.0}, {"train_loss": 2.0}]
    assert [best_epoch(losses, first) for first in (0, 2, 4)] == [2, 3, 0]
