"""The parts that exported predictors share: texts, hashes, probabilities, weights and program.

An exported file is the source of this module, that of the predictor's kind, and the weights. It
needs numpy only.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np


def _check_texts(texts: Iterable[Any], kinds: tuple[type, ...] = (str,)) -> list[Any]:
    if isinstance(texts, str | bytes):
        raise ValueError(
            "predict takes a list of texts, got a single text. Wrap it in a list: predict([text])."
        )
    texts = list(texts)
    for position, text in enumerate(texts):
        if not isinstance(text, kinds):
            wanted = " or ".join(kind.__name__ for kind in kinds)
            raise TypeError(
                f"Text {position} is of type {type(text).__name__}; all texts must be {wanted}."
            )
    return texts


def _murmur3(strings: list[bytes], seeds: tuple[int, ...] = (0,)) -> Any:
    """Hash byte strings by MurmurHash3_x86_32: a row of int32 for each seed."""
    lengths = np.fromiter(map(len, strings), dtype=np.int64, count=len(strings))
    hashes = np.empty((len(seeds), len(strings)), dtype=np.int32)
    # Strings of similar lengths are padded to the same length, a power of two, and hashed together.
    sizes = 4 << np.ceil(np.log2(np.maximum(lengths, 4) / 4)).astype(np.int64)
    for size in np.unique(sizes).tolist():
        chosen = np.flatnonzero(sizes == size)
        padded = np.array([strings[index] for index in chosen.tolist()], dtype=f"S{size}")
        blocks = padded.view("<u4").reshape(len(chosen), -1).astype(np.uint32)
        own = lengths[chosen]
        state = np.repeat(np.array(seeds, dtype=np.uint32)[:, np.newaxis], len(chosen), axis=1)
        for index in range(size // 4):
            block = blocks[:, index] * np.uint32(0xCC9E2D51)
            block = (block << np.uint32(15) | block >> np.uint32(17)) * np.uint32(0x1B873593)
            state ^= block
            mixed = (state << np.uint32(13) | state >> np.uint32(19)) * np.uint32(5) + np.uint32(
                0xE6546B64
            )
            # The bytes of an incomplete block are only combined by XOR.
            state = np.where(4 * index + 4 <= own, mixed, state)
        hashes[:, chosen] = _mix(state ^ own.astype(np.uint32)).view(np.int32)
    return hashes


def _mix(words: Any) -> Any:
    words = (words ^ words >> np.uint32(16)) * np.uint32(0x85EBCA6B)
    words = (words ^ words >> np.uint32(13)) * np.uint32(0xC2B2AE35)
    return words ^ words >> np.uint32(16)


def _class_probabilities(scores: Any, header: dict[str, Any]) -> Any:
    """Compute probabilities from scores: sigmoids of several labels, else a softmax."""
    inverse_temperature = header["inverse_temperature"]
    if header["multilabel"]:
        return np.exp(-np.logaddexp(0, -inverse_temperature * scores))
    # The softmax of log-sigmoids is sigmoids divided by their sum.
    logits = inverse_temperature * (
        -np.logaddexp(0, -scores) if header["link"] == "log_sigmoid" else scores
    )
    odds = np.exp(logits - logits.max(axis=1, keepdims=True, initial=-np.inf))
    return odds / odds.sum(axis=1, keepdims=True)


def _unpack_labels(packed: dict[str, Any]) -> Any:
    if str(packed["dtype"]).lstrip("<>=|")[:1] not in "biufoUO":
        raise ValueError(f"labels of type {packed['dtype']!r:.60} are not known")
    dtype, values = np.dtype(packed["dtype"]), packed["values"]
    if dtype.kind not in "biufUO" or dtype.itemsize * len(values) > 2**28:
        raise ValueError(f"{len(values)} labels of type {dtype} are not known")
    return np.array(values, dtype=dtype)


def _read_content(model: str, checksum: int) -> tuple[dict[str, Any], bytes]:
    """Return the header and the bytes of the arrays in the last string of an exported file."""
    first, *others = model.encode("latin-1").split(b"=")
    content = first + b"".join(bytes([(part[0] - 64) % 256]) + part[1:] for part in others)
    if zlib.crc32(content) != checksum:
        raise ValueError(
            "This file was changed: its weights are damaged. Copy it as a binary file, and do not "
            "edit it."
        )
    header, _, arrays = zlib.decompress(content).partition(b"\n")
    return json.loads(header), arrays


def _map_weights(path: Path) -> tuple[dict[str, Any], Any]:
    """Return the header of a file of weights, and its bytes as a memory map."""
    with path.open("rb") as file:
        header = file.readline()
    return json.loads(header), np.memmap(path, dtype=np.uint8, mode="r", offset=len(header))


def _take_arrays(layout: list[list[Any]], content: Any) -> dict[str, Any]:
    """Return the arrays in some bytes by their names, dtypes, shapes and offsets."""
    arrays = {}
    for name, dtype, shape, offset in layout:
        stop = offset + math.prod(shape) * np.dtype(dtype).itemsize
        if np.dtype(dtype).kind not in "biuf" or min(offset, *shape, 0) < 0 or stop > len(content):
            raise ValueError(f"the array {name!r} is not in the file")
        arrays[name] = content[offset:stop].view(dtype).reshape(shape)
    return arrays


def _run_program(
    predict: Callable[..., Any], predict_proba: Callable[..., Any], classes: Callable[[], Any]
) -> None:
    parser = argparse.ArgumentParser(description="Predict the labels of texts, one per line.")
    parser.add_argument(
        "texts", nargs="*", metavar="TEXT", help="a text; without any, lines of standard input"
    )
    parser.add_argument(
        "--proba", action="store_true", help="print all labels with their probabilities"
    )
    arguments = parser.parse_args()
    if not arguments.texts:
        # stdin is a text stream
        sys.stdin.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    for text in arguments.texts or (line.rstrip("\r\n") for line in sys.stdin):
        if arguments.proba:
            pairs = sorted(
                zip(predict_proba([text])[0].tolist(), classes().tolist(), strict=True),
                reverse=True,
            )
            print(
                "\t".join(f"{label}\t{probability:.4f}" for probability, label in pairs), flush=True
            )
            continue
        label = predict([text])[0]
        if isinstance(label, np.ndarray):  # a row of an indicator matrix
            label = classes()[label == 1].tolist()
        print("\t".join(map(str, label)) if isinstance(label, list) else label, flush=True)
