"""Parameters of several values and fields of bundles, automatic sizes, and the settings that follow
from them.
"""

import numpy as np
import pytest

from sklearn_hashnlp.classifiers import EmbeddingTables, HashEmbeddingClassifier
from sklearn_hashnlp.classifiers.hash_embedding._auto_parameters import resolve_embedding_dim
from sklearn_hashnlp.training import EarlyStopping, Schedule
from sklearn_hashnlp.training._settings import draw_seeds
from tests.trainings import assert_same_bits

SMALL = {"n_buckets": 200, "n_embeddings": 2000, "random_state": 0}
RNG = np.random.default_rng(0)
X = RNG.random((40, 9))
LABELS = np.array(["sport", "weather"])[np.arange(40) % 2]


def test_lists_and_any_kind_of_number_do():
    def fit(kind, number):
        options = {"ngram_dropout": kind((2, 4)), "hidden_layer_sizes": kind((8, 4))}
        schedule = Schedule(plateau=kind((np.int64(4), number(0.5))), average=True)
        return (
            HashEmbeddingClassifier(**SMALL, **options, schedule=schedule)
            .fit(X, LABELS)
            .predict_proba(X)
            .tobytes()
        )

    assert_same_bits(fit(tuple, float), fit(list, np.float32), fit(tuple, np.float64))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"embedding": EmbeddingTables(append_weight="yes")}, "The 'append_weight' parameter"),
        ({"embedding": EmbeddingTables(importance_init="tfidf")},
         "The 'importance_init' parameter"),
        ({"hidden_layer_sizes": (10, 0)},
         r"hold integers from 1 to 2147483647. Got \(10, 0\) instead"),
        ({"hidden_layer_sizes": (9,), "batch_size": 1},
         "'batch_size' .* must be at least 2 with 'hidden_layer_sizes'"),
        ({"ngram_dropout": (4,)},
         r"'ngram_dropout' .* must be None or \(fewest, most\).*Got \(4,\) instead"),
        ({"ngram_dropout": (5, 4)}, r"1 <= fewest <= most <= 2147483647. Got \(5, 4\) instead"),
        ({"early_stopping": EarlyStopping(validation_fraction=1.0)},
         "The 'validation_fraction' parameter"),
        ({"early_stopping": EarlyStopping(patience=0)},
         "The 'patience' parameter of EarlyStopping"),
        ({"embedding": EmbeddingTables(train_pool=2)}, "The 'train_pool' parameter"),
        ({"class_weight": {"snow": 2}}, "class_weight names 'snow', but the labels in y are"),
        ({"schedule": Schedule(warmup_steps=-1)}, "The 'warmup_steps' parameter of Schedule"),
        ({"schedule": Schedule("cosine")}, "The 'decay' parameter of Schedule"),
        ({"schedule": Schedule(average=10)}, "The 'average' parameter"),
        ({"early_stopping": EarlyStopping("train_loss")},
         "The 'monitor' parameter of EarlyStopping"),
        ({"schedule": Schedule(plateau=4)}, "The 'plateau' parameter .* must be an instance of"),
        ({"schedule": Schedule(plateau=(4,))},
         r"'plateau' .* be None or \(patience, factor\), .*Got \(4,\)"),
        ({"schedule": Schedule(plateau=(0, 0.5))},
         r"an integer of at least 1 .* Got \(0, 0.5\) instead"),
        ({"schedule": Schedule(plateau=(4.0, 0.5))}, r"Got \(4.0, 0.5\) instead"),
        ({"schedule": Schedule(plateau=(4, 1))}, r"a number between 0 and 1. Got \(4, 1\) instead"),
        ({"ngram_dropout": (True, 4)}, r"two integers .* Got \(True, 4\) instead"),
    ],
)  # fmt: skip
# other constraints of parameters: tests/contract
def test_wrong_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        HashEmbeddingClassifier(**SMALL | options).fit(X, LABELS)


AUTO = HashEmbeddingClassifier(embedding_dim="auto", batch_size="auto")


WIDTHS = {
    2: 4,
    4: 4,
    5: 8,
    8: 8,
    9: 12,
    31: 32,
    33: 32,
    1088: 32,
    1089: 36,
    10_000: 100,
    10**6: 128,
}


@pytest.mark.parametrize(("n_classes", "width"), WIDTHS.items())
def test_the_automatic_length_of_a_vector(n_classes, width):
    assert resolve_embedding_dim("auto", n_classes) == width
    assert resolve_embedding_dim("auto", n_classes, hidden_layers=True) == 20
    assert resolve_embedding_dim(7, n_classes) == 7


@pytest.mark.parametrize(
    ("n_rows", "size"),
    [
        (1, 32),
        (5792, 32),
        (5793, 64),
        (11_585, 64),
        (11_586, 128),
        (23_170, 128),
        (23_171, 256),
        (10**7, 256),
    ],
)
def test_the_automatic_size_of_a_batch(n_rows, size):
    assert AUTO._settings(n_rows, 0).batch_size == size
    assert AUTO._settings(1, 0).single_epoch().batch_size == 32
    given = HashEmbeddingClassifier(batch_size=50)
    assert (
        given._settings(n_rows, 0).batch_size,
        given._settings(1, 0).single_epoch().batch_size,
    ) == (50, 50)


def test_a_gpu_gets_large_batches_of_many_rows(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    for device in ("auto", "cuda"):
        model = HashEmbeddingClassifier(device=device)
        sizes = [model._settings(n_rows, 0).batch_size for n_rows in (1, 19_999, 20_000, 10**7)]
        assert sizes == [32, 128, 1024, 1024]
    given = HashEmbeddingClassifier(device="cuda", batch_size=50)
    assert given._settings(20_000, 0).batch_size == 50


def test_a_plan_says_what_the_parameters_say():
    model = HashEmbeddingClassifier(
        loss="hinge", optimizer="adam", learning_rate=np.float32(0.5), max_epochs=np.int64(7),
        batch_size=9, ngram_dropout=[4, 99], verbose=True, callbacks=[],
        schedule=Schedule("linear", plateau=[4, 0.5], average=True, shuffle=False),
        early_stopping=EarlyStopping("valid_loss", patience=None, restore_best=False),
    )  # fmt: skip
    expected = {
        "learning_rate": 0.5, "max_epochs": 7, "batch_size": 9, "seed": 5,
        "schedule": model.schedule, "early_stopping": model.early_stopping,
        "progress_bar": False, "verbose": 1, "callbacks": (),
        "continues": False, "partial": False, "max_grad_norm": None, "to_convergence": False,
        "only_scores": False,
    }  # fmt: skip
    found = vars(model._settings(100, 5))
    assert found == expected
    assert {name: type(value) for name, value in found.items()} == {
        name: type(v) for name, v in expected.items()
    }
    streaming = {"schedule": Schedule(shuffle=False), "max_epochs": 1, "partial": True}
    assert vars(model._settings(1, 5).single_epoch()) == expected | streaming


def test_seeds():
    assert draw_seeds(3) == draw_seeds(3) == draw_seeds(np.random.RandomState(3)) != draw_seeds(4)
    seeds = draw_seeds(3)
    assert len(set(seeds)) == 4
    assert len({seeds.of_order(n) for n in range(100)} | {draw_seeds(4).of_order(0)}) == 101
