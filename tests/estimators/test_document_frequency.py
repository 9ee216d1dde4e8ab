"""Starting importance against scikit-learn's own inverse document frequency."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfTransformer

from sklearn_hashnlp.estimators._document_frequency import inverse_document_frequency, start_from_document_frequency
from sklearn_hashnlp.nn import HashEmbeddingBag

COUNTS = csr_array(np.array([[1, 2, 0, 0], [3, 0, 1, 0], [1, 0, 0, 0]]))


def test_it_is_scikit_learns_idf_divided_by_its_mean():
    bag = HashEmbeddingBag(10_000, 50, 4)
    rows, weights = inverse_document_frequency(bag, COUNTS.indices, 3)
    idf = TfidfTransformer().fit(COUNTS).idf_[:3]  # column 3 does not occur
    places = [int(bag.locate(torch.tensor([column]))[0]) for column in range(3)]
    found = dict(zip(rows.tolist(), weights.tolist(), strict=True))
    np.testing.assert_allclose([found[place] for place in places], idf / idf.mean(), rtol=1e-6)
    assert len(found) == 3


def test_columns_that_share_a_row_are_counted_together_and_never_more_than_the_documents():
    columns = np.tile(np.arange(101), 3)  # three documents with 101 columns each, in two rows of importance
    rows, weights = inverse_document_frequency(HashEmbeddingBag(2, 50, 4), columns, 3)
    assert rows.tolist() == [0, 1]
    assert weights.tolist() == [1.0, 1.0]


def test_no_columns_at_all():
    rows, weights = inverse_document_frequency(HashEmbeddingBag(10, 5, 4), np.array([], dtype=np.int32), 3)
    assert len(rows) == len(weights) == 0


def test_a_bag_starts_with_it():
    bag = HashEmbeddingBag(10_000, 50, 4, num_hashes=3, importance_init=0.0)
    start_from_document_frequency(bag, COUNTS.indices, 3)
    rows, weights = inverse_document_frequency(bag, COUNTS.indices, 3)
    assert torch.equal(bag.importance[rows], weights.unsqueeze(1).expand(3, 3))
    assert bag.importance.any(dim=1).sum() == 3
    with pytest.raises(ValueError, match="A bag of variant 'standard' has no importance to start"):
        start_from_document_frequency(HashEmbeddingBag(10, 5, 4, variant="standard"), COUNTS.indices, 3)
