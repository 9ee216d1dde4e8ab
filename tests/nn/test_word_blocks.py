from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.nn._sentence_losses import word_blocks


@given(st.lists(st.lists(st.integers(-1, 5), min_size=4, max_size=4), max_size=5))
def test_each_different_word_of_a_sentence_once(sentences):
    words, blocks = word_blocks(torch.tensor(sentences, dtype=torch.int64).reshape(len(sentences), 4))
    expected = [(number, word) for number, words in enumerate(sentences) for word in sorted({*words} - {-1})]
    assert list(zip(blocks.tolist(), words.tolist(), strict=True)) == expected
    assert words.dtype == blocks.dtype == torch.int64
