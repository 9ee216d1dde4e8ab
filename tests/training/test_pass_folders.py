from __future__ import annotations

import pytest
from sklearn.exceptions import NotFittedError

from sklearn_hashnlp.language import HsigmoidLanguageModel
from sklearn_hashnlp.training._checkpoints import EpochCheckpoints, best_epoch


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
