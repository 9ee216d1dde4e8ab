from __future__ import annotations

import math

import pytest
import torch

from sklearn_hashnlp.nn._sgnn_transformer import sinusoids


@pytest.mark.parametrize(("length", "width"), [(50, 8), (3, 7), (1, 1), (0, 4)])
def test_they_are_those_of_the_formula(length, width):
    expected = [
        [(math.cos if column % 2 else math.sin)(t / 10000 ** (column // 2 * 2 / width)) for column in range(width)]
        for t in range(length)
    ]
    found = sinusoids(length, width)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, torch.tensor(expected).reshape(length, width), rtol=1e-4, atol=1e-5)
