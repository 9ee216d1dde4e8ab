"""Automatic sizes by hand, and plans that say what the parameters say."""

from dataclasses import asdict

import numpy as np
import pytest

from sklearn_hashnlp.classifiers import HashEmbeddingClassifier
from sklearn_hashnlp.classifiers.hash_embedding._automatic import resolve_embedding_dim
from sklearn_hashnlp.training import EarlyStopping, Schedule
from sklearn_hashnlp.training._settings import draw_seeds

AUTO = HashEmbeddingClassifier(embedding_dim="auto", batch_size="auto")


WIDTHS = {2: 4, 4: 4, 5: 8, 8: 8, 9: 12, 31: 32, 33: 32, 1088: 32, 1089: 36, 10_000: 100, 10**6: 128}


@pytest.mark.parametrize(("n_classes", "width"), WIDTHS.items())
def test_the_automatic_length_of_a_vector(n_classes, width):
    assert resolve_embedding_dim("auto", n_classes) == width
    assert resolve_embedding_dim("auto", n_classes, hidden_layers=True) == 20
    assert resolve_embedding_dim(7, n_classes) == 7


@pytest.mark.parametrize(
    ("n_rows", "size"),
    [(1, 32), (5792, 32), (5793, 64), (11_585, 64), (11_586, 128), (23_170, 128), (23_171, 256), (10**7, 256)],
)
def test_the_automatic_size_of_a_batch(n_rows, size):
    assert AUTO._settings(n_rows, 0).batch_size == size
    assert AUTO._settings(1, 0).single_epoch().batch_size == 32
    given = HashEmbeddingClassifier(batch_size=50)
    assert (given._settings(n_rows, 0).batch_size, given._settings(1, 0).single_epoch().batch_size) == (50, 50)


def test_a_plan_says_what_the_parameters_say():
    model = HashEmbeddingClassifier(
        loss="hinge", optimizer="adam", learning_rate=np.float32(0.5), max_epochs=np.int64(7), batch_size=9,
        schedule=Schedule("linear", plateau=[4, 0.5], average=True, shuffle=False), ngram_dropout=[4, 99],
        early_stopping=EarlyStopping("valid_loss", patience=None, restore_best=False), verbose=True, callbacks=[],
    )  # fmt: skip
    expected = {
        "learning_rate": 0.5, "schedule": "linear", "average": True, "max_epochs": 7,
        "batch_size": 9, "shuffle": False, "monitor": "valid_loss", "patience": None, "lr_plateau": (4, 0.5),
        "restore_best": False, "stops_early": True,
        "progress_bar": False, "keeps_batches": True, "verbose": 1, "callbacks": (), "seed": 5, "warmup_steps": 0,
        "max_grad_norm": None,
    }  # fmt: skip
    found = asdict(model._settings(100, 5))
    assert found == expected
    assert {name: type(value) for name, value in found.items()} == {name: type(v) for name, v in expected.items()}
    streaming = {"schedule": "constant", "average": False, "max_epochs": 1, "keeps_batches": False}
    assert asdict(model._settings(1, 5).single_epoch()) == expected | streaming


def test_what_may_be_none_is_none():
    plan = HashEmbeddingClassifier()._settings(100, 0)
    assert (plan.lr_plateau, plan.patience) == (None, None)
    assert HashEmbeddingClassifier(early_stopping="valid_acc")._settings(100, 0).patience == 10


def test_seeds():
    assert draw_seeds(3) == draw_seeds(3) == draw_seeds(np.random.RandomState(3)) != draw_seeds(4)
    seeds = draw_seeds(3)
    assert len(set(seeds)) == 4
    assert len({seeds.of_order(n) for n in range(100)} | {draw_seeds(4).of_order(0)}) == 101
