"""Samples: their number and their start."""

from __future__ import annotations

import pytest

from sklearn_hashnlp.language import HsigmoidLanguageModel

SENTENCES = ["the company said it rose", "the cat sat on the mat"] * 4


@pytest.fixture(scope="module")
def language_model():
    return HsigmoidLanguageModel(order=2, embedding_dim=2, hidden_size=2, max_epochs=1, random_state=0).fit(SENTENCES)


@pytest.mark.parametrize("start", ["the", ["the company"]])
def test_words_in_place_of_the_number_of_samples_get_a_clear_error(language_model, start):
    with pytest.raises(TypeError, match=r"n must be an integer; pass the words as start="):
        language_model.sample(start)


def test_the_start_of_a_sample_is_returned_whole(language_model):
    assert language_model.sample(1, start="a b c d", max_length=2) == [["a", "b", "c", "d"]]
