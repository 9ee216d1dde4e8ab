"""Sentences as windows of word ids, contexts and next words, and the training data of a network."""

from __future__ import annotations

import warnings
import zlib
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp._constraints import is_integer
from sklearn_hashnlp._sklearn import MAX_INTEGER, level_of_user
from sklearn_hashnlp.kernels._rows import gather_windows, mask_before_last
from sklearn_hashnlp.language._corpus import (
    DEFAULT_TOKENS,
    EncodedWindows,
    Sentences,
    SpecialTokens,
    Vocabulary,
    WordEncoder,
    build_vocabulary,
    encode_with_special_tokens,
    read_corpus,
    read_training_corpus,
    tokenize,
    vocabulary_from_dict,
)
from sklearn_hashnlp.text._documents import as_documents
from sklearn_hashnlp.training._settings import EarlyStopping

Padding: TypeAlias = Literal["full", "reference"]


class FarContext(NamedTuple):
    """Words before the window that a context also contains."""

    n_words: int = 0
    across_sentences: bool = False  # whether they may come from earlier sentences

    @classmethod
    def of(cls, estimator: Any) -> FarContext:
        """Return the far context set by an estimator's parameters."""
        n_words = int(estimator.far_context)
        return cls(n_words, n_words > 0 and bool(estimator.across_sentences))


@dataclass(frozen=True, eq=False)
class WordWindows:
    """All windows of a corpus; contexts are gathered on demand."""

    inputs: NDArray[np.int32]  # (n_words,): the text for contexts; with codes, indices of these
    targets: NDArray[np.int32]  # (n_words,): the text as word ids
    positions: NDArray[Any]  # (n_windows,): index in the text of each window's last word
    offsets: NDArray[np.int64]  # (n_sentences + 1,): first window of each sentence
    order: int  # words per window
    codes: NDArray[np.int64] | None = None  # (n_distinct, width): codes of the distinct words
    far: FarContext = field(default_factory=FarContext)
    start: int = -1  # <s> in inputs; only with a far context

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
        """Gather contexts, (n_rows, n_context) or, with codes, (..., width), and the next words."""
        contexts, y = gather_windows(
            self.inputs, self.targets, self.positions, rows, self.n_context
        )
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
        offsets = np.concatenate(([0], np.cumsum(lengths[sentences])))
        return replace(
            self, positions=self.positions[np.repeat(sentences, lengths)], offsets=offsets
        )

    def evenly_spaced(self, n_windows: int) -> WordWindows:
        """Return at most ``n_windows`` windows, evenly spaced, each as a separate sentence."""
        rows = np.unique(np.linspace(0, len(self) - 1, min(n_windows, len(self))).astype(np.int64))
        return replace(self, positions=self.positions[rows], offsets=np.arange(len(rows) + 1))


@dataclass(frozen=True)
class Tokenizer:
    """Convert sentences to windows of word ids, and the start of sentences to contexts."""

    vocabulary: Vocabulary
    id_map: NDArray[np.int32] | None  # maps the ids of the user's vocabulary, if there is one
    order: int  # words per window
    padding: Padding
    word_encoder: WordEncoder | None  # encodes the words of contexts; None if contexts are word ids
    caller: str  # class name for messages
    far: FarContext = field(default_factory=FarContext)

    @property
    def special_tokens(self) -> SpecialTokens:
        """The special tokens of the vocabulary."""
        return self.vocabulary.special_tokens

    def read(self, X: Any) -> WordWindows:
        """Read sentences or windows."""
        return self.windows(
            read_corpus(X, order=self.order, special_tokens=self.special_tokens, caller=self.caller)
        )

    def windows(self, corpus: Sentences | EncodedWindows) -> WordWindows:
        """Encode a corpus and add special tokens to its sentences."""
        if isinstance(corpus, EncodedWindows):
            return self._windows_of_ids(corpus)
        vocabulary = self.vocabulary
        order = self.order
        far = self.far
        n_start = order - 1 if self.padding == "full" else 1
        n_words = far.n_words + len(corpus.lengths) * (n_start + 1) + len(corpus.ids)
        # Start of each sentence with its special tokens, and index of each word.
        lengths = corpus.lengths + n_start + 1
        starts = far.n_words + np.cumsum(lengths) - lengths
        shift = far.n_words + np.arange(1, len(corpus.lengths) + 1) * (n_start + 1) - 1
        indices = np.arange(len(corpus.ids)) + np.repeat(shift, corpus.lengths)
        targets = np.full(n_words, vocabulary.start_id, dtype=np.int32)
        targets[starts + lengths - 1] = vocabulary.end_id
        targets[indices] = vocabulary.encode(corpus.words)[corpus.ids]
        inputs = targets
        codes = None
        start = vocabulary.start_id
        if self.word_encoder is not None:
            # 0 is the start token, 1 the end token
            inputs = (targets != vocabulary.start_id).astype(np.int32)
            inputs[indices] = corpus.ids + 2
            word_codes = encode_with_special_tokens(
                self.word_encoder, corpus.words, self.special_tokens
            )
            inputs, codes = _apply_codes(word_codes, inputs)
            start = 0 if codes is not None else int(word_codes[0])
        n_targets = np.maximum(lengths - (order - 1), 0)
        offsets = np.concatenate(([0], np.cumsum(n_targets)))
        positions = np.arange(offsets[-1]) + np.repeat(starts + order - 1 - offsets[:-1], n_targets)
        positions = positions.astype(np.int32 if n_words < 2**31 else np.int64)
        return WordWindows(inputs, targets, positions, offsets, order, codes, far, start)

    def _windows_of_ids(self, corpus: EncodedWindows) -> WordWindows:
        """Check the ids of a user's windows, and map them to ids of the vocabulary."""
        if self.far.n_words:
            raise ValueError(
                f"{self.caller}(far_context={self.far.n_words}) needs sentences, and the reader "
                f"returns windows of {self.order} word ids. Let it return sentences, or set "
                "far_context=0."
            )
        given, id_map = corpus.ids, self.id_map
        if id_map is None:
            raise ValueError(unknown_ids_message(self.caller))
        if given.size and not 0 <= given.min() <= given.max() < len(id_map):
            wrong = given.min() if given.min() < 0 else given.max()
            raise ValueError(
                f"{self.caller}: the reader gave the id {wrong}, and vocabulary has {len(id_map)} "
                "words."
            )
        if (id_map[given[:, -1]] == self.vocabulary.start_id).any():
            raise ValueError(
                f"{self.caller}: the reader gave a window that ends with "
                f"{self.special_tokens.start}, which is never predicted."
            )
        ids = id_map[given].ravel()
        encoder = self.word_encoder
        inputs, codes = (
            (ids, None)
            if encoder is None
            else _apply_codes(encoder.encode(self.vocabulary.words), ids)
        )
        positions = np.arange(1, len(corpus) + 1, dtype=np.int64) * self.order - 1
        return WordWindows(inputs, ids, positions, np.arange(len(corpus) + 1), self.order, codes)

    def read_contexts(self, X: Any, *, keep_end: bool) -> list[list[str]]:
        """Read the words of beginnings of sentences."""
        if isinstance(X, str):
            raise TypeError(
                f"{self.caller} needs a list of contexts, got a single str. Wrap it in a list: "
                f"[{X!r:.40}]."
            )
        documents = enumerate(as_documents(X, caller=self.caller))
        return [
            self.read_context(each, index=index, keep_end=keep_end) for index, each in documents
        ]

    def read_context(self, beginning: Any, *, index: int = 0, keep_end: bool) -> list[str]:
        """Read the words of one context; with ``padding="reference"`` it must be long enough."""
        # If the end token is kept, the first word of the next sentence is predicted.
        tokens = self.special_tokens
        words = tokenize(
            beginning, index=index, special_tokens=tokens, keep_end=keep_end, caller=self.caller
        )
        n_needed = 0 if self.padding == "full" else self.order - 2
        if len(words) < n_needed:
            raise ValueError(
                f"{self.caller}(order={self.order}, padding='reference') predicts words after "
                f"{n_needed} others or more, got {words!r:.60} as context {index}. Give the first "
                f"{n_needed} words of a sentence (sample takes them as start=), or train with "
                "padding='full', which predicts every word."
            )
        return words

    def encode_contexts(self, beginnings: list[list[str]]) -> NDArray[np.int64]:
        """Encode the last words of each beginning, padded with the start token on the left."""
        width = self.far.n_words + self.order - 1
        last = [
            words[max(len(words) - width, 0) :] for words in map(self._pad_sentences, beginnings)
        ]
        index_of = {
            word: index
            for index, word in enumerate(dict.fromkeys(chain.from_iterable(last)), start=2)
        }
        if self.far.across_sentences:
            index_of |= {self.special_tokens.start: 0, self.special_tokens.end: 1}
        indices = np.zeros((len(beginnings), width), dtype=np.int64)  # of the start token
        for row, words in zip(indices, last, strict=True):
            if words:
                row[-len(words) :] = [index_of[word] for word in words]
        contexts: NDArray[np.int64] = self._codes(list(index_of))[indices].astype(
            np.int64, copy=False
        )
        return contexts

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return words, special tokens and padding as JSON values and arrays."""
        tokens = list(self.special_tokens)
        values: dict[str, Any] = {
            "words": self.vocabulary.words[:-1],
            "special_tokens": tokens,
            "padding": self.padding,
        }
        if self.far.n_words:
            values["far_context"] = self.far._asdict()
        return values, {} if self.id_map is None else {"translation": self.id_map}

    @classmethod
    def from_state(
        cls,
        values: dict[str, Any],
        arrays: dict[str, NDArray[Any]],
        *,
        order: int,
        word_encoder: WordEncoder | None = None,
        caller: str,
    ) -> Tokenizer:
        """Build the tokenizer of a stored model."""
        special_tokens = SpecialTokens(*values["special_tokens"])
        vocabulary, far = (
            Vocabulary(values["words"], special_tokens),
            FarContext(**values.get("far_context", {})),
        )
        vocabulary.check()
        for name, number, least in (("order", order, 1), ("n_words", far.n_words, 0)):
            if not is_integer(number) or not least <= number <= MAX_INTEGER:
                raise ValueError(
                    f"{name!r} must be an integer in {least}..{MAX_INTEGER}, got {number!r}"
                )
        return cls(
            vocabulary,
            arrays.get("translation"),
            order,
            values["padding"],
            word_encoder,
            caller,
            far,
        )

    def _pad_sentences(self, words: list[str]) -> list[str]:
        """Insert start tokens after each end token if contexts reach across sentences."""
        start, end, _ = self.special_tokens
        if not self.far.across_sentences or end not in words:
            return words
        padding = [start] * (self.order - 1 if self.padding == "full" else 1)
        return list(
            chain.from_iterable([word, *padding] if word == end else [word] for word in words)
        )

    def _codes(self, words: list[str]) -> NDArray[Any]:
        """Return codes or ids of the start token, the end token and words within sentences."""
        if self.word_encoder is not None:
            return encode_with_special_tokens(self.word_encoder, words, self.special_tokens)
        vocabulary = self.vocabulary
        return np.concatenate(([vocabulary.start_id, vocabulary.end_id], vocabulary.encode(words)))


def build_tokenizer(
    estimator: Any,
    corpus: Sentences | EncodedWindows,
    *,
    order: int,
    padding: Padding = "full",
    validation: NDArray[np.bool_] | None = None,
    word_encoder: WordEncoder | None = None,
    far: FarContext = FarContext(),  # noqa: B008 - a tuple
) -> Tokenizer:
    """Build the tokenizer of a corpus, without a ``vocabulary`` from the training sentences."""
    special_tokens, caller = SpecialTokens.of(estimator), type(estimator).__name__
    if estimator.vocabulary is not None:
        words, id_map = vocabulary_from_dict(
            estimator.vocabulary, special_tokens=special_tokens, caller=caller
        )
        if isinstance(corpus, EncodedWindows):
            _warn_without_end(corpus, estimator.vocabulary, special_tokens, caller)
        return Tokenizer(words, id_map, order, padding, word_encoder, caller, far)
    if isinstance(corpus, EncodedWindows):
        raise ValueError(unknown_ids_message(caller))
    train = np.ones(len(corpus), dtype=np.bool_) if validation is None else ~validation
    words = build_vocabulary(
        corpus.words,
        np.bincount(corpus.ids[np.repeat(train, corpus.lengths)], minlength=len(corpus.words)),
        int(train.sum()),
        min_count=int(estimator.min_count),
        max_words=None if estimator.max_features is None else int(estimator.max_features),
        special_tokens=special_tokens,
    )
    return Tokenizer(words, None, order, padding, word_encoder, caller, far)


def _warn_without_end(
    windows: EncodedWindows, vocabulary: dict[str, int], special_tokens: SpecialTokens, caller: str
) -> None:
    """Warn if no window ends a sentence, and suggest the reader's end token."""
    last_ids = np.unique(windows.ids[:, -1])
    if vocabulary.get(special_tokens.end, -1) in last_ids:
        return
    never_followed = set(np.setdiff1d(last_ids, windows.ids[:, :-1]).tolist())
    words = [word for word, word_id in vocabulary.items() if word_id in never_followed]
    hint = f" No word follows {words[0]!r}: is it that token?" if len(words) == 1 else ""
    warnings.warn(
        f"{caller}(special_tokens={tuple(special_tokens)!r}) cannot learn where sentences end: no "
        f"window of the reader ends with the end token {special_tokens.end!r}, so that sampled "
        "sentences go on up to max_length. Set the "
        "reader's own end token." + hint,
        UserWarning,
        stacklevel=level_of_user(),
    )


def _apply_codes(
    codes: NDArray[Any], ids: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int64] | None]:
    """Replace ids by codes of one integer; longer codes are gathered later."""
    return (codes[ids], None) if codes.ndim == 1 else (ids, codes)


def unknown_ids_message(caller: str) -> str:
    """Return the error message for word ids without a vocabulary."""
    return (
        f"{caller} got word ids from its reader and does not know the words. Set vocabulary to the "
        "dict from words to these ids, or let the reader return sentences."
    )


def sentence_windows(
    sentence: Any, *, order: int, padding: Padding, special_tokens: SpecialTokens = DEFAULT_TOKENS
) -> list[tuple[list[str], str]]:
    """Return the contexts of a sentence and the word after each."""
    width = order - 1
    tokens = tokenize(sentence, index=0, special_tokens=special_tokens, caller="sentence_windows")
    words = [
        *[special_tokens.start] * (width if padding == "full" else 1),
        *tokens,
        special_tokens.end,
    ]
    return [(words[end - width : end], words[end]) for end in range(width, len(words))]


class TrainingData(NamedTuple):
    """Windows of words to train on."""

    tokenizer: Tokenizer
    windows: WordWindows
    valid_windows: WordWindows | None


def read_training_data(
    estimator: Any,
    X: Any,
    X_valid: Any = None,
    *,
    word_encoder: WordEncoder | None = None,
    stopping: EarlyStopping | None = None,
    split_seed: int = 0,
    tokenizer: Tokenizer | None = None,  # of the net to be trained on
) -> TrainingData:
    """Read sentences; split off a validation set for early stopping unless ``X_valid`` is given."""
    name = type(estimator).__name__
    special_tokens = SpecialTokens.of(estimator) if tokenizer is None else tokenizer.special_tokens
    corpus = read_training_corpus(
        X, order=int(estimator.order), special_tokens=special_tokens, caller=name
    )
    validation = np.zeros(len(corpus), dtype=np.bool_)
    if stopping is not None and X_valid is None:
        fraction = float(stopping.validation_fraction)
        validation[_choose_validation(len(corpus), fraction, split_seed, name)] = True
    if tokenizer is None:
        tokenizer = build_tokenizer(
            estimator,
            corpus,
            order=int(estimator.order),
            padding=estimator.padding,
            validation=validation,
            word_encoder=word_encoder,
            far=FarContext.of(estimator),
        )
    windows = tokenizer.windows(corpus)
    valid_windows = None if X_valid is None else tokenizer.read(X_valid)
    if validation.any():
        windows, valid_windows = windows.select(~validation), windows.select(validation)
    for purpose, part in (("learn from", windows), ("validate on", valid_windows)):
        if part is not None and len(part) == 0:
            raise ValueError(
                f"{name} found no window of {tokenizer.order} words to {purpose}: there is no "
                f"sentence or, with padding='reference', none of {tokenizer.order - 2} words. Set "
                "padding='full', or a smaller order."
            )
    return TrainingData(tokenizer, windows, valid_windows)


def _choose_validation(
    n_sentences: int, fraction: float, seed: int, name: str
) -> NDArray[np.int64]:
    if n_sentences == 1:
        raise ValueError(
            f"{name} cannot split a validation sentence off a single one for early_stopping. Pass "
            "more sentences or X_valid, or set early_stopping=False."
        )
    n_chosen = min(max(1, round(fraction * n_sentences)), n_sentences - 1)
    return np.random.default_rng(seed).permutation(n_sentences)[:n_chosen]
