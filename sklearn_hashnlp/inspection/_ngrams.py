"""The n-grams of a text and where they are in it: the slow, readable twin of the vectorizers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from copy import copy
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

from sklearn_hashnlp.inspection._aligned_text import AlignedText, Span, joined_span, preprocessed
from sklearn_hashnlp.inspection._fasttext_ngrams import FastTextPart
from sklearn_hashnlp.text import CharNgramFeaturizer, FrequentNgramVectorizer

Units: TypeAlias = list[tuple[str, Span | None]]
"""Words or characters in order, with their spans."""

COUNTING_VECTORIZERS = (HashingVectorizer, CountVectorizer, CharNgramFeaturizer, FrequentNgramVectorizer)


def find_ngrams(vectorizer: Any, text: str) -> dict[str, list[Span | None]]:
    """Return the n-grams that a vectorizer counts in a text, each with a span for each time that it occurs."""
    found: dict[str, list[Span | None]] = {}
    if isinstance(vectorizer, FastTextPart):
        occurrences = vectorizer.find(text)
    elif isinstance(vectorizer, CharNgramFeaturizer):
        occurrences = _ngrams_of_words(vectorizer, text)
    elif isinstance(vectorizer, FrequentNgramVectorizer):
        aligned = AlignedText.of(text).lowered() if vectorizer.lowercase else AlignedText.of(text)
        occurrences = _word_ngrams(list(aligned.find_all(vectorizer.token_pattern)), vectorizer.ngram_range)
    else:
        occurrences = _ngrams_of_scikit_learn(vectorizer, text)
    for ngram, span in occurrences:
        found.setdefault(ngram, []).append(span)
    return found


def columns_of(vectorizer: Any, ngrams: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the column of each n-gram, -1 if it has none, and the sign with which it is counted."""
    if not ngrams:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    if isinstance(vectorizer, HashingVectorizer | CharNgramFeaturizer):
        hasher = FeatureHasher(
            n_features=int(vectorizer.n_features),
            input_type="string",
            alternate_sign=bool(vectorizer.alternate_sign),
        )
        hashed = hasher.transform([ngram] for ngram in ngrams)  # one value for each
        return hashed.indices.astype(np.int64), hashed.data.astype(np.int64)
    if isinstance(vectorizer, FastTextPart):
        columns = vectorizer.columns_of(ngrams)
    elif isinstance(vectorizer, FrequentNgramVectorizer):
        columns = _columns_in_dictionary(vectorizer, ngrams)
    else:
        columns = np.array([vectorizer.vocabulary_.get(ngram, -1) for ngram in ngrams], dtype=np.int64)
    return columns, np.ones(len(ngrams), dtype=np.int64)


def _ngrams_of_scikit_learn(vectorizer: Any, text: str) -> Iterator[tuple[str, Span | None]]:
    """Yield the n-grams of a HashingVectorizer or a CountVectorizer."""
    if callable(vectorizer.analyzer):
        return ((ngram, None) for ngram in vectorizer.build_analyzer()(text))
    aligned = preprocessed(text, vectorizer)
    if vectorizer.analyzer == "char":
        return _character_ngrams(aligned.with_single_spaces(), vectorizer.ngram_range)
    if vectorizer.analyzer == "char_wb":
        return _padded_ngrams(aligned, vectorizer.ngram_range)
    if vectorizer.tokenizer is None:
        pattern = vectorizer.token_pattern
        tokens = list(aligned.find_all(pattern, group=min(re.compile(pattern).groups, 1)))
    else:
        tokens = list(aligned.find_in_order(list(vectorizer.tokenizer(aligned.text))))
    stop_words = vectorizer.get_stop_words() or ()
    return _word_ngrams([token for token in tokens if token[0] not in stop_words], vectorizer.ngram_range)


def _word_ngrams(words: Units, ngram_range: Sequence[int]) -> Iterator[tuple[str, Span | None]]:
    for n in range(ngram_range[0], min(ngram_range[1], len(words)) + 1):
        for start in range(len(words) - n + 1):
            parts = words[start : start + n]
            yield " ".join(word for word, _ in parts), joined_span([span for _, span in parts])


def _character_ngrams(aligned: AlignedText, ngram_range: Sequence[int]) -> Iterator[tuple[str, Span | None]]:
    for n in range(ngram_range[0], min(ngram_range[1], len(aligned.text)) + 1):
        for start in range(len(aligned.text) - n + 1):
            yield aligned.text[start : start + n], aligned.span(start, start + n)


def _padded_ngrams(aligned: AlignedText, ngram_range: Sequence[int]) -> Iterator[tuple[str, Span | None]]:
    """Yield n-grams of the characters of words with a space on both sides; a short word is an n-gram, once."""
    for match in re.finditer(r"\S+", aligned.text):
        word, first = f" {match.group()} ", match.start() - 1
        for n in range(ngram_range[0], ngram_range[1] + 1):
            for start in range(max(len(word) - n, 0) + 1):
                end = min(start + n, len(word))
                span = aligned.span(max(first + start, match.start()), min(first + end, match.end()))
                yield word[start:end], span
            if n >= len(word):
                break


def _ngrams_of_words(featurizer: CharNgramFeaturizer, text: str) -> Iterator[tuple[str, Span | None]]:
    """Yield the n-grams of a CharNgramFeaturizer."""
    aligned = AlignedText.of(text).lowered() if featurizer.lowercase else AlignedText.of(text)
    pattern = r"\S+" if featurizer.split == "whitespace" else r"\w+|[^\w\s]"
    min_n, max_n = featurizer.ngram_range
    if featurizer.analyzer == "skipgram":
        yield from _skipgrams(list(aligned.find_all(pattern)), (min_n, max_n), int(featurizer.max_skip))
        return
    for match in re.finditer(pattern, aligned.text):
        word, first = f"<{match.group()}>", match.start() - 1
        for n in range(min_n, min(max_n, len(word)) + 1):
            for start in range(len(word) - n + 1):
                span = aligned.span(max(first + start, match.start()), min(first + start + n, match.end()))
                yield word[start : start + n], span


def _skipgrams(words: Units, ngram_range: tuple[int, int], max_skip: int) -> Iterator[tuple[str, Span | None]]:
    for n in range(ngram_range[0], ngram_range[1] + 1):
        for start in range(len(words) - n + 1):
            following = range(start + 1, min(start + n + max_skip, len(words)))
            for rest in combinations(following, n - 1):
                parts = [words[index] for index in (start, *rest)]
                yield " ".join(word for word, _ in parts), joined_span([span for _, span in parts])


def _columns_in_dictionary(vectorizer: FrequentNgramVectorizer, ngrams: Sequence[str]) -> NDArray[np.int64]:
    """Look n-grams up, each as a text of its own of which only the n-gram of all words is counted."""
    columns = np.full(len(ngrams), -1, dtype=np.int64)
    pattern = re.compile(vectorizer.token_pattern)
    lengths = np.array([len(pattern.findall(ngram)) for ngram in ngrams])
    for n in np.unique(lengths).tolist():
        whole = copy(vectorizer)
        whole.ngram_range = (n, n)
        indices = np.flatnonzero(lengths == n)
        counts = whole.transform([ngrams[index] for index in indices.tolist()])
        known = np.diff(counts.indptr) == 1
        columns[indices[known]] = counts.indices
    return columns
