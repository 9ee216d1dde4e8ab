"""What is exact has the stored digests on every machine: see docs/reproducibility.md."""

import json

import numpy as np
import pytest

from tests.golden._configurations import NAMES, arrays_of, digests_of
from tests.golden._register import DIGESTS


def stored():
    return json.loads(DIGESTS.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", NAMES["exact"])
def test_exact(name):
    assert digests_of(name) == stored()[name]


def test_nothing_is_stored_in_vain():
    assert sorted(stored()) == sorted(NAMES["exact"])


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES["trained"])
def test_trained(name):
    """Their digests are only compared with those of another commit on the same machine, by
    ``make golden``.
    """
    arrays = arrays_of(name)
    assert arrays
    for array in arrays.values():
        assert array.size
        assert array.dtype.kind not in "fc" or np.isfinite(array).all()
