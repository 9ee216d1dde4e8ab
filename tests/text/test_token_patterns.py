"""The check of ngram_range."""

import numpy as np
import pytest

from sklearn_hashnlp.text._token_patterns import check_ngram_range


@pytest.mark.parametrize("ngram_range", [(1, 1), [2, 5], (np.int64(1), np.int32(3)), (3, 10**30)])
def test_both_ends_are_returned(ngram_range):
    result = check_ngram_range(ngram_range, caller="Someone")
    assert result == tuple(ngram_range)
    assert [type(n) for n in result] == [int, int]


@pytest.mark.parametrize(
    "ngram_range", [(0, 1), (-1, 1), (2, 1), (1,), (1, 2, 3), (1.0, 2), "12", ("1", "2"), (1, None)]
)
def test_other_values_are_refused(ngram_range):
    with pytest.raises(ValueError, match="The 'ngram_range' parameter of Someone must be a pair") as caught:
        check_ngram_range(ngram_range, caller="Someone")
    assert str(caught.value).endswith(f"Got {ngram_range!r} instead.")
