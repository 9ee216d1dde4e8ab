"""Token patterns with a compiled tokenizer, and the check of ngram_range."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

from sklearn_hashnlp.kernels.strings._units import Texts, Units, WordSet, word_units

TOKENS = r"\w+|[^\w\s]"
"""The token pattern that keeps punctuation."""


class WordPattern(NamedTuple):
    """The arguments of the tokenizer for one token pattern."""

    min_length: int  # in characters
    keep_punctuation: bool = False  # whether a character that is neither ``\w`` nor ``\s`` is a token
    split_punctuation: bool = True  # if False, words only end at ``\s``

    def tokenize(self, texts: Texts, stop_words: WordSet | None = None) -> Units:
        """Split texts into words, without stop words."""
        return word_units(texts, **self._asdict(), stop_words=stop_words)


WORD_PATTERNS = {
    flag + pattern: arguments
    for flag in ("", "(?u)")
    for pattern, arguments in {
        r"\b\w\w+\b": WordPattern(2),
        r"\w\w+": WordPattern(2),
        r"\b\w+\b": WordPattern(1),
        r"\w+": WordPattern(1),
        TOKENS: WordPattern(1, keep_punctuation=True),
        r"\S+": WordPattern(1, split_punctuation=False),
        r"\S\S+": WordPattern(2, split_punctuation=False),
    }.items()
}
"""The token patterns with a kernel."""


def check_ngram_range(ngram_range: Any, *, caller: str) -> tuple[int, int]:
    """Return ``(min_n, max_n)`` as int, or raise a ValueError."""
    if len(ngram_range) == 2 and all(isinstance(n, Integral) for n in ngram_range):
        min_n, max_n = ngram_range
        if 1 <= min_n <= max_n:
            return int(min_n), int(max_n)
    raise ValueError(
        f"The 'ngram_range' parameter of {caller} must be a pair (min_n, max_n) of integers with "
        f"1 <= min_n <= max_n. Got {ngram_range!r} instead."
    )
