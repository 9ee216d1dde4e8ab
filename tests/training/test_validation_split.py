"""Orders and splits of rows that keep the copies of a text together."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.training._validation_split import Samples, random_order, validation_split


class Numbers(Samples):
    """Rows that are numbers."""

    def __init__(self, numbers):
        super().__init__(len(numbers), numbers % 2, None)
        self.numbers = numbers

    def select(self, rows):
        return type(self)(self.numbers[rows])


@given(st.integers(0, 40), st.integers(1, 4), st.integers(0, 2**31))
def test_the_rows_of_a_text_are_adjacent_in_a_random_order(n_texts, n_copies, seed):
    order = random_order(n_texts * n_copies, n_copies, np.random.default_rng(seed))
    assert sorted(order) == list(range(n_texts * n_copies))
    of_texts = (order % max(1, n_texts)).reshape(n_texts, n_copies)
    assert (of_texts == of_texts[:, :1]).all()


def test_a_text_and_its_copies_are_on_one_side_of_the_validation_split():
    rows = Numbers(np.tile(np.arange(200), 3))
    rows.n_copies = 3
    train, valid = validation_split(rows, 0.2, seed=0)
    assert (len(train), len(valid), len(rows.originals())) == (480, 120, 200)
    for part in (train, valid):
        assert part.n_copies == 3
        copies = part.numbers.reshape(3, -1)
        assert (copies == copies[0]).all()
    assert not set(train.numbers) & set(valid.numbers)
