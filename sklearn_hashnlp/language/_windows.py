"""Sentences, in any form that users pass them, as ids, and their windows: contexts and next words."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._rows import gather_windows, mask_before_last
from sklearn_hashnlp.language._vocabulary import (
    DEFAULT_TOKENS,
    SpecialTokens,
    Vocabulary,
    WordEncoder,
    encode_with_special_tokens,
)
from sklearn_hashnlp.text._documents import as_documents


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
        indices, ids = np.unique(self.ids[first:last], return_inverse=True)  # drop words that do not occur
        words = [self.words[index] for index in indices.tolist()]
        return Sentences(words, ids.astype(np.int32), self.lengths[start:stop])

    def reader(self) -> Callable[[], Iterator[list[str]]]:
        """Return a function that reads the sentences again."""
        return lambda: self._sentences()

    def _sentences(self) -> Iterator[list[str]]:
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
            f"{caller}: a single {type(X).__name__} is ambiguous. Wrap a sentence in a list, [{X[:20]!r}], and the "
            "name of a file in pathlib.Path."
        )
    if isinstance(X, PathLike):
        return _read_sentences(_lines(Path(X)), special_tokens, caller)
    if not callable(X):
        return _read_sentences(as_documents(X, caller=caller), special_tokens, caller)
    items = iter(_call(X, caller))
    first = next(items, None)
    if first is None:
        return _read_sentences([], special_tokens, caller)
    if _is_window(first):
        if order is None:
            raise TypeError(f"{caller} reads sentences, and its reader gave the word ids {first!r:.60}.")
        return _read_windows(chain([first], items), order, caller)
    return _read_sentences(chain([first], items), special_tokens, caller)


def read_sentences(X: Any, *, special_tokens: SpecialTokens, caller: str) -> Sentences:
    """Read sentences, for a model that cannot read windows of word ids."""
    corpus = read_corpus(X, order=None, special_tokens=special_tokens, caller=caller)
    assert isinstance(corpus, Sentences)
    return corpus


def tokenize(
    sentence: Any,
    *,
    index: int,
    special_tokens: SpecialTokens = DEFAULT_TOKENS,
    keep_end: bool = False,
    caller: str,
) -> list[str]:
    """Split a sentence into words, without the start token and, unless kept, the final end token."""
    if isinstance(sentence, str):
        tokens = sentence.split()
    elif isinstance(sentence, Iterable) and not isinstance(sentence, bytes | dict):
        tokens = list(sentence)
        if not all(isinstance(token, str) for token in tokens):
            wrong = next(token for token in tokens if not isinstance(token, str))
            raise TypeError(
                f"{caller}: sentence {index} holds {wrong!r} of type {type(wrong).__name__}, and words are str. "
                "Word ids come from a reader: a callable that returns an iterator of tuples."
            )
    else:
        raise TypeError(
            f"{caller}: a sentence is a str or a list of str, got {sentence!r:.60} of type {type(sentence).__name__} "
            f"as sentence {index}."
        )
    if tokens and tokens[0] == special_tokens.start:
        del tokens[0]
    if tokens and tokens[-1] == special_tokens.end and not keep_end:
        del tokens[-1]
    return tokens


class _GrowingIds(dict[str, int]):
    """Word to id; a new word gets the next id."""

    def __missing__(self, word: str) -> int:
        self[word] = word_id = len(self)
        return word_id


def _read_sentences(sentences: Iterable[Any], special_tokens: SpecialTokens, caller: str) -> Sentences:
    word_to_id = _GrowingIds()
    id_of: Callable[[str], int] = word_to_id.__getitem__
    ids, lengths = array("i"), array("q")
    for index, sentence in enumerate(sentences):
        tokens = tokenize(sentence, index=index, special_tokens=special_tokens, caller=caller)
        ids.extend(map(id_of, tokens))
        lengths.append(len(tokens))
    return Sentences(list(word_to_id), np.array(ids, dtype=np.int32), np.array(lengths, dtype=np.int64))


def _call(reader: Callable[[], Any], caller: str) -> Iterable[Any]:
    items = reader()
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise TypeError(
            f"{caller}: a reader returns an iterator of sentences or of tuples of word ids, got {items!r:.60} of type "
            f"{type(items).__name__}."
        )
    return items


def _is_window(item: Any) -> bool:
    return isinstance(item, tuple | list | np.ndarray) and len(item) > 0 and isinstance(item[0], Integral)


def _read_windows(items: Iterator[Any], order: int, caller: str) -> EncodedWindows:
    ids = array("q")
    for index, item in enumerate(items):
        try:
            ids.extend(item)
            length = len(item)
        except (TypeError, OverflowError) as error:
            raise TypeError(
                f"{caller}: its reader began with tuples of word ids, and all others must be such, too; got "
                f"{item!r:.60} as item {index}."
            ) from error
        if length != order:
            raise ValueError(
                f"{caller}(order={order}) reads windows of {order} word ids, got {item!r:.60} of {length} as item "
                f"{index}."
            )
    return EncodedWindows(np.array(ids, dtype=np.int64).reshape(-1, order))


def _lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            if not line.isspace():
                yield line


Padding: TypeAlias = Literal["full", "reference"]


def sentence_windows(
    sentence: Any, *, order: int, padding: Padding, special_tokens: SpecialTokens = DEFAULT_TOKENS
) -> list[tuple[list[str], str]]:
    """Return the contexts of a sentence and the word after each."""
    width = order - 1
    tokens = tokenize(sentence, index=0, special_tokens=special_tokens, caller="sentence_windows")
    words = [*[special_tokens.start] * (width if padding == "full" else 1), *tokens, special_tokens.end]
    return [(words[end - width : end], words[end]) for end in range(width, len(words))]


class FarContext(NamedTuple):
    """Words before the window that a context also contains."""

    n_words: int = 0
    across_sentences: bool = False  # whether they may come from earlier sentences

    @classmethod
    def of(cls, estimator: Any) -> FarContext:
        """Return the far context set by an estimator's parameters."""
        n_words = int(estimator.far_context)
        return cls(n_words, n_words > 0 and bool(estimator.across_sentences))


class WordWindows:
    """All windows of a corpus; contexts are gathered on demand."""

    def __init__(
        self,
        inputs: NDArray[np.int32],  # (n_words,): the text for contexts; with codes, indices of these
        targets: NDArray[np.int32],  # (n_words,): the text as word ids
        positions: NDArray[Any],  # (n_windows,): index in the text of each window's last word
        offsets: NDArray[np.int64],  # (n_sentences + 1,): first window of each sentence
        order: int,  # words per window
        codes: NDArray[np.int64] | None = None,  # (n_distinct, width): codes of the distinct words
        far: FarContext = FarContext(),  # noqa: B008 - a tuple
        start: int = -1,  # <s> in inputs; only with a far context
    ) -> None:
        self.inputs = inputs
        self.targets = targets
        self.positions = positions
        self.offsets = offsets
        self.order = order
        self.codes = codes
        self.far = far
        self.start = start

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def y(self) -> NDArray[np.int32]:
        """Ids of the words to predict, of shape (n_windows,)."""
        ids: NDArray[np.int32] = self.targets[self.positions]
        return ids

    @property
    def n_context(self) -> int:
        """Number of words of a context, including the far context."""
        return self.far.n_words + self.order - 1

    def take(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Gather contexts, (n_rows, n_context) or with codes (n_rows, n_context, width), and the next words."""
        contexts, y = gather_windows(self.inputs, self.targets, self.positions, rows, self.n_context)
        if self.far.n_words and not self.far.across_sentences:
            mask_before_last(contexts, self.start)
        return contexts if self.codes is None else self.codes[contexts], y

    def digest(self) -> int:
        """Compute a checksum of the windows and their order."""
        checksum = 0
        for values in (self.inputs, self.targets, self.positions):
            checksum = zlib.crc32(np.ascontiguousarray(values).data, checksum)
        if self.codes is not None:
            checksum = zlib.crc32(np.ascontiguousarray(self.codes).data, checksum)
        return checksum

    def select(self, sentences: NDArray[np.bool_]) -> WordWindows:
        """Return the windows of some sentences."""
        lengths = np.diff(self.offsets)
        positions = self.positions[np.repeat(sentences, lengths)]
        offsets = np.concatenate(([0], np.cumsum(lengths[sentences])))
        return self._with(positions, offsets)

    def evenly_spaced(self, n_windows: int) -> WordWindows:
        """Return at most ``n_windows`` windows, evenly spaced, each as a separate sentence."""
        rows = np.unique(np.linspace(0, len(self) - 1, min(n_windows, len(self))).astype(np.int64))
        offsets = np.arange(len(rows) + 1)
        return self._with(self.positions[rows], offsets)

    def _with(self, positions: NDArray[Any], offsets: NDArray[np.int64]) -> WordWindows:
        return WordWindows(self.inputs, self.targets, positions, offsets, self.order, self.codes, self.far, self.start)


def make_windows(
    corpus: Sentences | EncodedWindows,
    vocabulary: Vocabulary,
    id_map: NDArray[np.int32] | None,
    *,
    order: int,
    padding: Padding,
    word_encoder: WordEncoder | None,
    far: FarContext = FarContext(),  # noqa: B008 - a tuple
    caller: str,
) -> WordWindows:
    """Encode a corpus and add special tokens to its sentences."""
    if isinstance(corpus, EncodedWindows):
        if far.n_words:
            raise ValueError(
                f"{caller}(far_context={far.n_words}) needs sentences, and the reader returns windows of {order} word "
                "ids. Let it return sentences, or set far_context=0."
            )
        return _windows_of_ids(corpus, vocabulary, id_map, order, word_encoder, caller)
    n_start = order - 1 if padding == "full" else 1
    n_words = far.n_words + len(corpus.lengths) * (n_start + 1) + len(corpus.ids)
    # Start of each sentence with its special tokens, and index of each word.
    lengths = corpus.lengths + n_start + 1
    starts = far.n_words + np.cumsum(lengths) - lengths
    shift = far.n_words + np.arange(1, len(corpus.lengths) + 1) * (n_start + 1) - 1
    indices = np.arange(len(corpus.ids)) + np.repeat(shift, corpus.lengths)
    targets = np.full(n_words, vocabulary.start_id, dtype=np.int32)
    targets[starts + lengths - 1] = vocabulary.end_id
    targets[indices] = vocabulary.encode(corpus.words)[corpus.ids]
    inputs, codes, start = targets, None, vocabulary.start_id
    if word_encoder is not None:
        inputs = (targets != vocabulary.start_id).astype(np.int32)  # 0 is the start token, 1 the end token
        inputs[indices] = corpus.ids + 2
        word_codes = encode_with_special_tokens(word_encoder, corpus.words, vocabulary.special_tokens)
        inputs, codes = _apply_codes(word_codes, inputs)
        start = 0 if codes is not None else int(word_codes[0])
    n_targets = np.maximum(lengths - (order - 1), 0)
    offsets = np.concatenate(([0], np.cumsum(n_targets)))
    positions = np.arange(offsets[-1]) + np.repeat(starts + order - 1 - offsets[:-1], n_targets)
    positions = positions.astype(np.int32 if n_words < 2**31 else np.int64)
    return WordWindows(inputs, targets, positions, offsets, order, codes, far, start)


def _windows_of_ids(
    corpus: EncodedWindows,
    vocabulary: Vocabulary,
    id_map: NDArray[np.int32] | None,
    order: int,
    word_encoder: WordEncoder | None,
    caller: str,
) -> WordWindows:
    ids = _map_ids(corpus.ids, vocabulary, id_map, caller)
    inputs, codes = ids, None
    if word_encoder is not None:
        inputs, codes = _apply_codes(word_encoder.encode(vocabulary.words), ids)
    n_windows = len(corpus)
    positions = np.arange(1, n_windows + 1, dtype=np.int64) * order - 1
    return WordWindows(inputs, ids, positions, np.arange(n_windows + 1), order, codes)


def _apply_codes(codes: NDArray[Any], ids: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64] | None]:
    """Replace ids by codes of one integer; longer codes are gathered later."""
    return (codes[ids], None) if codes.ndim == 1 else (ids, codes)


def _map_ids(
    windows: NDArray[np.int64], vocabulary: Vocabulary, id_map: NDArray[np.int32] | None, caller: str
) -> NDArray[np.int32]:
    """Check the ids of a user's windows and map them to ids of the vocabulary."""
    if id_map is None:
        raise ValueError(unknown_ids_message(caller))
    if windows.size and not 0 <= windows.min() <= windows.max() < len(id_map):
        wrong = windows.min() if windows.min() < 0 else windows.max()
        raise ValueError(f"{caller}: the reader gave the id {wrong}, and vocabulary has {len(id_map)} words.")
    if (id_map[windows[:, -1]] == vocabulary.start_id).any():
        raise ValueError(
            f"{caller}: the reader gave a window that ends with {vocabulary.special_tokens.start}, which is never "
            "predicted."
        )
    ids: NDArray[np.int32] = id_map[windows].ravel()
    return ids


def unknown_ids_message(caller: str) -> str:
    """Return the error message for word ids without a vocabulary."""
    return (
        f"{caller} got word ids from its reader and does not know the words. Set vocabulary to the dict from words to "
        "these ids, or let the reader return sentences."
    )
