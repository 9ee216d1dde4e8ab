"""Means and one scale, whatever the parts that the rows come in."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_hashnlp.nn._dense_network import Standardize

RNG = np.random.default_rng(0)


def seen(*parts):
    standardize = Standardize(parts[0].shape[1])
    for part in parts:
        standardize.see(part)
    return standardize


@settings(max_examples=50, deadline=None)
@given(
    n_rows=st.integers(1, 30),
    n_columns=st.integers(1, 5),
    cuts=st.lists(st.integers(0, 30), max_size=4),
    offset=st.sampled_from([0.0, 1.0, -1e3]),
    size=st.sampled_from([1e-3, 1.0, 1e6]),
)
def test_rows_in_parts_are_the_rows_together(n_rows, n_columns, cuts, offset, size):
    rows = offset + size * np.random.default_rng(n_rows).normal(size=(n_rows, n_columns))
    parts = [part for part in np.split(rows, sorted(cut for cut in cuts if cut < n_rows)) if len(part)]
    standardize = seen(*parts)
    np.testing.assert_allclose(standardize.mean.numpy(), rows.mean(axis=0), rtol=1e-9, atol=1e-9 * size)
    expected = np.sqrt(rows.var(axis=0).mean()) or 1.0
    np.testing.assert_allclose(float(standardize.scale), expected, rtol=1e-6)


def test_what_comes_out_has_no_mean_and_unit_variance():
    rows = RNG.normal(3, 5, (400, 7)) * np.arange(7)
    out = seen(rows)(torch.from_numpy(rows.astype(np.float32)))
    assert out.dtype == torch.float32
    np.testing.assert_allclose(out.numpy().mean(axis=0), 0, atol=1e-5)
    assert float(out.var(dim=0, correction=0).mean()) == pytest.approx(1, rel=1e-4)
    assert float(out[:, 0].abs().max()) == 0  # a column that never changed stays quiet


def test_a_rare_bit_is_not_made_large():
    bits = np.zeros((1000, 50))
    bits[:, :49] = RNG.integers(0, 2, (1000, 49))
    bits[0, 49] = 1
    assert seen(bits)(torch.from_numpy(bits[:1]))[0, 49] < 3  # by its own deviation it would be 31


@pytest.mark.parametrize("rows", [np.ones((1, 3)), np.full((7, 3), 0.7), np.full((9, 2), 1e30), np.zeros((4, 2))])
def test_without_variance_nothing_is_divided(rows):
    standardize = seen(rows)
    assert float(standardize.scale) == 1
    twice = standardize(torch.from_numpy(2 * rows[:1]))
    np.testing.assert_allclose(twice.numpy(), rows[:1], rtol=1e-12)


def test_before_any_row_was_seen_rows_stay():
    assert Standardize(2)(torch.tensor([[3.0, 4.0]])).tolist() == [[3.0, 4.0]]
