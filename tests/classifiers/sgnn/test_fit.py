"""SGNNClassifier: what it learns, what it refuses, and that it repeats itself."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import softmax
from sklearn.base import clone

from sklearn_hashnlp.classifiers import SGNNClassifier
from sklearn_hashnlp.nn import _layers
from sklearn_hashnlp.persistence import load_model, save_model
from sklearn_hashnlp.training import EarlyStopping, Schedule
from tests.trainings import assert_near, assert_same_bits

RNG = np.random.default_rng(0)
TARGETS = RNG.integers(0, 3, 300)
# Each class has a pattern of bits, and a third of each row's are turned over.
BITS = (RNG.integers(0, 2, (3, 64))[TARGETS] ^ (RNG.random((300, 64)) < 0.3)).astype(np.uint8)
PACKED = np.packbits(BITS, axis=1)
LABELS = np.array(["politics", "sport", "weather"])[TARGETS]
TRAIN, TEST = slice(0, 200), slice(200, 300)
SMALL = {
    "hidden_layer_sizes": (16, 8),
    "max_epochs": 15,
    "random_state": 0,
    "learning_rate": 0.01,
    "batch_size": 32,
}


@pytest.fixture(scope="module")
def fitted():
    return SGNNClassifier(**SMALL).fit(BITS[TRAIN], LABELS[TRAIN])


def weights_of(model):
    return {
        name: value.numpy().tobytes() for name, value in model.net_.module_.state_dict().items()
    }


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"hidden_layer_sizes": ()},
        {"dropout": 0.0, "input_dropout": 0.0},
        {"loss": "ova"},
        {"schedule": Schedule("linear", average=True)},
        {"batch_size": 1, "max_epochs": 3, "learning_rate": 0.003},
        {
            "schedule": Schedule("linear", plateau=(9, 0.5)),
            "early_stopping": EarlyStopping(validation_fraction=0.2),
        },
        {"class_weight": "balanced"},
    ],
    ids=str,
)
def test_it_learns_with_every_option(options):
    model = SGNNClassifier(**SMALL | options).fit(BITS[TRAIN], LABELS[TRAIN])
    assert model.score(BITS[TEST], LABELS[TEST]) > 0.9
    assert model.history_[-1]["train_loss"] < model.history_[0]["train_loss"]


def test_its_calibration_is_a_temperature_and_is_saved(tmp_path):
    model, same = (
        SGNNClassifier(**SMALL, calibrate=one).fit(BITS, LABELS) for one in ("auto", "temperature")
    )
    assert model.temperature_ != 1
    assert_same_bits(same.predict_proba(BITS), model.predict_proba(BITS))
    save_model(model.partial_fit(BITS[TEST], LABELS[TEST]), tmp_path / "model")
    counts = np.bincount(np.append(TARGETS, TARGETS[TEST])).tolist()
    for one in (model, load_model(tmp_path / "model")):
        assert one._calibration.class_counts.tolist() == [*counts, 400]
        assert (one._calibration.n_rows, one.temperature_) == (400, model.temperature_)


def test_packed_rows_make_the_same_model_to_the_last_bit():
    plain = SGNNClassifier(**SMALL).fit(BITS, LABELS)
    packed = SGNNClassifier(**SMALL, packed=True).fit(PACKED, LABELS)
    assert_same_bits(weights_of(packed), weights_of(plain))
    assert_same_bits(packed.predict_proba(PACKED), plain.predict_proba(BITS))
    assert (packed.n_features_in_, plain.n_features_in_) == (8, 64)
    expected = plain.predict_proba(BITS.astype(np.float32)).tobytes()
    packed.set_params(packed=False)  # what rows are is what they were in fit
    plain.set_params(packed=True)
    assert_same_bits(
        packed.predict_proba(PACKED).tobytes(),
        plain.predict_proba(BITS.astype(np.float32)).tobytes(),
        expected,
    )


def test_no_more_than_a_batch_is_unpacked_at_once(monkeypatch):
    widths = []
    real = _layers.DenseNetwork.unpack

    def unpack(self, rows, *args):
        assert rows.dtype == torch.uint8
        widths.append(len(rows))
        return real(self, rows, *args)

    monkeypatch.setattr(_layers.DenseNetwork, "unpack", unpack)
    many = np.repeat(BITS, 20, axis=0)
    model = (
        SGNNClassifier(**SMALL | {"max_epochs": 1})
        .set_params(batch_size=50)
        .fit(many, np.repeat(LABELS, 20))
    )
    assert max(widths) == 1024
    assert widths.count(50) == 120
    widths.clear()
    model.predict(many)
    assert sorted(widths) == [6000 - 5 * 1024, *[1024] * 5]


def test_scores_are_the_module_by_hand(fitted):
    module = fitted.net_.module_
    out = (BITS - BITS[TRAIN].mean(axis=0)) / np.sqrt(BITS[TRAIN].var(axis=0).mean())
    for place, layer in enumerate(
        layers := [layer for layer in module.head if isinstance(layer, torch.nn.Linear)]
    ):
        out = out @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()
        out = np.maximum(out, 0) if place + 1 < len(layers) else out
    np.testing.assert_allclose(fitted.decision_function(BITS), out, rtol=1e-4, atol=1e-4)
    odds = np.exp(out)
    np.testing.assert_allclose(
        fitted.predict_proba(BITS), odds / odds.sum(axis=1, keepdims=True), atol=1e-4
    )
    assert fitted.predict(BITS).tolist() == fitted.classes_[out.argmax(axis=1)].tolist()
    assert fitted.n_parameters_ == 64 * 16 + 16 + 16 * 8 + 8 + 8 * 3 + 3
    best = fitted.predict_topk(BITS[:1], k=2)[0]
    assert [label for label, _ in best] == fitted.classes_[np.argsort(-out[0])[:2]].tolist()


def test_parts_are_learned_one_after_the_other():
    model = SGNNClassifier(**SMALL)
    for _ in range(10):
        for part in (TRAIN, TEST):
            model.partial_fit(BITS[part], LABELS[part], classes=["politics", "sport", "weather"])
    assert model.score(BITS, LABELS) > 0.9
    assert len(model.history_) == 20
    standardize = model.net_.module_.standardize
    np.testing.assert_allclose(standardize.mean, BITS.mean(axis=0), rtol=1e-9)
    assert float(standardize.n_rows) == 3000
    with pytest.raises(ValueError, match="class_weight='balanced' is not for partial_fit"):
        SGNNClassifier(class_weight="balanced").partial_fit(BITS, LABELS, classes=LABELS)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hidden_layer_sizes", (16,)),
        ("dropout", 0.1),
        ("input_dropout", 0.1),
        ("loss", "ova"),
        ("packed", True),
    ],
)
def test_parameters_of_the_net_may_not_change_in_a_warm_start(name, value):
    model = SGNNClassifier(**SMALL | {"max_epochs": 1}, warm_start=True).fit(BITS, LABELS)
    net = model.net_
    assert len(model.fit(BITS, LABELS).history_) == 2
    assert model.net_ is net
    with pytest.raises(ValueError, match=f"with {name}=.*: it was trained with "):
        model.set_params(**{name: value}).fit(BITS, LABELS)


@pytest.mark.parametrize(
    "rows", [BITS.astype(np.int64), BITS.astype(np.float32), BITS.astype(bool), BITS.tolist()]
)
def test_packed_rows_are_bytes(rows):
    model = SGNNClassifier(**SMALL | {"max_epochs": 1}, packed=True)
    message = (
        r"SGNNClassifier\(packed=True\) takes rows of bytes, an array of uint8, got one of .* "
        r"numpy.packbits"
    )
    with pytest.raises(ValueError, match=message):
        model.fit(rows, LABELS)
    with pytest.raises(ValueError, match=message):
        clone(model).fit(BITS, LABELS).predict(rows)


@pytest.mark.parametrize(
    ("n_rows", "n_epochs"),
    [(1, 20), (50_000, 20), (52_631, 19), (100_000, 10), (200_001, 5), (10**7, 5)],
)
def test_the_automatic_number_of_epochs(n_rows, n_epochs):
    assert SGNNClassifier()._settings(n_rows, 0).max_epochs == n_epochs
    assert SGNNClassifier(max_epochs=3)._settings(n_rows, 0).max_epochs == 3


@pytest.mark.gpu
@pytest.mark.parametrize("packed", [False, True])
def test_cuda_learns_what_the_cpu_learns(packed, tmp_path):
    rows = PACKED if packed else BITS
    still = {"dropout": 0.0, "input_dropout": 0.0, "packed": packed}
    models = [
        SGNNClassifier(**SMALL | still, device=device).fit(rows, LABELS)
        for device in ("cpu", "cuda")
    ]
    assert next(models[1].net_.module_.parameters()).is_cuda
    assert_near(models[1].predict_proba(rows), models[0].predict_proba(rows), atol=1e-2)
    dropping = SGNNClassifier(**SMALL, packed=packed, device="cuda").fit(rows, LABELS)
    assert dropping.score(rows, LABELS) > 0.9
    dropping.partial_fit(rows, LABELS)
    save_model(dropping, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.predict_proba(rows).tobytes() == dropping.predict_proba(rows).tobytes()


def test_only_the_temperature_is_fitted():
    """All rows of dense columns keep their scores."""
    model = SGNNClassifier(**SMALL).fit(BITS[TRAIN], LABELS[TRAIN])
    for part in (slice(200, 250), slice(250, 300)):
        model._calibration.temperature = 100.0
        model.partial_fit(BITS[part], LABELS[part])
        assert model.temperature_ < 90
        assert model._calibration.half == 0
        assert len(model._calibration.common_columns) == 0
        logits = model.net_.score_rows(model._rows(BITS[part])) / model.temperature_
        assert_near(model.predict_proba(BITS[part]), softmax(logits, axis=1), rtol=1e-6)
