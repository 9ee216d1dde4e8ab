"""``loss="auto"`` and the dual solver: a support vector machine with settings chosen by
cross-validation.
"""

import pickle
import signal
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array, csr_matrix
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from skorch.callbacks import Callback, EpochTimer, PrintLog, ProgressBar

from sklearn_hashnlp import HashEmbeddingClassifier, load_model, save_model
from sklearn_hashnlp.classifiers import EmbeddingTables
from sklearn_hashnlp.classifiers._calibration import least_cross_entropy
from sklearn_hashnlp.classifiers.hash_embedding import _auto_parameters, _dual_fit
from sklearn_hashnlp.classifiers.hash_embedding._auto_parameters import contradictory_share
from sklearn_hashnlp.classifiers.hash_embedding._dual_fit import (
    Located,
    Settings,
    choose_on_sample,
    choose_settings,
    n_dual_epochs,
    problem_of,
)
from sklearn_hashnlp.classifiers.hash_embedding._sparse_batches import SparseDataset
from sklearn_hashnlp.classifiers.hash_embedding._sparse_rows import SparseRows
from sklearn_hashnlp.kernels.linear._dual_coordinate_descent import LinearRows
from sklearn_hashnlp.kernels.linear._dual_solver import DualSolver, LinearProblem, minimized
from sklearn_hashnlp.training import EarlyStopping, Schedule, TimeLimit
from tests.classifiers.hash_embedding.raw_scores import raw_scores
from tests.trainings import SEEDS, assert_as_good, assert_near, assert_other_bits, assert_same_bits


def counts(n_rows=120, n_columns=50, n_classes=3, seed=0):
    """Return rows whose classes prefer some of the columns, and their labels."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n_rows)
    rates = np.full((n_classes, n_columns), 0.15)
    rates[np.arange(n_columns) % n_classes, np.arange(n_columns)] = 0.35
    return csr_matrix(rng.poisson(rates[labels]).astype(np.float64)), labels


def classifier(**options):
    sizes = {"n_buckets": 2**16, "n_embeddings": 2**16, "n_hashes": 1, "embedding_dim": "auto"}
    return HashEmbeddingClassifier(**{"loss": "auto", "random_state": 0} | sizes | options)


@pytest.mark.parametrize(
    ("n_classes", "norm"), [(2, "l2"), (3, "l2"), (40, "l2"), (2, "l1"), (3, "l1")]
)
def test_scores_equal_liblinear_without_the_log_odds(n_classes, norm, monkeypatch):
    monkeypatch.setattr(_dual_fit, "_STRENGTHS", (1.0,))
    monkeypatch.setattr(_dual_fit, "_SHARES", (0.0,))
    monkeypatch.setattr(_dual_fit, "_EPOCHS", ((1000, 200),))
    X, y = counts(n_classes=n_classes)
    model = classifier(normalize=norm).fit(X, y)
    assert model.solver_ == "dual"
    rows = TfidfTransformer(norm=norm).fit_transform(X)
    rows /= np.sqrt(rows.multiply(rows).sum() / len(y))  # by "l1" most rows are shorter than one
    scores = (
        LinearSVC(C=1, tol=1e-9, max_iter=100_000, random_state=0)
        .fit(rows, y)
        .decision_function(rows)
    )
    scores = np.stack([-scores, scores], axis=1) if n_classes == 2 else scores
    assert_near(raw_scores(model, X), scores, atol=2e-3)


OTHER_FORMS = [
    {"aggregation": "median", "n_hashes": 3},
    {"embedding_dim": 2},
    {"hidden_layer_sizes": (4,)},
    {"normalize": None},
    {"embedding": EmbeddingTables(importance_init="zeros")},
]
OTHER_TRAINING = [
    {"schedule": None},
    {"max_epochs": 2},
    {"batch_size": 64},
    {"optimizer": "adam"},
    {"learning_rate": 0.1},
    {"schedule": Schedule("linear", average=True)},
    {"embedding": EmbeddingTables(train_pool=False)},
    {"embedding": EmbeddingTables(train_importance=False)},
    {"early_stopping": EarlyStopping(validation_fraction=0.2)},
    {"ngram_dropout": (2, 5)},
    {"warm_start": True},
    {"callbacks": [TimeLimit(60.0)]},
    {"callbacks": [Callback()]},
    {"callbacks": [("mine", Callback)]},
]


@pytest.mark.parametrize(
    "options", [*OTHER_FORMS, *OTHER_TRAINING], ids=lambda options: "-".join(options)
)
def test_parameters_change_the_solver_and_never_the_loss(options):
    X, y = counts(100)
    small = {"n_buckets": 2**10, "n_embeddings": 2**10} | options
    model = classifier(**small).fit(X, y)  # without a warning
    assert (model.loss_, model.solver_) == ("hinge", "sgd")
    names = "|".join(options)
    with pytest.raises(ValueError, match=rf"solver='dual'\) does not work with ({names})="):
        classifier(solver="dual", **small).fit(X, y)


def shown(*_):
    raise AssertionError("the dual solver has no epochs")


def test_the_loss_depends_on_rows_and_classes(monkeypatch):
    X, y = counts()
    for options in ({}, {"variant": "standard", "n_hashes": 2}, {"callbacks": [shown]}):
        model = classifier(**options).fit(X, y)
        assert (model.loss_, model.solver_) == ("hinge", "dual")
    assert classifier(solver="sgd").fit(X, y).loss_ == "hinge"
    assert classifier(loss="hinge").fit(X, y).solver_ == "dual"
    assert classifier().partial_fit(X, y, classes=[0, 1, 2]).loss_ == "softmax"
    assert classifier().fit(X, np.eye(3, dtype=int)[y]).loss_ == "ova"
    assert classifier().fit(X, np.arange(len(y)) % 3).loss_ == "hinge"
    monkeypatch.setattr(_auto_parameters, "_MAX_CLASSES", 2)
    assert classifier().fit(X, y).loss_ == "softmax"
    assert classifier().fit(X, y > 0).loss_ == "hinge"


def test_contradictory_labels_of_many_rows_select_another_loss(monkeypatch):
    X, y = counts()
    twice = csr_matrix(np.concatenate([X.toarray(), X[:6].toarray()]))
    same, other = np.append(y, y[:6]), np.append(y, (y[:6] + 1) % 3)
    assert classifier().fit(twice, other).loss_ == "hinge"
    monkeypatch.setattr(_auto_parameters, "_FEW_ROWS", 120)
    assert classifier().fit(twice, same).loss_ == "softmax"
    monkeypatch.setattr(_auto_parameters, "_MANY_CLASSES", (3, 9))
    for labels, loss in ((same, "hinge"), (other, "softmax")):
        model = classifier().fit(twice, labels)
        assert (model.loss_, model.solver_) == (loss, "dual" if loss == "hinge" else "sgd")
    with pytest.raises(ValueError, match="the loss of these rows is 'softmax'"):
        classifier(solver="dual").fit(twice, other)
    assert classifier(loss="hinge").fit(twice, other).solver_ == "dual"
    monkeypatch.setattr(_auto_parameters, "MAX_DUAL_ROWS", 125)
    assert classifier().fit(twice, same).loss_ == "softmax"


@pytest.mark.parametrize(
    "options",
    [
        {"early_stopping": EarlyStopping("valid_loss", validation_fraction=0.2)},
        {"solver": "sgd"},
        {"callbacks": [EpochTimer()]},
    ],
    ids=["early stopping", "solver", "callbacks"],
)
def test_the_hinge_loss_adds_a_share_of_the_log_odds(options, monkeypatch):
    X, y = counts(n_rows=200)
    model = classifier(**options).fit(X, y)
    assert (model.loss_, model.solver_) == ("hinge", "sgd")
    monkeypatch.setitem(_dual_fit._SHARES_OF_SGD, "hinge", 0.0)
    assert_other_bits(model._model.linear.pool, classifier(**options).fit(X, y)._model.linear.pool)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_share_of_the_log_odds_is_added_to_the_softmax(n_classes, monkeypatch):
    X, y = counts(n_classes=n_classes)
    monkeypatch.setattr(_auto_parameters, "_FEW_ROWS", 120)
    monkeypatch.setattr(_auto_parameters, "_FEW_ROWS_OF_TWO_CLASSES", 120)
    frozen = EmbeddingTables(train_importance=False)
    scores = []
    for share in (0.0, 0.1):
        monkeypatch.setitem(_dual_fit._SHARES_OF_SGD, "softmax", share)
        model = classifier(embedding=frozen, max_epochs=3).fit(X, y)
        assert (model.loss_, model.solver_) == ("softmax", "sgd")
        scores.append(raw_scores(model, X))
    rows = TfidfTransformer().fit_transform(X)
    odds = np.empty((len(y), n_classes))
    for label in range(n_classes):
        own, other = (rows[part].sum(axis=0).A1 + 0.03 for part in (y == label, y != label))
        odds[:, label] = rows @ (np.log(own / own.sum()) - np.log(other / other.sum()))
    centered = [
        one - one.mean(axis=1, keepdims=True) for one in (scores[1] - scores[0], 0.1 * odds)
    ]
    assert_near(*centered, atol=1e-4)
    monkeypatch.setitem(_dual_fit._SHARES_OF_SGD, "softmax", 0.1)
    plain = classifier(embedding=frozen, max_epochs=3, loss="softmax").fit(X, y)
    assert_same_bits(raw_scores(plain, X), scores[0])
    # than the number of classes
    smaller = {"embedding": frozen, "max_epochs": 3, "embedding_dim": n_classes - 1}
    unchanged = [
        classifier(loss=loss, **smaller).fit(X, y)._scores(X) for loss in ("auto", "softmax")
    ]
    assert_same_bits(*unchanged)
    tables = [
        classifier(variant="standard", n_hashes=n_hashes).fit(X, y)._scores(X)
        for n_hashes in (1, 2)
    ]
    assert_same_bits(*tables)


def test_wrong_labels_of_many_rows_have_a_larger_penalty(monkeypatch):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 16, 3000)
    columns = np.where(rng.random((3000, 12)) < 0.4, 150 * labels[:, None], 2400) + rng.integers(
        0, 150, (3000, 12)
    )
    X = csr_matrix(
        (np.ones(columns.size), columns.ravel(), np.arange(0, columns.size + 1, 12)),
        shape=(3000, 2550),
    )
    noisy = np.where(rng.random(3000) < 0.5, rng.integers(0, 16, 3000), labels)
    chosen, choose = [], _dual_fit.choose_on_sample
    monkeypatch.setattr(
        _dual_fit,
        "choose_on_sample",
        lambda *problem: chosen.append(choose(*problem)) or chosen[-1],
    )
    monkeypatch.setattr(_dual_fit, "_MANY_ROWS", 3000)
    for y in (labels, noisy):
        classifier().fit(X, y)
    (clean, left_out), (strong, _) = chosen
    assert clean.strength > strong.strength
    assert left_out.n_whole == 750
    # with as many crops
    assert len(left_out.scores) == len(left_out.rows) == len(left_out.sizes) == 1500
    assert (left_out.scores.argmax(axis=1) == labels[left_out.rows])[:750].mean() > 0.9


@pytest.mark.parametrize(("favored", "share"), [("log-odds", 0.5), ("margins", 0.06)])
def test_crops_choose_the_factor_of_the_log_odds_for_many_rows(favored, share, monkeypatch):
    whole = problem(*counts(n_rows=800), n_classes=3)

    def crop(some):
        # rows that only one of the two parts of a score predicts
        sample = whole.take(np.setdiff1d(np.arange(800), some))
        part = whole.take(some).known_from(sample)
        by_odds = part.scores(sample.log_odds()).argmax(axis=1) == part.rows.labels
        by_margins = part.scores(*minimized(sample, 3.0, 0, 10)).argmax(axis=1) == part.rows.labels
        is_favored = {"log-odds": by_odds & ~by_margins, "margins": by_margins & ~by_odds}
        sources = np.flatnonzero(is_favored[favored])
        assert len(sources) >= 5
        return whole.take(some[sources]), sources

    settings, left_out = choose_on_sample(whole, 0)
    assert left_out.n_whole == len(left_out.scores) == 200
    rows = np.random.default_rng(0).permutation(800)
    sample = whole.take(rows[200:600])
    valid = whole.take(rows[:200]).known_from(sample)
    margins = valid.scores(*minimized(sample, settings.strength, 0, 10))
    odds = valid.scores(sample.log_odds())
    losses = {
        one: least_cross_entropy(margins + one * odds, valid.rows.labels, valid.costs)
        for one in (0.06, 0.12, 0.25, 0.5)
    }
    assert settings.share == min(losses, key=losses.get)
    monkeypatch.setattr(_dual_fit, "WEIGHT_OF_CROPS", 1e3)
    assert choose_on_sample(whole, 0, crop)[0].share == share


@given(st.data())
def test_the_share_of_rows_whose_label_is_not_that_of_most_equal_rows(data):
    n_rows = data.draw(st.integers(1, 12))
    dense = data.draw(arrays(np.float32, (n_rows, 2), elements=st.sampled_from([0, 1, 2, -1])))
    labels = data.draw(arrays(np.int64, n_rows, elements=st.integers(0, 2)))
    groups = {}
    for row, label in zip(dense.tolist(), labels.tolist(), strict=True):
        groups.setdefault(tuple(row), Counter())[label] += 1
    n_others = sum(count.total() - max(count.values()) for count in groups.values())
    rows = SparseRows(csr_array(dense), labels)
    assert contradictory_share(rows) == pytest.approx(n_others / n_rows)


def test_callbacks_that_print_epochs_are_ignored_with_one_warning(capsys):
    X, y = counts()
    with pytest.warns(UserWarning, match="ignores callbacks that print epochs") as caught:
        model = classifier(callbacks=[PrintLog(), ("bar", ProgressBar)]).fit(X, y)
    assert model.solver_ == "dual"
    assert len(caught) == 1
    assert capsys.readouterr().out == ""
    assert_same_bits(model._scores(X), classifier().fit(X, y)._scores(X))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_objective_equals_plain_formulas(n_classes, capsys):
    X, y = counts(n_classes=n_classes)
    model = classifier(verbose=1).fit(X, y)
    assert capsys.readouterr().out.startswith("Dual coordinate descent: objective ")
    assert [set(entry) for entry in model.history_] == [
        {"epoch", "objective", "duality_gap", "dur"}
    ]
    linear, rows = model._model.linear, SparseDataset(X, y)
    problem = problem_of(linear, rows, Located.of(linear, rows))
    gaps = []
    for n_epochs in (1, 5, 50):
        solver = DualSolver(problem, 3.0, 0, n_epochs)
        for _ in range(n_epochs):
            solver.epoch()
        objective, gap = solver.objective()
        rows = problem.rows
        expected = (
            float((solver._weights.astype(float) ** 2).sum())
            + float((solver._bias.astype(float) ** 2).sum())
        ) / 2
        for row, label in enumerate(rows.labels.tolist()):
            own = slice(rows.offsets[row], rows.offsets[row + 1])
            scores = rows.values[own] @ solver._weights[rows.columns[own]] + solver._bias
            for output, score in enumerate(scores.tolist()):
                expected += 3.0 * max(0.0, 1 - (score if label == output else -score)) ** 2
        assert objective == pytest.approx(expected, rel=1e-5)
        gaps.append(gap)
    assert gaps[0] > gaps[1] > gaps[2] > -1e-5
    assert gaps[2] < 1e-4


def problem(X, y, n_classes):
    X = csr_matrix(X, dtype=np.float32)
    rows = LinearRows(
        X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data, np.asarray(y, dtype=np.int64)
    )
    return LinearProblem(rows, np.ones(len(y), dtype=np.float32), np.arange(X.shape[1]), n_classes)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_a_new_text_is_learned_with_one_step(norm):
    """A row without any column of the training rows gets half of the step that fits it exactly, by
    either norm.
    """
    X, y = counts()
    X = csr_matrix(np.pad(X.toarray(), ((0, 0), (0, 4))))
    new = csr_matrix(np.r_[np.zeros(50), 3.0, 1, 1, 1][np.newaxis])
    before, after = [], []
    for seed in SEEDS:
        options = {
            "batch_size": "auto",
            "embedding": EmbeddingTables(importance_init="ones"),
            "random_state": seed,
        }
        model = classifier(normalize=norm, **options).fit(X, y)
        before.append(model._scores(new)[0, 2])
        after.append(model.partial_fit(new, [2])._scores(new)[0, 2])
    assert_as_good(after, before, margin=-0.3)
    assert_as_good(before, after, margin=3)


def test_columns_that_no_other_row_has_are_dropped():
    train = problem([[3, 4, 0]], [0], 3)
    valid = problem([[3, 4, 12], [0, 0, 5], [6, 0, 8]], [0, 1, 2], 3).known_from(train)
    np.testing.assert_allclose(
        valid.scores(np.eye(3, dtype=np.float32)), [[0.6, 0.8, 0], [0, 0, 0], [1, 0, 0]]
    )
    other = replace(problem([[3, 4, 12]], [0], 3), norm="l1", scale=2.0)
    np.testing.assert_allclose(
        other.known_from(train).scores(np.eye(3, dtype=np.float32)), [[6 / 7, 8 / 7, 0]]
    )
    kept = replace(other, drops_new=False)
    assert kept.known_from(train) is kept


@pytest.mark.parametrize(
    "options", [{"variant": "standard"}, {"embedding": EmbeddingTables(importance_init="ones")}]
)
def test_without_importance_new_columns_count_in_the_norm(options, monkeypatch):
    """As in predictions: else scores of left-out rows would be larger than those of new ones."""
    seen = []
    monkeypatch.setattr(
        LinearProblem, "known_from", lambda self, train: seen.append(self.drops_new) or self
    )
    classifier(**options).fit(*counts())
    assert seen
    assert not any(seen)


def test_few_rows_have_default_settings_and_more_are_cross_validated():
    X, y = counts(n_rows=29)
    assert choose_settings(problem(X, y, 3), 0) == (Settings(), None)
    X, y = counts(n_rows=90)
    settings, left_out = choose_settings(problem(X, y, 3), 0)
    assert settings.strength in _dual_fit._STRENGTHS
    assert settings.share in _dual_fit._SHARES
    assert sorted(left_out.rows) == list(range(90))
    assert left_out.scores.shape == (90, 3)
    assert (left_out.scores.argmax(axis=1) == y[left_out.rows]).mean() > 0.5


def test_growth_of_scores():
    scores = np.random.default_rng(0).normal(size=(20, 3))
    growths = [
        _dual_fit._growth(scores, factor * scores, n)
        for factor, n in ((1, 1.0), (2**0.5, 1.0), (8, 4.0))
    ]
    assert growths == pytest.approx([1, 1.5**0.5, 6])  # at most as the number of rows
    assert _dual_fit._growth(0 * scores, scores, 1.0) == 1.0


def test_a_tiny_weight_is_nearly_none(monkeypatch):
    monkeypatch.setattr(_dual_fit, "_SHARES", (20.0,))  # the log-odds decide
    weighted, plain = [], []
    for seed in SEEDS:
        X, y = counts(seed=seed)
        wrong = [(y + 1) % 3] * 3
        rows, weights = (
            csr_matrix(np.vstack([X.toarray()] * 4)),
            np.repeat([1.0, 1e-6], [len(y), 3 * len(y)]),
        )
        labels = np.concatenate([y, *wrong])
        weighted.append(classifier().fit(rows, labels, sample_weight=weights).score(X, y))
        plain.append(classifier().fit(X, y).score(X, y))
    assert_as_good(weighted, plain, margin=0.1)


def test_a_saved_training_state_continues_exactly(tmp_path):
    X, y = counts()
    model = classifier().fit(X, y)
    assert model._loss.name == "hinge"
    save_model(model, tmp_path / "first", training_state=True)
    save_model(load_model(tmp_path / "first"), tmp_path / "second", training_state=True)
    save_model(model, tmp_path / "without")
    with pytest.raises(ValueError, match="no training state"):
        save_model(load_model(tmp_path / "without"), tmp_path / "third", training_state=True)
    copies = [
        pickle.loads(pickle.dumps(model)),
        *(load_model(tmp_path / name) for name in ("first", "second")),
    ]
    expected = model.partial_fit(X[:40], y[:40])._scores(X)
    for copy in copies:
        assert_same_bits(copy.partial_fit(X[:40], y[:40])._scores(X), expected)


@pytest.mark.parametrize(
    ("n_rows", "n_epochs"), [(1, 10), (4_999, 10), (5_000, 6), (19_999, 6), (20_000, 4)]
)
def test_epochs_by_the_number_of_rows(n_rows, n_epochs):
    assert n_dual_epochs(n_rows) == n_epochs


def test_probabilities_of_many_rows_are_calibrated_with_held_out_rows(monkeypatch):
    rng = np.random.default_rng(1)
    X = csr_matrix(rng.poisson(0.1, size=(24_000, 300)).astype(np.float64))
    logits = X @ rng.normal(size=300)
    y = rng.random(24_000) < 1 / (1 + np.exp(-(logits - np.median(logits))))
    model = classifier().fit(X[:20_000], y[:20_000])  # of two classes
    assert (model.loss_, model.solver_) == ("hinge", "dual")
    probabilities = model.predict_proba(X[20_000:])[:, 1]
    factor = (
        LogisticRegression(C=1e6, fit_intercept=False)
        .fit(np.log(probabilities / (1 - probabilities))[:, np.newaxis], y[20_000:])
        .coef_[0, 0]
    )
    assert factor == pytest.approx(1, abs=0.3)
    monkeypatch.setattr(_dual_fit, "_THREADS", 1)
    again = classifier().fit(X[:20_000], y[:20_000])
    assert_same_bits(again.predict_proba(X[20_000:])[:, 1], probabilities)


def test_another_device_changes_the_solver_and_not_the_loss():
    parameters = HashEmbeddingClassifier(n_hashes=1, embedding_dim="auto").get_params()
    chosen = {
        device: _auto_parameters.choose_solver(
            parameters | {"device": device}, "hinge", 1000, 3, device, caller="A"
        )
        for device in ("cpu", "cuda")
    }
    assert chosen == {"cpu": "dual", "cuda": "sgd"}
    with pytest.raises(ValueError, match=r"solver='dual'\) does not work with device='cuda'"):
        _auto_parameters.choose_solver(
            parameters | {"device": "cuda", "solver": "dual"}, "hinge", 1000, 3, "cuda", caller="A"
        )


def test_ctrl_c_during_the_cross_validation_leaves_the_model_as_it_was(monkeypatch):
    X, y = counts()
    model = classifier().fit(X, y)
    net, reached = model.net_, []

    def interrupted(problem, seed, crop):
        signal.raise_signal(signal.SIGINT)
        reached.append(True)
        return choose_settings(problem, seed, crop)

    monkeypatch.setattr(_dual_fit, "choose_settings", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.net_ is net
    assert not reached


def test_further_training_keeps_the_damping_of_the_solution(tmp_path):
    X, y = counts()
    model = classifier().fit(X, y)
    save_model(model, tmp_path / "model")
    damping = [group["eps"] for group in model.net_.optimizer_.param_groups]
    assert min(damping) > 1e-3  # not that of a net without step sizes
    for one in (model, load_model(tmp_path / "model")):
        one.partial_fit(X[:40], y[:40])
        assert_near(
            [group["eps"] for group in one.net_.optimizer_.param_groups], damping, rtol=1e-6
        )
