"""Every public estimator and transformer still computes the stored outputs: see docs/reproducibility.md."""

import numpy as np
import pytest

from tests.golden._configurations import NAMES, arrays_of
from tests.golden._stored import digests_of, labels_of, read_digests, read_values, values_of

TOLERANCE = 1e-5  # absolute, and of values above 1 relative


@pytest.mark.parametrize("name", NAMES["exact"])
def test_exact(name):
    assert digests_of(name) == read_digests()[name]


@pytest.mark.parametrize("name", NAMES["trained"])
def test_trained(name):
    stored, arrays = read_values(), arrays_of(name)
    assert labels_of(arrays).tolist() == stored[f"{name}.labels"].tolist()
    values, expected = values_of(arrays), stored[f"{name}.values"]
    assert np.isfinite(values).all()
    assert (np.abs(values - expected) <= TOLERANCE * np.maximum(1, np.abs(expected))).all()


def test_nothing_is_stored_in_vain():
    assert set(read_digests()) == set(NAMES["exact"])
    assert set(read_values()) == {f"{name}.{part}" for name in NAMES["trained"] for part in ("values", "labels")}
