"""Words that are near each other."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp.language._reader import CorpusReader
from sklearn_hashnlp.persistence import save_word_vectors


class WordVectorsMixin(metaclass=ABCMeta):
    """Word vectors of a language model, and the words with similar ones."""

    _reader: CorpusReader

    @abstractmethod
    def _vectors(self, words: list[str]) -> NDArray[np.float32]:
        """Return the vectors of words, of shape (n_words, embedding_dim)."""

    @property
    def embeddings_(self) -> NDArray[np.float32]:
        """The vectors of all words in the order of ``vocabulary_``, of shape (n_words, embedding_dim)."""
        return self._vectors(self._words())

    def most_similar(self, word: str, n: int = 10) -> list[tuple[str, float]]:
        """Find the words whose vectors point in the same direction.

        Parameters
        ----------
        word : str
            A word of ``vocabulary_``; with another ``embedding`` than ``"table"`` any word.
        n : int, default=10
            How many at most.

        Returns
        -------
        list of (str, float)
            Words and the cosines of their vectors with the word's, the nearest first. Neither the word itself nor the
            marks ``<s>``, ``</s>`` and ``<unk>`` are among them.

        Raises
        ------
        ValueError
            If the word is not known, or ``n`` is less than 1.
        """
        return self._nearest(self._directions([word])[0], n, {word}, "most_similar")

    def analogy(self, first: str, second: str, third: str, n: int = 10) -> list[tuple[str, float]]:
        """Find the words that are to ``third`` as ``second`` is to ``first``.

        They are those whose vectors point in the direction of ``second - first + third``, all made unit vectors before
        [1]_.

        Parameters
        ----------
        first, second, third : str
            Words of ``vocabulary_``; with another ``embedding`` than ``"table"`` any words.
        n : int, default=10
            How many at most.

        Returns
        -------
        list of (str, float)
            Words and the cosines, the nearest first. Neither the three words nor the marks are among them.

        Raises
        ------
        ValueError
            If a word is not known, or ``n`` is less than 1.

        References
        ----------
        .. [1] Mikolov, Yih & Zweig (2013). Linguistic regularities in continuous space word representations. NAACL,
               section 4.
        """
        one, two, three = self._directions([first, second, third])
        return self._nearest(two - one + three, n, {first, second, third}, "analogy")

    def save_word2vec(self, path: str | PathLike[str], *, binary: bool = False) -> None:
        """Write the vectors of all words in a format of word2vec, which many programs read.

        Parameters
        ----------
        path : str or path-like
            The file.
        binary : bool, default=False
            Whether in the binary format rather than the text format.

        Raises
        ------
        ValueError
            If a word holds white space.
        OSError
            If the file cannot be written.

        See Also
        --------
        sklearn_hashnlp.persistence.load_word_vectors : Reads such files.
        """
        save_word_vectors(path, self._words(), self.embeddings_, binary=binary)

    def _words(self) -> list[str]:
        check_is_fitted(self)
        return self._reader.vocabulary.words

    def _directions(self, words: list[str]) -> NDArray[np.float64]:
        known = self._words()
        for word in words:
            if self._reader.open_words is None and word not in self._reader.vocabulary.number_of:
                raise ValueError(
                    f"{type(self).__name__} knows no vector of {word!r}: it is none of the {len(known)} words of "
                    "vocabulary_."
                )
        return _unit(self._vectors(words))

    def _nearest(
        self, direction: NDArray[np.float64], n: int, without: set[str], method: str
    ) -> list[tuple[str, float]]:
        if n < 1:
            raise ValueError(f"{type(self).__name__}.{method} needs n of at least 1, got {n!r}.")
        vocabulary = self._reader.vocabulary
        cosines = _unit(self.embeddings_) @ _unit(direction[np.newaxis])[0]
        left_out = [vocabulary.begin, vocabulary.end, vocabulary.unknown]
        left_out += [vocabulary.number_of[word] for word in without if word in vocabulary.number_of]
        order = [int(at) for at in np.argsort(-cosines, kind="stable")[: n + len(left_out)] if at not in left_out]
        return [(vocabulary.words[at], float(cosines[at])) for at in order[:n]]


def _unit(vectors: NDArray[Any]) -> NDArray[np.float64]:
    vectors = vectors.astype(np.float64)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(norms > 0, norms, 1.0)
