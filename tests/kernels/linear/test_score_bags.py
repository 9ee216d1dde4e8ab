"""Scores of a linear layer over bags: the arithmetic of the training kernels, and plain loops."""

import numpy as np
import pytest

from sklearn_hashnlp.kernels.embeddings._bags import BagLayout, embed_bags
from sklearn_hashnlp.kernels.embeddings._hash_ids import STANDARD, locate_ids
from sklearn_hashnlp.kernels.linear._linear_model import BagScorer, inspect_rows, score_bags

from ...oracles import bags as plain
from ..embeddings.test_bags import NORMS
from ..embeddings.test_hash_ids import VARIANTS, constants_of

N_ROWS, N_SLOTS = 50, 13


def make_model(layout, *, n_hashes=2, width=6, n_classes=3, half=-1.0, base=0.0):
    rng = np.random.default_rng(0)
    standard = layout.variant == STANDARD
    pool = rng.normal(size=(N_ROWS if standard else N_SLOTS, width)).astype(np.float32)
    pool[::4] = 0  # as those that were never trained
    pool[1::4, : min(width, 4) - 1] = 0
    importance = None if standard else rng.normal(size=(N_ROWS, n_hashes)).astype(np.float32)
    if importance is not None:
        importance[::3] = 0  # as those of ids that no training row had
        importance[1::6, 0] = 0
    output_dim = width * (n_hashes if layout.concat and not standard else 1)
    output_dim += n_hashes if layout.append_weight and not standard else 0
    weight, bias = rng.normal(size=(output_dim, n_classes)), rng.normal(size=n_classes)
    constants = np.array(constants_of(n_hashes), dtype=np.uint64)
    return BagScorer(
        pool, importance, constants, layout, weight, bias, rng.normal(size=n_classes), half, base
    )


def make_rows(n_rows=40, longest=30):
    rng = np.random.default_rng(1)
    lengths = rng.integers(0, longest, n_rows)
    lengths[[0, 7, n_rows - 1]] = 0
    ids = [np.sort(rng.choice(10**9, length, replace=False)) for length in lengths]
    indptr = np.cumsum([0, *lengths]).astype(np.int32)
    counts = rng.integers(1, 5, indptr[-1]).astype(np.float32)
    return np.concatenate(ids).astype(np.int32), indptr, counts


def score(model, indices, indptr, counts, blocks=None):
    n_rows = len(indptr) - 1
    scores = np.full((n_rows, len(model.bias)), np.nan)
    labels = np.full(n_rows, -1)
    lengths = np.full(n_rows, np.nan)
    blocks = blocks or [slice(0, n_rows)]
    finite = [
        score_bags(model, indices, indptr, counts, block, scores, labels, lengths)
        for block in blocks
    ]
    assert np.array_equal(labels, scores.argmax(axis=1))
    assert all(finite)
    return scores, lengths


def located(model, indices, variant):
    n_rows = len(model.pool if model.importance is None else model.importance)
    return locate_ids(indices.astype(np.int64), model.constants, n_rows, len(model.pool), variant)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    ("concat", "append_weight", "n_hashes", "width"),
    [
        (False, True, 1, 4),
        (True, False, 1, 3),
        (True, True, 2, 6),
        (False, False, 3, 9),
        (False, True, 2, 5),
    ],
)
def test_scores_have_the_bits_of_the_training_kernels(
    variant, norm, concat, append_weight, n_hashes, width
):
    model = make_model(
        BagLayout(variant, concat, append_weight, norm), n_hashes=n_hashes, width=width
    )
    indices, indptr, counts = make_rows()
    rows_and_slots = located(model, indices, variant)
    arguments = (
        *rows_and_slots,
        indptr.astype(np.int64),
        counts,
        model.pool,
        model.importance,
        model.layout,
    )
    documents = embed_bags(*arguments).documents
    expected = (documents.astype(np.float64) @ model.weight + model.bias).astype(np.float32)
    scores, _ = score(model, indices, indptr, counts)
    assert np.array_equal(scores, expected)
    exact = plain.embed_bags(*arguments) @ model.weight + model.bias
    assert scores == pytest.approx(exact, abs=1e-4)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    ("append_weight", "n_hashes", "width"), [(False, 2, 6), (False, 3, 2), (True, 2, 6)]
)
@pytest.mark.parametrize("base", [0.0, 1.5])
def test_lengths_and_the_move_towards_the_class_shares(
    variant, append_weight, n_hashes, width, base
):
    layout = BagLayout(variant, False, append_weight, 2)
    indices, indptr, counts = make_rows(longest=6)
    raw = make_model(layout, n_hashes=n_hashes, width=width)
    rows_and_slots = located(raw, indices, variant)
    squares = plain.squared_lengths(
        *rows_and_slots, indptr, counts, raw.pool, raw.importance, layout
    )
    expected = np.sqrt(np.maximum(squares - base, 0))
    assert len(expected) > np.count_nonzero(expected == 0) > 3
    own, _ = score(raw, indices, indptr, counts)
    for half in (-1.0, 0.0, 1.7, 1e9):
        model = raw._replace(half=half, base=base)
        scores, lengths = score(model, indices, indptr, counts)
        assert lengths == pytest.approx(expected, rel=1e-6, abs=1e-6)
        for moved, before, e in zip(scores, own, expected, strict=True):
            g = 1.0 if half < 0 else 0.0 if e == 0 else e**3 / (e**3 + half**3)
            assert moved == pytest.approx(g * before + (1 - g) * model.prior, abs=1e-5)
            if g in (0, 1):
                assert np.array_equal(moved, before if g else model.prior)


@pytest.mark.parametrize("factor", [1 - 1e-12, 1, 1 + 1e-12])
def test_rows_of_common_columns_alone_have_length_zero(factor):
    model = make_model(BagLayout(0, False, True, 2))
    indices, indptr, counts = make_rows()
    _, lengths = score(model, indices, indptr, counts)
    for row, length in enumerate(lengths):
        same = score(model._replace(base=factor * length**2), indices, indptr, counts)[1]
        assert same[row] == 0


def test_blocks_wide_indices_and_scores_left_out_change_nothing():
    model = make_model(BagLayout(0, False, True, 2), half=9.0, base=1.0)
    indices, indptr, counts = make_rows(300, 60)  # more values than are computed together
    scores, lengths = score(model, indices, indptr, counts)
    blocks = [slice(start, min(start + 37, 300)) for start in range(0, 300, 37)]
    wide = (indices.astype(np.int64), indptr.astype(np.int64))
    for again in (score(model, indices, indptr, counts, blocks), score(model, *wide, counts)):
        assert np.array_equal(again[0], scores)
        assert np.array_equal(again[1], lengths)
    labels, measured = np.empty(300, dtype=np.int64), np.empty(300)
    # of no scores
    assert score_bags(
        model, indices, indptr, counts, slice(0, 300), np.empty((0, 3)), labels, measured
    )
    assert np.array_equal(labels, scores.argmax(axis=1))
    assert np.array_equal(measured, lengths)


@pytest.mark.parametrize("value", [np.inf, np.nan, 1e39])
def test_scores_that_are_not_finite_are_reported(value):
    model = make_model(BagLayout(0, False, True, 2))
    model.bias[1] = value
    labels = np.empty(40, dtype=np.int64)
    assert not score_bags(model, *make_rows(), slice(0, 40), np.empty((0, 3)), labels, np.empty(40))


def inspect(indices, indptr, data, n_columns=10):
    arrays = (
        np.array(indices, dtype=np.int32),
        np.array(indptr, dtype=np.int32),
        np.array(data, dtype=np.float32),
    )
    return inspect_rows(*arrays, n_columns)


def test_facts_of_rows():
    assert inspect([1, 3, 0], [0, 2, 2, 3], [2, -0.5, 3]) == (True, 0.5, 3.0)
    assert inspect([], [0, 0], []) == (True, np.inf, 0.0)
    assert inspect([1], [0, 1], [np.inf]).largest == np.inf
    assert np.isnan(inspect([1, 2], [0, 2], [1, np.nan]).smallest)


def test_rows_that_need_the_full_checks():
    for indices in ([1, 1], [3, 1], [1, 10], [-1, 1]):
        assert not inspect(indices, [0, 2], [1, 1]).is_valid, indices
    for indptr in ([1, 2], [0, 2, 1], [0, 3], [0, -5, 2]):
        assert not inspect([1, 2], indptr, [1, 1]).is_valid, indptr
