"""Backoff models in the ARPA format."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp._text_files import Decoding, check_not_zip, create, open_bytes, read_line
from sklearn_hashnlp.kernels.ngrams._trie import (
    LOG10_ZERO,
    NgramTrie,
    TrieLevel,
    build_trie,
    find_nodes,
)
from sklearn_hashnlp.language._corpus import DEFAULT_TOKENS
from sklearn_hashnlp.persistence._atomic_files import check_writable, replacing
from sklearn_hashnlp.persistence._values import ModelFormatError

_START, _END, _UNKNOWN = DEFAULT_TOKENS  # the format's special tokens
_NGRAMS_AT_ONCE = 2**16
_MAX_DIGITS = 20  # digits of a number of n-grams
# Limits of base-10 logarithms: probabilities below the range of float64, and backoff weights that
# can be multiplied several times.
_LOWEST, _MAX_BACKOFF = -1e6, 30.0
_WHITESPACE = b" \t\n\r\x0b\x0c"  # as in bytes.split
_ENCODING = ("utf-8", "surrogateescape")  # preserves invalid bytes
_OTHER_UNKNOWN = b"<UNK>"  # as SRILM and others write it


def write_arpa(path: Path, trie: NgramTrie, words: Sequence[str], sizes: Sequence[int]) -> None:
    """Write a model with ``sizes`` n-grams of each order, compressed for .gz, .bz2 and .xz."""
    check_arpa_path(path)
    encoded = list(map(_encode, words))
    with replacing(path) as unfinished, create(unfinished) as file:
        file.write(b"\\data\\\n")
        file.writelines(b"ngram %d=%d\n" % pair for pair in enumerate(sizes, start=1))
        first = 1
        for n, size in enumerate(sizes, start=1):
            file.write(b"\n\\%d-grams:\n" % n)
            for start in range(first, first + size, _NGRAMS_AT_ONCE):
                nodes = np.arange(start, min(start + _NGRAMS_AT_ONCE, first + size))
                file.writelines(_lines_of(trie, nodes, n, encoded))
            first += size
        file.write(b"\n\\end\\\n")


def check_arpa_path(path: Path) -> None:
    """Check that an ARPA file can be written, before counting n-grams."""
    check_not_zip(path, "an ARPA file")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; expected the name of an ARPA file to write.")
    try:
        check_writable(path.parent)
    except OSError as error:
        raise OSError(
            error.errno, f"no ARPA file can be written there ({error.strerror})", str(path)
        ) from error


def _encode(word: str) -> bytes:
    """Encode a word, and raise an error if it would not be read back."""
    try:
        code = word.encode(*_ENCODING)
    except UnicodeEncodeError as error:
        raise ValueError(
            f"An ARPA file cannot hold the word {word!r}: UTF-8 cannot encode its lone surrogate "
            f"{word[error.start]!r}."
        ) from error
    if code.split() != [code]:
        raise ValueError(
            f"An ARPA file cannot hold the word {word!r}: it is empty or contains whitespace."
        )
    other = code.decode(*_ENCODING)
    if other != word:
        raise ValueError(
            f"An ARPA file cannot hold the word {word!r}: its lone surrogates would be read as "
            f"{other!r}."
        )
    return code


def _lines_of(
    trie: NgramTrie, nodes: NDArray[np.int64], n: int, words: list[bytes]
) -> Iterator[bytes]:
    ids = np.empty((len(nodes), n), dtype=np.int32)
    ancestors = nodes
    for column in range(n - 1, -1, -1):
        ids[:, column] = trie.words[ancestors]
        ancestors = np.searchsorted(trie.first_child, ancestors, side="right") - 1
    log_probs = trie.log_probs[nodes].tolist()
    of_highest_order = nodes[0] >= len(trie.backoffs)
    ends = (
        [b""] * len(nodes)
        if of_highest_order
        else [b"\t%a" % backoff for backoff in trie.backoffs[nodes].tolist()]
    )
    for log_prob, row, end in zip(log_probs, ids.tolist(), ends, strict=True):
        yield b"%a\t%b%b\n" % (log_prob, b" ".join([words[i] for i in row]), end)


class _Section(NamedTuple):
    """The n-grams of one order in the order of the file."""

    ids: NDArray[np.int32]  # (n_ngrams, n)
    log_probs: NDArray[np.float64]
    backoffs: NDArray[np.float64]  # empty in the highest order
    lines: NDArray[np.int64]  # (n_ngrams,): line numbers


def read_arpa(path: Path, decoding: Decoding) -> tuple[NgramTrie, list[str], int]:
    """Read a model: its trie, the words except ``<s>`` (the last in the trie), and its order."""
    try:
        with open_bytes(path, decoding) as stream:
            return _read(_Reader(path, stream, decoding))
    except ModelFormatError:
        raise
    except ValueError as error:  # of the text file
        raise ModelFormatError(str(error)) from error


def _read(reader: _Reader) -> tuple[NgramTrie, list[str], int]:
    sizes = reader.read_header()
    reader.expect("\\1-grams:")
    words, word_ids, unigrams = reader.read_unigrams(sizes[0], is_last=len(sizes) == 1)
    root = np.zeros(len(words) + 1, dtype=np.int32)
    levels = [
        TrieLevel(
            np.arange(len(root), dtype=np.int32), root, root, unigrams.log_probs, unigrams.backoffs
        )
    ]
    for n, size in enumerate(sizes[1:], start=2):
        reader.expect(f"\\{n}-grams:")
        section = reader.read_ngrams(n, size, word_ids, is_last=n == len(sizes))
        levels.append(_sort(section, levels, reader, [*words, _START]))
    reader.expect("\\end\\")
    return build_trie(levels), words, len(sizes)


@dataclass
class _Reader:
    """Lines of an ARPA file; errors name the line."""

    _path: Path
    _stream: IO[bytes]
    _decoding: Decoding
    _number: int = 0  # of the last line read
    _line: bytes = b""

    def fail(self, message: str, line: int | None = None) -> NoReturn:
        raise ModelFormatError(
            f"{self._path}, line {self._number if line is None else line}: {message}"
        )

    def read_header(self) -> list[int]:
        """Read the number of n-grams of each order."""
        while self._next(r"expected the line \data\ of an ARPA file") != rb"\data" + b"\\":
            pass
        sizes: list[int] = []
        while (line := self._next_filled("expected a line such as ngram 1=1000")).startswith(
            b"ngram"
        ):
            order, equals, size = line[5:].partition(b"=")
            is_size = size.strip().isdigit() and len(size) < _MAX_DIGITS
            if not equals or not is_size or order.strip() != b"%d" % (len(sizes) + 1):
                self.fail(f"expected ngram {len(sizes) + 1}= and a number, got {_show(line)}.")
            sizes.append(int(size))
        if not sizes:
            self.fail(f"expected ngram 1= and a number, got {_show(line)}.")
        return sizes

    def expect(self, line: str) -> None:
        """Check the current line, which starts the n-grams of one order or ends the file."""
        if self._line != line.encode():
            self.fail(f"expected {line}, got {_show(self._line)}.")

    def read_unigrams(
        self, size: int, *, is_last: bool
    ) -> tuple[list[str], dict[bytes, int], _Section]:
        """Read words and ids; add ``</s>`` and ``<unk>`` if they are missing, and ``<s>`` last."""
        entries: dict[str, tuple[float, float]] = {}
        codes: dict[bytes, str] = {token.encode(): token for token in (_END, _UNKNOWN, _START)}
        for fields in self._entries(1, size):
            word = codes[fields[1]] = self._word(fields[1])
            if word in entries:
                self.fail(f"the word {_show(fields[1])} was there before.")
            entries[word] = self._numbers(fields, 1, is_last)
        for token in (_END, _UNKNOWN, _START):
            entries.setdefault(token, (LOG10_ZERO, 0.0))
        start = entries.pop(_START)
        numbers = np.array([*entries.values(), (LOG10_ZERO, start[1])])
        words = list(entries)
        ids = {word: index for index, word in enumerate([*words, _START])}
        backoffs = np.empty(0) if is_last else numbers[:, 1].copy()
        section = _Section(
            np.empty((0, 1), np.int32), numbers[:, 0].copy(), backoffs, np.empty(0, np.int64)
        )
        return words, {code: ids[word] for code, word in codes.items()}, section

    def _word(self, code: bytes) -> str:
        if code == _OTHER_UNKNOWN:
            return _UNKNOWN
        try:
            return code.decode(self._decoding.of_lines, self._decoding.errors)
        except UnicodeDecodeError:
            return self._decoding.line(self._line, self._path, self._number)  # raises the error

    def read_ngrams(
        self, n: int, size: int, word_ids: dict[bytes, int], *, is_last: bool
    ) -> _Section:
        """Read the n-grams of one order, except those with ``<s>`` after another word."""
        ids = array("i")
        log_probs = array("d")
        backoffs = array("d")
        lines = array("q")
        start = _START.encode()
        for fields in self._entries(n, size):
            log_prob, backoff = self._numbers(fields, n, is_last)
            if start in fields[2 : n + 1]:
                continue
            try:
                ids.extend([word_ids[word] for word in fields[1 : n + 1]])
            except KeyError as error:
                self.fail(f"the word {_show(error.args[0])} is no 1-gram of the file.")
            log_probs.append(log_prob)
            if not is_last:
                backoffs.append(backoff)
            lines.append(self._number)
        matrix = np.array(ids, dtype=np.int32).reshape(-1, n)
        return _Section(
            matrix, np.array(log_probs), np.array(backoffs), np.array(lines, dtype=np.int64)
        )

    def _entries(self, n: int, size: int) -> Iterator[list[bytes]]:
        """Yield the fields of each n-gram up to the start of the next section."""
        n_ngrams = 0
        while not (line := self._next_filled(f"expected \\end\\ after the {n}-grams")).startswith(
            b"\\"
        ):
            n_ngrams += 1
            fields = line.split()
            if not n + 1 <= len(fields) <= n + 2:
                self.fail(
                    f"expected a number, {n} words and perhaps another number, got {_show(line)}."
                )
            yield fields
        if n_ngrams != size:
            self.fail(f"the header announced {size} {n}-grams, and there are {n_ngrams}.")

    def _numbers(self, fields: list[bytes], n: int, is_last: bool) -> tuple[float, float]:
        try:
            log_prob = float(fields[0])
            backoff = float(fields[n + 1]) if len(fields) == n + 2 else 0.0
        except ValueError:
            self.fail(
                f"expected a number, {n} words and perhaps another number, got "
                f"{_show(b' '.join(fields))}."
            )
        log_prob, backoff = (
            LOG10_ZERO if number == -np.inf else number for number in (log_prob, backoff)
        )
        if not _LOWEST <= log_prob <= 0:
            self.fail(
                f"{_show(fields[0])} is no logarithm of a probability; that of zero is "
                f"{LOG10_ZERO:g}."
            )
        if not _LOWEST <= backoff <= _MAX_BACKOFF or (is_last and backoff != 0):
            self.fail(f"{_show(fields[-1])} is no backoff weight of a {n}-gram.")
        return log_prob, backoff

    def _next_filled(self, wanted: str) -> bytes:
        while not (line := self._next(wanted)):
            pass
        return line

    def _next(self, wanted: str) -> bytes:
        self._number += 1
        line = read_line(self._stream, self._path, self._number)
        if not line:
            self.fail(f"{wanted}, and the file ends.")
        self._line = line.strip(_WHITESPACE)
        return self._line


def _sort(
    section: _Section, levels: list[TrieLevel], reader: _Reader, words: list[str]
) -> TrieLevel:
    """Sort the n-grams of one order; find their contexts and suffixes among shorter n-grams."""
    trie, ids = build_trie(list(levels)), section.ids
    first_node = len(trie.words) - len(levels[-1].words)
    contexts = find_nodes(trie, ids[:, :-1])
    if (contexts < 0).any():
        row = int(np.argmax(contexts < 0))
        ngram = " ".join(words[i] for i in ids[row, :-1])
        reader.fail(
            f"the {ids.shape[1] - 1}-gram {ngram!r}, which this n-gram begins with, is missing.",
            section.lines[row],
        )
    order = np.lexsort((ids[:, -1], contexts))
    same = (contexts[order[1:]] == contexts[order[:-1]]) & (
        ids[order[1:], -1] == ids[order[:-1], -1]
    )
    if same.any():
        index = int(np.argmax(same))
        first, second = sorted(section.lines[order[index : index + 2]].tolist())
        reader.fail(f"the n-gram was in line {first} before.", second)
    suffixes = np.full(len(ids), -1, dtype=np.int64)
    for n_dropped in range(1, ids.shape[1]):
        missing = np.flatnonzero(suffixes < 0)
        suffixes[missing] = find_nodes(trie, ids[missing, n_dropped:])
    return TrieLevel(
        words=ids[order, -1],
        parents=(contexts[order] - first_node).astype(np.int32),
        suffixes=suffixes[order].astype(np.int32),
        log_probs=section.log_probs[order],
        backoffs=section.backoffs[order] if len(section.backoffs) else section.backoffs,
    )


def _show(text: bytes) -> str:
    shown = repr(text.decode(*_ENCODING))
    return shown if len(shown) <= 60 else shown[:56] + "...'"
