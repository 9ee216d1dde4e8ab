"""KneserNeyLanguageModel: an n-gram language model."""

from __future__ import annotations

import math
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp._sklearn import MAX_INTEGER, Interval, StrOptions, fit_context
from sklearn_hashnlp._text_files import Decoding, check_errors
from sklearn_hashnlp.kernels.ngrams._trie import (
    NgramTrie,
    check_trie,
    level_sizes,
    score_all_words,
    score_positions,
)
from sklearn_hashnlp.language._arpa import read_arpa, write_arpa
from sklearn_hashnlp.language._base_language_model import BaseLanguageModel
from sklearn_hashnlp.language._corpus import (
    DEFAULT_TOKENS,
    VOCABULARY,
    EncodedWindows,
    SpecialTokens,
    Vocabulary,
    read_training_corpus,
)
from sklearn_hashnlp.language._estimate_kneser_ney import NgramText, estimate_kneser_ney
from sklearn_hashnlp.language._tokenizer import Tokenizer, WordWindows, build_tokenizer

_LN_10 = math.log(10)


class KneserNeyLanguageModel(BaseLanguageModel):
    """Predict the next word from n-gram counts, by interpolated modified Kneser-Ney smoothing.

    The probability of a word is its discounted count after the last ``order - 1`` words, plus the
    probability after one word less, weighted by the discounted mass; the recursion ends at the
    uniform distribution [1]_ [2]_. The counts of shorter n-grams are not their occurrences but the
    number of distinct words before them.

    Parameters
    ----------
    order : int, default=5
        Length of the longest n-grams: the context and the predicted word.
    discounts : "auto", float or array-like of shape (3,) or (order, 3), default="auto"
        Discounts of counts of 1, 2, and 3 or more. ``"auto"`` computes them for each order from the
        numbers of n-grams with counts of 1 to 4, by the formula of Chen and Goodman. If these
        numbers are zero or give a negative discount, as in small texts, all three are
        ``n1 / (n1 + 2 * n2)`` (Kneser and Ney), or 0.5, 1 and 1.5 if no n-gram has a count of 1 or
        of 2. A float is the discount of all counts.
    min_ngram_counts : array-like of int or None, default=None
        Minimum number of occurrences of the n-grams of each order from 1 on; the last number also
        holds for all higher orders. ``(1, 1, 2)`` drops trigrams and longer n-grams that occur
        once, as SRILM does by default. The first must be 1, since ``min_count`` selects the words,
        and the numbers must not decrease. None keeps all.
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
    discounts_ : ndarray of float64 of shape (order, 3)
        The discounts of each order; NaN after :meth:`load_arpa`.
    n_ngrams_ : list of int
        Number of stored n-grams of each order from 1 on.

    Notes
    -----
    ``<unk>`` has counts if ``min_count`` or ``max_features`` replace words or the text contains it,
    and the smallest probability of all words otherwise. By default no n-gram is dropped, and
    n-grams that start with ``<s>`` keep their occurrences, as in KenLM's ``lmplz``.

    Fitting needs about 60 bytes per token and 50 per distinct n-gram; the fitted model, a backoff
    model, needs 12 bytes per n-gram of the highest order and 28 per shorter one. There is no
    ``partial_fit``, since counts cannot be recovered from probabilities.

    References
    ----------
    .. [1] Kneser & Ney (1995). Improved backing-off for m-gram language modeling. ICASSP.
    .. [2] Chen & Goodman (1998). An empirical study of smoothing techniques for language modeling.
           Harvard TR-10-98.

    Examples
    --------
    >>> from sklearn_hashnlp.language import KneserNeyLanguageModel
    >>> sentences = [
    ...     "the cat sat on the mat",
    ...     "the dog sat on the rug",
    ...     "a cat saw the dog",
    ... ]
    >>> model = KneserNeyLanguageModel(order=3).fit(sentences)
    >>> model.predict(["the cat sat", "a cat saw"]).tolist()
    ['on', 'the']
    >>> model.n_ngrams_
    [12, 16, 16]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = VOCABULARY | {
        "order": [Interval(Integral, 1, MAX_INTEGER, closed="both")],
        "discounts": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="neither"), "array-like"],
        "min_ngram_counts": ["array-like", None],
    }

    _trie: NgramTrie

    def __init__(
        self,
        *,
        order: int = 5,
        discounts: Literal["auto"] | float | ArrayLike = "auto",
        min_ngram_counts: ArrayLike | None = None,
        vocabulary: dict[str, int] | None = None,
        max_features: int | None = None,
        min_count: int = 1,
        special_tokens: tuple[str, str, str] | list[str] = ("<s>", "</s>", "<unk>"),
    ) -> None:
        self.order = order
        self.discounts = discounts
        self.min_ngram_counts = min_ngram_counts
        self.vocabulary = vocabulary
        self.max_features = max_features
        self.min_count = min_count
        self.special_tokens = special_tokens

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Count the n-grams of a corpus and estimate their probabilities.

        Parameters
        ----------
        X : iterable of (str or list of str), path-like or callable
            Sentences, as in :meth:`HsigmoidLanguageModel.fit`.
        y : Ignored

        Returns
        -------
        self : KneserNeyLanguageModel
        """
        name, order = type(self).__name__, int(self.order)
        discounts, min_counts = self._check_discounts(order), self._check_min_ngram_counts(order)
        corpus = read_training_corpus(
            X, order=order, special_tokens=SpecialTokens.of(self), caller=name
        )
        tokenizer = build_tokenizer(self, corpus, order=order)
        separate = isinstance(corpus, EncodedWindows)
        windows = tokenizer.windows(corpus)
        del corpus  # frees memory
        text = _text_of(windows, len(tokenizer.vocabulary), separate=separate)
        trie, own_discounts = estimate_kneser_ney(text, discounts, min_counts)
        self._set_tokenizer(tokenizer)
        self._trie = trie
        self.discounts_ = own_discounts
        self.n_ngrams_ = level_sizes(trie, order)
        return self

    def save_arpa(self, path: str | PathLike[str]) -> None:
        r"""Save the model in the ARPA format, which KenLM, SRILM and other toolkits read.

        The loaded model has exactly the same probabilities. The special tokens are written as
        ``<s>``, ``</s>`` and ``<unk>``; ``<s>``, which is never predicted, has the probability
        zero, written as -99.

        Parameters
        ----------
        path : str or path-like
            File to write, compressed if its name ends with ``.gz``, ``.bz2`` or ``.xz``; an
            existing file is replaced atomically.
        """
        check_is_fitted(self)
        write_arpa(
            Path(path),
            self._trie,
            self._tokenizer.vocabulary.rename(DEFAULT_TOKENS),
            self.n_ngrams_,
        )

    @classmethod
    def load_arpa(
        cls,
        path: str | PathLike[str],
        *,
        encoding: str = "utf-8",
        errors: Literal["strict", "replace", "surrogateescape"] = "surrogateescape",
    ) -> Self:
        r"""Load a model in the ARPA format, of this or another toolkit.

        The unknown word may be ``<unk>`` or ``<UNK>``, and a logarithm of zero ``-99`` or ``-inf``.
        N-grams with ``<s>`` after another word are skipped: no sentence has them.

        Parameters
        ----------
        path : str or path-like
            File to read; it may be compressed (.gz, .bz2, .xz or .zip).
        encoding : str, default="utf-8"
            The encoding of the file, such as ``"cp1252"`` or ``"utf-16"``. A byte order mark is
            skipped.
        errors : {"strict", "replace", "surrogateescape"}, default="surrogateescape"
            Bytes that are not in the encoding: an error, the replacement character U+FFFD, or lone
            surrogates, which :meth:`save_arpa` writes back unchanged.

        Returns
        -------
        KneserNeyLanguageModel
            A fitted model with the file's order, words and probabilities, whatever their smoothing.
            Its ``discounts_`` are NaN. If the file lacks ``</s>`` or ``<unk>``, their probability
            is zero, represented by 10**-99.

        Raises
        ------
        ModelFormatError
            If the file has another format or is damaged; the message names the line.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from sklearn_hashnlp.language import KneserNeyLanguageModel
        >>> model = KneserNeyLanguageModel(order=2).fit(["a b", "b"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save_arpa(Path(folder, "model.arpa.gz"))
        ...     loaded = KneserNeyLanguageModel.load_arpa(
        ...         Path(folder, "model.arpa.gz")
        ...     )
        >>> bool(loaded.perplexity(["b a"]) == model.perplexity(["b a"]))
        True
        """
        check_errors(errors, ("strict", "replace", "surrogateescape"))
        trie, words, order = read_arpa(Path(path), Decoding(encoding, errors))
        model = cls(order=order)
        model._set_tokenizer(Tokenizer(Vocabulary(words), None, order, "full", None, cls.__name__))
        model._trie, model.n_ngrams_ = trie, level_sizes(trie, order)
        model.discounts_ = np.full((order, 3), np.nan)
        return model

    def _log_probs(self, contexts: NDArray[np.int64]) -> NDArray[np.float64]:
        scores = score_all_words(self._trie, contexts, self._tokenizer.vocabulary.n_classes)
        scores *= _LN_10
        return scores

    def _log_prob(self, windows: WordWindows) -> NDArray[np.float64]:
        scores = score_positions(self._trie, windows.targets, windows.positions, windows.order - 1)
        scores *= _LN_10
        return scores

    def _topk(self, contexts: NDArray[np.int64], k: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
        log_probs = self._log_probs(contexts)
        ids = np.empty((len(contexts), k), dtype=np.int64)
        for row, chosen in zip(log_probs, ids, strict=True):
            # With ties there are more candidates than k.
            candidates = np.flatnonzero(row >= np.partition(row, -k)[-k])
            chosen[:] = candidates[np.argsort(-row[candidates], kind="stable")[:k]]
        return np.take_along_axis(log_probs, ids, axis=1), ids

    def _check_discounts(self, order: int) -> NDArray[np.float64] | None:
        """Return the discounts, of shape (order, 3), or None if the counts determine them."""
        if isinstance(self.discounts, str):
            return None
        discounts = np.asarray(self.discounts)
        if discounts.dtype.kind not in "iuf" or discounts.shape not in ((), (3,), (order, 3)):
            raise ValueError(
                f"{type(self).__name__}(order={order}) takes discounts='auto', a number, three "
                f"numbers or an array of shape ({order}, 3), got {self.discounts!r}."
            )
        if not ((discounts > 0) & (discounts <= (1, 2, 3))).all():
            raise ValueError(
                f"{type(self).__name__}: discounts of counts of 1, 2 and 3 must be above 0 and at "
                f"most 1, 2 and 3, got {self.discounts!r}."
            )
        return np.broadcast_to(
            discounts[..., np.newaxis] if discounts.ndim == 0 else discounts, (order, 3)
        ).astype(float)

    def _check_min_ngram_counts(self, order: int) -> list[int]:
        """Return the minimum count of the n-grams of each order."""
        counts = np.asarray([1] if self.min_ngram_counts is None else self.min_ngram_counts)
        if counts.dtype.kind not in "iu" or counts.ndim != 1 or not 1 <= len(counts) <= order:
            raise ValueError(
                f"{type(self).__name__}(order={order}) takes as min_ngram_counts up to {order} "
                f"integers, one for each order, got {self.min_ngram_counts!r}."
            )
        if counts[0] != 1 or (np.diff(counts) < 0).any():
            raise ValueError(
                f"{type(self).__name__}: min_ngram_counts must begin with 1, and none may be "
                f"smaller than the one before, got {self.min_ngram_counts!r}. min_count chooses "
                "the words."
            )
        return [int(count) for count in np.pad(counts, (0, order - len(counts)), mode="edge")]

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        values, arrays = super()._get_model_state()
        return values, arrays | self._trie._asdict() | {"discounts": self.discounts_}

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._set_model_state(values, arrays)
        order = self._tokenizer.order
        discounts, trie = (
            arrays["discounts"],
            NgramTrie(**{name: arrays[name] for name in NgramTrie._fields}),
        )
        if discounts.shape != (order, 3):
            raise ValueError(
                f"The discounts have the shape {discounts.shape}, and the order is {order}."
            )
        check_trie(trie, n_words=len(self._tokenizer.vocabulary), order=order)
        self._trie = trie
        self.discounts_ = discounts
        self.n_ngrams_ = level_sizes(trie, order)


def _text_of(windows: WordWindows, n_words: int, *, separate: bool) -> NgramText:
    """Return the text of windows; windows of a reader are separate parts."""
    is_counted = np.zeros(len(windows.targets), dtype=np.bool_)
    is_counted[windows.positions] = True
    if not separate:
        return NgramText(windows.targets, is_counted, n_words)
    shape = (-1, windows.order)
    return NgramText(
        np.insert(windows.targets.reshape(shape), 0, -1, axis=1).ravel(),
        np.insert(is_counted.reshape(shape), 0, False, axis=1).ravel(),
        n_words,
    )
