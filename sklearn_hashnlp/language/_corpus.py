"""Sentences, in any form that users pass, as word ids; vocabularies; and encoders of any words."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp._sklearn import MAX_INTEGER, Interval
from sklearn_hashnlp.datasets._paragraphs import corpus_lines
from sklearn_hashnlp.kernels._hashes import murmur3
from sklearn_hashnlp.kernels._ragged import encoded
from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector
from sklearn_hashnlp.text._documents import as_documents


class SpecialTokens(NamedTuple):
    """The start token, the end token and the token for unknown words."""

    start: str = "<s>"
    end: str = "</s>"
    unknown: str = "<unk>"

    @classmethod
    def of(cls, estimator: Any) -> SpecialTokens:
        """Return the tokens of an estimator's parameter."""
        tokens = tuple(estimator.special_tokens)
        if (
            len(tokens) != len(cls._fields)
            or not all(isinstance(token, str) and token for token in tokens)
            or len(set(tokens)) < len(tokens)
        ):
            raise ValueError(
                f"The 'special_tokens' parameter of {type(estimator).__name__} must be three "
                "different strings that are not empty: the tokens of the start and the end of a "
                f"sentence and of unknown words. Got {estimator.special_tokens!r} instead."
            )
        return cls(*tokens)


DEFAULT_TOKENS = SpecialTokens()
VOCABULARY: Final[dict[str, list[Any]]] = {
    "vocabulary": [dict, None],
    "max_features": [Interval(Integral, 1, MAX_INTEGER, closed="both"), None],
    "min_count": [Interval(Integral, 1, MAX_INTEGER, closed="both")],
    "special_tokens": [tuple, list],
}
"""Constraints of the parameters of all models that learn a vocabulary."""


class Vocabulary:
    """Words with their indices as ids; the last is the start token, which is never predicted."""

    def __init__(
        self, words: Iterable[str], special_tokens: SpecialTokens = DEFAULT_TOKENS
    ) -> None:
        self.special_tokens = special_tokens
        self.words = [*words, special_tokens.start]
        self.word_to_id = {word: word_id for word_id, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    @property
    def n_classes(self) -> int:
        """Number of words that can be predicted: all except the start token."""
        return len(self.words) - 1

    @property
    def start_id(self) -> int:
        """Id of the start token."""
        return len(self.words) - 1

    @property
    def end_id(self) -> int:
        """Id of the end token."""
        return self.word_to_id[self.special_tokens.end]

    @property
    def unknown_id(self) -> int:
        """Id of the unknown token."""
        return self.word_to_id[self.special_tokens.unknown]

    def check(self) -> None:
        """Raise a ValueError if stored words are not a valid vocabulary."""
        if not all(isinstance(word, str) for word in self.words) or len(self.word_to_id) != len(
            self.words
        ):
            raise ValueError("The words of a vocabulary must be distinct strings.")
        missing = [token for token in self.special_tokens if token not in self.word_to_id]
        if missing:
            raise ValueError(f"The vocabulary lacks the special token {missing[0]!r}.")

    def rename(self, special_tokens: SpecialTokens) -> list[str]:
        """Return the words, with the special tokens renamed."""
        words = list(self.words)
        for word_id, token in zip(
            (self.start_id, self.end_id, self.unknown_id), special_tokens, strict=True
        ):
            if self.word_to_id.get(token, word_id) != word_id:
                raise ValueError(
                    f"{token!r} is an ordinary word of the vocabulary, and no special token."
                )
            words[word_id] = token
        return words

    def encode(self, words: Iterable[str]) -> NDArray[np.int32]:
        """Return the ids of words within sentences; start and end tokens are unknown words."""
        word_to_id, unknown_id = self.word_to_id, self.unknown_id
        start, end, _ = self.special_tokens
        return np.fromiter(
            (
                unknown_id if word in (start, end) else word_to_id.get(word, unknown_id)
                for word in words
            ),
            dtype=np.int32,
        )


def build_vocabulary(
    words: list[str],
    counts: NDArray[np.int64],
    n_sentences: int,
    *,
    min_count: int,
    max_words: int | None,
    special_tokens: SpecialTokens = DEFAULT_TOKENS,
) -> Vocabulary:
    """Choose the most frequent words of a corpus, sorted by count and then alphabetically."""
    pairs = [(-int(count), word) for word, count in zip(words, counts, strict=True)]
    n_unknown = -sum(count for count, word in pairs if word in special_tokens)
    ranked = sorted(pair for pair in pairs if pair[1] not in special_tokens)
    chosen = [pair for pair in ranked[:max_words] if -pair[0] >= max(min_count, 1)]
    n_unknown -= sum(count for count, _ in ranked[len(chosen) :])
    ends = [(-n_sentences, special_tokens.end), (-n_unknown, special_tokens.unknown)]
    return Vocabulary((word for _, word in sorted([*chosen, *ends])), special_tokens)


def vocabulary_from_dict(
    mapping: Any, *, special_tokens: SpecialTokens = DEFAULT_TOKENS, caller: str
) -> tuple[Vocabulary, NDArray[np.int32]]:
    """Build the vocabulary of a user's dict, and an array that maps the user's ids to its ids."""
    if not isinstance(mapping, Mapping) or not all(
        isinstance(word, str) and isinstance(word_id, Integral) and not isinstance(word_id, bool)
        for word, word_id in mapping.items()
    ):
        raise TypeError(
            f"{caller}: vocabulary must be a dict of words (str) to ids (int), got {mapping!r:.80}."
        )
    if sorted(mapping.values()) != list(range(len(mapping))) or not mapping:
        raise ValueError(
            f"{caller}: vocabulary must give its {len(mapping)} words the ids 0, 1, 2 and so on, "
            "each id once and none left out. Make one by {word: word_id for word_id, word in "
            "enumerate(words)}."
        )
    words = sorted(mapping, key=mapping.__getitem__)
    start, *others = special_tokens
    vocabulary = Vocabulary(
        [word for word in words if word != start]
        + [token for token in others if token not in mapping],
        special_tokens,
    )
    return vocabulary, np.array([vocabulary.word_to_id[word] for word in words], dtype=np.int32)


class WordEncoder(Protocol):
    """Encodes any word for the contexts of a network."""

    def encode(self, words: list[str]) -> NDArray[Any]:
        """Return an integer or a row of integers for each word."""


@dataclass(frozen=True)
class HashEncoder:
    """Words as hashes, for hash embeddings."""

    def encode(self, words: list[str]) -> NDArray[np.int32]:
        """Return the hashes, of shape (n_words,)."""
        return hash_words(words)


@dataclass(frozen=True)
class ProjectionEncoder:
    """Words as SGNN projections of character n-grams (1 to 3) of the word in ``<`` and ``>``."""

    n_projections: int
    n_bits: int
    seed: int  # of the hyperplanes

    def encode(self, words: list[str]) -> NDArray[np.int64]:
        """Return rows of the word's hash and its packed bits, padded with zeros to whole int64."""
        n_bytes = -(-self.n_projections * self.n_bits // 8)
        codes = np.zeros((len(words), 8 * (1 + -(-n_bytes // 8))), dtype=np.uint8)
        if words:  # scikit-learn refuses a matrix without rows
            _check_encodable(words)
            codes[:, :8] = hash_words(words).astype(np.int64)[:, np.newaxis].view(np.uint8)
            projector = SGNNProjector(
                n_projections=self.n_projections,
                n_bits=self.n_bits,
                output="packed",
                random_state=self.seed,
            )
            codes[:, 8 : 8 + n_bytes] = projector.transform(CharNgramFeaturizer().transform(words))
        return codes.view(np.int64)


def word_encoder_of(architecture: Mapping[str, Any]) -> WordEncoder | None:
    """Return the encoder of context words; None if words outside the vocabulary lack vectors."""
    if architecture["hashed_words"] is not None:
        return HashEncoder()
    projected = architecture["projected_words"]
    return None if projected is None else ProjectionEncoder(**projected)


def encode_with_special_tokens(
    encoder: WordEncoder, words: list[str], special_tokens: SpecialTokens
) -> NDArray[Any]:
    """Encode the start token, the end token, and words, among which these two are unknown."""
    start, end, unknown = special_tokens
    return encoder.encode(
        [start, end, *(unknown if word in (start, end) else word for word in words)]
    )


def hash_words(words: list[str]) -> NDArray[np.int32]:
    """Hash words to 31 bits."""
    return murmur3(encoded(words)) & np.int32(2**31 - 1)


def _check_encodable(words: list[str]) -> None:
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError as error:
            raise ValueError(
                "HsigmoidLanguageModel(embedding='sgnn') projects the characters of words, and "
                f"the word {word!r} holds the lone surrogate {word[error.start]!r}, which UTF-8 "
                "cannot encode. Repair the text with text.encode('utf-8', "
                "'replace').decode('utf-8')."
            ) from error


@dataclass(frozen=True)
class Sentences:
    """Sentences as ids of their distinct words."""

    words: list[str]  # the distinct words, in the order of their first occurrence
    ids: NDArray[np.int32]  # (n_tokens,): index of each token in ``words``
    lengths: NDArray[np.int64]  # (n_sentences,): number of tokens

    def __len__(self) -> int:
        return len(self.lengths)

    def part(self, start: int, stop: int) -> Sentences:
        """Return the sentences from ``start`` to ``stop``."""
        first, last = (int(self.lengths[:end].sum()) for end in (start, stop))
        # drop words that do not occur
        indices, ids = np.unique(self.ids[first:last], return_inverse=True)
        words = [self.words[index] for index in indices.tolist()]
        return Sentences(words, ids.astype(np.int32), self.lengths[start:stop])

    def read(self) -> Iterator[list[str]]:
        """Yield the words of each sentence."""
        start = 0
        for length in self.lengths.tolist():
            yield [self.words[word_id] for word_id in self.ids[start : start + length].tolist()]
            start += length


@dataclass(frozen=True)
class EncodedWindows:
    """Windows of words as ids of the user's vocabulary."""

    ids: NDArray[np.int64]  # (n_windows, order): a context and the next word

    def __len__(self) -> int:
        return len(self.ids)


def read_corpus(
    X: Any, *, order: int | None, special_tokens: SpecialTokens = DEFAULT_TOKENS, caller: str
) -> Sentences | EncodedWindows:
    """Read sentences or, unless ``order`` is None, windows of word ids."""
    if isinstance(X, str | bytes):
        raise TypeError(
            f"{caller}: a single {type(X).__name__} is ambiguous. Wrap a sentence in a list, "
            f"[{X[:20]!r}], and the name of a file in pathlib.Path."
        )
    if isinstance(X, PathLike):
        return _read_sentences(corpus_lines(Path(X)), special_tokens, caller)
    if not callable(X):
        return _read_sentences(as_documents(X, caller=caller), special_tokens, caller)
    items = iter(_call(X, caller))
    first = next(items, None)
    if first is None:
        return _read_sentences([], special_tokens, caller)
    if _is_window(first):
        if order is None:
            raise TypeError(
                f"{caller} reads sentences, and its reader gave the word ids {first!r:.60}."
            )
        return _read_windows(chain([first], items), order, caller)
    return _read_sentences(chain([first], items), special_tokens, caller)


def tokenize(
    sentence: Any,
    *,
    index: int,
    special_tokens: SpecialTokens = DEFAULT_TOKENS,
    keep_end: bool = False,
    caller: str,
) -> list[str]:
    """Split a sentence into words, without start token and, unless kept, the final end token."""
    if isinstance(sentence, str):
        tokens = sentence.split()
    elif isinstance(sentence, Iterable) and not isinstance(sentence, bytes | dict):
        tokens = list(sentence)
        if not all(isinstance(token, str) for token in tokens):
            wrong = next(token for token in tokens if not isinstance(token, str))
            raise TypeError(
                f"{caller}: sentence {index} holds {wrong!r} of type {type(wrong).__name__}, and "
                "words are str. Word ids come from a reader: a callable that returns an iterator "
                "of tuples."
            )
    else:
        raise TypeError(
            f"{caller}: a sentence is a str or a list of str, got {sentence!r:.60} of type "
            f"{type(sentence).__name__} as sentence {index}."
        )
    if tokens and tokens[0] == special_tokens.start:
        del tokens[0]
    if tokens and tokens[-1] == special_tokens.end and not keep_end:
        del tokens[-1]
    return tokens


def _read_sentences(
    sentences: Iterable[Any], special_tokens: SpecialTokens, caller: str
) -> Sentences:
    word_to_id: defaultdict[str, int] = defaultdict()
    word_to_id.default_factory = word_to_id.__len__  # a new word gets the next id
    ids, lengths = array("i"), array("q")
    for index, sentence in enumerate(sentences):
        tokens = tokenize(sentence, index=index, special_tokens=special_tokens, caller=caller)
        ids.extend(map(word_to_id.__getitem__, tokens))
        lengths.append(len(tokens))
    return Sentences(
        list(word_to_id), np.array(ids, dtype=np.int32), np.array(lengths, dtype=np.int64)
    )


def _call(reader: Callable[[], Any], caller: str) -> Iterable[Any]:
    items = reader()
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise TypeError(
            f"{caller}: a reader returns an iterator of sentences or of tuples of word ids, got "
            f"{items!r:.60} of type {type(items).__name__}."
        )
    return items


def _is_window(item: Any) -> bool:
    return (
        isinstance(item, tuple | list | np.ndarray)
        and len(item) > 0
        and isinstance(item[0], Integral)
    )


def _read_windows(items: Iterator[Any], order: int, caller: str) -> EncodedWindows:
    ids = array("q")
    for index, item in enumerate(items):
        try:
            ids.extend(item)
            length = len(item)
        except (TypeError, OverflowError) as error:
            raise TypeError(
                f"{caller}: its reader began with tuples of word ids, and all others must be such, "
                f"too; got {item!r:.60} as item {index}."
            ) from error
        if length != order:
            raise ValueError(
                f"{caller}(order={order}) reads windows of {order} word ids, got {item!r:.60} of "
                f"{length} as item {index}."
            )
    return EncodedWindows(np.array(ids, dtype=np.int64).reshape(-1, order))


def read_training_corpus(
    X: Any, *, order: int | None, special_tokens: SpecialTokens = DEFAULT_TOKENS, caller: str
) -> Sentences | EncodedWindows:
    """Read a corpus that must not be empty; windows only if ``order`` is set."""
    corpus = read_corpus(X, order=order, special_tokens=special_tokens, caller=caller)
    if len(corpus) == 0:
        raise ValueError(f"{caller} found no sentence to learn from: X is empty.")
    return corpus
