"""Sums of hash embeddings of a document alone; against plain loops in test_score_bags, with
gradients in tests/nn.
"""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_hashnlp.kernels.embeddings._bags import (
    L1_BAG_NORM,
    L2_BAG_NORM,
    NO_BAG_NORM,
    BagLayout,
    embed_bags,
)
from sklearn_hashnlp.kernels.embeddings._hash_ids import STANDARD, locate_ids

from .test_hash_ids import VARIANTS, constants_of

N_ROWS = 40
N_SLOTS = 11
WIDTH = 3
NORMS = (NO_BAG_NORM, L1_BAG_NORM, L2_BAG_NORM)


def make_tables(variant, n_hashes, dtype=np.float64):
    rng = np.random.default_rng(0)
    if variant == STANDARD:
        return rng.normal(size=(N_ROWS, WIDTH)).astype(dtype), None
    return rng.normal(size=(N_SLOTS, WIDTH)).astype(dtype), rng.normal(
        size=(N_ROWS, n_hashes)
    ).astype(dtype)


def embed(ids, offsets, counts, pool, importance, constants, layout):
    n_rows = len(pool if importance is None else importance)
    rows, slots = locate_ids(ids, constants, n_rows, len(pool), layout.variant)
    return embed_bags(rows, slots, offsets, counts, pool, importance, layout)


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
        alone = embed(
            ids[own], np.array([0, length]), counts[own], pool, importance, constants_of(2), layout
        ).documents
        assert alone.tobytes() == together[document].tobytes()
