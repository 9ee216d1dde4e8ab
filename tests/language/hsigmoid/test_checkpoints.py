"""Checkpoints: a folder for each epoch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from skorch.callbacks import Callback

from sklearn_hashnlp.persistence import load_model
from sklearn_hashnlp.training import EarlyStopping
from tests.language.hsigmoid.small_models import SENTENCES, VALID, bytes_of, losses, make


@pytest.mark.parametrize("early_stopping", [False, EarlyStopping("valid_loss", patience=None)])
@pytest.mark.parametrize("keep", ["all", "best", None])
def test_which_epochs_are_kept(tmp_path, keep, early_stopping):
    folder = tmp_path if keep is None else (tmp_path, keep)
    options = {"max_epochs": 5, "checkpoint_dir": folder, "learning_rate": 1.0, "early_stopping": early_stopping}
    model = make(**options).fit(SENTENCES, X_valid=VALID)
    valid_losses = losses(model, "valid_loss")
    best = valid_losses.index(min(valid_losses)) + 1
    assert {int(path.name[6:]) for path in tmp_path.iterdir()} == ({1, 2, 3, 4, 5} if keep == "all" else {best, 5})
    for path in tmp_path.iterdir():
        number = int(path.name[6:])
        assert -load_model(path).score(VALID) == pytest.approx(valid_losses[number - 1], rel=1e-6)
    loaded = load_model(tmp_path / f"epoch-{best if early_stopping else 5:05d}")
    assert bytes_of(loaded) == bytes_of(model)
    assert loaded.checkpoint_dir == (str(tmp_path) if keep is None else (str(tmp_path), keep))


def test_epochs_of_an_earlier_training_are_not_overwritten(tmp_path):
    model = make(checkpoint_dir=tmp_path, callbacks=[Callback()], random_state=np.random.RandomState(0)).fit(SENTENCES)
    with pytest.raises(ValueError, match=r"holds epoch-0000. of an earlier training. Set resume=True"):
        model.fit(SENTENCES)
    model.set_params(warm_start=True).fit(SENTENCES)
    assert load_model(tmp_path / "epoch-00006").history_[-1]["epoch"] == 6


def test_a_folder_that_is_a_file(tmp_path):
    path = Path(tmp_path, "file")
    path.touch()
    with pytest.raises(OSError, match="file"):
        make(checkpoint_dir=path).fit(SENTENCES)
