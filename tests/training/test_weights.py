"""The weights of a fitted classifier are written as values and arrays, and are the same when they
are read.
"""

import copy
import json
import pickle

import numpy as np
import pytest
import torch
from scipy.sparse import random_array
from sklearn.base import clone

from sklearn_hashnlp.classifiers import EmbeddingTables, HashEmbeddingClassifier
from sklearn_hashnlp.classifiers._labels import pack_labels
from sklearn_hashnlp.nn._layers import DenseNetwork
from sklearn_hashnlp.persistence import load_model, save_model
from sklearn_hashnlp.persistence._tables import pack_table, unpack_table
from sklearn_hashnlp.training import EarlyStopping, Schedule
from sklearn_hashnlp.training._loop import load_arrays, module_to_arrays

X = random_array(
    (60, 10**6), density=2e-5, format="csr", rng=np.random.default_rng(0), dtype=np.float32
)
LABELS = {
    "strings": np.array(["no", "yes", "perhaps"]),
    "objects": np.array(["no", "yes", "perhaps"], dtype=object),
    "integers": np.array([-3, 5, 10**12]),
    "small integers": np.array([0, 1, 2], dtype=np.int8),
    "bools": np.array([True, False]),
}
SMALL = {"n_buckets": 500, "n_embeddings": 3000, "random_state": 0}


def through_json(values, arrays):
    assert all(array.dtype != object for array in arrays.values())
    return json.loads(json.dumps(values)), {name: array.copy() for name, array in arrays.items()}


def test_a_state_of_another_tree_is_refused():
    model = HashEmbeddingClassifier(**SMALL, loss="hsigmoid").fit(X, np.resize(["a", "b", "c"], 60))
    values, arrays = model._get_model_state()
    with pytest.raises(ValueError, match="another tree"):
        clone(model)._set_model_state(
            values, arrays | {"head.0._extra_state": arrays["head.0._extra_state"] + 1}
        )


@pytest.mark.parametrize(
    ("options", "labels"),
    [
        *(({}, labels) for labels in LABELS),
        ({"embedding": EmbeddingTables(importance_init="zeros")}, "strings"),
        ({"early_stopping": EarlyStopping(validation_fraction=0.4)}, "strings"),
        ({"variant": "standard"}, "strings"),
        ({"variant": "paper", "hidden_layer_sizes": (6,)}, "strings"),
        ({"n_buckets": 10**6, "n_embeddings": 10**7}, "strings"),
        ({"loss": "hsigmoid", "tree": "huffman", "hidden_layer_sizes": (6,)}, "strings"),
    ],
    ids=str,
)
def test_a_round_trip_gives_the_same_probabilities(options, labels):
    model = HashEmbeddingClassifier(**SMALL | options).fit(X, np.resize(LABELS[labels], 60))
    values, arrays = through_json(*model._get_model_state())
    again = clone(model)
    again._set_model_state(values, arrays)
    assert again.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    assert again.classes_.dtype == model.classes_.dtype
    assert again.classes_.tolist() == model.classes_.tolist()
    assert again.history_ == model.history_
    assert (again.n_features_in_, again.n_parameters_) == (
        model.n_features_in_,
        model.n_parameters_,
    )


CHANGES = {
    "variant": "paper",
    "n_buckets": 400,
    "n_hashes": 3,
    "n_embeddings": 100,
    "embedding_dim": 5,
    "aggregation": "median",
    "embedding": EmbeddingTables(
        append_weight=False, hash_rows=False, importance_init="ones", train_pool=False
    ),
    "normalize": None,
    "hidden_layer_sizes": (4,),
    "ngram_dropout": (1, 2),
    "loss": "ova",
    "tree": "random",
    "class_weight": "balanced",
    "calibrate": False,
    "optimizer": "adam",
    "learning_rate": 9.0,
    "schedule": Schedule("linear", plateau=(2, 0.5)),
    "solver": "sgd",
    "max_epochs": 9,
    "batch_size": 3,
    "early_stopping": EarlyStopping("valid_loss", patience=1, validation_fraction=0.5),
    "warm_start": True,
    "device": "auto",
    "callbacks": [],
    "random_state": 7,
    "verbose": 1,
}


def test_parameters_set_after_fit_change_no_copy(tmp_path):
    assert set(CHANGES) == set(HashEmbeddingClassifier().get_params())
    # which only a norm makes usable: the fitted one, not the one set since
    large = X * np.float32(1e20)
    model = HashEmbeddingClassifier(**SMALL).fit(large, np.arange(60) % 3)
    expected = model.predict_proba(large).tobytes()
    model.set_params(**CHANGES)
    save_model(model, tmp_path)
    for again in [
        model,
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        load_model(tmp_path),
    ]:
        assert again.predict_proba(large).tobytes() == expected
        assert again.get_params() == model.get_params()
        assert again.net_.module_.bag.pool.device.type == "cpu"


def test_labels_that_json_cannot_hold_are_pickled_and_not_saved():
    labels = np.array(["2024-01-01", "2024-06-30"], dtype="datetime64[D]")
    model = HashEmbeddingClassifier(**SMALL).fit(X, np.resize(labels, 60))
    again = pickle.loads(pickle.dumps(model))
    assert again.classes_.dtype == model.classes_.dtype
    assert again.predict(X).tolist() == model.predict(X).tolist()
    with pytest.raises(TypeError, match="of type 'bytes' cannot be saved; use strings"):
        pack_labels(np.array([b"a", b"b"]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_classes": 4}, "The net has 4 classes, but the model has 3 labels"),
        ({"hash_seed": 1}, "These tables were trained with seed"),
    ],
)
def test_a_state_of_another_architecture_is_refused(change, message):
    model = HashEmbeddingClassifier(**SMALL).fit(X, np.arange(60) % 3)
    values, arrays = model._get_model_state()
    values["architecture"] = values["architecture"] | change
    with pytest.raises(ValueError, match=message):
        clone(model)._set_model_state(values, arrays)


def test_only_touched_rows_are_stored():
    model = HashEmbeddingClassifier(random_state=0).fit(X, np.arange(60) % 3)
    _, arrays = model._get_model_state()
    assert len(arrays["bag.importance.rows"]) <= X.nnz
    assert sum(array.nbytes for array in arrays.values()) < 1_000_000
    assert len(pickle.dumps(model)) < 1_000_000
    assert sum(array.nbytes for array in model._get_training_state()[1].values()) < 1_000_000


@pytest.mark.parametrize(
    ("shape", "fill"), [((100,), 0.0), ((100, 3), 1.0), ((100, 2, 2), 0.0), ((0, 4), 0.0)]
)
@pytest.mark.parametrize("touched", [0, 1, 50, 100])
def test_tables_come_back_bit_for_bit(touched, shape, fill):
    table = np.full(shape, fill, dtype=np.float32)
    table[:touched:2], table[1:touched:2] = np.nan, -0.0
    again = np.full(shape, fill, dtype=np.float32)
    unpack_table("t", pack_table("t", table, fill), again)
    assert again.tobytes() == table.tobytes()


@pytest.mark.parametrize(
    ("touched", "keys"),
    [
        (0, {"rows"}),
        (31, {"rows"}),
        (32, {"bitmap"}),
        (992, {"bitmap"}),
        (993, set()),
        (1000, set()),
    ],
)
def test_the_smallest_of_three_ways_is_taken(touched, keys):
    # 1000 rows of 16 bytes: numbers of rows take 4 bytes a row stored, the bitmap 125, the whole
    # table nothing.
    table = np.zeros((1000, 4), dtype=np.float32)
    rows = np.sort(np.random.default_rng(0).choice(1000, touched, replace=False))
    table[rows, 0] = 1
    packed = pack_table("t", table, 0.0)
    assert set(packed) == {f"t.{key}" for key in keys | {"values"}}
    assert sum(array.nbytes for array in packed.values()) == min(
        20 * touched, 125 + 16 * touched, 16_000
    )
    again = np.zeros_like(table)
    unpack_table("t", packed, again)
    assert again.tobytes() == table.tobytes()


def test_a_whole_array_is_read_and_rows_of_any_integers():
    table = np.arange(10, dtype=np.float32).reshape(5, 2)
    again = np.zeros((5, 2), dtype=np.float32)
    unpack_table("t", {"t": table}, again)
    assert again.tobytes() == table.tobytes()
    again = np.zeros((5, 2), dtype=np.float32)
    unpack_table("t", {"t.rows": np.array([1, 4]), "t.values": table[[1, 4]]}, again)
    assert again.tolist() == [[0, 0], [2, 3], [0, 0], [0, 0], [8, 9]]


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ({"t": np.zeros((4, 3))}, r"'t' must have shape \(5, 3\), the stored one has \(4, 3\)"),
        (
            {"t.values": np.zeros((4, 3))},
            r"'t' must have shape \(5, 3\), the stored one has \(4, 3\)",
        ),
        (
            {"t.rows": np.array([0]), "t.values": np.zeros((1, 2))},
            r"\(1, 3\), the stored one has \(1, 2\)",
        ),
        (
            {"t.bitmap": np.array([192], np.uint8), "t.values": np.zeros((1, 3))},
            r"must have shape \(2, 3\)",
        ),
        (
            {"t.bitmap": np.zeros(2, np.uint8), "t.values": np.zeros((0, 3))},
            "must hold a bit for each of 5 rows",
        ),
        (
            {"t.bitmap": np.zeros(1, np.int8), "t.values": np.zeros((0, 3))},
            "must hold a bit for each of 5 rows",
        ),
    ],
)
def test_a_table_that_does_not_fit_is_refused(stored, message):
    with pytest.raises(ValueError, match=message):
        unpack_table("t", stored, np.zeros((5, 3)))


def test_a_training_state_that_does_not_fit_is_refused(tmp_path):
    model = HashEmbeddingClassifier(**SMALL).fit(X, np.arange(60) % 3)
    values, arrays = model._get_training_state()
    other = HashEmbeddingClassifier(**SMALL | {"n_buckets": 400}).fit(X, np.arange(60) % 3)
    with pytest.raises((ValueError, IndexError)):
        other._set_training_state(values, arrays)
    save_model(model, tmp_path)
    with pytest.raises(ValueError, match="this model has no training state"):
        save_model(load_model(tmp_path), tmp_path, training_state=True)


def test_weights_of_layers_come_back_and_what_does_not_fit_is_named():
    layers, again = (
        DenseNetwork(
            24, packed=False, hidden_sizes=(7, 5), num_classes=3, dropout=0, input_dropout=0
        )
        for _ in "ab"
    )
    with torch.no_grad():
        for parameter in layers.parameters():
            parameter.add_(1)
    layers.standardize.update(np.ones((4, 24)))
    arrays = module_to_arrays(layers, {})
    load_arrays(again, arrays, {})
    for name, value in layers.state_dict().items():
        assert torch.equal(again.state_dict()[name], value), name
    with pytest.raises(
        ValueError, match=r"'head\.1\.weight' must have shape \(7, 24\), the stored one has \(7,\)"
    ):
        load_arrays(again, arrays | {"head.1.weight": np.zeros(7, dtype=np.float32)}, {})
    with pytest.raises(KeyError, match=r"head\.1\.bias"):
        load_arrays(
            again, {name: array for name, array in arrays.items() if name != "head.1.bias"}, {}
        )
