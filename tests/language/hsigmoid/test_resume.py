"""Checkpoints, and resumed trainings, which end as if they had never been interrupted."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import is_dataclass
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from skorch.callbacks import Callback
from torch import Tensor

from sklearn_hashnlp.persistence import load_model, save_model
from sklearn_hashnlp.training import EarlyStopping, StepLog
from sklearn_hashnlp.training._checkpoints import Checkpoints
from tests.language.hsigmoid.small_models import SENTENCES, VALID, VARIED, bytes_of, losses, make
from tests.trainings import assert_same_bits


@pytest.mark.parametrize("early_stopping", [False, EarlyStopping("valid_loss", patience=None)])
@pytest.mark.parametrize("keep", ["all", "best", None])
def test_which_epochs_are_kept(tmp_path, keep, early_stopping):
    folder = tmp_path if keep is None else (tmp_path, keep)
    options = {
        "max_epochs": 5,
        "checkpoint_dir": folder,
        "learning_rate": 1.0,
        "early_stopping": early_stopping,
    }
    model = make(**options).fit(SENTENCES, X_valid=VALID)
    valid_losses = losses(model, "valid_loss")
    best = valid_losses.index(min(valid_losses)) + 1
    assert {int(path.name[6:]) for path in tmp_path.iterdir()} == (
        {1, 2, 3, 4, 5} if keep == "all" else {best, 5}
    )
    for path in tmp_path.iterdir():
        number = int(path.name[6:])
        assert -load_model(path).score(VALID) == pytest.approx(valid_losses[number - 1], rel=1e-6)
    loaded = load_model(tmp_path / f"epoch-{best if early_stopping else 5:05d}")
    assert bytes_of(loaded) == bytes_of(model)
    assert loaded.checkpoint_dir == (str(tmp_path) if keep is None else (str(tmp_path), keep))


def test_epochs_of_an_earlier_training_are_not_overwritten(tmp_path):
    model = make(
        checkpoint_dir=tmp_path, callbacks=[Callback()], random_state=np.random.RandomState(0)
    ).fit(SENTENCES)
    with pytest.raises(ValueError, match=r"already has epoch-0000\d\. Set resume=True to continue"):
        model.fit(SENTENCES)
    model.set_params(warm_start=True).fit(SENTENCES)
    assert load_model(tmp_path / "epoch-00006").history_[-1]["epoch"] == 6


def test_an_epoch_is_saved_again(tmp_path, model):
    checkpoints = Checkpoints(tmp_path)
    for epoch in (3, 12, 3):
        checkpoints.save(model, epoch)
    checkpoints.remove(4)  # is not there
    assert checkpoints.epochs() == [3, 12]


def test_a_folder_that_is_a_file(tmp_path):
    path = Path(tmp_path, "file")
    path.touch()
    with pytest.raises(OSError, match="file"):
        make(checkpoint_dir=path).fit(SENTENCES)


class KilledError(Exception):
    pass


class KillAt(Callback):
    def __init__(self, epoch, at_batch=3):
        self.epoch, self.at_batch = epoch, at_batch

    def on_batch_begin(self, net, training=False, **kwargs):
        if (
            training
            and len(net.history) == self.epoch
            and len(net.history[-1]["batches"]) > self.at_batch
        ):
            raise KilledError


STOPPING = {"early_stopping": EarlyStopping("valid_loss", patience=3), "learning_rate": 1.0}


@pytest.mark.parametrize(
    ("options", "epoch"),
    [
        *((options, 2) for options in VARIED),
        *((STOPPING | {"schedule__plateau": (1, 0.5)}, epoch) for epoch in (1, 4)),
        (STOPPING | {"embedding": ("hash", 99, 50)}, 4),
        pytest.param(
            {"schedule__decay": "linear", "callbacks": [StepLog(4)]}, 2, id="a log of steps"
        ),
    ],
    ids=str,
)
def test_a_training_that_was_killed_is_resumed(tmp_path, options, epoch):
    options = {**options, "max_epochs": 6 if "early_stopping" in options else epoch}
    whole = make(**options).fit(SENTENCES, X_valid=VALID)
    kept = {**options, "checkpoint_dir": tmp_path, "resume": True}
    with pytest.raises(KilledError):
        make(**kept | {"callbacks": [*options.get("callbacks", []), KillAt(epoch)]}).fit(
            SENTENCES, X_valid=VALID
        )
    resumed = make(**kept).fit(SENTENCES, X_valid=VALID)
    assert_same_bits(bytes_of(resumed), bytes_of(whole))
    assert_same_bits(losses(resumed), losses(whole))
    assert_same_bits(resumed.log_, whole.log_)
    finished = make(**kept | {"callbacks": [KillAt(1)]}).fit(SENTENCES, X_valid=VALID)
    assert_same_bits(bytes_of(finished), bytes_of(whole))
    for name in ("learning_rate_", "batch_size_", "max_epochs_"):
        assert_same_bits(getattr(finished, name), getattr(resumed, name), getattr(whole, name))
    save_model(finished.set_params(callbacks=None), tmp_path / "saved")


def tensors_in(value):
    if isinstance(value, Tensor):
        return [value]
    parts = (
        value.values()
        if isinstance(value, dict)
        else value
        if isinstance(value, list | tuple)
        else ()
    )
    if isinstance(value, Callback) or is_dataclass(value):
        parts = vars(value).values()
    return [tensor for part in parts for tensor in tensors_in(part)]


def test_a_resumed_model_keeps_no_second_copy_of_its_weights(tmp_path):
    options = STOPPING | {
        "schedule__decay": "linear",
        "max_epochs": 6,
        "checkpoint_dir": tmp_path,
        "resume": True,
    }
    with pytest.raises(KilledError):
        make(**options, callbacks=[KillAt(2)]).fit(SENTENCES, X_valid=VALID)
    resumed = make(**options).fit(SENTENCES, X_valid=VALID)
    assert tensors_in([callback for _, callback in resumed.net_.callbacks_]) == []


def test_partial_files_of_a_killed_training_are_deleted(tmp_path):
    options = {"checkpoint_dir": tmp_path, "resume": True}
    make(**options).fit(SENTENCES)
    shutil.copytree(tmp_path / "epoch-00003", tmp_path / ".unfinished-killed")
    (tmp_path / ".unfinished-killed" / "sklearn-hashnlp.lock").touch()
    (tmp_path / "notes.txt").touch()
    make(**options).fit(SENTENCES)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["epoch-00003", "notes.txt"]


def test_another_learning_rate_than_before(tmp_path):
    options = {"schedule__decay": "constant", "checkpoint_dir": tmp_path, "resume": True}
    make(**options, learning_rate=0.5, max_epochs=2).fit(SENTENCES)
    resumed = make(**options, learning_rate=0.25, max_epochs=3).fit(SENTENCES)
    assert resumed.learning_rate_ == 0.25
    assert {group["lr"] for group in resumed.net_.optimizer_.param_groups} == {0.25}
    with pytest.raises(ValueError, match="with optimizer='sgd': it was trained with 'adagrad'"):
        make(**options, optimizer="sgd", max_epochs=4).fit(SENTENCES)


def test_more_epochs_than_before(tmp_path):
    make(checkpoint_dir=tmp_path, max_epochs=2).fit(SENTENCES)
    model = make(checkpoint_dir=tmp_path, max_epochs=4, resume=True, random_state=77).fit(SENTENCES)
    assert_same_bits(bytes_of(model), bytes_of(make(max_epochs=4).fit(SENTENCES)))


class Rates(Callback):
    """Collect the learning rate of each step."""

    def __init__(self):
        self.rates = []

    def on_batch_end(self, net, training=False, **kwargs):
        if training:
            self.rates.append([group["lr"] for group in net.optimizer_.param_groups])


@pytest.mark.parametrize(("planned", "done", "max_epochs"), [(2, 2, 6), (6, 2, 3), (4, 1, 8)])
def test_another_number_of_epochs_plans_the_linear_schedule_anew(
    tmp_path, planned, done, max_epochs
):
    options = {
        "schedule__decay": "linear",
        "schedule__warmup_steps": 5,
        "direct_connections": ("hashed", 99),
    }
    options |= {"schedule__direct_learning_rate": 2.0}
    kept = options | {"checkpoint_dir": tmp_path, "resume": True}
    earlier = Rates()
    with suppress(KilledError):
        make(**kept, max_epochs=planned, callbacks=[earlier, KillAt(done + 1)]).fit(SENTENCES)
    assert load_model(tmp_path / f"epoch-{done:05d}").max_epochs_ == planned
    whole, later = Rates(), Rates()
    make(**options, max_epochs=max_epochs, callbacks=[whole]).fit(SENTENCES)
    make(**kept, max_epochs=max_epochs, callbacks=[later]).fit(SENTENCES)
    n_steps = len(whole.rates) * (max_epochs - done) // max_epochs
    np.testing.assert_allclose(later.rates, whole.rates[-n_steps:])
    # trained at other rates than those of the new plan: not the same weights
    n_before = len(whole.rates) - n_steps
    assert (np.array(earlier.rates[1:n_before]) != np.array(whole.rates[1:n_before])).all()


@pytest.mark.parametrize(
    "wrong",
    [{"hidden_size": 5}, {"tree": "random"}, {"min_count": 25}, {"max_features": 3}],
    ids=str,
)
def test_another_training_is_not_resumed(tmp_path, wrong):
    make(checkpoint_dir=tmp_path, max_epochs=2).fit(SENTENCES)
    with pytest.raises(
        ValueError, match=r"cannot continue training (with (hidden_size|tree)=|on these words)"
    ):
        make(checkpoint_dir=tmp_path, max_epochs=4, resume=True, **wrong).fit(SENTENCES)


def test_validation_sentences_are_the_same_when_resumed(tmp_path):
    options = {
        "early_stopping": "valid_loss",
        "max_epochs": 4,
        "random_state": None,
        "checkpoint_dir": tmp_path,
        "resume": True,
    }
    with pytest.raises(KilledError):
        make(**options, callbacks=[KillAt(3)]).fit(SENTENCES)
    first = load_model(tmp_path / "epoch-00002")
    model = make(**options).fit(SENTENCES)
    assert model._seeds == first._seeds
    assert model.history_[:2] == first.history_


def into(folder, **options):
    return make(**{"max_epochs": 2, "checkpoint_dir": folder, "resume": True} | options)


@pytest.mark.parametrize(
    "others",
    [SENTENCES[::-1], SENTENCES[1:], [*SENTENCES, "a b"], [*SENTENCES[:-1], "h g f e d c b a"]],
    ids=len,
)
def test_other_sentences(tmp_path, others):
    into(tmp_path).fit(SENTENCES)
    with pytest.raises(ValueError, match=r"on these (sentences|words): it was trained on others"):
        into(tmp_path, max_epochs=3).fit(others)
    into(tmp_path, max_epochs=3).fit(iter(SENTENCES))


def test_folds_are_not_taken_for_each_other(tmp_path):
    with pytest.raises(
        ValueError, match="each fold of a cross-validation needs a folder of its own"
    ):
        cross_val_score(
            into(tmp_path, vocabulary={"a": 0, "b": 1}), SENTENCES, cv=3, error_score="raise"
        )


@pytest.mark.parametrize("early_stopping", [False, "valid_loss"])
def test_validation_sentences_that_were_added_or_left_out(tmp_path, early_stopping):
    into(tmp_path / "without").fit(SENTENCES)
    with pytest.raises(
        ValueError, match="training with validation sentences: it was trained without them"
    ):
        into(tmp_path / "without", early_stopping=early_stopping).fit(SENTENCES, X_valid=VALID)
    into(tmp_path / "with", early_stopping=early_stopping).fit(SENTENCES, X_valid=VALID)
    with pytest.raises(
        ValueError, match="training without validation sentences: it was trained with them"
    ):
        into(tmp_path / "with").fit(SENTENCES)


def test_the_best_epoch_is_gone(tmp_path):
    stopping = EarlyStopping("valid_loss", patience=None)
    options = {
        "early_stopping": stopping,
        "learning_rate": 0.1,
        "optimizer": "adam",
        "max_epochs": 9,
    }
    valid_losses = losses(into(tmp_path, **options).fit(SENTENCES, X_valid=VALID), "valid_loss")
    best = valid_losses.index(min(valid_losses)) + 1
    assert best < 9
    shutil.rmtree(tmp_path / f"epoch-{best:05d}")
    with pytest.raises(ValueError, match=f"lacks epoch-0000{best}, the best epoch"):
        into(tmp_path, **options).fit(SENTENCES, X_valid=VALID)
    last = (
        into(tmp_path, **options)
        .set_params(early_stopping__restore_best=False)
        .fit(SENTENCES, X_valid=VALID)
    )
    assert bytes_of(last) == bytes_of(load_model(tmp_path / "epoch-00009"))


def test_the_digest_of_the_windows_is_saved(tmp_path):
    model = into((tmp_path, "all")).fit(SENTENCES)
    assert load_model(tmp_path / "epoch-00001")._trained_on == model._trained_on is not None
    assert model.partial_fit(SENTENCES)._trained_on is None
