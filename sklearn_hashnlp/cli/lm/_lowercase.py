"""Lowercase words as the training text was, or note that capitals make them unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sklearn_hashnlp.cli._screen import Screen

if TYPE_CHECKING:
    from sklearn_hashnlp.language._base import BaseLanguageModel

_MAX_CAPITALIZED = 0.01  # of the words of a lowercase text: the Penn Treebank has N for a number


class Lowercase:
    """Lowercase unknown words of lines if the training text of the model was lowercase."""

    def __init__(self, screen: Screen, model: BaseLanguageModel) -> None:
        self._screen = screen
        self._vocabulary = model.vocabulary_
        words = self._vocabulary.keys() - set(model._tokenizer.special_tokens)  # these are not from the text
        self._lowercases = sum(word != word.lower() for word in words) <= _MAX_CAPITALIZED * len(words)
        self._noted = False

    def __call__(self, line: str) -> str:
        """Return the line as the model should read it."""
        words = line.split()
        unknown = [word for word in words if word != word.lower() and word not in self._vocabulary]
        if not unknown:
            return line
        if self._lowercases:
            self._note("The training text was lowercase, and so words are lowercased.")
            return " ".join(word.lower() if word in unknown else word for word in words)
        for word in unknown:
            if word.lower() in self._vocabulary:
                self._note(f"{word!r} is unknown to the model, but {word.lower()!r} is not: check the capitals.")
        return line

    def _note(self, text: str) -> None:
        if not self._noted:
            self._screen.note(text)
        self._noted = True
