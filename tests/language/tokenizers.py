"""Tokenizers of one small vocabulary, and their windows as words."""

from __future__ import annotations

import numpy as np

from sklearn_hashnlp.language._corpus import HashEncoder, ProjectionEncoder, Vocabulary
from sklearn_hashnlp.language._tokenizer import FarContext, Tokenizer, WordWindows

WORDS = ["I", "have", "a", "dream", "that", "one", "day", "</s>", "<unk>"]
SENTENCE = "I have a dream that one day"
PROJECTION_ENCODER = ProjectionEncoder(5, 14, seed=3)
ENCODERS = [HashEncoder(), PROJECTION_ENCODER]


def make_tokenizer(
    order=5, padding="full", word_encoder=None, id_map=None, vocabulary=None, far=None
):
    vocabulary, far = vocabulary or Vocabulary(WORDS), far or FarContext()
    return Tokenizer(vocabulary, id_map, order, padding, word_encoder, "Model", far)


def encode(tokenizer: Tokenizer, contexts) -> np.ndarray:
    return tokenizer.encode_contexts(
        tokenizer.read_contexts(contexts, keep_end=tokenizer.far.across_sentences)
    )


def contexts_of(windows: WordWindows):
    return windows.take(np.arange(len(windows)))[0].tolist()


def spelled(windows: WordWindows, words=(*WORDS, "<s>")) -> list[str]:
    contexts, y = windows.take(np.arange(len(windows)))
    return [
        " ".join(words[word_id] for word_id in row)
        for row in np.column_stack([contexts, y]).tolist()
    ]
