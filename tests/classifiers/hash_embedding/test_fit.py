"""HashEmbeddingClassifier: what it learns, what it refuses, and that it repeats itself."""

from __future__ import annotations

import warnings
from typing import ClassVar

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array, csr_matrix, random_array
from skorch.callbacks import Callback

from sklearn_hashnlp.classifiers import EmbeddingTables, HashEmbeddingClassifier
from sklearn_hashnlp.classifiers.hash_embedding import _sparse_net
from sklearn_hashnlp.training import EarlyStopping, Schedule

SMALL = {"n_buckets": 2000, "n_embeddings": 20_000, "random_state": 0}
RNG = np.random.default_rng(0)
# Three classes, each with columns of its own among 10**6, and noise.
TARGETS = RNG.integers(0, 3, 240)
NOISE = random_array((240, 10**6), density=5e-6, format="csr", rng=RNG)
SIGNAL = csr_array(
    (np.ones(480), (np.repeat(np.arange(240), 2), np.repeat(TARGETS * 1000, 2) + RNG.integers(0, 9, 480))),
    shape=(240, 10**6),
)
X = csr_array(NOISE + SIGNAL)
TRAIN, TEST = slice(0, 160), slice(160, 240)
LABELS = np.array(["politics", "sport", "weather"])[TARGETS]


@pytest.fixture(scope="module")
def fitted():
    return HashEmbeddingClassifier(**SMALL).fit(X[TRAIN], LABELS[TRAIN])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"variant": "paper"},
        {"variant": "standard", "max_epochs": 10},
        {"aggregation": "concat"},
        {"aggregation": "median", "n_hashes": 3},
        {"embedding": EmbeddingTables(append_weight=False)},
        {"embedding": EmbeddingTables(importance_init="ones")},
        {"normalize": None},
        {"normalize": "l1"},
        {"hidden_layer_sizes": (20, 10), "max_epochs": 20},
        {"ngram_dropout": (2, 4), "max_epochs": 5},
        {"n_hashes": 1},
        {"early_stopping": EarlyStopping(validation_fraction=0.2), "max_epochs": 5},
        {"batch_size": 1},
        {"batch_size": 1000, "max_epochs": 10},
    ],
    ids=str,
)
def test_it_learns_with_every_option(options):
    model = HashEmbeddingClassifier(**SMALL | options).fit(X[TRAIN], LABELS[TRAIN])
    assert model.score(X[TEST], LABELS[TEST]) > 0.9
    assert model.history_[-1]["train_loss"] < model.history_[0]["train_loss"]


def test_probabilities_are_the_softmax_of_the_scores(fitted):
    scores = fitted.decision_function(X[TEST])
    odds = np.exp(scores)
    np.testing.assert_allclose(fitted.predict_proba(X[TEST]), odds / odds.sum(axis=1, keepdims=True))
    two = HashEmbeddingClassifier(**SMALL).fit(X, TARGETS > 0)
    np.testing.assert_allclose(two.predict_proba(X)[:, 1], 1 / (1 + np.exp(-two.decision_function(X))))


def test_scores_are_the_module_by_hand(fitted):
    bag, head = fitted.net_.module_.bag, fitted.net_.module_.head
    row = csr_array(X[[170]])
    document = bag(
        torch.from_numpy(row.indices.astype(np.int64)),
        torch.tensor([0, row.nnz]),
        torch.from_numpy(row.data.astype(np.float32)),
    )
    np.testing.assert_allclose(fitted.decision_function(row), head(document).detach().numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("hidden", [(), (40, 30)])
def test_a_row_does_not_depend_on_its_neighbours(hidden):
    model = HashEmbeddingClassifier(**SMALL, hidden_layer_sizes=hidden).fit(X[TRAIN], LABELS[TRAIN])
    whole = model.predict_proba(X)
    order = RNG.permutation(240)
    np.testing.assert_array_equal(model.predict_proba(X[order]), whole[order])
    for start in range(0, 240, 60):
        part = slice(start, start + 60)
        np.testing.assert_array_equal(model.predict_proba(X[part]), whole[part])
    np.testing.assert_array_equal(model.predict_proba(X[[7]]), whole[[7]])


@pytest.mark.parametrize("aggregation", ["sum", "concat", "median"])
def test_scores_do_not_depend_on_how_rows_are_cut_into_batches(aggregation, monkeypatch):
    model = HashEmbeddingClassifier(**SMALL, aggregation=aggregation, hidden_layer_sizes=(9,)).fit(X, LABELS)
    many = csr_array(X[np.arange(2500) % 240])
    expected = model.predict_proba(many).tobytes()
    for values, rows in ((1, X), (50, many), (3000, many)):
        monkeypatch.setattr(_sparse_net, "PREDICT_VALUES", values)
        probabilities = model.predict_proba(rows).tobytes()
        assert probabilities == expected[: len(probabilities)]


def test_batches_of_long_rows_are_small():
    class Values(Callback):
        seen: ClassVar[list[tuple[bool, int]]] = []

        def on_batch_begin(self, net, batch=None, training=False, **kwargs):
            self.seen.append((training, len(batch[0].ids)))

    long = np.ones((600, 2000), dtype=np.float32)
    model = HashEmbeddingClassifier(**SMALL, early_stopping=EarlyStopping(validation_fraction=0.5), max_epochs=1)
    model.set_params(callbacks=[Values()]).fit(long, np.arange(600) % 2)
    bag = model.net_.module_.bag
    bag.register_forward_pre_hook(lambda _, inputs: Values.seen.append((False, len(inputs[0]))))
    model.predict(long)
    measured = [values for training, values in Values.seen if not training]
    assert sum(measured) == 900 * 2000
    assert max(measured) == 2**18 // 2000 * 2000


def test_every_kind_of_matrix_gives_the_same_model():
    few = csr_array(X[:, :3000])
    expected = HashEmbeddingClassifier(**SMALL).fit(few, LABELS).predict_proba(few)
    wide = few.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    doubled = csr_array(  # every entry stored twice, at half its size; scipy adds them up in astype, so float32
        (np.repeat(few.data.astype(np.float32) / 2, 2), np.repeat(few.indices, 2), few.indptr * 2), shape=few.shape
    )
    assert doubled.nnz == 2 * few.nnz
    ends = few.indptr[1:]
    zeros = csr_array(  # a stored zero in every row
        (np.insert(few.data, ends, 0), np.insert(few.indices, ends, 2999), few.indptr + np.arange(241)),
        shape=few.shape,
    )
    assert zeros.nnz == few.nnz + 240
    for other in (csr_matrix(few), few.tocsc(), few.toarray(), few.astype(np.float32), wide, doubled, zeros):
        got = HashEmbeddingClassifier(**SMALL).fit(other, LABELS).predict_proba(other)
        np.testing.assert_array_equal(got, expected)


def test_the_callers_matrix_is_left_alone():
    X2 = csr_matrix(([0.0, 1, 2, 1e30], [5, 3, 3, 1], [0, 3, 4]), shape=(2, 10))
    copy = X2.copy()
    HashEmbeddingClassifier(**SMALL).fit(X2, [0, 1]).predict(X2)
    for name in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(X2, name), getattr(copy, name))


@pytest.mark.parametrize("normalize", ["l1", "l2"])
def test_finite_values_of_any_size_and_sign(normalize):
    base = RNG.normal(size=(40, 5))
    y = base[:, 0] > 0
    model = HashEmbeddingClassifier(**SMALL, normalize=normalize, max_epochs=20).fit(base, y)
    expected = model.predict_proba(base)
    for scale in (1e-25, 1e25, 1e36):
        found = model.predict_proba(base * scale)
        np.testing.assert_allclose(found, expected, atol=1e-4)
    huge = HashEmbeddingClassifier(**SMALL, normalize=normalize, max_epochs=20).fit(base * 1e36, y)
    assert np.isfinite(huge.predict_proba(base * 1e36)).all()
    assert huge.score(base * 1e36, y) > 0.9


def test_more_columns_than_can_be_told_apart_are_refused():
    wide = csr_array((np.ones(2), np.array([0, 2**32]), np.array([0, 1, 2])), shape=(2, 2**34))
    with pytest.raises(ValueError, match="X has 17179869184 columns"):
        HashEmbeddingClassifier(**SMALL).fit(wide, [0, 1])


def test_values_too_large_for_a_plain_sum_are_refused():
    base = RNG.normal(size=(40, 5)).clip(-1, 1)
    y = base[:, 0] > 0
    model = HashEmbeddingClassifier(**SMALL, normalize=None).fit(base, y)
    for use in (model.predict_proba, lambda rows: model.fit(rows, y)):
        with pytest.raises(ValueError, match="normalize=None takes absolute values up to 1e"):
            use(base * 1e37)
    for hidden in ((), (4,)):
        large = HashEmbeddingClassifier(**SMALL, normalize=None, hidden_layer_sizes=hidden).fit(base * 1e15, y)
        assert np.isfinite(large.predict_proba(base * 1e15)).all()


@pytest.mark.parametrize("rows", [2, 160])
def test_a_training_that_diverges_is_an_error(rows):
    batches = []

    class Count(Callback):
        def on_batch_begin(self, net, **kwargs):
            batches.append(net)

    model = HashEmbeddingClassifier(**SMALL, learning_rate=1e30, max_epochs=9, normalize=None, callbacks=[Count()])
    y = np.arange(rows) % 2
    with pytest.raises(ValueError, match=r"The training diverged: .* Set a smaller learning_rate"):
        model.fit(X[:rows] * 1000, y)
    assert not hasattr(model, "net_")
    assert len(batches) < 10  # at once, and not after 45
    model.set_params(max_epochs=1)
    with pytest.raises(ValueError, match="The training diverged"):  # a single step, whose result no loss shows
        model.fit(X[:2] * 1000, [0, 1])


def test_a_huge_row_changes_no_other(fitted):
    rows = csr_array(X[TEST], dtype=np.float32)
    expected = fitted.predict_proba(rows)
    rows.data[: rows.indptr[1]] *= np.float32(1e30)
    assert fitted.predict_proba(rows)[1:].tobytes() == expected[1:].tobytes()


def test_an_unseen_column_changes_nothing(fitted):
    seen = set(csr_array(X[TRAIN]).indices.tolist())
    bag = fitted.net_.module_.bag
    ids = torch.tensor([column for column in range(1000, 2000) if column not in seen])
    rows, _ = bag.locate(ids)
    free = ids[(bag.importance[rows] == 0).all(dim=1)]
    assert len(free) > 900  # the others collide with a column that was seen
    row = X[[3]].tolil()
    row[0, int(free[0])] = 5.0
    np.testing.assert_array_equal(fitted.predict_proba(csr_array(row)), fitted.predict_proba(X[[3]]))


def test_rows_that_are_empty_or_all_unseen_get_finite_probabilities(fitted):
    probabilities = fitted.predict_proba(csr_array((2, 10**6)))
    assert np.isfinite(probabilities).all()
    assert np.array_equal(probabilities[0], probabilities[1])


def test_a_dictionary_has_a_row_for_each_column():
    y, eye = np.arange(40) % 2, csr_array(np.eye(40))
    options = {"variant": "standard", "n_embeddings": 40, "max_epochs": 20, "learning_rate": 0.5, "random_state": 0}
    hashed = HashEmbeddingClassifier(**options).fit(eye, y)
    unhashed = HashEmbeddingClassifier(**options, embedding=EmbeddingTables(hash_rows=False)).fit(eye, y)
    assert hashed.score(eye, y) < 1 == unhashed.score(eye, y)
    with pytest.raises(ValueError, match=r"n_embeddings=39 columns, but X has 40\. Raise n_embeddings"):
        unhashed.set_params(n_embeddings=39).fit(eye, y)


def test_columns_that_share_d1_are_one_column_in_the_paper_variant_only():
    n = 50
    y = np.arange(200) % 2
    eye = csr_array(np.eye(200))
    fitted = {
        variant: HashEmbeddingClassifier(variant=variant, n_embeddings=n, random_state=0).fit(eye, y)
        for variant in ("paper", "improved")
    }
    bag = fitted["paper"].net_.module_.bag
    rows = bag.locate(torch.arange(200))[0].numpy()
    for variant, model in fitted.items():
        scores = model.decision_function(eye)
        same = [len(set(scores[rows == row].tolist())) == 1 for row in np.unique(rows) if (rows == row).sum() > 1]
        assert all(same) if variant == "paper" else not any(same)


@pytest.mark.parametrize(
    ("variant", "tables"), [("improved", 40_000_000), ("paper", 40_000_000), ("standard", 200_000_000)]
)
def test_the_number_of_parameters_of_the_reference_settings(variant, tables):
    model = HashEmbeddingClassifier(variant=variant, random_state=0).fit(X, LABELS)
    width = 20 if variant == "standard" else 22
    assert model.n_parameters_ == tables + (width + 1) * 3


def test_history_holds_plain_numbers():
    model = HashEmbeddingClassifier(
        **SMALL, early_stopping=EarlyStopping(patience=3, validation_fraction=0.2), max_epochs=3
    ).fit(X, LABELS)
    assert [entry["epoch"] for entry in model.history_] == [1, 2, 3]
    for entry in model.history_:
        assert set(entry) == {"epoch", "train_loss", "valid_loss", "valid_acc", "dur"}
        assert all(type(value) in (int, float) for value in entry.values())
    assert set(HashEmbeddingClassifier(**SMALL).fit(X, LABELS).history_[0]) == {"epoch", "train_loss", "dur"}


@pytest.mark.parametrize(
    "y",
    [
        [0, 1] * 30,  # three rows to hold out
        [0, 1],
        ["a", "b", "c"],
    ],
    ids=["few rows", "two rows", "three rows"],
)
def test_tiny_data_trains_without_a_split(y):
    model = HashEmbeddingClassifier(**SMALL, early_stopping="valid_acc", max_epochs=3)
    with pytest.warns(UserWarning, match=f"early_stopping has no effect, because {len(y)} rows are too few"):
        model.fit(X[: len(y)], y)
    assert [set(entry) for entry in model.history_] == [{"epoch", "train_loss", "dur"}] * 3


def test_held_out_rows_are_not_trained_on():
    seen = []

    class Watch(Callback):
        def on_batch_begin(self, net, batch=None, training=False, **kwargs):
            seen.append((training, len(batch[0])))

    HashEmbeddingClassifier(
        **SMALL, early_stopping=EarlyStopping(validation_fraction=0.25), max_epochs=1, callbacks=[Watch()]
    ).fit(X, LABELS)
    assert sum(rows for training, rows in seen if training) == 180
    assert sum(rows for training, rows in seen if not training) == 60


@pytest.mark.parametrize(
    "options",
    [
        {"early_stopping": EarlyStopping(validation_fraction=0.2), "max_epochs": 4},
        {"early_stopping": EarlyStopping(validation_fraction=0.2), "max_epochs": 4, "hidden_layer_sizes": (16,)},
        {"hidden_layer_sizes": (60, 30), "optimizer": "adam", "schedule": Schedule("linear", average=True)},
        {"loss": "ova", "optimizer": "adam", "class_weight": "balanced"},
        {"loss": "hinge", "aggregation": "concat", "schedule": Schedule(average=True)},
        {"variant": "standard", "batch_size": "auto"},
        {"variant": "paper", "aggregation": "median", "normalize": "l1"},
    ],
    ids=str,
)
@pytest.mark.parametrize("streamed", [False, True])
def test_the_same_seed_gives_the_same_bytes_at_any_number_of_threads(options, streamed):
    if streamed and options.get("class_weight"):
        return  # refused
    small = SMALL | {"ngram_dropout": (2, 5), "early_stopping": EarlyStopping(validation_fraction=0.2)} | options

    def train(seed, threads):
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        torch.manual_seed(threads)  # the user's generator has no say
        try:
            model = HashEmbeddingClassifier(**small | {"random_state": seed})
            if streamed:
                for part in (TRAIN, TEST):
                    model.partial_fit(X[part], LABELS[part], classes=np.unique(LABELS))
            else:
                model.fit(X, LABELS)
            assert torch.get_num_threads() == threads
            tables = [value.numpy().tobytes() for value in model.net_.module_.state_dict().values()]
            return tables, model.predict_proba(X).tobytes()
        finally:
            torch.set_num_threads(before)

    expected = train(0, 1)
    assert train(0, 2) == train(0, 4) == expected
    assert train(1, 1) != expected


def test_verbose_prints_a_line_an_epoch(capsys):
    HashEmbeddingClassifier(**SMALL, max_epochs=3).fit(X, LABELS)
    assert capsys.readouterr().out == ""
    HashEmbeddingClassifier(**SMALL, max_epochs=3, verbose=1).fit(X, LABELS)
    lines = capsys.readouterr().out.strip().splitlines()
    assert "train_loss" in lines[0]
    assert len(lines) == 2 + 3


def test_ignored_parameters_are_ignored_by_the_standard_variant():
    plain = HashEmbeddingClassifier(**SMALL, variant="standard").fit(X, LABELS).predict_proba(X)
    other = HashEmbeddingClassifier(
        **SMALL | {"n_buckets": 7},
        variant="standard",
        n_hashes=5,
        aggregation="median",
        embedding=EmbeddingTables(append_weight=False),
    ).fit(X, LABELS)
    assert other.predict_proba(X).tobytes() == plain.tobytes()


def test_wrong_data_is_refused(fitted):
    with pytest.raises(ValueError, match="X has 5 features, but HashEmbeddingClassifier is expecting 1000000 features"):
        fitted.predict(np.ones((2, 5)))
    for bad, name in ((np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity"), (1e300, "infinity")):
        rows = np.ones((4, 3))
        rows[1, 2] = bad
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # numpy's own word on 1e300 as float32
            for matrix in (rows, csr_array(rows)):
                with pytest.raises(ValueError, match=name):
                    HashEmbeddingClassifier(**SMALL).fit(matrix, [0, 1, 0, 1])
    with pytest.raises(ValueError, match="needs rows of at least two classes in y, got one class only: 'a'"):
        HashEmbeddingClassifier(**SMALL).fit(X[:2], ["a", "a"])
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        HashEmbeddingClassifier(**SMALL).fit(X[:3], [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        HashEmbeddingClassifier(**SMALL).fit(X[:3], [0, 1])


def test_importance_that_starts_at_zero_starts_with_a_pool_that_does_not():
    model = HashEmbeddingClassifier(
        n_buckets=500,
        n_embeddings=10**5,
        embedding=EmbeddingTables(importance_init="zeros", train_importance=False),
        random_state=0,
    ).fit(X, LABELS)
    bag = model.net_.module_.bag
    assert not bag.importance.any()
    assert bag.pool.std().item() == pytest.approx(0.1, rel=0.05)
    model.set_params(embedding=EmbeddingTables(train_importance=True)).fit(X, LABELS)
    assert model.score(X, LABELS) > 0.9
    unseen = csr_array(([1.0], ([0], [10**5])), shape=(1, X.shape[1]))
    empty = csr_array((1, X.shape[1]), dtype=np.float32)
    scores = [model._net_scores(model._rows(rows), model._linear_model()) for rows in (unseen, empty)]
    assert scores[0] == pytest.approx(scores[1])
