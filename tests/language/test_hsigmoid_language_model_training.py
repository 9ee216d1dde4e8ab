"""How the model is trained, measured, kept and taken up again."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from skorch.callbacks import Callback, EpochScoring, TensorBoard

from sklearn_hashnlp.language import HsigmoidLanguageModel
from sklearn_hashnlp.persistence import load_model, save_model
from sklearn_hashnlp.trees import random_tree

RNG = np.random.default_rng(1)
SENTENCES = [" ".join(RNG.choice(list("abcdefgh"), size=RNG.integers(1, 7)).tolist()) for _ in range(60)]
VALID = [" ".join(RNG.choice(list("abcdefghi"), size=4).tolist()) for _ in range(20)]
SMALL = {"order": 3, "embedding_dim": 6, "hidden_size": 12, "batch_size": 16, "max_epochs": 3, "random_state": 0} | {
    "learning_rate_schedule": "constant",
    "dropout": 0.0,
}
VARIED = [
    {},
    {"output": "softmax", "dropout": 0.3, "embedding_dropout": 0.3},
    {"output": "adaptive", "optimizer": "adam", "learning_rate": 0.01},
    {"optimizer": "adam", "learning_rate": 0.01, "direct_connections": "hashed", "n_direct": 99},
    {"direct_connections": "hashed", "n_direct": 500, "tree": "cluster"},
    {"embedding": "hash", "n_embeddings": 200, "n_buckets": 50, "tree": "random"},
    {"embedding": "sgnn", "n_projections": 20, "tree": "random"},
    {"learning_rate_schedule": "linear", "init": "reference", "bias_learning_rate": 2.0},
]


def make(**options):
    return HsigmoidLanguageModel(**SMALL | options)


def bytes_of(model):
    return model.score_samples(VALID).tobytes()


def losses(model, name="train_loss"):
    return [entry[name] for entry in model.history_]


@pytest.mark.parametrize("options", VARIED, ids=str)
def test_the_same_seed_gives_the_same_bytes(options):
    before = torch.get_num_threads()
    try:
        found = set()
        for n_threads in (1, 2):
            torch.set_num_threads(n_threads)
            # So wide that torch, left alone, would share the matrix products out and round them otherwise.
            wide = make(**options | {"embedding_dim": 64, "hidden_size": 256, "batch_size": 512, "max_epochs": 1})
            found.add((bytes_of(make(**options).fit(SENTENCES)), bytes_of(wide.fit(SENTENCES * 10))))
    finally:
        torch.set_num_threads(before)
    assert len(found) == 1
    assert bytes_of(make(**options, random_state=1).fit(SENTENCES)) != found.pop()[0]


@pytest.mark.parametrize("options", [*VARIED, {"vocabulary": {"<s>": 0, "b": 1, "a": 2}}], ids=str)
def test_copies(tmp_path, options):
    model = make(**options).fit(SENTENCES, X_valid=VALID)
    joblib.dump(model, tmp_path / "model.joblib")
    save_model(model, tmp_path / "folder", training_state=True)
    expected = bytes_of(model)
    for other in (
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        joblib.load(tmp_path / "model.joblib"),
        load_model(tmp_path / "folder"),
    ):
        assert bytes_of(other) == expected
        assert other.history_ == model.history_
        assert other.vocabulary_ == model.vocabulary_
        assert other.get_params()["order"] == 3
        trained_on = bytes_of(other.partial_fit(VALID))
        assert trained_on != expected
    assert trained_on == bytes_of(model.partial_fit(VALID))


def test_a_tree_of_ones_own_is_saved(tmp_path):
    model = make(tree=random_tree(10, random_state=1)).fit(SENTENCES)
    save_model(model, tmp_path / "folder")
    loaded = load_model(tmp_path / "folder")
    assert loaded.tree == model.tree
    assert bytes_of(loaded) == bytes_of(model)


def test_in_another_process(tmp_path):
    model = make().fit(SENTENCES)
    joblib.dump(model, tmp_path / "model.joblib")
    save_model(model, tmp_path / "folder")
    code = (
        "import joblib, sys; from sklearn_hashnlp import load_model\n"
        "for model in (joblib.load(sys.argv[1]), load_model(sys.argv[2])):\n"
        "    print(model.score_samples(['a b', 'z']).tobytes().hex())"
    )
    run = [sys.executable, "-c", code, str(tmp_path / "model.joblib"), str(tmp_path / "folder")]
    out = subprocess.run(run, check=True, capture_output=True, text=True).stdout
    assert out.split() == [model.score_samples(["a b", "z"]).tobytes().hex()] * 2


def test_clones_and_searches():
    model = make(max_epochs=1)
    assert clone(model.fit(SENTENCES)).get_params() == model.get_params()
    assert not hasattr(clone(model), "net_")
    scores = cross_val_score(model, SENTENCES, cv=3)
    assert scores.shape == (3,)
    assert (scores < 0).all()
    tokens = [sentence.split() for sentence in SENTENCES]
    grid = GridSearchCV(make(), {"max_epochs": [1, 5], "output": ["hsigmoid", "softmax"]}, cv=2, error_score="raise")
    for X in (SENTENCES, tokens):
        grid.fit(X)
        assert np.isfinite(grid.cv_results_["mean_test_score"]).all()
        assert grid.score(X) == grid.best_estimator_.score(X)


def test_validation_sentences():
    model = make(max_epochs=4).fit(SENTENCES, X_valid=VALID)
    assert set(model.history_[0]) == {
        "epoch", "train_loss", "valid_loss", "train_perplexity", "valid_perplexity", "dur"
    }  # fmt: skip
    assert losses(model, "valid_loss")[-1] == pytest.approx(-model.score(VALID), rel=1e-5)
    assert model.history_[0]["valid_perplexity"] == pytest.approx(np.exp(losses(model, "valid_loss")[0]))
    assert "i" not in model.vocabulary_
    assert "valid_loss" not in make().fit(SENTENCES).history_[0]
    with pytest.raises(ValueError, match="no window of 3 words to validate on"):
        make().fit(SENTENCES, X_valid=[])


def test_early_stopping_keeps_the_best_epoch():
    options = {"early_stopping": True, "max_epochs": 30, "learning_rate": 1.0, "n_iter_no_change": 3}
    model = make(**options).fit(SENTENCES, X_valid=VALID)
    measured = losses(model, "valid_loss")
    assert len(measured) == measured.index(min(measured)) + 4 < 30
    assert -model.score(VALID) == pytest.approx(min(measured), rel=1e-6)
    exact = make(**{**options, "max_epochs": measured.index(min(measured)) + 1}).fit(SENTENCES, X_valid=VALID)
    assert bytes_of(exact) == bytes_of(model)


@pytest.mark.parametrize("options", VARIED, ids=str)
def test_the_best_epoch_of_every_network(options):
    learning_rate = 10 * options.get("learning_rate", 0.1)
    options = {**options, "early_stopping": True, "max_epochs": 12, "learning_rate": learning_rate}
    model = make(**options).fit(SENTENCES, X_valid=VALID)
    assert -model.score(VALID) == pytest.approx(min(losses(model, "valid_loss")), rel=1e-5)


def test_sentences_are_held_out():
    model = make(early_stopping=True, validation_fraction=0.2).fit([*SENTENCES, "zebra"])
    assert "valid_loss" in model.history_[0]
    other = make(early_stopping=True, validation_fraction=0.2, random_state=5).fit([*SENTENCES, "zebra"])
    assert bytes_of(other) != bytes_of(model)
    unique = make(early_stopping=True, validation_fraction=0.2).fit([f"word{number}" for number in range(10)])
    assert len(unique.vocabulary_) == 8 + 3  # words are learned from those that are trained on alone
    with pytest.raises(ValueError, match="cannot split a validation sentence off a single one"):
        make(early_stopping=True).fit(["a b"])


class Orders(Callback):
    def on_train_begin(self, net, **kwargs):
        self.orders: list[list[int]] = []

    def on_epoch_begin(self, net, **kwargs):
        self.orders.append([])

    def on_batch_begin(self, net, batch=None, training=False, **kwargs):
        self.orders[-1] += batch[1].tolist() if training else []


def test_orders():
    orders = Orders()
    make(callbacks=[orders]).fit(SENTENCES)
    first, second, third = orders.orders
    assert first != second != third != first
    assert sorted(first) == sorted(second) == sorted(third)
    make(callbacks=[orders], shuffle=False).fit(SENTENCES)
    assert orders.orders[0] == orders.orders[1] != sorted(first)
    masks = []

    class Masks(Callback):
        def on_epoch_begin(self, net, **kwargs):
            masks.append(net.module_.dropout.generator.random())

    make(callbacks=[Masks()], dropout=0.5).fit(SENTENCES)
    assert len(set(masks)) == 3


def test_what_is_noted_every_few_steps(capsys):
    model = make(log_every=5, verbose=2).fit(SENTENCES, X_valid=VALID)
    n_batches = -(-sum(len(sentence.split()) + 1 for sentence in SENTENCES) // 16)
    assert [entry["step"] for entry in model.log_] == list(range(5, n_batches + 1, 5)) * 3
    assert {entry["epoch"] for entry in model.log_} == {1, 2, 3}
    out = capsys.readouterr().out
    last = model.log_[-1]
    assert f"epoch 3, step {last['step']}: train loss {last['train_loss']:.4f}, perplexity" in out
    assert f"valid loss {last['valid_loss']:.4f}" in out
    assert out.count("step") == len(model.log_)
    for verbose in (0, 1, 3):
        make(log_every=50, verbose=verbose, max_epochs=1).fit(SENTENCES)
        out = capsys.readouterr().out
        assert bool(out) == (verbose > 0)
        assert ("train_perplexity" in out) == (verbose > 0)
        assert ("parameters on cpu" in out) == (verbose == 3)


def test_the_losses_that_are_noted():
    n_words = sum(len(sentence.split()) + 1 for sentence in SENTENCES)
    n_batches = -(-n_words // 16)
    model = make(log_every=n_batches).fit(SENTENCES, X_valid=VALID)
    for name in ("train_loss", "valid_loss"):
        assert [entry[name] for entry in model.log_] == pytest.approx(losses(model, name), rel=1e-6)
    every_step = make(log_every=1).fit(SENTENCES, X_valid=VALID).log_[:n_batches]
    every_five = make(log_every=5).fit(SENTENCES, X_valid=VALID).log_[: n_batches // 5]
    for entry in every_five:
        since = every_step[entry["step"] - 5 : entry["step"]]
        assert entry["train_loss"] == pytest.approx(np.mean([step["train_loss"] for step in since]), rel=1e-6)
        assert entry["valid_loss"] == since[-1]["valid_loss"]


def test_warm_start():
    model = make(warm_start=True).fit(SENTENCES)
    first, net = bytes_of(model), model.net_
    model.fit([*SENTENCES, "new words"])
    assert model.net_ is net
    assert [entry["epoch"] for entry in model.history_] == [1, 2, 3, 4, 5, 6]
    assert bytes_of(model) != first
    assert "new" not in model.vocabulary_
    for wrong in ({"hidden_size": 5}, {"order": 4}, {"padding": "reference"}, {"embedding": "hash"}):
        with pytest.raises(ValueError, match=f"made with another '{next(iter(wrong))}'"):
            copy.deepcopy(model).set_params(**wrong).fit(SENTENCES)
    assert len(model.set_params(warm_start=False).fit(SENTENCES).history_) == 3
    assert bytes_of(model) == first


def test_partial_fit():
    model = make()
    for _ in range(3):
        model.partial_fit(SENTENCES)
    assert [entry["epoch"] for entry in model.history_] == [1, 2, 3]
    assert losses(model)[2] < losses(model)[0]
    assert not any(entry["batches"] for entry in model.net_.history)
    model.partial_fit(["words that nobody knows"])
    assert len(model.vocabulary_) == 11
    early = make(early_stopping=True, max_epochs=9, max_time=1e-9).partial_fit(SENTENCES)
    assert len(early.history_) == 1
    assert bytes_of(early) == bytes_of(make().partial_fit(SENTENCES))


def test_max_time():
    model = make(max_epochs=10_000, max_time=0.2).fit(SENTENCES)
    assert 0 < len(model.history_) < 10_000
    model = make(max_time=1e-9).fit(SENTENCES)
    assert len(model.history_) == 1


@pytest.mark.parametrize("early_stopping", [False, True])
@pytest.mark.parametrize(("keep", "kept"), [("all", {1, 2, 3, 4, 5}), ("last", {5}), ("best", {2, 5})])
def test_passes_are_kept(tmp_path, keep, kept, early_stopping, monkeypatch):
    options = {"max_epochs": 5, "checkpoint_dir": tmp_path, "learning_rate": 1.0, "n_iter_no_change": None}
    model = make(**options, keep=keep, early_stopping=early_stopping).fit(SENTENCES, X_valid=VALID)
    measured = losses(model, "valid_loss")
    best = measured.index(min(measured)) + 1
    assert {int(path.name[5:]) for path in tmp_path.iterdir()} == {
        best if number == 2 else number for number in kept
    } | ({2} if keep == "all" else set())
    for path in tmp_path.iterdir():
        number = int(path.name[5:])
        assert -load_model(path).score(VALID) == pytest.approx(measured[number - 1], rel=1e-6)
    if keep != "last":
        found = load_model(tmp_path / f"pass-{best if early_stopping else 5:05d}")
        assert bytes_of(found) == bytes_of(model)


def test_passes_of_an_earlier_training_are_not_overwritten(tmp_path):
    model = make(checkpoint_dir=tmp_path, callbacks=[Callback()], random_state=np.random.RandomState(0)).fit(SENTENCES)
    with pytest.raises(ValueError, match=r"holds pass-0000. of an earlier training. Set resume=True"):
        model.fit(SENTENCES)
    model.set_params(warm_start=True).fit(SENTENCES)
    assert load_model(tmp_path / "pass-00006").history_[-1]["epoch"] == 6


class KilledError(Exception):
    pass


class KillAt(Callback):
    def __init__(self, epoch, at_batch=3):
        self.epoch, self.at_batch = epoch, at_batch

    def on_batch_begin(self, net, training=False, **kwargs):
        if training and len(net.history) == self.epoch and len(net.history[-1]["batches"]) > self.at_batch:
            raise KilledError


STOPPING = {"early_stopping": True, "learning_rate": 1.0, "n_iter_no_change": 3}


@pytest.mark.parametrize(
    ("options", "epoch"),
    [
        *((options, 3) for options in VARIED),
        *((STOPPING | {"lr_plateau": (1, 0.5)}, epoch) for epoch in (1, 2, 4)),
        (STOPPING | {"embedding": "hash", "n_buckets": 50, "n_embeddings": 99}, 4),
        ({"learning_rate_schedule": "linear", "log_every": 4}, 2),
    ],
    ids=str,
)
def test_a_training_that_was_killed_is_taken_up(tmp_path, options, epoch):
    options = {**options, "max_epochs": 6}
    whole = make(**options).fit(SENTENCES, X_valid=VALID)
    kept = {**options, "checkpoint_dir": tmp_path, "resume": True}
    with pytest.raises(KilledError):
        make(**kept, callbacks=[KillAt(epoch)]).fit(SENTENCES, X_valid=VALID)
    resumed = make(**kept).fit(SENTENCES, X_valid=VALID)
    assert bytes_of(resumed) == bytes_of(whole)
    assert losses(resumed) == losses(whole)
    assert resumed.log_ == whole.log_
    finished = make(**kept, callbacks=[KillAt(1)]).fit(SENTENCES, X_valid=VALID)
    assert bytes_of(finished) == bytes_of(whole)


def test_more_epochs_than_before(tmp_path):
    make(checkpoint_dir=tmp_path, max_epochs=2).fit(SENTENCES)
    model = make(checkpoint_dir=tmp_path, max_epochs=4, resume=True, random_state=77).fit(SENTENCES)
    assert bytes_of(model) == bytes_of(make(max_epochs=4).fit(SENTENCES))


@pytest.mark.parametrize(
    "wrong", [{"hidden_size": 5}, {"tree": "random"}, {"min_count": 25}, {"max_vocabulary": 3}], ids=str
)
def test_another_training_is_not_taken_up(tmp_path, wrong):
    make(checkpoint_dir=tmp_path, max_epochs=2).fit(SENTENCES)
    with pytest.raises(ValueError, match=r"cannot continue training a net|on other words or with another tree"):
        make(checkpoint_dir=tmp_path, max_epochs=4, resume=True, **wrong).fit(SENTENCES)


def test_held_out_sentences_are_the_same_when_taken_up(tmp_path):
    options = {
        "early_stopping": True,
        "max_epochs": 4,
        "random_state": None,
        "checkpoint_dir": tmp_path,
        "resume": True,
    }
    with pytest.raises(KilledError):
        make(**options, callbacks=[KillAt(3)]).fit(SENTENCES)
    first = load_model(tmp_path / "pass-00002")
    model = make(**options).fit(SENTENCES)
    assert model._seeds == first._seeds
    assert model.history_[:2] == first.history_


class Interrupt(Callback):
    def on_batch_begin(self, net, training=False, **kwargs):
        if training and len(net.history) == 3:
            os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt(tmp_path):
    model = make(max_epochs=9, callbacks=[Interrupt()], checkpoint_dir=tmp_path, early_stopping=True)
    model.set_params(n_iter_no_change=None)
    with pytest.warns(UserWarning, match="Training interrupted by user"):
        model.fit(SENTENCES, X_valid=VALID)
    assert len(model.history_) == 2
    assert -model.score(VALID) == pytest.approx(min(losses(model, "valid_loss")), rel=1e-6)
    model.set_params(callbacks=None, resume=True, max_epochs=4).fit(SENTENCES, X_valid=VALID)
    assert len(model.history_) == 4


class Writer:
    """Stands for torch.utils.tensorboard's."""

    def __init__(self):
        self.scalars: dict[str, list[float]] = {}

    def add_scalar(self, tag, scalar_value, global_step=None):
        self.scalars.setdefault(tag, []).append(scalar_value)

    def close(self):
        self.closed = True


def test_tensorboard():
    writer = Writer()
    model = make(callbacks=[TensorBoard(writer)]).fit(SENTENCES, X_valid=VALID)
    assert writer.scalars["Loss/valid_loss"] == losses(model, "valid_loss")
    assert writer.scalars["Loss/train_loss"] == losses(model)
    assert writer.scalars["Loss/valid_perplexity"] == losses(model, "valid_perplexity")


def test_callbacks_of_a_user():
    def perplexity(net, X, y=None):
        return float(np.exp(-net.score_windows(X).mean()))

    scoring = EpochScoring(perplexity, name="own", lower_is_better=True)
    model = make(callbacks=[("own", scoring)]).fit(SENTENCES, X_valid=VALID)
    np.testing.assert_allclose(model.net_.history[:, "own"], losses(model, "valid_perplexity"), rtol=1e-5)


def test_batches_of_past_epochs_are_dropped():
    model = make().fit(SENTENCES)
    assert [bool(entry["batches"]) for entry in model.net_.history] == [False, False, True]


def test_tags_and_repr():
    tags = make().__sklearn_tags__()
    assert tags.input_tags.string
    assert not tags.target_tags.required
    assert "order=3" in repr(make())


@pytest.mark.gpu
@pytest.mark.parametrize("options", VARIED, ids=str)
def test_on_cuda(tmp_path, options):
    model = make(**options, device="cuda", checkpoint_dir=tmp_path).fit(SENTENCES, X_valid=VALID)
    assert losses(model)[-1] < losses(model)[0]
    assert model.net_.module_.hidden_layer.weight.device.type == "cuda"
    assert len(model.sample(3, 0)) == 3
    assert model.embeddings_.shape == (len(model.vocabulary_), 6)
    there = load_model(tmp_path / "pass-00003")
    np.testing.assert_allclose(there.score_samples(VALID), model.score_samples(VALID), rtol=1e-4)
    code = (
        "import sys; from sklearn_hashnlp import load_model\n"
        "model = load_model(sys.argv[1]); print(model.net_.device, model.perplexity(['a b']))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "pass-00003")],
        check=True, capture_output=True, text=True, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
    ).stdout.split()  # fmt: skip
    assert out[0] == "cpu"
    assert float(out[1]) == pytest.approx(model.perplexity(["a b"]), rel=1e-3)


def test_cuda_where_there_is_none(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(RuntimeError, match=r"HsigmoidLanguageModel\(device='cuda'\) needs a CUDA device"):
        make(device="cuda").fit(SENTENCES)
    assert make(device="auto").fit(SENTENCES).net_.device == "cpu"


def test_a_folder_that_is_a_file(tmp_path):
    path = Path(tmp_path, "file")
    path.touch()
    with pytest.raises(OSError, match="file"):
        make(checkpoint_dir=path).fit(SENTENCES)
