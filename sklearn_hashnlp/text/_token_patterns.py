"""Token patterns that have a compiled tokenizer, and ranges of n."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

from sklearn_hashnlp.kernels import Texts, Units, WordSet, word_units


def check_ngram_range(ngram_range: Any, *, caller: str) -> tuple[int, int]:
    """Return both ends as plain integers."""
    if len(ngram_range) == 2 and all(isinstance(n, Integral) for n in ngram_range):
        min_n, max_n = ngram_range
        if 1 <= min_n <= max_n:
            return int(min_n), int(max_n)
    raise ValueError(
        f"The 'ngram_range' parameter of {caller} must be a pair (min_n, max_n) of integers with "
        f"1 <= min_n <= max_n. Got {ngram_range!r} instead."
    )


class WordPattern(NamedTuple):
    """What a word is, as the kernels are told."""

    min_length: int  # the least number of characters of a word
    keep_punctuation: bool = False  # whether a character that is neither ``\w`` nor ``\s`` is a word
    split_punctuation: bool = True  # if False, words end at ``\s`` alone

    def cut(self, texts: Texts, stop_words: WordSet | None = None) -> Units:
        """Cut texts into words, less the stop words."""
        return word_units(texts, **self._asdict(), stop_words=stop_words)


WORD_PATTERNS = {
    flag + pattern: rule
    for flag in ("", "(?u)")
    for pattern, rule in {
        r"\b\w\w+\b": WordPattern(2),
        r"\w\w+": WordPattern(2),
        r"\b\w+\b": WordPattern(1),
        r"\w+": WordPattern(1),
        r"\w+|[^\w\s]": WordPattern(1, keep_punctuation=True),
        r"\S+": WordPattern(1, split_punctuation=False),
        r"\S\S+": WordPattern(2, split_punctuation=False),
    }.items()
}
"""The rule of each regular expression that a kernel can stand in for."""
