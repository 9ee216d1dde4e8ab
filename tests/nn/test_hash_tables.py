"""Aggregations of components and segment sums against plain loops."""

from __future__ import annotations

import statistics
from itertools import pairwise

import pytest
import torch

from sklearn_hashnlp.nn._hash_tables import AGGREGATIONS, segment_sum


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_every_aggregation_is_what_its_name_says(k):
    parts = torch.randn(3, 2, k, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(k))
    columns = parts.movedim(-2, -1).reshape(-1, k).tolist()  # one list of k values a column
    total = torch.tensor([sum(values) for values in columns], dtype=torch.float64)
    median = torch.tensor([statistics.median(values) for values in columns], dtype=torch.float64)
    torch.testing.assert_close(AGGREGATIONS["sum"](parts).flatten(), total)
    torch.testing.assert_close(AGGREGATIONS["median"](parts).flatten(), median)
    concatenated = AGGREGATIONS["concat"](parts)
    assert concatenated.shape == (3, 2, k * 4)
    assert torch.equal(concatenated[1, 1, :4], parts[1, 1, 0])
    assert torch.equal(concatenated[1, 1, -4:], parts[1, 1, k - 1])


def test_the_median_of_an_even_number_is_not_the_lower_of_the_two():
    parts = torch.tensor([[0.0], [1.0], [5.0], [100.0]])
    assert AGGREGATIONS["median"](parts).item() == 3.0
    assert parts.median().item() == 1.0


def test_segments_are_added_in_order_and_empty_ones_are_zero():
    values = torch.arange(12.0).reshape(6, 2)
    offsets = torch.tensor([0, 0, 2, 5, 5, 6, 6])
    expected = [values[a:b].sum(dim=0).tolist() for a, b in pairwise(offsets)]
    assert segment_sum(values, offsets).tolist() == expected
    assert segment_sum(values[:0], torch.tensor([0, 0])).tolist() == [[0.0, 0.0]]
