"""Starting importance against scikit-learn's own inverse document frequency."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfTransformer

from sklearn_hashnlp.classifiers.hash_embedding._sparse_net import initialize_importance
from sklearn_hashnlp.nn import HashEmbeddingBag

COUNTS = csr_array(np.array([[1, 2, 0, 0, 0], [3, 0, 1, 0, 0], [1, 0, 0, 0, 0]]))
LATER = csr_array(np.array([[1, 0, 0, 1, 0], [0, 0, 5, 2, 0]]))


def fresh_bag():
    return HashEmbeddingBag(10_000, 4, num_buckets=50, num_hashes=3, importance_init=0.0)


def place(bag, column):
    return int(bag.locate(torch.tensor([column]))[0])


def test_it_is_scikit_learns_idf():
    bag = fresh_bag()
    divisor = initialize_importance(bag, COUNTS.indices, 3)
    idf = TfidfTransformer().fit(COUNTS).idf_[:3]  # columns 3 and 4 do not occur
    started = bag.importance[[place(bag, column) for column in range(3)]].detach().numpy()
    np.testing.assert_allclose(
        started, np.repeat(idf[:, np.newaxis], 3, axis=1) / divisor, rtol=1e-6
    )
    assert divisor == pytest.approx(idf.mean())
    assert bag.importance.any(dim=1).sum() == 3
    assert initialize_importance(fresh_bag(), np.array([], dtype=np.int32), 3) == 1.0


def test_columns_of_one_row_are_counted_together():
    # three documents with 101 columns each, in two rows of importance
    columns = np.tile(np.arange(101), 3)
    bag = HashEmbeddingBag(2, 4, num_buckets=50, importance_init=0.0)
    assert initialize_importance(bag, columns, 3) == 1.0
    assert (bag.importance == 1).all()


def test_later_documents_initialize_new_columns_only():
    bag = fresh_bag()
    divisor = initialize_importance(bag, COUNTS.indices, 3)
    before = bag.importance.detach().clone()
    assert initialize_importance(bag, LATER.indices, 5, divisor) == divisor
    changed = (bag.importance != before).any(dim=1).nonzero().flatten().tolist()
    assert changed == [place(bag, 3)]  # columns 0 and 2 were there before
    idf = TfidfTransformer().fit(np.vstack([COUNTS.toarray(), LATER.toarray()])).idf_[3]
    np.testing.assert_allclose(
        bag.importance[changed].detach().numpy(), np.full((1, 3), idf / divisor), rtol=1e-6
    )
