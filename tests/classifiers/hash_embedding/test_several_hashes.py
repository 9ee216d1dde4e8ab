"""Several hash functions: without collisions the same solutions and steps as with one."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from sklearn_hashnlp.classifiers._calibration import Calibration
from sklearn_hashnlp.classifiers._losses import make_loss
from sklearn_hashnlp.classifiers.hash_embedding import _dual_fit
from sklearn_hashnlp.classifiers.hash_embedding._dual_fit import (
    Located,
    LogOdds,
    fit_dual,
    problem_of,
)
from sklearn_hashnlp.classifiers.hash_embedding._model import score_rows, spec_of
from sklearn_hashnlp.classifiers.hash_embedding._sparse_net import net_of_model
from sklearn_hashnlp.classifiers.hash_embedding._sparse_rows import SparseRows
from sklearn_hashnlp.kernels.linear._linear_model import LinearModel
from tests.oracles.bags import locate_ids
from tests.oracles.first_step import VARIANTS, first_update
from tests.training.nets import ARCHITECTURE, fresh_net

EPS = float(np.finfo(np.float32).eps)
N_ROWS = 29
N_COLUMNS = 40
N_CLASSES = 3
COLLISIONS = {"num_buckets": 20, "num_embeddings": 30}
NO_COLLISIONS = {"num_buckets": 2**19, "num_embeddings": 2**19}
FORMS = [
    (aggregation, norm, k)
    for aggregation in ("sum", "concat")
    for norm in ("l1", "l2")
    for k in (1, 2, 3)
]


@pytest.fixture(autouse=True)
def same_number_of_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    """More hashes have more epochs, as their columns collide."""
    monkeypatch.setattr(_dual_fit, "n_dual_epochs", lambda *_: 10)


def counts(n_classes: int = N_CLASSES) -> SparseRows:
    rng = np.random.default_rng(0)
    labels = np.arange(N_ROWS) % n_classes
    rates = np.where(np.arange(N_COLUMNS) % n_classes == labels[:, None], 0.5, 0.1)
    return SparseRows(csr_array(rng.poisson(rates).astype(np.float64)), labels)


def model_of(n_classes: int = N_CLASSES, **form: Any) -> LinearModel:
    """Return a model with random importance weights, as the dual solver has: the same for each
    hash.
    """
    model = LinearModel.zeros(spec_of(ARCHITECTURE | {"append_weight": False} | form), n_classes)
    if model.importance is not None:
        model.importance[:] = np.random.default_rng(1).uniform(0.5, 2, (len(model.importance), 1))
    return model


def solved(n_classes: int, **form: Any) -> Any:
    architecture = ARCHITECTURE | {"append_weight": False, "num_classes": n_classes} | form
    options: dict[str, Any] = {
        "importance_init": "idf",
        "learning_rate": 0.2,
        "rows_per_step": 32,
        "seed": 0,
    }
    rows = counts(n_classes)
    model, minimum, _ = fit_dual(
        architecture,
        rows,
        make_loss("hinge"),
        Calibration.of(rows, n_classes),
        calibrate="auto",
        **options,
    )
    return model.linear, minimum


def outputs(net: Any, rows: SparseRows) -> torch.Tensor:
    net.module_.train()
    arrays = rows.indices.astype(np.int64), rows.indptr, rows.data.astype(np.float32)
    scores: torch.Tensor = net.module_(*map(torch.from_numpy, arrays))
    return scores


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("aggregation", "norm", "k"), FORMS)
def test_the_problem_is_that_of_slow_loops(
    variant: str, aggregation: str, norm: str, k: int
) -> None:
    form = {
        "variant": variant,
        "aggregation": aggregation,
        "normalize": norm,
        "num_hashes": k,
    } | COLLISIONS
    model, rows = model_of(**form), counts()
    problem = problem_of(model, rows, Located.of(model, rows))
    at = VARIANTS.index(variant), k, form["num_embeddings"], form["num_buckets"]
    table_rows, slots = locate_ids(rows.indices, *at, model.spec.seed)
    expected = []
    for first, last in pairwise(rows.indptr):
        weights = [float(rows.data[j]) for j in range(first, last)]
        if model.importance is not None:
            weights = [
                one * float(model.importance[table_rows[first + j], 0])
                for j, one in enumerate(weights)
            ]
        length = (
            sum(abs(one) for one in weights)
            if norm == "l1"
            else sum(one**2 for one in weights) ** 0.5
        )
        expected.append([one / (length or 1.0) for one in weights for _ in slots[0]])
    if norm == "l1":
        scale = (len(expected) / sum(one**2 for row in expected for one in row)) ** 0.5
    else:
        scale = slots.shape[1] ** -0.5
    assert problem.scale == pytest.approx(scale, rel=N_COLUMNS * EPS)
    found = np.split(problem.rows.values, problem.rows.offsets[1:-1])
    for values, row in zip(found, expected, strict=True):
        np.testing.assert_allclose(values, scale * np.array(row), rtol=N_COLUMNS * EPS)
    np.testing.assert_array_equal(problem.slots[problem.rows.columns], slots.reshape(-1))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("aggregation", "norm", "k"), FORMS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_of_the_network_are_those_of_the_problem(
    variant: str, aggregation: str, norm: str, k: int, n_classes: int
) -> None:
    form = {"variant": variant, "aggregation": aggregation, "normalize": norm, "num_hashes": k}
    model, minimum = solved(n_classes, **form, **COLLISIONS)
    rows = counts(n_classes)
    problem = problem_of(model, rows, Located.of(model, rows))
    terms = problem.rows.values, problem.rows.columns, problem.rows.offsets
    expected = (
        csr_array(terms, shape=(N_ROWS, len(problem.slots))).toarray() @ minimum.weights
        + minimum.bias
    )
    sizes = abs(csr_array(terms, shape=(N_ROWS, len(problem.slots)))).toarray() @ abs(
        minimum.weights
    )
    tolerance = k * N_COLUMNS * EPS * (sizes + abs(minimum.bias))
    assert (abs(score_rows(model, rows).scores - expected) <= tolerance).all()
    assert (score_rows(model, rows).labels == rows.targets).mean() > 0.8


@pytest.mark.parametrize(("aggregation", "norm", "k"), [form for form in FORMS if form[-1] > 1])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_collisions_the_solution_is_that_of_one_hash(
    aggregation: str, norm: str, k: int, n_classes: int
) -> None:
    form = {"aggregation": aggregation, "normalize": norm, **NO_COLLISIONS}
    rows, (several, minimum) = counts(n_classes), solved(n_classes, num_hashes=k, **form)
    one, other = solved(n_classes, num_hashes=1, **form)
    assert np.count_nonzero(several.pool.any(axis=1)) == k * N_COLUMNS
    expected = score_rows(one, rows).scores
    # ten epochs of sums over the columns of a row
    tolerance = 10 * k * N_COLUMNS * EPS * abs(expected).max()
    np.testing.assert_allclose(score_rows(several, rows).scores, expected, atol=tolerance, rtol=0)
    assert minimum.objective == pytest.approx(other.objective, rel=10 * N_ROWS * EPS)
    odds = [problem_of(m, rows, Located.of(m, rows)) for m in (several, one)]
    found, expected = (problem.scores(problem.log_odds()) for problem in odds)
    np.testing.assert_allclose(
        found, expected, atol=k * N_COLUMNS * EPS * abs(expected).max(), rtol=0
    )


@pytest.mark.parametrize("k", [2, 3])
def test_without_collisions_log_odds_equal_those_of_one_hash(k: int) -> None:
    scores, rows = [], counts()
    for n_hashes in (1, k):
        model = model_of(num_hashes=n_hashes, **NO_COLLISIONS)
        model.weight[:] = np.random.default_rng(2).normal(size=model.weight.shape)
        assert model.importance is not None
        model.importance[:] = 1.0
        used, change = LogOdds.of(model, model.importance, rows).increments(model, "softmax")
        model.pool[used] += change
        scores.append(score_rows(model, rows).scores)
    tolerance = k * N_COLUMNS * EPS * abs(scores[0]).max()
    np.testing.assert_allclose(scores[1], scores[0], atol=tolerance, rtol=0)
    assert scores[0].std() > 0.05


@pytest.mark.parametrize("k", [2, 3])
def test_without_collisions_a_step_is_that_of_one_hash(k: int) -> None:
    """The vectors of a column are summed; a pool that is not zero also moves the importance
    weights.
    """
    rows, generator = counts(), torch.Generator().manual_seed(0)
    form = {"append_weight": False, "normalize": "l2", "embedding_dim": 4, **NO_COLLISIONS}
    net = fresh_net(num_hashes=k, **form)
    bag, layer = net.module_.bag, net.module_.head[0]
    columns = torch.arange(N_COLUMNS)
    table_rows, slots = bag.locate(columns)
    assert len(set(slots.flatten().tolist())) == k * N_COLUMNS
    assert len(set(table_rows.tolist())) == N_COLUMNS
    vectors = torch.randn(N_COLUMNS, 4, generator=generator)
    with torch.no_grad():
        bag.pool[slots] = vectors[:, None] / k
        bag.importance[table_rows] = (1 + torch.rand(N_COLUMNS, 1, generator=generator)).expand(
            -1, k
        )
        layer.weight.normal_(generator=generator)
    weights = {"pool": bag.pool[slots].sum(dim=1), "importance": bag.importance[table_rows][:, :1]}
    weights = {name: one.detach().double().requires_grad_() for name, one in weights.items()}
    matrix = torch.from_numpy(csr_array((rows.data, rows.indices, rows.indptr)).toarray())
    weighted = matrix * weights["importance"].T
    documents = weighted @ weights["pool"] / weighted.norm(dim=1, keepdim=True)
    scores = documents @ layer.weight.detach().double().T + layer.bias.detach().double()
    targets = torch.from_numpy(rows.targets)
    torch.nn.functional.cross_entropy(scores, targets).backward()

    optimizer = net.make_optimizer("adagrad", 0.1, eps=0.01)
    torch.nn.functional.cross_entropy(outputs(net, rows), targets).backward()
    optimizer.step()
    trained = {"pool": bag.pool[slots].sum(dim=1), "importance": bag.importance[table_rows]}
    for name, weight in weights.items():
        assert weight.grad is not None
        options = {
            "optimizer": "adagrad",
            "lr": 0.1,
            "eps": 0.01,
            "by_row": True,
            "n_terms": k * N_ROWS + N_COLUMNS,
        }
        expected, tolerance = first_update(weight.detach(), weight.grad, **options)
        error = (trained[name].detach().double() - expected).abs()
        assert (error <= tolerance).all(), (
            f"{name}: {(error / tolerance).max():.1f} times the tolerance"
        )
        moved = (expected - weight.detach()).abs()
        assert (tolerance.expand_as(moved) < 0.01 * moved).double().mean() > 0.9


@pytest.mark.parametrize(("aggregation", "norm", "k"), [form for form in FORMS if form[-1] > 1])
def test_without_collisions_a_small_step_equals_that_of_one_hash(
    aggregation: str, norm: str, k: int
) -> None:
    rows = counts()
    small = 1e-3
    moves = []
    size = 0.0
    for n_hashes in (1, k):
        form = {
            "append_weight": False,
            "aggregation": aggregation,
            "normalize": norm,
            "num_hashes": n_hashes,
        }
        options: dict[str, Any] = {
            "importance_init": "idf",
            "learning_rate": 0.2,
            "rows_per_step": 32,
            "seed": 0,
        }
        architecture, loss = ARCHITECTURE | form | NO_COLLISIONS, make_loss("hinge")
        calibration = Calibration.of(rows, N_CLASSES)
        net = net_of_model(
            fit_dual(architecture, rows, loss, calibration, calibrate=False, **options)[0], []
        )
        before, others = net.score_rows(rows), torch.from_numpy((rows.targets + 1) % N_CLASSES)
        (small * loss(outputs(net, rows), others).mean()).backward()
        net.optimizer_.step()
        moves.append((net.score_rows(rows) - before) / small)
        size = abs(before).max()
    np.testing.assert_allclose(moves[1], moves[0], atol=k * N_COLUMNS * EPS * size / small, rtol=0)


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_rows_without_columns_are_solved(k: int, norm: str) -> None:
    rows = SparseRows(csr_array((6, 10)), np.array([0, 0, 0, 0, 1, 1]))
    model = model_of(2, num_hashes=k, normalize=norm)
    problem = problem_of(model, rows, Located.of(model, rows))
    assert (problem.n_hashes, len(problem.rows.values)) == (k, 0)
    assert problem.scale > 0
