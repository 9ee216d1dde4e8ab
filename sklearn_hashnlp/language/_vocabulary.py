"""The words of a language model and their ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

START_TOKEN: Final = "<s>"
END_TOKEN: Final = "</s>"
UNKNOWN_TOKEN: Final = "<unk>"


class Vocabulary:
    """Words, whose ids are their indices in a list; the last is ``<s>``, which is never predicted."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words = [*words, START_TOKEN]
        self.word_to_id = {word: word_id for word_id, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    @property
    def n_classes(self) -> int:
        """Number of words that can be predicted: all but ``<s>``."""
        return len(self.words) - 1

    @property
    def start_id(self) -> int:
        """Id of ``<s>``."""
        return len(self.words) - 1

    @property
    def end_id(self) -> int:
        """Id of ``</s>``."""
        return self.word_to_id[END_TOKEN]

    @property
    def unknown_id(self) -> int:
        """Id of ``<unk>``."""
        return self.word_to_id[UNKNOWN_TOKEN]

    def encode(self, words: Iterable[str]) -> NDArray[np.int32]:
        """Return the ids of words within sentences, where ``<s>`` and ``</s>`` are unknown words."""
        word_to_id, unknown_id = self.word_to_id, self.unknown_id
        return np.fromiter(
            (unknown_id if word in (START_TOKEN, END_TOKEN) else word_to_id.get(word, unknown_id) for word in words),
            dtype=np.int32,
        )


def build_vocabulary(
    words: list[str], counts: NDArray[np.int64], n_sentences: int, *, min_count: int, max_words: int | None
) -> Vocabulary:
    """Choose the most frequent words of a corpus, ordered by count and then by alphabet."""
    special_tokens = {START_TOKEN, END_TOKEN, UNKNOWN_TOKEN}
    pairs = [(-int(count), word) for word, count in zip(words, counts, strict=True)]
    n_unknown = -sum(count for count, word in pairs if word in special_tokens)
    ranked = sorted(pair for pair in pairs if pair[1] not in special_tokens)
    chosen = [pair for pair in ranked[:max_words] if -pair[0] >= max(min_count, 1)]
    n_unknown -= sum(count for count, _ in ranked[len(chosen) :])
    return Vocabulary(word for _, word in sorted([*chosen, (-n_sentences, END_TOKEN), (-n_unknown, UNKNOWN_TOKEN)]))


def vocabulary_from_dict(mapping: Any, *, caller: str) -> tuple[Vocabulary, NDArray[np.int32]]:
    """Build the vocabulary of a user's words, and the array of its id for each of the user's ids."""
    if not isinstance(mapping, Mapping) or not all(
        isinstance(word, str) and isinstance(word_id, Integral) and not isinstance(word_id, bool)
        for word, word_id in mapping.items()
    ):
        raise TypeError(f"{caller}: vocabulary must be a dict of words (str) to ids (int), got {mapping!r:.80}.")
    if sorted(mapping.values()) != list(range(len(mapping))) or not mapping:
        raise ValueError(
            f"{caller}: vocabulary must give its {len(mapping)} words the ids 0, 1, 2 and so on, each id once and none "
            "left out. Make one by {word: word_id for word_id, word in enumerate(words)}."
        )
    words = sorted(mapping, key=mapping.__getitem__)
    vocabulary = Vocabulary(
        [word for word in words if word != START_TOKEN]
        + [token for token in (END_TOKEN, UNKNOWN_TOKEN) if token not in mapping]
    )
    return vocabulary, np.array([vocabulary.word_to_id[word] for word in words], dtype=np.int32)
