"""The n-grams of a text and their positions, found in Python as in the vectorizers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from copy import copy
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

from sklearn_hashnlp.inspection._aligned_text import AlignedText, Span, Units, joined, preprocessed
from sklearn_hashnlp.inspection._fasttext_ngrams import FastTextPart
from sklearn_hashnlp.text import CharNgramFeaturizer, FrequentNgramVectorizer
from sklearn_hashnlp.text._ngram_spec import NgramSpec

COUNTING_VECTORIZERS = (HashingVectorizer, CountVectorizer, CharNgramFeaturizer, FrequentNgramVectorizer)


def find_ngrams(vectorizer: Any, text: str) -> dict[str, list[Span | None]]:
    """Return the n-grams that a vectorizer or specification counts, with a span for each occurrence."""
    spans_of: dict[str, list[Span | None]] = {}
    if isinstance(vectorizer, FastTextPart):
        occurrences = vectorizer.find(text)
    elif isinstance(vectorizer, NgramSpec | FrequentNgramVectorizer):
        spec = vectorizer if isinstance(vectorizer, NgramSpec) else vectorizer.ngram_specs()[0]
        occurrences = _ngrams_of_spec(spec, text)
    elif isinstance(vectorizer, CharNgramFeaturizer):
        aligned = AlignedText.of(text).lowered() if vectorizer.lowercase else AlignedText.of(text)
        pattern = r"\S+" if vectorizer.split == "whitespace" else r"\w+|[^\w\s]"
        occurrences = _skipgrams(list(aligned.find_all(pattern)), vectorizer.ngram_range, int(vectorizer.max_skip))
    else:
        occurrences = _ngrams_of_scikit_learn(vectorizer, text)
    for ngram, span in occurrences:
        spans_of.setdefault(ngram, []).append(span)
    return spans_of


def columns_of(vectorizer: Any, ngrams: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the column of each n-gram, -1 if it has none, and the sign of its counts."""
    if not ngrams:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    if isinstance(vectorizer, NgramSpec | HashingVectorizer | CharNgramFeaturizer):
        hasher = FeatureHasher(
            n_features=int(vectorizer.n_features),
            input_type="string",
            alternate_sign=bool(vectorizer.alternate_sign),
        )
        hashed = hasher.transform([ngram] for ngram in ngrams)  # one value per row
        return hashed.indices.astype(np.int64), hashed.data.astype(np.int64)
    if isinstance(vectorizer, FastTextPart):
        columns = vectorizer.columns_of(ngrams)
    elif isinstance(vectorizer, FrequentNgramVectorizer):
        columns = _columns_in_dictionary(vectorizer, ngrams)
    else:
        columns = np.array([vectorizer.vocabulary_.get(ngram, -1) for ngram in ngrams], dtype=np.int64)
    return columns, np.ones(len(ngrams), dtype=np.int64)


def _ngrams_of_spec(spec: NgramSpec, text: str) -> Iterator[tuple[str, Span | None]]:
    begin, end = spec.around
    for ngram, span in _analyze(spec, preprocessed(f"{begin}{text}{end}", spec), frozenset(spec.stop_words)):
        if span is not None:  # the part within the text, if there is one
            span = max(span[0] - len(begin), 0), min(span[1] - len(begin), len(text))
        yield ngram, span if span is not None and span[0] < span[1] else None


def _ngrams_of_scikit_learn(vectorizer: Any, text: str) -> Iterator[tuple[str, Span | None]]:
    """Yield the n-grams of a CountVectorizer, or of a HashingVectorizer without a specification."""
    if callable(vectorizer.analyzer):
        return ((ngram, None) for ngram in vectorizer.build_analyzer()(text))
    aligned, stop_words = preprocessed(text, vectorizer), vectorizer.get_stop_words() or ()
    if vectorizer.analyzer != "word" or vectorizer.tokenizer is None:
        return _analyze(vectorizer, aligned, stop_words)
    tokens = aligned.find_in_order(list(vectorizer.tokenizer(aligned.text)))
    return _word_ngrams([token for token in tokens if token[0] not in stop_words], vectorizer.ngram_range)


def _analyze(options: Any, aligned: AlignedText, stop_words: Collection[str]) -> Iterator[tuple[str, Span | None]]:
    """Yield the n-grams of a preprocessed text, for a specification or the parameters of a vectorizer."""
    if options.analyzer == "char":
        return _character_ngrams(aligned.with_single_spaces(), options.ngram_range)
    if options.analyzer == "char_wb":
        return _ngrams_within_words(aligned, r"\S+", "  ", options.ngram_range, short_whole=True)
    if options.analyzer == "word_chars":
        return _ngrams_within_words(aligned, options.token_pattern, "<>", options.ngram_range, short_whole=False)
    pattern = options.token_pattern
    tokens = aligned.find_all(pattern, group=min(re.compile(pattern).groups, 1))
    return _word_ngrams([token for token in tokens if token[0] not in stop_words], options.ngram_range)


def _word_ngrams(words: Units, ngram_range: Sequence[int]) -> Iterator[tuple[str, Span | None]]:
    for n in range(ngram_range[0], min(ngram_range[1], len(words)) + 1):
        for start in range(len(words) - n + 1):
            yield joined(words[start : start + n])


def _character_ngrams(aligned: AlignedText, ngram_range: Sequence[int]) -> Iterator[tuple[str, Span | None]]:
    for n in range(ngram_range[0], min(ngram_range[1], len(aligned.text)) + 1):
        for start in range(len(aligned.text) - n + 1):
            yield aligned.text[start : start + n], aligned.span(start, start + n)


def _ngrams_within_words(
    aligned: AlignedText, pattern: str, marks: str, ngram_range: Sequence[int], *, short_whole: bool
) -> Iterator[tuple[str, Span | None]]:
    """Yield character n-grams of words between two marks; optionally a short word is an n-gram once."""
    for match in re.finditer(pattern, aligned.text):
        word, first = f"{marks[0]}{match.group()}{marks[1]}", match.start() - 1
        for n in range(ngram_range[0], ngram_range[1] + 1 if short_whole else min(ngram_range[1], len(word)) + 1):
            for start in range(max(len(word) - n, 0) + 1):
                end = min(start + n, len(word))
                span = aligned.span(max(first + start, match.start()), min(first + end, match.end()))
                yield word[start:end], span
            if n >= len(word):
                break


def _skipgrams(words: Units, ngram_range: Sequence[int], max_skip: int) -> Iterator[tuple[str, Span | None]]:
    for n in range(ngram_range[0], ngram_range[1] + 1):
        for start in range(len(words) - n + 1):
            following = range(start + 1, min(start + n + max_skip, len(words)))
            for rest in combinations(following, n - 1):
                yield joined([words[index] for index in (start, *rest)])


def _columns_in_dictionary(vectorizer: FrequentNgramVectorizer, ngrams: Sequence[str]) -> NDArray[np.int64]:
    """Look up n-grams, as texts of which only the n-gram of all words is counted."""
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
