"""Parameters of several values and fields of bundles: what is taken and what is refused by name."""

import numpy as np
import pytest

from sklearn_hashnlp.classifiers import EmbeddingTables, HashEmbeddingClassifier
from sklearn_hashnlp.training import EarlyStopping, Schedule

SMALL = {"n_buckets": 200, "n_embeddings": 2000, "random_state": 0}
RNG = np.random.default_rng(0)
X = RNG.random((40, 9))
LABELS = np.array(["sport", "weather"])[np.arange(40) % 2]


@pytest.mark.parametrize("number", [np.float32, np.float64, float])
def test_any_kind_of_number_does_for_the_factor_of_the_plateau(number):
    model = HashEmbeddingClassifier(**SMALL, schedule=Schedule(plateau=(np.int64(4), number(0.5)), average=True)).fit(
        X, LABELS
    )
    assert len(model.history_) == 2


def test_lists_do_for_tuples():
    first, second = (
        HashEmbeddingClassifier(**SMALL, ngram_dropout=kind((2, 4)), hidden_layer_sizes=kind((8, 4))).fit(X, LABELS)
        for kind in (tuple, list)
    )
    assert first.predict_proba(X).tobytes() == second.predict_proba(X).tobytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"embedding": EmbeddingTables(append_weight="yes")}, "The 'append_weight' parameter"),
        ({"embedding": EmbeddingTables(importance_init="tfidf")}, "The 'importance_init' parameter"),
        ({"hidden_layer_sizes": (10, 0)}, r"hold integers from 1 to 2147483647. Got \(10, 0\) instead"),
        ({"hidden_layer_sizes": (9,), "batch_size": 1}, "'batch_size' .* must be at least 2 with 'hidden_layer_sizes'"),
        ({"ngram_dropout": (4,)}, r"'ngram_dropout' .* must be None or \(fewest, most\).*Got \(4,\) instead"),
        ({"ngram_dropout": (5, 4)}, r"1 <= fewest <= most <= 2147483647. Got \(5, 4\) instead"),
        ({"early_stopping": EarlyStopping(validation_fraction=1.0)}, "The 'validation_fraction' parameter"),
        ({"early_stopping": EarlyStopping(patience=0)}, "The 'patience' parameter of EarlyStopping"),
        ({"embedding": EmbeddingTables(train_pool=2)}, "The 'train_pool' parameter"),
        ({"class_weight": {"snow": 2}}, "class_weight names 'snow', but the labels in y are"),
        ({"schedule": Schedule(warmup_steps=-1)}, "The 'warmup_steps' parameter of Schedule"),
        ({"schedule": Schedule("cosine")}, "The 'decay' parameter of Schedule"),
        ({"schedule": Schedule(average=10)}, "The 'average' parameter"),
        ({"early_stopping": EarlyStopping("train_loss")}, "The 'monitor' parameter of EarlyStopping"),
        ({"schedule": Schedule(plateau=4)}, "The 'plateau' parameter .* must be an instance of"),
        ({"schedule": Schedule(plateau=(4,))}, r"'plateau' .* be None or \(patience, factor\), .*Got \(4,\)"),
        ({"schedule": Schedule(plateau=(0, 0.5))}, r"an integer of at least 1 .* Got \(0, 0.5\) instead"),
        ({"schedule": Schedule(plateau=(4.0, 0.5))}, r"Got \(4.0, 0.5\) instead"),
        ({"schedule": Schedule(plateau=(4, 1))}, r"a number between 0 and 1. Got \(4, 1\) instead"),
        ({"ngram_dropout": (True, 4)}, r"two integers .* Got \(True, 4\) instead"),
    ],
)  # fmt: skip
def test_wrong_parameters_are_named(options, message):  # other constraints of parameters: tests/contract
    with pytest.raises(ValueError, match=message):
        HashEmbeddingClassifier(**SMALL | options).fit(X, LABELS)
