"""Base class of language models: scores, predictions and samples."""

from __future__ import annotations

import math
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp._constraints import is_integer
from sklearn_hashnlp._sklearn import BaseEstimator, ParameterChecks, TextInputMixin
from sklearn_hashnlp.language._corpus import EncodedWindows, Sentences, read_corpus
from sklearn_hashnlp.language._tokenizer import Tokenizer

# contexts whose probabilities of all words lie in memory at once; fewer with many words
BATCH_SIZE = 1024
_MAX_PROBABILITIES = 2**22


class BaseLanguageModel(TextInputMixin, ParameterChecks, BaseEstimator, metaclass=ABCMeta):
    """Language model; subclasses add probabilities and ``fit`` with :meth:`_set_tokenizer`."""

    vocabulary_: dict[str, int]
    _tokenizer: Tokenizer
    _reads_word_ids: ClassVar[bool] = True  # whether readers may return windows of word ids

    @abstractmethod
    def _log_probs(self, contexts: Any) -> NDArray[np.float64]:
        """Return the log-probability of each word after each context, (n_contexts, n_classes)."""

    @abstractmethod
    def _log_prob(self, windows: Any) -> NDArray[np.float64]:
        """Return the log-probability of each window's last word, of shape (n_windows,)."""

    def _encode_text(self, corpus: Sentences | EncodedWindows) -> Any:
        """Return the windows of a corpus, which have a length and sentence ``offsets``."""
        return self._tokenizer.windows(corpus)

    def _encode_contexts(self, beginnings: list[list[str]]) -> Any:
        """Return the contexts after the first words of sentences, with a length and indexing."""
        return self._tokenizer.encode_contexts(beginnings)

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Compute the log-probability of each sentence.

        Parameters
        ----------
        X : iterable of (str or list of str), path-like or callable
            Sentences, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_sentences,), dtype float64
            The natural logarithm of each sentence's probability: the sum over its words, including
            ``</s>`` and unknown words, which count as ``<unk>``. With ``padding="reference"`` the
            first words are excluded, and the score of a sentence that is too short is NaN.
        """
        return self._sum_log_probs(self._windows(X))[0]

    def rank(self, candidates: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Rank candidate sentences, as from speech recognition, by mean log-probability per word.

        Unlike the sum in ``score_samples``, the mean does not prefer short sentences.

        Parameters
        ----------
        candidates : iterable of (str or list of str), path-like or callable
            Sentences, as in ``fit``. A model that reads across sentences reads each of them alone.

        Returns
        -------
        indices : ndarray of shape (n_candidates,), dtype int64
            Indices of the candidates, the best first; ties are in the order of the candidates.
        scores : ndarray of shape (n_candidates,), dtype float64
            Their mean log-probabilities per word (natural logarithm, including ``</s>``) in the
            same order.

        Examples
        --------
        >>> from sklearn_hashnlp.language import KneserNeyLanguageModel
        >>> model = KneserNeyLanguageModel(order=2).fit(
        ...     ["the cat sat on the mat", "a cat saw the dog"]
        ... )
        >>> indices, scores = model.rank(
        ...     ["dog the on sat cat the", "the cat sat on the dog"]
        ... )
        >>> indices.tolist()
        [1, 0]
        """
        check_is_fitted(self)
        name = f"{type(self).__name__}.rank"
        corpus = read_corpus(
            candidates, order=None, special_tokens=self._tokenizer.special_tokens, caller=name
        )
        assert isinstance(corpus, Sentences)
        if len(corpus) == 0:
            raise ValueError(f"{name} needs at least one candidate sentence, got none.")
        if not corpus.lengths.all():
            raise ValueError(f"{name}: candidate {corpus.lengths.argmin()} is empty; leave it out.")
        sentences = [tuple(sentence) for sentence in corpus.read()]
        distinct = {sentence: index for index, sentence in enumerate(dict.fromkeys(sentences))}
        parts = (
            [[sentence] for sentence in distinct] if self.reads_across_sentences_ else [distinct]
        )
        sums, lengths = np.concatenate(
            [self._sum_log_probs(self._windows(part)) for part in parts], axis=1
        )
        if not lengths.all():
            short = sentences.index(list(distinct)[lengths.argmin()])
            raise ValueError(
                f"{name}: candidate {short} is too short to have a score with padding='reference'."
            )
        scores = (sums / lengths)[[distinct[sentence] for sentence in sentences]]
        indices = np.argsort(-scores, kind="stable")
        return indices, scores[indices]

    def score(self, X: Any, y: Any = None) -> float:
        """Return mean log-likelihood per word, with ``</s>`` and unknown words; higher is better.

        Parameters
        ----------
        X : iterable of (str or list of str), path-like or callable
            Sentences, as in ``fit``.
        y : Ignored
        """
        windows = self._windows(X)
        if len(windows) == 0:
            raise ValueError(
                f"{type(self).__name__} found no word to score: X is empty or its sentences too "
                "short."
            )
        return float(self._log_prob(windows).mean())

    def perplexity(self, X: Any) -> float:
        """Return the perplexity of sentences, ``exp(-score(X))``; lower is better.

        Compare only models with the same vocabulary: ``</s>`` counts as a word, and unknown words
        count as ``<unk>``.

        Parameters
        ----------
        X : iterable of (str or list of str), path-like or callable
            Sentences, as in ``fit``.
        """
        return math.exp(min(-self.score(X), 700.0))

    def predict(self, contexts: Any) -> NDArray[np.str_]:
        """Predict the most probable next word.

        Parameters
        ----------
        contexts : iterable of (str or list of str)
            Starts of sentences. The last ``order - 1`` words are read; shorter contexts are padded
            with ``<s>`` on the left. With ``padding="reference"`` at least ``order - 2`` words.

        Returns
        -------
        ndarray of str of shape (n_contexts,)
            The words; ``</s>`` ends the sentence.
        """
        return self._words_of(
            self._log_probs(part).argmax(axis=1) for part in self._batches_of(contexts)
        )

    def predict_proba(self, contexts: Any) -> NDArray[np.float64]:
        """Predict the probabilities of all next words.

        Parameters
        ----------
        contexts : iterable of (str or list of str)
            As in ``predict``.

        Returns
        -------
        ndarray of float64 of shape (n_contexts, n_words - 1)
            Columns in the order of ``vocabulary_`` without ``<s>``, which is never predicted.
        """
        probabilities = [np.exp(self._log_probs(part)) for part in self._batches_of(contexts)]
        return np.concatenate([np.empty((0, self._tokenizer.vocabulary.n_classes)), *probabilities])

    def predict_topk(self, contexts: Any, k: int = 5) -> list[list[tuple[str, float]]]:
        """Predict the k most probable next words and their probabilities.

        Parameters
        ----------
        contexts : iterable of (str or list of str)
            As in ``predict``.
        k : int, default=5
            Number of words, at most all of the vocabulary.

        Returns
        -------
        list of list of (str, float)
            For each context the words and their probabilities, the most probable first.
        """
        if not isinstance(k, int | np.integer) or k < 1:
            raise ValueError(
                f"{type(self).__name__}.predict_topk needs an integer k of at least 1, got {k!r}."
            )
        check_is_fitted(self)
        words, k = (
            self._tokenizer.vocabulary.words,
            min(int(k), self._tokenizer.vocabulary.n_classes),
        )
        return [
            [
                (words[word_id], math.exp(min(log_prob, 0.0)))
                for log_prob, word_id in zip(*row, strict=True)
            ]
            for log_probs, ids in (self._topk(part, k) for part in self._batches_of(contexts))
            for row in zip(log_probs.tolist(), ids.tolist(), strict=True)
        ]

    def sample(
        self,
        n: int = 1,
        random_state: int | np.random.RandomState | None = None,
        start: str | list[str] = "",
        max_length: int = 100,
    ) -> list[list[str]]:
        """Sample sentences.

        Parameters
        ----------
        n : int, default=1
            Number of sentences.
        random_state : int, RandomState instance or None, default=None
            Seed or generator of the sampled words.
        start : str or list of str, default=""
            The first words of each sentence; with ``padding="reference"`` at least ``order - 2``. A
            model that reads across sentences also accepts preceding sentences, each ended by
            ``</s>``.
        max_length : int, default=100
            Maximum number of words, including ``start``, which is never truncated.

        Returns
        -------
        list of list of str
            The words of each sentence, including ``start`` and any preceding sentences in it,
            without ``<s>`` and the final ``</s>``.
        """
        check_is_fitted(self)
        name = type(self).__name__
        if not is_integer(n):
            raise TypeError(
                f"{name}.sample: n must be an integer; pass the words as start=. Got {n!r}."
            )
        if not is_integer(max_length):
            raise TypeError(
                f"{name}.sample: max_length must be an integer; for no limit pass a large one. Got "
                f"{max_length!r}."
            )
        if n < 0 or max_length < 0:
            raise ValueError(
                f"{name}.sample needs n and max_length of at least 0, got {n!r} and {max_length!r}."
            )
        vocabulary = self._tokenizer.vocabulary
        draw = self._sampler(int(check_random_state(random_state).randint(2**31 - 1)))
        keep_end = self.reads_across_sentences_
        sentences = [self._tokenizer.read_context(start, keep_end=keep_end) for _ in range(n)]
        unfinished = sentences
        while unfinished := [sentence for sentence in unfinished if len(sentence) < max_length]:
            drawn = draw(self._encode_contexts(unfinished)).tolist()
            continued = [
                pair for pair in zip(unfinished, drawn, strict=True) if pair[1] != vocabulary.end_id
            ]
            for sentence, word_id in continued:
                sentence.append(vocabulary.words[word_id])
            unfinished = [sentence for sentence, _ in continued]
        return sentences

    def _topk(self, contexts: Any, k: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return the log-probabilities and ids of the k most probable words after each context."""
        log_probs = self._log_probs(contexts)
        ids = np.argsort(-log_probs, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(log_probs, ids, axis=1), ids

    def _sampler(self, seed: int) -> Callable[[Any], NDArray[np.int64]]:
        """Return a function that draws the next word of each context."""
        generator = np.random.default_rng(seed)

        def draw(contexts: Any) -> NDArray[np.int64]:
            parts = _batches(contexts, self._batch_size())
            drawn = [draw_columns(np.exp(self._log_probs(part)), generator) for part in parts]
            return np.concatenate([np.empty(0, dtype=np.int64), *drawn])

        return draw

    @property
    def special_tokens_(self) -> tuple[str, str, str]:
        """The start and the end of a sentence, and the unknown word."""
        start, end, unknown = self._tokenizer.special_tokens
        return start, end, unknown

    @property
    def reads_across_sentences_(self) -> bool:
        """Whether the score of a sentence depends on the sentences before it."""
        return False

    def _batch_size(self) -> int:
        """Return the maximum number of contexts to compute at once."""
        return max(1, min(BATCH_SIZE, _MAX_PROBABILITIES // self._tokenizer.vocabulary.n_classes))

    def _windows(self, X: Any) -> Any:
        check_is_fitted(self)
        tokens, order = (
            self._tokenizer.special_tokens,
            self._tokenizer.order if self._reads_word_ids else None,
        )
        return self._encode_text(
            read_corpus(X, order=order, special_tokens=tokens, caller=type(self).__name__)
        )

    def _sum_log_probs(self, windows: Any) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return each sentence's log-probability, NaN without predicted words, and their number."""
        starts, lengths = windows.offsets[:-1], np.diff(windows.offsets)
        sums = np.full(len(lengths), np.nan)
        if len(windows):  # the sum of a sentence alone: the others must not round it
            sums[lengths > 0] = np.add.reduceat(self._log_prob(windows), starts[lengths > 0])
        return sums, lengths

    def _batches_of(self, contexts: Any) -> Iterator[Any]:
        check_is_fitted(self)
        beginnings = self._tokenizer.read_contexts(contexts, keep_end=self.reads_across_sentences_)
        parts = _batches(beginnings, self._batch_size())
        return map(self._encode_contexts, parts)

    def _words_of(self, batches: Iterator[NDArray[np.int64]]) -> NDArray[np.str_]:
        words = self._tokenizer.vocabulary.words
        return np.array(
            [words[word_id] for batch in batches for word_id in batch.tolist()], dtype=str
        )

    def _set_tokenizer(self, tokenizer: Tokenizer) -> None:
        self._tokenizer, self.vocabulary_ = tokenizer, tokenizer.vocabulary.word_to_id

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return everything learned, as JSON values and as arrays."""
        check_is_fitted(self)
        values, arrays = self._tokenizer.to_state()
        return values | {"order": self._tokenizer.order}, arrays

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Restore the state returned by :meth:`_get_model_state`."""
        caller = type(self).__name__
        self._set_tokenizer(
            Tokenizer.from_state(values, arrays, order=values["order"], caller=caller)
        )


def draw_columns(
    probabilities: NDArray[np.float64], generator: np.random.Generator
) -> NDArray[np.int64]:
    """Draw a column for each row with the given unnormalized probabilities."""
    sums = np.cumsum(probabilities, axis=1)
    drawn: NDArray[np.int64] = (sums <= sums[:, -1:] * generator.random((len(sums), 1))).sum(axis=1)
    return drawn


def _batches(contexts: Any, size: int) -> Iterator[Any]:
    return (contexts[start : start + size] for start in range(0, len(contexts), size))
