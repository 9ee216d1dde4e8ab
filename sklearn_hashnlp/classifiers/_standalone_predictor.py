"""A text classifier in one file: a self-governing neural network that needs Python and numpy alone.

    python model.py "some text" "another one"       a label a line
    python model.py --proba < texts.txt             a text a line in; labels and probabilities out
    import model; model.predict(["some text"])      model.predict_proba, model.CLASSES

Written by sklearn-hashnlp. A text becomes counts of hashed n-grams, these become sides of random hyperplanes, and dense
layers in integers score them: with the same bits and labels as the quantised pipeline that this was made of. The
weights stand in the last string, as bytes: copy the file as it is, and convert neither encoding nor ends of lines.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

_KEPT = 4096  # columns whose coefficients, and words whose bits, are kept
_BLOCK = 1024  # columns that are added at once


def predict(texts: Iterable[str]) -> Any:
    """Return the label of each text: an array of labels, or an indicator matrix if the model was trained on one."""
    scores, model = _scores(texts), _model()
    if model["multilabel"]:
        return (scores > 0).astype(np.int64)
    return _classes()[scores.argmax(axis=1)]


def predict_proba(texts: Iterable[str]) -> Any:
    """Estimate the probability of each label for each text: an array of shape (n_texts, n_classes)."""
    scores, model = _scores(texts), _model()
    if model["multilabel"]:
        return np.exp(-np.logaddexp(0, -scores))
    # The softmax of logarithms of sigmoids is sigmoids over their sum.
    logits = -np.logaddexp(0, -scores) if model["link"] == "log_sigmoid" else model["inverse_temperature"] * scores
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def _scores(texts: Iterable[str]) -> Any:
    if isinstance(texts, str):
        raise ValueError("predict takes a list of texts, got a single one. Wrap it in a list: predict([text]).")
    scores = [_layers(_project(_checked(text, position))) for position, text in enumerate(texts)]
    return np.array(scores).reshape(len(scores), len(_model()["labels"]["values"]))


def _checked(text: Any, position: int) -> str:
    if not isinstance(text, str):
        raise TypeError(f"Text {position} is of type {type(text).__name__}; all texts must be str.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"Text {position} holds a lone surrogate, which UTF-8 cannot encode: {error}.") from error
    return text


# Texts to counts of hashed n-grams.


def _words(text: str) -> list[str]:
    featurizer = _model()["featurizer"]
    text = text.lower() if featurizer["lowercase"] else text
    return re.findall(r"\w+|[^\w\s]", text) if featurizer["split"] == "punctuation" else text.split()


def _ngrams(text: str) -> Counter[str]:
    featurizer = _model()["featurizer"]
    low, high = featurizer["ngram_range"]
    words = _words(text)
    found: Counter[str] = Counter()
    if featurizer["analyzer"] == "skipgram":
        for n in range(low, min(high, len(words)) + 1):
            for start in range(len(words) - n + 1):
                others = words[start + 1 : start + n + featurizer["max_skip"]]
                found.update(" ".join([words[start], *rest]) for rest in combinations(others, n - 1))
        return found
    for word, count in Counter(words).items():
        marked = f"<{word}>"
        for n in range(low, min(high, len(marked)) + 1):
            for start in range(len(marked) - n + 1):
                found[marked[start : start + n]] += count
    return found


def _columns(text: str) -> tuple[Any, Any]:
    """Return the columns of a text's n-grams, ascending, and their values."""
    featurizer = _model()["featurizer"]
    lengths: dict[int, list[bytes]] = {}
    counts: dict[int, list[int]] = {}
    for ngram, count in _ngrams(text).items():
        encoded = ngram.encode()
        lengths.setdefault(len(encoded), []).append(encoded)
        counts.setdefault(len(encoded), []).append(count)
    if not lengths:
        return np.empty(0, dtype=np.int64), np.empty(0)
    hashes = np.concatenate([_murmur3(ngrams) for ngrams in lengths.values()]).astype(np.int64)
    values = np.concatenate([np.array(part) for part in counts.values()])
    if featurizer["alternate_sign"]:
        values = np.where(hashes < 0, -values, values)
    columns, places = np.unique(np.abs(hashes) % featurizer["n_features"], return_inverse=True)
    sums = np.bincount(places.ravel(), weights=values)  # of integers, and so exact
    return columns, np.ones(len(sums)) if featurizer["binary"] else sums


def _murmur3(strings: list[bytes]) -> Any:
    """Hash byte strings of one length by MurmurHash3_x86_32, seed 0."""
    length = len(strings[0])
    padded = np.zeros((len(strings), -(-length // 4) * 4), dtype=np.uint8)
    padded[:, :length] = np.frombuffer(b"".join(strings), dtype=np.uint8).reshape(-1, length)
    blocks = padded.view("<u4").astype(np.uint32)
    state = np.zeros(len(strings), dtype=np.uint32)
    for place in range(blocks.shape[1]):
        block = blocks[:, place] * np.uint32(0xCC9E2D51)
        block = (block << np.uint32(15) | block >> np.uint32(17)) * np.uint32(0x1B873593)
        state = state ^ block
        if 4 * place + 4 <= length:  # and not for bytes that are left over
            state = (state << np.uint32(13) | state >> np.uint32(19)) * np.uint32(5) + np.uint32(0xE6546B64)
    return _mix(state ^ np.uint32(length)).view(np.int32)


def _mix(words: Any) -> Any:
    words = (words ^ words >> np.uint32(16)) * np.uint32(0x85EBCA6B)
    words = (words ^ words >> np.uint32(13)) * np.uint32(0xC2B2AE35)
    return words ^ words >> np.uint32(16)


# Counts to sides of hyperplanes.


def _hash_words(columns: Any, keys: list[int], n_words: int) -> Any:
    """Return the first words of each column, 32 bits each: an array of shape (n_columns, n_words)."""
    low, high = (columns & 0xFFFFFFFF).astype(np.uint32), (columns >> 32 & 0xFFFFFFFF).astype(np.uint32)
    state, step = (_mix(_mix(low ^ np.uint32(key)) ^ high)[:, np.newaxis] for key in keys)
    return _mix(state + np.arange(n_words, dtype=np.uint32) * (step | np.uint32(1)))


def _signs(columns: Any, n: int) -> Any:
    words = _hash_words(columns, _model()["projector"]["keys"][:2], -(-n // 32))
    bits = words[:, :, np.newaxis] >> np.arange(32, dtype=np.uint32) & np.uint32(1)
    return (2 * bits.astype(np.int8) - 1).reshape(len(columns), -1)[:, :n]


def _coefficients(columns: Any) -> Any:
    projector = _model()["projector"]
    n, keys = projector["n"], projector["keys"]
    if projector["hyperplanes"] == "sign":
        found = _signs(columns, n)
    else:
        places = _hash_words(columns, keys[:2], -(-n // 4)).astype("<u4").view(np.uint8)[:, :n]
        found = _model()["quantiles"][places]
    if projector["threshold"] < 2**32:
        found = found * (_hash_words(columns, keys[2:], n) < projector["threshold"])
    return found


_kept_columns: dict[int, Any] = {}
_kept_words: dict[str, Any] = {}


def _rows_of(columns: Any) -> Any:
    """Look up the coefficients of different columns, and compute those that are not there."""
    # What was found is held on to: another thread may clear what is kept at any time.
    rows: dict[int, Any] = {column: _kept_columns.get(column) for column in columns.tolist()}
    missing = [column for column, row in rows.items() if row is None]
    if missing:
        computed = dict(zip(missing, _coefficients(np.array(missing, dtype=np.int64)), strict=True))
        if len(_kept_columns) + len(missing) > _KEPT:
            _kept_columns.clear()
        _kept_columns.update(computed)
        rows |= computed
    return np.stack(list(rows.values()))


@cache
def _ties() -> Any:
    return _signs(np.array([-1]), _model()["projector"]["n"])[0] > 0


def _bits(text: str) -> Any:
    """Return on which side of each hyperplane a text lies: 0 or 1, or -1 or 1."""
    projector = _model()["projector"]
    columns, values = _columns(text)
    bits = np.zeros(projector["n"], dtype=bool)
    if values.any():
        sums = np.zeros(projector["n"])
        for start in range(0, len(columns), _BLOCK):
            part = slice(start, start + _BLOCK)
            sums += values[part] @ _rows_of(columns[part]).astype(np.float64)  # integers below 2**53: exact
        bits = (sums > 0) | (sums == 0) & _ties()
    return 2 * bits.astype(np.float64) - 1 if projector["sign"] else bits.astype(np.float64)


def _project(text: str) -> Any:
    """Return the row of a text: its bits, or the mean of its words' bits."""
    if _model()["level"] == "document":
        return _bits(text)
    words = _words(text)
    total = np.zeros(_model()["projector"]["n"])
    for word, count in Counter(words).items():
        bits = _kept_words.get(word)
        if bits is None:
            bits = _bits(word)
            if len(_kept_words) >= _KEPT:
                _kept_words.clear()
            _kept_words[word] = bits
        total += count * bits
    return (total / max(len(words), 1)).astype(np.float32).astype(np.float64)


# Rows to scores.


def _layers(row: Any) -> Any:
    *hidden, last = _model()["layers"]
    numbers = np.zeros(_model()["n_inputs"])  # packed bits fill up their last byte
    numbers[: len(row)] = np.rint(4096 * row)
    for weight, bias, multiplier, shift in hidden:
        sums = (weight @ numbers).astype(np.int64) + bias
        numbers = np.maximum(sums * multiplier + (1 << (shift - 1)) >> shift, 0).astype(np.float64)
    weight, bias, scale, _ = last
    return ((weight @ numbers).astype(np.int64) + bias) * scale


# The model itself.


@cache
def _model() -> dict[str, Any]:
    """Read what stands at the end of this file."""
    first, *others = _MODEL.encode("latin-1").split(b"=")
    content = first + b"".join(bytes([(part[0] - 64) % 256]) + part[1:] for part in others)
    if zlib.crc32(content) != _CHECKSUM:
        raise ValueError("This file was changed: its weights are damaged. Copy it as binary, and open no editor on it.")
    content = zlib.decompress(content)
    header, _, content = content.partition(b"\n")
    model: dict[str, Any] = json.loads(header)

    def take(dtype: str, *shape: int) -> Any:
        nonlocal content
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        array, content = np.frombuffer(content[:size], dtype).reshape(shape), content[size:]
        return array

    model["quantiles"] = take("i1", 256)
    layers = []
    for place, (n_outputs, n_inputs, shift) in enumerate(model["layers"], 1):
        weight = take("i1", n_outputs, n_inputs).astype(np.float64)  # whose products are exact, and fast
        factor = "<f8" if place == len(model["layers"]) else "<i4"
        layers.append((weight, take("<i8", n_outputs), take(factor, n_outputs), shift))
    return model | {"layers": layers}


@cache
def _classes() -> Any:
    return np.array(_model()["labels"]["values"], dtype=np.dtype(_model()["labels"]["dtype"]))


def __getattr__(name: str) -> Any:
    if name == "CLASSES":
        return _classes()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _main() -> None:
    parser = argparse.ArgumentParser(description="Label texts, a line each.")
    parser.add_argument("texts", nargs="*", metavar="TEXT", help="a text; without any, lines of the standard input")
    parser.add_argument("--proba", action="store_true", help="print all labels and their probabilities instead")
    arguments = parser.parse_args()
    if not arguments.texts:
        sys.stdin.reconfigure(encoding="utf-8")  # type: ignore[union-attr]  # it is a text stream
    for text in arguments.texts or (line.rstrip("\r\n") for line in sys.stdin):
        if arguments.proba:
            pairs = sorted(zip(predict_proba([text])[0].tolist(), _classes().tolist(), strict=True), reverse=True)
            print("\t".join(f"{label}\t{probability:.4f}" for probability, label in pairs), flush=True)
        elif _model()["multilabel"]:
            print("\t".join(map(str, _classes()[predict([text])[0] == 1].tolist())), flush=True)
        else:
            print(predict([text])[0], flush=True)


_CHECKSUM = 0
_MODEL = ""

if __name__ == "__main__":
    _main()
