"""Epochs, validation, the step log, warm starts, partial_fit, callbacks, and copies of a model."""

from __future__ import annotations

import copy
import os
import subprocess
import sys

import numpy as np
import pytest
from skorch.callbacks import Callback, EpochScoring

from sklearn_hashnlp.persistence import load_model
from sklearn_hashnlp.training import EarlyStopping, StepLog
from tests.language.hsigmoid.small_models import SENTENCES, VALID, VARIED, bytes_of, losses, make
from tests.trainings import assert_near, assert_other_bits, assert_same_bits


def test_validation_sentences():
    model = make(max_epochs=4).fit(SENTENCES, X_valid=VALID)
    assert set(model.history_[0]) == {
        "epoch", "train_loss", "valid_loss", "train_perplexity", "valid_perplexity", "dur"
    }  # fmt: skip
    assert losses(model, "valid_loss")[-1] == pytest.approx(-model.score(VALID), rel=1e-5)
    assert model.history_[0]["valid_perplexity"] == pytest.approx(
        np.exp(losses(model, "valid_loss")[0])
    )
    assert "i" not in model.vocabulary_
    assert "valid_loss" not in make().fit(SENTENCES).history_[0]
    with pytest.raises(ValueError, match="no window of 3 words to validate on"):
        make().fit(SENTENCES, X_valid=[])


@pytest.mark.parametrize("options", VARIED, ids=str)
def test_the_best_epoch_of_every_network(options):
    learning_rate = 10 * options.get("learning_rate", 0.1)
    options = {
        **options,
        "early_stopping": "valid_loss",
        "max_epochs": 12,
        "learning_rate": learning_rate,
    }
    model = make(**options).fit(SENTENCES, X_valid=VALID)
    valid_losses = losses(model, "valid_loss")
    assert -model.score(VALID) == pytest.approx(min(valid_losses), rel=1e-5)
    assert len(valid_losses) == min(valid_losses.index(min(valid_losses)) + 3, 12)  # patience is 2


def test_validation_sentences_are_split_off():
    model = make(early_stopping=EarlyStopping("valid_loss", 2, 0.2)).fit([*SENTENCES, "zebra"])
    assert "valid_loss" in model.history_[0]
    other = make(early_stopping=EarlyStopping("valid_loss", 2, 0.2), random_state=5).fit(
        [*SENTENCES, "zebra"]
    )
    assert_other_bits(bytes_of(other), bytes_of(model))
    unique = make(early_stopping=EarlyStopping("valid_loss", 2, 0.2)).fit(
        [f"word{number}" for number in range(10)]
    )
    # words are learned from those that are trained on alone
    assert len(unique.vocabulary_) == 8 + 3
    with pytest.raises(ValueError, match="cannot split a validation sentence off a single one"):
        make(early_stopping="valid_loss").fit(["a b"])


class Orders(Callback):
    def on_train_begin(self, net, **kwargs):
        self.orders: list[list[int]] = []

    def on_epoch_begin(self, net, **kwargs):
        self.orders.append([])

    def on_batch_begin(self, net, batch=None, training=False, **kwargs):
        self.orders[-1] += batch[1].tolist() if training else []


def test_every_epoch_has_an_order_and_dropout_of_its_own():
    orders = Orders()
    make(callbacks=[orders]).fit(SENTENCES)
    first, second, third = orders.orders
    assert first != second != third != first
    assert sorted(first) == sorted(second) == sorted(third)
    masks = []

    class Masks(Callback):
        def on_epoch_begin(self, net, **kwargs):
            masks.append(net.module_.dropout.generator.random())

    make(callbacks=[Masks()], regularization__dropout=0.5).fit(SENTENCES)
    assert len(set(masks)) == 3


def test_the_step_log(capsys):
    model = make(batch_size=16, callbacks=[StepLog(5)], verbose=2).fit(SENTENCES, X_valid=VALID)
    n_batches = -(-sum(len(sentence.split()) + 1 for sentence in SENTENCES) // 16)
    assert [entry["step"] for entry in model.log_] == list(range(5, n_batches + 1, 5)) * 3
    assert {entry["epoch"] for entry in model.log_} == {1, 2, 3}
    out = capsys.readouterr().out
    last = model.log_[-1]
    assert f"epoch 3, step {last['step']}: train loss {last['train_loss']:.4f}, perplexity" in out
    assert f"valid loss {last['valid_loss']:.4f}" in out
    assert out.count("step") == len(model.log_)
    for verbose in (0, 1, 3):
        make(callbacks=[StepLog(50)], verbose=verbose, max_epochs=1).fit(SENTENCES)
        out = capsys.readouterr().out
        assert bool(out) == (verbose > 0)
        assert ("train_perplexity" in out) == (verbose > 0)
        assert ("parameters on cpu" in out) == (verbose == 3)


def test_the_losses_of_the_step_log():
    n_words = sum(len(sentence.split()) + 1 for sentence in SENTENCES)
    n_batches = -(-n_words // 16)
    model = make(batch_size=16, callbacks=[StepLog(n_batches)]).fit(SENTENCES, X_valid=VALID)
    for name in ("train_loss", "valid_loss"):
        assert [entry[name] for entry in model.log_] == pytest.approx(losses(model, name), rel=1e-6)
    every_step = (
        make(batch_size=16, callbacks=[StepLog(1)]).fit(SENTENCES, X_valid=VALID).log_[:n_batches]
    )
    every_five = (
        make(batch_size=16, callbacks=[StepLog(5)])
        .fit(SENTENCES, X_valid=VALID)
        .log_[: n_batches // 5]
    )
    for entry in every_five:
        since = every_step[entry["step"] - 5 : entry["step"]]
        assert_near(entry["train_loss"], np.mean([step["train_loss"] for step in since]), rtol=1e-6)
        assert_same_bits(entry["valid_loss"], since[-1]["valid_loss"])


def test_warm_start():
    model = make(warm_start=True, far_context=2).fit(SENTENCES)
    first, net = bytes_of(model), model.net_
    model.fit([*SENTENCES, "new words"])
    assert model.net_ is net
    assert [entry["epoch"] for entry in model.history_] == [1, 2, 3, 4, 5, 6]
    assert_other_bits(bytes_of(model), first)
    assert "new" not in model.vocabulary_
    others = [
        {"hidden_size": 5},
        {"order": 4},
        {"padding": "reference"},
        {"embedding": "hash"},
        {"far_context": 3},
    ]
    others += [
        {"hidden_layer": "residual"},
        {"across_sentences": True},
        {"special_tokens": ("<b>", "<e>", "<u>")},
    ]
    for wrong in others:
        with pytest.raises(ValueError, match=f"with {next(iter(wrong))}=.*: it was trained with"):
            copy.deepcopy(model).set_params(**wrong).fit(SENTENCES)
    assert len(model.set_params(warm_start=False).fit(SENTENCES).history_) == 3
    assert_same_bits(bytes_of(model), first)


def test_partial_fit():
    model = make()
    for _ in range(3):
        model.partial_fit(SENTENCES)
    assert [entry["epoch"] for entry in model.history_] == [1, 2, 3]
    assert losses(model)[2] < losses(model)[0]
    assert not any(entry["batches"] for entry in model.net_.history)
    model.partial_fit(["words that nobody knows"])
    assert len(model.vocabulary_) == 11
    early = make(early_stopping="valid_loss", max_epochs=9).partial_fit(SENTENCES)
    assert len(early.history_) == 1
    assert_same_bits(bytes_of(early), bytes_of(make().partial_fit(SENTENCES)))


def test_callbacks_of_a_user():
    def perplexity(net, X, y=None):
        return float(np.exp(-net.score_windows(X).mean()))

    scoring = EpochScoring(perplexity, name="own", lower_is_better=True)
    model = make(callbacks=[("own", scoring)]).fit(SENTENCES, X_valid=VALID)
    np.testing.assert_allclose(
        model.net_.history[:, "own"], losses(model, "valid_perplexity"), rtol=1e-5
    )


@pytest.mark.gpu
@pytest.mark.parametrize("options", VARIED, ids=str)
def test_on_cuda(tmp_path, options):
    model = make(**options, device="cuda", checkpoint_dir=tmp_path).fit(SENTENCES, X_valid=VALID)
    assert losses(model)[-1] < losses(model)[0]
    assert model.net_.module_.hidden_layer.weight.device.type == "cuda"
    assert len(model.sample(3, 0)) == 3
    assert model.embeddings_.shape == (len(model.vocabulary_), 6)
    loaded = load_model(tmp_path / "epoch-00003")
    np.testing.assert_allclose(loaded.score_samples(VALID), model.score_samples(VALID), rtol=1e-4)
    code = (
        "import sys; from sklearn_hashnlp import load_model\n"
        "model = load_model(sys.argv[1]); print(model.net_.device, model.perplexity(['a b']))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "epoch-00003")],
        check=True, capture_output=True, text=True, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
    ).stdout.split()  # fmt: skip
    assert out[0] == "cpu"
    assert float(out[1]) == pytest.approx(model.perplexity(["a b"]), rel=1e-3)


@pytest.mark.gpu
def test_words_by_their_characters_on_cuda():
    options = {"embedding": "sgnn", "max_epochs": 2}
    on_cpu, on_gpu = (make(**options, device=device).fit(SENTENCES) for device in ("cpu", "cuda"))
    assert_near(on_gpu.score(SENTENCES), on_cpu.score(SENTENCES), atol=0.1)
    assert on_gpu.predict([SENTENCES[0].split()[0]]).shape == (1,)
    assert on_gpu.net_.module_.hidden_layer.weight.device.type == "cuda"
