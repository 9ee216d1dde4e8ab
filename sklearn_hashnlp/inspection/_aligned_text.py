"""A preprocessed text with the position of each character in the original text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from sklearn.feature_extraction.text import strip_accents_ascii, strip_accents_unicode

Span: TypeAlias = tuple[int, int]
"""Start and end of a part of a text, as in ``text[begin:end]``."""

Units: TypeAlias = list[tuple[str, Span | None]]
"""Words or characters in order, with their spans."""

_RUNS_OF_SPACES = re.compile(r"\s\s+")
_ACCENTS: dict[str, Callable[[str], str]] = {
    "unicode": strip_accents_unicode,
    "ascii": strip_accents_ascii,
}


class AlignedText(NamedTuple):
    """A preprocessed text, aligned with the original by characters."""

    text: str
    # span of each character in the original text; None if they are unknown
    spans: Sequence[Span] | None

    @classmethod
    def of(cls, text: str) -> AlignedText:
        """Return a text aligned with itself."""
        return cls(text, [(at, at + 1) for at in range(len(text))])

    def span(self, begin: int, end: int) -> Span | None:
        """Return the span of characters in the original text; None if it is unknown or empty."""
        if self.spans is None or begin >= end:
            return None
        return self.spans[begin][0], self.spans[end - 1][1]

    def lowered(self) -> AlignedText:
        """Convert to lowercase; some characters become two."""
        return self._mapped(str.lower)

    def replaced(self, text: str) -> AlignedText:
        """Return the result of a user's function, which is aligned if it has the same length."""
        return AlignedText(text, self.spans if len(text) == len(self.text) else None)

    def _mapped(self, function: Callable[[str], str]) -> AlignedText:
        """Map the whole text, as characters may depend on neighbors, and align by characters."""
        text = function(self.text)
        if text == self.text or self.spans is None:
            return AlignedText(text, self.spans)
        lengths = [len(function(character)) for character in self.text]
        if sum(lengths) != len(text):
            return self.replaced(text)
        spans = [
            span for span, length in zip(self.spans, lengths, strict=True) for _ in range(length)
        ]
        return AlignedText(text, spans)

    def with_single_spaces(self) -> AlignedText:
        """Replace each run of spaces by one, as in scikit-learn."""
        text = _RUNS_OF_SPACES.sub(" ", self.text)
        if len(text) == len(self.text) or self.spans is None:
            return AlignedText(text, self.spans)
        spans: list[Span] = []
        last = 0
        for match in _RUNS_OF_SPACES.finditer(self.text):
            begin, end = match.span()
            spans += [*self.spans[last:begin], (self.spans[begin][0], self.spans[end - 1][1])]
            last = end
        return AlignedText(text, [*spans, *self.spans[last:]])

    def find_all(self, pattern: str, group: int = 0) -> Iterator[tuple[str, Span | None]]:
        """Yield the matches of a pattern with their spans."""
        for match in re.compile(pattern).finditer(self.text):
            yield match.group(group), self.span(*match.span(group))

    def find_in_order(self, parts: Sequence[str]) -> Iterator[tuple[str, Span | None]]:
        """Yield parts with the span of the next occurrence; None if it is not found."""
        position = 0
        for part in parts:
            at = self.text.find(part, position) if isinstance(part, str) else -1
            yield part, None if at < 0 else self.span(at, at + len(part))
            position = position if at < 0 else at + len(part)


def preprocessed(text: str, vectorizer: Any) -> AlignedText:
    """Preprocess a text as in a vectorizer of scikit-learn, or as specified."""
    aligned = AlignedText.of(text)
    if getattr(vectorizer, "preprocessor", None) is not None:
        return aligned.replaced(vectorizer.preprocessor(text))
    if vectorizer.lowercase:
        aligned = aligned.lowered()
    if callable(vectorizer.strip_accents):
        return aligned.replaced(vectorizer.strip_accents(aligned.text))
    return (
        aligned._mapped(_ACCENTS[vectorizer.strip_accents]) if vectorizer.strip_accents else aligned
    )


def joined(words: Units) -> tuple[str, Span | None]:
    """Return an n-gram of words, with the span from the first to the last known word."""
    known = [span for _, span in words if span is not None]
    return " ".join(word for word, _ in words), (known[0][0], known[-1][1]) if known else None


def visible(text: str) -> str:
    """Replace control characters by their pictures, and direction-changing ones by their code."""
    return "".join(map(_visible, text))


def visible_ngram(ngram: str) -> str:
    """Return an n-gram with visible spaces at its ends, which are word boundaries."""
    core = ngram.strip(" ")
    begin = len(ngram) - len(ngram.lstrip(" ")) if core else len(ngram)
    return "\u2423" * begin + visible(core) + "\u2423" * (len(ngram) - begin - len(core))


def _visible(character: str) -> str:
    code = ord(character)
    if code < 32:
        return chr(0x2400 + code)
    if code == 127:
        return "\u2421"
    # Control characters, surrogates, and format characters that reorder or hide text.
    hides = unicodedata.category(character) in ("Cc", "Cs") or character in _DIRECTIONS
    return f"\\u{code:04x}" if hides else character


_DIRECTIONS = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u061c")
