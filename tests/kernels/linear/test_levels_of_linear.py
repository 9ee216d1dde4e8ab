"""Each instruction set computes the same bits: linear models and the bags below them."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_hashnlp.kernels import _native
from sklearn_hashnlp.kernels._rows import average_rows, average_rows_gradient, sum_rows
from sklearn_hashnlp.kernels.embeddings._bags import (
    BagLayout,
    bag_gradients,
    embed_bags,
    group_bags,
)
from sklearn_hashnlp.kernels.embeddings._hash_ids import locate_ids
from sklearn_hashnlp.kernels.embeddings._row_updates import adagrad_rows, adam_rows
from sklearn_hashnlp.kernels.linear._dual_coordinate_descent import (
    descend,
    naive_bayes_log_odds,
    squared_norms,
)
from sklearn_hashnlp.kernels.linear._linear_model import score_bags
from sklearn_hashnlp.kernels.linear._softmax_head import softmax_head
from sklearn_hashnlp.kernels.linear._sparse_products import add_product
from tests.trainings import assert_same_bits

from ..embeddings.test_hash_ids import constants_of
from .test_dual_coordinate_descent import draw
from .test_score_bags import make_model, make_rows, score

WIDTHS = [1, 2, 3, 4, 7, 8, 13, 16, 20, 40]


def assert_equal_at_baseline(compute):
    found = compute()
    _native.set_level("baseline")  # the fixture sets it back
    assert_same_bits(found, compute())


def trained(n_outputs):
    matrix, rows, rng = draw(n_classes=max(n_outputs, 2))
    labels = rows.labels - (n_outputs == 1)
    rows, costs = rows._replace(labels=labels), rng.random(60).astype(np.float32) + np.float32(0.5)
    arrays = [
        np.zeros(shape, dtype=np.float32) for shape in ((40, n_outputs), n_outputs, (60, n_outputs))
    ]
    for _ in range(3):
        descend(rows, squared_norms(rows, 40), costs, rng.permutation(60), *arrays)
    product = np.ones((60, n_outputs), dtype=np.float32)
    add_product(matrix.indptr, matrix.indices, matrix.data, arrays[0], product)
    return *arrays, product, naive_bayes_log_odds(rows, costs, 40, n_outputs, 0.1)


@pytest.mark.parametrize("n_outputs", WIDTHS)
def test_dual_coordinate_descent(level, n_outputs):
    assert_equal_at_baseline(lambda: trained(n_outputs))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("n_hashes", [1, 2])
def test_scores_of_bags(level, width, n_hashes):
    model = make_model(
        BagLayout(0, n_hashes == 2, True, 2),
        width=width,
        n_hashes=n_hashes,
        n_classes=width,
        half=1.0,
    )
    assert_equal_at_baseline(lambda: score(model, *make_rows()))


def step(width, n_hashes, dtype):
    """Take a step of training: embed bags, compute gradients and update both tables."""
    rng = np.random.default_rng(width)
    ids, indptr, counts = make_rows()
    pool, importance = (
        rng.normal(size=(50, width)).astype(dtype),
        rng.normal(size=(70, n_hashes)).astype(dtype),
    )
    rows, slots = locate_ids(ids, constants_of(n_hashes), 70, 50, 0)
    offsets = indptr.astype(np.int64)
    counts = counts.astype(dtype)
    layout = BagLayout(0, False, True, 2)
    bags = embed_bags(rows, slots, offsets, counts, pool, importance, layout)
    weight, bias = (
        rng.normal(size=(width, bags.documents.shape[1])).astype(dtype),
        np.zeros(width, dtype=dtype),
    )
    head = softmax_head(bags.documents, weight, bias, rng.integers(0, width, 40), None)
    groups = group_bags(rows, slots, offsets, 70, 50)
    of_pool, of_importance = bag_gradients(
        head.inputs, bags, counts, pool, importance, layout, groups
    )
    ones = [np.ones((70, 1), dtype=dtype) for _ in range(3)]
    means = np.ones_like(pool)
    adagrad_rows(importance, ones[0], importance[:0], *of_importance, 0.1, 1e-8, 0)
    adam_rows(pool, means, *ones[1:], np.ones_like(pool), *of_pool, 0.1, 0.9, 0.99, 1e-8, 2)
    return *bags, *head[1:], of_pool, of_importance, pool, importance, means, ones


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", WIDTHS)
def test_steps_of_training(level, width, dtype):
    assert_equal_at_baseline(lambda: step(width, 1 + width % 2, dtype))


@pytest.mark.parametrize("width", WIDTHS)
def test_rows_summed_and_averaged(level, width):
    rng = np.random.default_rng(width)
    table, rows = rng.normal(size=(30, width)).astype(np.float32), rng.integers(-1, 30, (50, 5))

    def compute():
        averages, scales = average_rows(table, rows, np.array([[1, 2, 3, 4, 5], [0.5, 4, 3, 2, 1]]))
        gradient = average_rows_gradient(averages, rows, np.ones((2, 5)), scales, 30)
        return (
            averages,
            scales,
            gradient,
            sum_rows(np.abs(rows[:, 0]).astype(np.int32), averages[:, 0].copy(), 30),
        )

    assert_equal_at_baseline(compute)


def test_a_layer_without_outputs_has_lengths(level):
    model, (indices, indptr, counts) = make_model(BagLayout(0, False, True, 2)), make_rows()
    _, expected = score(model, indices, indptr, counts)
    nothing = model._replace(
        weight=model.weight[:, :0].copy(), bias=model.bias[:0], prior=model.prior[:0]
    )
    labels, lengths = np.empty(40, dtype=np.int64), np.empty(40)
    assert score_bags(
        nothing, indices, indptr, counts, slice(0, 40), np.empty((0, 0)), labels, lengths
    )
    assert_same_bits(lengths, expected)
