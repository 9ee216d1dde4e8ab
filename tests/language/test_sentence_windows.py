"""The windows of one sentence, against the source's reader and against what the model learns from."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp import HsigmoidLanguageModel
from sklearn_hashnlp.language._windows import sentence_windows

SENTENCES = st.lists(st.sampled_from("abc"), max_size=7)
ORDERS = st.integers(2, 6)


def source_reader(sentence: str, n: int) -> Iterator[tuple[str, ...]]:
    """The reader of the source, with its ``<e>`` called ``</s>``."""
    words = ["<s>", *sentence.strip().split(), "</s>"]
    if len(words) >= n:
        for i in range(n, len(words) + 1):
            yield tuple(words[i - n : i])


@given(SENTENCES, ORDERS)
def test_reference_is_the_reader_of_the_source(words: list[str], order: int) -> None:
    found = sentence_windows(words, order=order, padding="reference")
    assert [(*context, word) for context, word in found] == list(source_reader(" ".join(words), order))


@given(SENTENCES, ORDERS)
def test_full_predicts_every_word(words: list[str], order: int) -> None:
    found = sentence_windows(" ".join(["<s>", *words, "</s>"]), order=order, padding="full")
    assert [word for _, word in found] == [*words, "</s>"]
    for number, (context, _) in enumerate(found):
        assert context == (["<s>"] * (order - 1) + words)[number : number + order - 1]


@pytest.mark.parametrize("padding", ["full", "reference"])
@pytest.mark.parametrize("order", [2, 4])
def test_the_model_learns_from_these(padding: str, order: int) -> None:
    sentences = ["a b c d a", "b", "a b c"]
    model = HsigmoidLanguageModel(order=order, embedding_dim=2, hidden_size=2, max_epochs=1, padding=padding)
    read = model.fit(sentences)._windows(sentences)
    context, target = (part.tolist() for part in read.take(np.arange(len(read))))
    word_to_id = model.vocabulary_
    windows = [window for each in sentences for window in sentence_windows(each, order=order, padding=padding)]
    assert context == [[word_to_id[word] for word in words] for words, _ in windows]
    assert target == [word_to_id[word] for _, word in windows]
