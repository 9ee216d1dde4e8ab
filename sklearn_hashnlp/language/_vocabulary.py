"""The words that a language model knows, and their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

BEGIN: Final = "<s>"
END: Final = "</s>"
UNKNOWN: Final = "<unk>"


class Vocabulary:
    """Words and their numbers, which are their places in a list."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words = [*words, BEGIN]
        self.number_of = {word: number for number, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    @property
    def n_classes(self) -> int:
        """How many words can be predicted: all but ``<s>``."""
        return len(self.words) - 1

    @property
    def begin(self) -> int:
        """Number of ``<s>``."""
        return len(self.words) - 1

    @property
    def end(self) -> int:
        """Number of ``</s>``."""
        return self.number_of[END]

    @property
    def unknown(self) -> int:
        """Number of ``<unk>``."""
        return self.number_of[UNKNOWN]

    def numbers(self, words: Iterable[str]) -> NDArray[np.int32]:
        """Look words up that stand within sentences, where the marks ``<s>`` and ``</s>`` are no words."""
        number_of, unknown = self.number_of, self.unknown
        return np.fromiter(
            (unknown if word in (BEGIN, END) else number_of.get(word, unknown) for word in words), dtype=np.int32
        )


def learn_vocabulary(
    words: list[str], counts: NDArray[np.int64], n_sentences: int, *, min_count: int, max_words: int | None
) -> Vocabulary:
    """Choose the words of a corpus."""
    marks = {BEGIN, END, UNKNOWN}
    unknown = sum(int(count) for word, count in zip(words, counts, strict=True) if word in marks)
    ranked = sorted((-int(count), word) for word, count in zip(words, counts, strict=True) if word not in marks)
    kept = [pair for pair in ranked[:max_words] if -pair[0] >= max(min_count, 1)]
    unknown -= sum(count for count, _ in ranked[len(kept) :])
    return Vocabulary(word for _, word in sorted([*kept, (-n_sentences, END), (-unknown, UNKNOWN)]))


def adopt_vocabulary(mapping: Any, *, caller: str) -> tuple[Vocabulary, NDArray[np.int32]]:
    """Take the words that a user has numbered."""
    if not isinstance(mapping, Mapping) or not all(
        isinstance(word, str) and isinstance(number, Integral) and not isinstance(number, bool)
        for word, number in mapping.items()
    ):
        raise TypeError(
            f"{caller}: vocabulary must be a dict of words (str) to their numbers (int), got {mapping!r:.80}."
        )
    if sorted(mapping.values()) != list(range(len(mapping))) or not mapping:
        raise ValueError(
            f"{caller}: vocabulary must number its {len(mapping)} words 0, 1, 2 and so on, each number once and none "
            "left out. Make one by {word: number for number, word in enumerate(words)}."
        )
    words = sorted(mapping, key=mapping.__getitem__)
    vocabulary = Vocabulary(
        [word for word in words if word != BEGIN] + [mark for mark in (END, UNKNOWN) if mark not in mapping]
    )
    return vocabulary, np.array([vocabulary.number_of[word] for word in words], dtype=np.int32)
