"""The windows of one sentence, as words."""

from __future__ import annotations

from typing import Any

from sklearn_hashnlp.estimators._sentences import tokens_of
from sklearn_hashnlp.estimators._vocabulary import BEGIN, END


def sentence_windows(sentence: Any, *, order: int, padding: str) -> list[tuple[list[str], str]]:
    """Tell which words of a sentence a language model predicts, and from which words before them.

    These are the windows that it learns from, in words that can be shown.

    Parameters
    ----------
    sentence : str or iterable of str
        The sentence.
    order : int
        Words of a window.
    padding : {"full", "reference"}
        As :class:`HsigmoidLanguageModel` takes it.

    Returns
    -------
    list of (list of str, str)
        Each context of ``order - 1`` words, and the word that follows it.

    Raises
    ------
    TypeError
        If it is no sentence.

    Examples
    --------
    >>> sentence_windows("I have", order=3, padding="full")
    [(['<s>', '<s>'], 'I'), (['<s>', 'I'], 'have'), (['I', 'have'], '</s>')]
    >>> sentence_windows("I have", order=3, padding="reference")
    [(['<s>', 'I'], 'have'), (['I', 'have'], '</s>')]
    """
    width = order - 1
    tokens = tokens_of(sentence, place=0, caller="sentence_windows")
    words = [*[BEGIN] * (width if padding == "full" else 1), *tokens, END]
    return [(words[at - width : at], words[at]) for at in range(width, len(words))]
