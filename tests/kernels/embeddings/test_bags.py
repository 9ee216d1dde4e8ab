"""Sums of hash embeddings and their gradients, against plain loops and finite differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_hashnlp._hash_specification import hash_constants
from sklearn_hashnlp.kernels.embeddings._bags import (
    L1_BAG_NORM,
    L2_BAG_NORM,
    NO_BAG_NORM,
    BagLayout,
    bag_gradients,
    embed_bags,
    group_bags,
)
from sklearn_hashnlp.kernels.embeddings._hash_ids import STANDARD, locate_ids

from ...oracles import bags as plain
from ...oracles.hashing import hash_slot
from .test_hash_ids import VARIANTS, constants_of

N_ROWS, N_SLOTS, WIDTH = 40, 11, 3
NORMS = (NO_BAG_NORM, L1_BAG_NORM, L2_BAG_NORM)
IDS = np.array([3, 999, 3, 2**31 - 2, 5, -6, 7 + 2**32, 8, 3, 3])
OFFSETS = np.array([0, 3, 3, 4, 8, 10, 10])
COUNTS = np.array([1.0, 2.0, -0.5, 3.0, 1.0, 0.0, -2.0, 1.5, 0.0, 0.0])


def make_tables(variant, n_hashes, dtype=np.float64):
    rng = np.random.default_rng(0)
    if variant == STANDARD:
        return rng.normal(size=(N_ROWS, WIDTH)).astype(dtype), None
    importance = rng.normal(size=(N_ROWS, n_hashes)).astype(dtype)
    importance[hash_slot(999, hash_constants(0, 1)[0], N_ROWS)] = 0  # an id that no training row had
    return rng.normal(size=(N_SLOTS, WIDTH)).astype(dtype), importance


layouts = pytest.mark.parametrize(
    "layout",
    [
        BagLayout(variant, concat, append_weight, norm)
        for variant in VARIANTS
        for concat in (False, True)
        for append_weight in (False, True)
        for norm in NORMS
    ],
    ids=str,
)


def embed(ids, offsets, counts, pool, importance, constants, layout):
    n_rows = len(pool if importance is None else importance)
    rows, slots = locate_ids(ids, constants, n_rows, len(pool), layout.variant)
    return embed_bags(rows, slots, offsets, counts, pool, importance, layout)


def differentiate(upstream, offsets, bags, counts, pool, importance, layout):
    n_rows = len(pool if importance is None else importance)
    groups = group_bags(bags.rows, bags.slots, offsets, n_rows, len(pool))
    return bag_gradients(upstream, bags, counts, pool, importance, layout, groups)


@layouts
@pytest.mark.parametrize("n_hashes", [1, 2, 3, 4])
def test_documents_are_the_sums_of_a_plain_loop(layout, n_hashes):
    pool, importance = make_tables(layout.variant, n_hashes)
    bags = embed(IDS, OFFSETS, COUNTS, pool, importance, constants_of(n_hashes), layout)
    located = plain.locate_ids(IDS, layout.variant, n_hashes, N_ROWS, N_SLOTS)
    expected = plain.embed_bags(*located, OFFSETS, COUNTS, pool, importance, layout)
    np.testing.assert_allclose(bags.documents, expected, rtol=1e-12, atol=1e-14)
    assert not bags.documents[[1, 4, 5]].any()  # empty, all counts zero, empty
    assert bags.documents.flags.c_contiguous


@layouts
@pytest.mark.parametrize("n_hashes", [1, 2, 3, 4])
def test_gradients_are_those_of_finite_differences(layout, n_hashes):
    pool, importance = make_tables(layout.variant, n_hashes)
    constants, step = constants_of(n_hashes), 1e-6
    if importance is not None:
        importance[importance == 0] = 0.1  # the l1 norm has a kink at zero
    bags = embed(IDS, OFFSETS, COUNTS, pool, importance, constants, layout)
    upstream = np.random.default_rng(1).normal(size=bags.documents.shape)
    before = upstream.copy()
    result = differentiate(upstream, OFFSETS, bags, COUNTS, pool, importance, layout)
    assert (upstream == before).all()
    rows, slots = plain.locate_ids(IDS, layout.variant, n_hashes, N_ROWS, N_SLOTS)
    for table, gradient, used in zip((pool, importance), result, (slots, rows), strict=True):
        if table is None:
            assert gradient is None
            continue
        assert gradient.rows.tolist() == np.unique(used).tolist()
        dense = np.zeros_like(table)
        dense[gradient.rows] = gradient.values
        expected = np.zeros_like(table)
        for index in np.ndindex(table.shape):
            ends = []
            for side in (step, -step):
                table[index] += side
                changed = embed(IDS, OFFSETS, COUNTS, pool, importance, constants, layout)
                ends.append((changed.documents * upstream).sum())
                table[index] -= side
            expected[index] = (ends[0] - ends[1]) / (2 * step)
        np.testing.assert_allclose(dense, expected, rtol=1e-6, atol=1e-8)


@layouts
def test_no_documents_and_no_values(layout):
    pool, importance = make_tables(layout.variant, 2)
    nothing = np.array([], dtype=np.int64)
    for offsets in ([0], [0, 0, 0]):
        bags = embed(nothing, np.array(offsets), np.array([]), pool, importance, constants_of(2), layout)
        assert bags.documents.shape[0] == len(offsets) - 1
        assert not bags.documents.any()
        for table, gradient in zip(
            (pool, importance),
            differentiate(
                np.ones_like(bags.documents), np.array(offsets), bags, np.array([]), pool, importance, layout
            ),
            strict=True,
        ):
            assert gradient is None if table is None else gradient.values.shape == (0, table.shape[1])


@layouts
def test_single_precision_stays_single_and_close_and_the_same(layout):
    rng = np.random.default_rng(2)
    lengths = rng.integers(0, 60, 50)
    offsets = np.concatenate([[0], lengths.cumsum()])
    ids, counts = rng.integers(0, 200, offsets[-1]), rng.normal(size=offsets[-1])
    constants, results = constants_of(2), []
    for dtype in (np.float64, np.float32, np.float32):
        pool, importance = make_tables(layout.variant, 2, dtype)
        bags = embed(ids, offsets, counts.astype(dtype), pool, importance, constants, layout)
        upstream = np.ones_like(bags.documents)
        gradients = differentiate(upstream, offsets, bags, counts.astype(dtype), pool, importance, layout)
        results.append([bags.documents, *(gradient.values for gradient in gradients if gradient is not None)])
    double, single, again = results
    for part, expected in zip(single, double, strict=True):
        assert part.dtype == np.float32
        np.testing.assert_allclose(part, expected, rtol=1e-4, atol=1e-4)
    assert [part.tobytes() for part in single] == [part.tobytes() for part in again]


@settings(max_examples=30)
@given(
    lengths=st.lists(st.integers(0, 6), max_size=6),
    seed=st.integers(0, 99),
    variant=st.sampled_from(VARIANTS),
    norm=st.sampled_from(NORMS),
    append_weight=st.booleans(),
)
def test_a_document_depends_on_its_values_alone(lengths, seed, variant, norm, append_weight):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    ids, counts = rng.integers(0, 30, offsets[-1]), rng.normal(size=offsets[-1])
    pool, importance = make_tables(variant, 2)
    layout = BagLayout(variant, concat=True, append_weight=append_weight, norm=norm)
    together = embed(ids, offsets, counts, pool, importance, constants_of(2), layout).documents
    for document, length in enumerate(lengths):
        own = slice(offsets[document], offsets[document + 1])
        alone = embed(ids[own], np.array([0, length]), counts[own], pool, importance, constants_of(2), layout).documents
        assert alone.tobytes() == together[document].tobytes()
