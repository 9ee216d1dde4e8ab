"""How much rows tell, beside a plain loop."""

from itertools import pairwise

import numpy as np
import pytest

from sklearn_hashnlp.kernels.embeddings._hash_ids import IMPROVED, locate_ids
from sklearn_hashnlp.kernels.linear._evidence import row_evidence

from ..embeddings.test_hash_ids import constants_of

N_ROWS = 50


def plain_evidence(ids, counts, table, constants, common, rare):
    """Return the evidence of one row, by the slots that the hash functions give its ids."""
    rows, _ = locate_ids(ids, constants, len(table), 1, IMPROVED)
    total, known = 0.0, False
    for row, count in zip(rows, counts.tolist(), strict=True):
        for weight in np.abs(table[row]).astype(float).tolist():
            known |= weight > 0
            if weight < rare:
                excess = max(weight - common, 0.0) if count >= 0 else weight
                total += (count * excess) ** 2
    return total if known else -1.0


@pytest.mark.parametrize(("common", "rare"), [(0.5, np.inf), (0.5, 1.5), (np.inf, np.inf), (0.0, np.inf)])
@pytest.mark.parametrize("n_hashes", [1, 3])
def test_evidence_is_a_sum_over_the_columns_of_a_row(n_hashes, common, rare):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(N_ROWS, n_hashes)).astype(np.float32)
    table[::2] = 0
    constants = np.array(constants_of(n_hashes), dtype=np.uint64)
    indptr = np.cumsum([0, 0, 1, 5, 0, 20, 1, 1, 1])
    indices = rng.integers(0, 10**9, indptr[-1])
    counts = rng.choice([-0.7, 0.5, 1.0, 1.0, 3.0], indptr[-1]).astype(np.float32)
    expected = [
        plain_evidence(indices[start:end], counts[start:end], table, constants, common, rare)
        for start, end in pairwise(indptr)
    ]
    assert min(expected) == -1
    evidence = row_evidence(indices, indptr, counts, table, constants, common, rare, np.inf)
    np.testing.assert_allclose(evidence, expected, rtol=1e-12)
    enough = max(expected) / 2
    stopped = row_evidence(indices, indptr, counts, table, constants, common, rare, enough)
    np.testing.assert_allclose(stopped, np.minimum(expected, enough), rtol=1e-12)
