"""Files of weights and folders of epochs, which are whole at any time."""

import pytest
from sklearn.exceptions import NotFittedError

from sklearn_hashnlp.language import HsigmoidLanguageModel
from sklearn_hashnlp.training._checkpoints import EpochCheckpoints, best_epoch


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
