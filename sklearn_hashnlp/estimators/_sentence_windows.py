"""The windows of one sentence, as words."""

from __future__ import annotations

from typing import Any

from sklearn_hashnlp.estimators._sentences import tokens_of
from sklearn_hashnlp.estimators._vocabulary import BEGIN, END


def sentence_windows(sentence: Any, *, order: int, padding: str) -> list[tuple[list[str], str]]:
    """Return which words of a sentence a language model predicts, and from which words before them."""
    width = order - 1
    tokens = tokens_of(sentence, place=0, caller="sentence_windows")
    words = [*[BEGIN] * (width if padding == "full" else 1), *tokens, END]
    return [(words[at - width : at], words[at]) for at in range(width, len(words))]
