"""Sums of hash embeddings and their gradients, against plain loops and finite differences."""

from itertools import product

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
    embed_bags,
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


LAYOUTS = [BagLayout(*options) for options in product(VARIANTS, (False, True), (False, True), NORMS)]
with_hashes = pytest.mark.parametrize(
    ("layout", "n_hashes"), [(layout, 1 + index % 4) for index, layout in enumerate(LAYOUTS)], ids=str
)


def embed(ids, offsets, counts, pool, importance, constants, layout):
    n_rows = len(pool if importance is None else importance)
    rows, slots = locate_ids(ids, constants, n_rows, len(pool), layout.variant)
    return embed_bags(rows, slots, offsets, counts, pool, importance, layout)


@with_hashes
def test_documents_are_the_sums_of_a_plain_loop(layout, n_hashes):
    pool, importance = make_tables(layout.variant, n_hashes)
    bags = embed(IDS, OFFSETS, COUNTS, pool, importance, constants_of(n_hashes), layout)
    located = plain.locate_ids(IDS, layout.variant, n_hashes, N_ROWS, N_SLOTS)
    expected = plain.embed_bags(*located, OFFSETS, COUNTS, pool, importance, layout)
    np.testing.assert_allclose(bags.documents, expected, rtol=1e-12, atol=1e-14)
    assert not bags.documents[[1, 4, 5]].any()  # empty, all counts zero, empty
    assert bags.documents.flags.c_contiguous


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
