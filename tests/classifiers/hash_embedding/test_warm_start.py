"""fit goes on from the weights that are there, or says why it cannot."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_hashnlp.classifiers import EmbeddingTables, HashEmbeddingClassifier
from sklearn_hashnlp.training import EarlyStopping
from tests.trainings import assert_other_bits, assert_same_bits

RNG = np.random.default_rng(0)
Y = np.array(["no", "yes"])[RNG.integers(0, 2, 200)]
X = RNG.random((200, 12)) + 0.3 * (Y == "yes")[:, None] * (np.arange(12) < 6)
HEAD = ["head.0.weight", "head.0.bias"]
SMALL = {"n_buckets": 100, "n_embeddings": 500, "random_state": 0}


def weights_of(model):
    return {name: value.numpy().copy() for name, value in model.net_.module_.state_dict().items()}


def test_warm_start_continues_training():
    model = HashEmbeddingClassifier(**SMALL, warm_start=True, max_epochs=3).fit(X, Y)
    first, net = weights_of(model), model.net_
    model.fit(X, Y)
    assert model.net_ is net
    assert [entry["epoch"] for entry in model.history_] == [1, 2, 3, 4, 5, 6]
    losses = [entry["train_loss"] for entry in model.history_]
    assert losses[3] < losses[2]  # from the beginning it would be higher by far
    assert_other_bits(weights_of(model), first)


def test_training_parameters_may_change_in_a_warm_start():
    model = HashEmbeddingClassifier(**SMALL, warm_start=True, max_epochs=2).fit(X, Y)
    model.set_params(
        learning_rate=0.01, max_epochs=1, early_stopping=EarlyStopping(validation_fraction=0.2)
    )
    model.set_params(embedding=EmbeddingTables(train_pool=False, train_importance=False))
    before = weights_of(model)
    model.fit(X, Y)
    assert "valid_acc" in model.history_[-1]
    after = weights_of(model)
    assert_other_bits([after.pop(name) for name in HEAD], [before.pop(name) for name in HEAD])
    assert_same_bits(after, before)
    assert [group["lr"] for group in model.net_.optimizer_.param_groups] == [0.01, 0.005, 0.01]


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("n_buckets", 101),
        ("n_hashes", 3),
        ("n_embeddings", 501),
        ("embedding_dim", 4),
        ("variant", "paper"),
        ("aggregation", "concat"),
        ("embedding", EmbeddingTables(append_weight=True)),
        ("embedding", EmbeddingTables(hash_rows=False)),
        ("embedding", EmbeddingTables(importance_init="ones")),
        ("normalize", "l1"),
        ("hidden_layer_sizes", (4,)),
        ("loss", "ova"),
    ],
)
def test_parameters_of_the_net_may_not_change_in_a_warm_start(parameter, value):
    model = HashEmbeddingClassifier(**SMALL, warm_start=True, max_epochs=2).fit(X, Y)
    before = model.predict_proba(X).tobytes()
    model.set_params(**{parameter: value})
    with pytest.raises(ValueError, match="cannot continue training") as error:
        model.fit(X, Y)
    assert f"with {parameter}={value!r}: it was trained with " in str(error.value)
    assert model.predict_proba(X).tobytes() == before
    model.set_params(warm_start=False).fit(X, Y)


def test_other_labels_and_columns_are_refused():
    model = HashEmbeddingClassifier(**SMALL, warm_start=True, max_epochs=2).fit(X, Y)
    with pytest.raises(
        ValueError,
        match=r"the labels \['no', 'up'\]: it was trained with the labels \['no', 'yes'\]",
    ):
        model.fit(X, np.where(Y == "no", "no", "up"))
    with pytest.raises(
        ValueError, match="X has 5 features, but HashEmbeddingClassifier is expecting 12 features"
    ):
        model.fit(X[:, :5], Y)
    model.set_params(warm_start=False).fit(X[:, :5], np.where(Y == "no", "no", "up"))
    assert model.n_features_in_ == 5
