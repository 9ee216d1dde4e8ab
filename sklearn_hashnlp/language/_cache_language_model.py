"""CacheLanguageModel: predict words from the recent words of a text."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp._sklearn import MAX_INTEGER, MAX_REAL, Interval, fit_context, literal_options
from sklearn_hashnlp.kernels.ngrams._cache_counts import CacheCounts, count_before, count_contexts
from sklearn_hashnlp.language._base_language_model import BaseLanguageModel
from sklearn_hashnlp.language._corpus import VOCABULARY, SpecialTokens, read_training_corpus
from sklearn_hashnlp.language._tokenizer import FarContext, WordWindows, build_tokenizer

Reset: TypeAlias = Literal["never", "sentence"]
# Parameters that predictions use
_KEPT_PARAMETERS = "cache_size", "decay", "unigram_prior", "bigram_prior", "reset"


class CacheLanguageModel(BaseLanguageModel):
    r"""Predict the next word from the recent words of the text.

    A word that was used recently is likely to occur again [1]_. The model counts, among the last
    ``cache_size`` words before the predicted one, how often each word occurs and how often each
    follows the last word. Counts decay with the distance [2]_. ``fit`` learns only the vocabulary
    and the word frequencies. On its own the model is weak, but in an
    :class:`InterpolatedLanguageModel` it complements n-grams and networks with short contexts.

    Parameters
    ----------
    cache_size : int, default=1000
        Number of recent words that are counted.
    decay : float, default=0.995
        Factor by which a count decays per word; 1 disables the decay.
    unigram_prior : float, default=10
        Weight of the word frequencies in the training text, as a number of counted words.
    bigram_prior : float, default=2
        Weight of the unigram cache in the bigram cache, as a number of counted words. A large
        number disables bigrams.
    reset : {"never", "sentence"}, default="never"
        ``"never"``: the cache also holds the words of earlier sentences, so that the methods that
        score read ``X`` as one text in order. ``"sentence"``: sentences are scored independently.
    vocabulary, max_features, min_count, special_tokens
        As in :class:`HsigmoidLanguageModel`.

    Attributes
    ----------
    vocabulary_ : dict of str to int
        The words and their ids: columns of ``predict_proba``. The last word is ``<s>``, which is
        never predicted.
    special_tokens_ : tuple of (str, str, str)
        The start and the end of a sentence, and the unknown word.
    reads_across_sentences_ : bool
        Whether the score of a sentence depends on the sentences before it.
    word_probs_ : ndarray of float64 of shape (n_words - 1,)
        Frequency of each word in the training text, with add-one smoothing.
    cache_size_, decay_, unigram_prior_, bigram_prior_, reset_ : int, float, float, float, str
        The parameters at the time of ``fit``, which predictions use.

    Notes
    -----
    With the decayed counts c of the cache, the last word v, the frequency q in the training text,
    and the priors m and n:

    .. math::
        p(w) = \frac{c(w) + m\, q(w)}{\sum_x c(x) + m}, \qquad
        p(w \mid v) = \frac{c(v\, w) + n\, p(w)}{\sum_x c(v\, x) + n}

    ``</s>`` and ``<unk>`` are words. Methods that predict the next word read only the given
    contexts, which may hold earlier sentences, each ended by ``</s>``.

    References
    ----------
    .. [1] Kuhn & De Mori (1990). A cache-based natural language model for speech recognition. IEEE
           PAMI 12(6).
    .. [2] Clarkson & Robinson (1997). Language model adaptation using mixtures and an exponentially
           decaying cache. ICASSP.

    Examples
    --------
    >>> from sklearn_hashnlp.language import CacheLanguageModel
    >>> model = CacheLanguageModel().fit(
    ...     ["the cat sat", "the dog sat", "a cat saw the dog"]
    ... )
    >>> first, again = model.score_samples(["the dog sat", "the dog sat"])
    >>> bool(again > first)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = VOCABULARY | {
        "cache_size": [Interval(Integral, 1, MAX_INTEGER, closed="both")],
        "decay": [Interval(Real, 0, 1, closed="right")],
        "unigram_prior": [Interval(Real, 0, MAX_REAL, closed="right")],
        "bigram_prior": [Interval(Real, 0, MAX_REAL, closed="right")],
        "reset": [literal_options(Reset)],
    }

    _reads_word_ids = False
    word_probs_: NDArray[np.float64]
    cache_size_: int
    decay_: float
    unigram_prior_: float
    bigram_prior_: float
    reset_: Reset

    def __init__(
        self,
        *,
        cache_size: int = 1000,
        decay: float = 0.995,
        unigram_prior: float = 10.0,
        bigram_prior: float = 2.0,
        reset: Reset = "never",
        vocabulary: dict[str, int] | None = None,
        max_features: int | None = None,
        min_count: int = 1,
        special_tokens: tuple[str, str, str] | list[str] = ("<s>", "</s>", "<unk>"),
    ) -> None:
        self.cache_size = cache_size
        self.decay = decay
        self.unigram_prior = unigram_prior
        self.bigram_prior = bigram_prior
        self.reset = reset
        self.vocabulary = vocabulary
        self.max_features = max_features
        self.min_count = min_count
        self.special_tokens = special_tokens

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the vocabulary and the word frequencies.

        Parameters
        ----------
        X : iterable of (str or iterable of str), path-like or callable
            Sentences, as in :meth:`HsigmoidLanguageModel.fit`.
        y : Ignored

        Returns
        -------
        self : CacheLanguageModel
        """
        special_tokens = SpecialTokens.of(self)
        corpus = read_training_corpus(
            X, order=None, special_tokens=special_tokens, caller=type(self).__name__
        )
        tokenizer = build_tokenizer(self, corpus, order=1)
        counts = 1 + np.bincount(
            tokenizer.windows(corpus).y, minlength=tokenizer.vocabulary.n_classes
        )
        self.word_probs_ = counts / counts.sum()
        self._keep_parameters(self.get_params(deep=False))
        self._set_tokenizer(tokenizer)
        return self

    def _keep_parameters(self, parameters: dict[str, Any]) -> None:
        """Store the parameters for predictions, since the constructor's may be changed later."""
        self.cache_size_, self.reset_ = int(parameters["cache_size"]), parameters["reset"]
        self.decay_ = float(parameters["decay"])
        self.unigram_prior_ = float(parameters["unigram_prior"])
        self.bigram_prior_ = float(parameters["bigram_prior"])

    @property
    def reads_across_sentences_(self) -> bool:
        """Whether the score of a sentence depends on the sentences before it."""
        return self.reset_ == "never"

    def _encode_contexts(self, beginnings: list[list[str]]) -> NDArray[np.int64]:
        width = min(max(map(len, beginnings), default=0), self.cache_size_)
        # The far context keeps the ends of sentences.
        far = FarContext(max(width, 1), across_sentences=self.reset_ == "never")
        return replace(self._tokenizer, far=far).encode_contexts(beginnings)

    def _log_prob(self, windows: WordWindows) -> NDArray[np.float64]:
        text = windows.y
        starts = windows.offsets[:-1] if self.reset_ == "sentence" else np.zeros(1, dtype=np.int64)
        counts = count_before(text, starts, len(self.word_probs_), self._count_weights())
        return self._interpolate(self.word_probs_[text], counts)

    def _log_probs(self, contexts: NDArray[np.int64]) -> NDArray[np.float64]:
        words, n_words, bigrams, n_bigrams = count_contexts(
            contexts, len(self.word_probs_), self._count_weights()
        )
        counts = CacheCounts(words, n_words[:, np.newaxis], bigrams, n_bigrams[:, np.newaxis])
        return self._interpolate(self.word_probs_, counts)

    def _count_weights(self) -> NDArray[np.float64]:
        """Return the weight of a word in the cache by its distance."""
        return np.power(self.decay_, np.arange(self.cache_size_), dtype=np.float64)

    def _interpolate(
        self, word_probs: NDArray[np.float64], counts: CacheCounts
    ) -> NDArray[np.float64]:
        """Return log-probabilities from the counts and the frequencies in the training text."""
        unigrams = (counts.words + self.unigram_prior_ * word_probs) / (
            counts.n_words + self.unigram_prior_
        )
        bigrams = (counts.bigrams + self.bigram_prior_ * unigrams) / (
            counts.n_bigrams + self.bigram_prior_
        )
        log_probs: NDArray[np.float64] = np.log(bigrams)
        return log_probs

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        values, arrays = super()._get_model_state()
        kept = {name: getattr(self, f"{name}_") for name in _KEPT_PARAMETERS}
        return values | kept, arrays | {"word_probs": self.word_probs_}

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._set_model_state(values, arrays)
        word_probs, n_classes = arrays["word_probs"], self._tokenizer.vocabulary.n_classes
        if word_probs.shape != (n_classes,) or word_probs.dtype != np.float64:
            raise ValueError(
                f"{word_probs.dtype} {word_probs.shape} are no frequencies of {n_classes} words."
            )
        if not (word_probs > 0).all() or not np.isclose(word_probs.sum(), 1):
            raise ValueError("The frequencies of words are not positive, or do not sum to 1.")
        kept = {name: values[name] for name in _KEPT_PARAMETERS}
        type(self)(**kept)._validate_params()
        self.word_probs_ = word_probs
        self._keep_parameters(kept)
