"""Word vectors of a language model, and similar words."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp.language._reader import Tokenizer
from sklearn_hashnlp.persistence import save_word_vectors


class WordVectorsMixin(metaclass=ABCMeta):
    """Word vectors and similar words, for a language model that implements :meth:`_vectors`."""

    _tokenizer: Tokenizer

    @abstractmethod
    def _vectors(self, words: list[str]) -> NDArray[np.float32]:
        """Return the vectors of words, of shape (n_words, embedding_dim)."""

    @property
    def embeddings_(self) -> NDArray[np.float32]:
        """The vectors of all words in the order of ``vocabulary_``, of shape (n_words, embedding_dim)."""
        return self._vectors(self._words())

    def most_similar(self, word: str, n: int = 10) -> list[tuple[str, float]]:
        """Return the words with the highest cosine similarity to a word.

        Parameters
        ----------
        word : str
            A word of ``vocabulary_``; any word unless ``embedding="table"``.
        n : int, default=10
            Maximum number of words.

        Returns
        -------
        list of (str, float)
            Words and their cosine similarities, the most similar first; ties are in the order of ``vocabulary_``. The
            word itself and the special tokens ``<s>``, ``</s>`` and ``<unk>`` are excluded.

        Raises
        ------
        TypeError
            If the word is not a string.
        ValueError
            If the word is not in the vocabulary, or ``n`` is less than 1.
        """
        return self._nearest(self._unit_vectors([word])[0], n, {word}, "most_similar")

    def analogy(self, first: str, second: str, third: str, n: int = 10) -> list[tuple[str, float]]:
        """Return the words that are to ``third`` as ``second`` is to ``first``.

        Their vectors have the highest cosine similarity to ``second - first + third``, where each of these is a unit
        vector [1]_.

        Parameters
        ----------
        first, second, third : str
            Words of ``vocabulary_``; any words unless ``embedding="table"``.
        n : int, default=10
            Maximum number of words.

        Returns
        -------
        list of (str, float)
            Words and their cosine similarities, the most similar first. The three words and the special tokens are
            excluded.

        Raises
        ------
        TypeError
            If a word is not a string.
        ValueError
            If a word is not in the vocabulary, or ``n`` is less than 1.

        References
        ----------
        .. [1] Mikolov, Yih & Zweig (2013). Linguistic regularities in continuous space word representations. NAACL,
               section 4.
        """
        one, two, three = self._unit_vectors([first, second, third])
        return self._nearest(two - one + three, n, {first, second, third}, "analogy")

    def save_word2vec(self, path: str | PathLike[str], *, binary: bool = False) -> None:
        """Write the vectors of all words to a file in word2vec's format.

        Parameters
        ----------
        path : str or path-like
            The file.
        binary : bool, default=False
            Whether to write the binary format rather than the text format.

        Raises
        ------
        ValueError
            If a word contains whitespace.
        OSError
            If the file cannot be written.

        See Also
        --------
        sklearn_hashnlp.persistence.load_word_vectors : Load such files.
        """
        save_word_vectors(path, self._words(), self.embeddings_, binary=binary)

    def _words(self) -> list[str]:
        check_is_fitted(self)
        return self._tokenizer.vocabulary.words

    def _unit_vectors(self, words: list[str]) -> NDArray[np.float64]:
        check_is_fitted(self)
        known = self._tokenizer.vocabulary.word_to_id
        for word in words:
            if not isinstance(word, str):
                raise TypeError(f"{type(self).__name__} has vectors of words: strings, got {word!r}.")
            if self._tokenizer.word_encoder is None and word not in known:
                raise ValueError(
                    f"{type(self).__name__} has no vector of {word!r}: it is none of the {len(known)} words of "
                    "vocabulary_."
                )
        return _unit(self._vectors(words))

    def _nearest(self, vector: NDArray[np.float64], n: int, exclude: set[str], method: str) -> list[tuple[str, float]]:
        if n < 1:
            raise ValueError(f"{type(self).__name__}.{method} needs n of at least 1, got {n!r}.")
        vocabulary = self._tokenizer.vocabulary
        # einsum sums in the same order for each word, unlike a matrix product: equal vectors are equally similar.
        similarities = np.einsum("ij,j->i", _unit(self.embeddings_), _unit(vector[np.newaxis])[0])
        excluded = [vocabulary.start_id, vocabulary.end_id, vocabulary.unknown_id]
        excluded += [vocabulary.word_to_id[word] for word in exclude if word in vocabulary.word_to_id]
        nearest = np.argsort(-similarities, kind="stable")[: n + len(excluded)].tolist()
        ids = [word_id for word_id in nearest if word_id not in excluded]
        return [(vocabulary.words[word_id], float(similarities[word_id])) for word_id in ids[:n]]


def _unit(vectors: NDArray[Any]) -> NDArray[np.float64]:
    vectors = vectors.astype(np.float64)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(norms > 0, norms, 1.0)
