"""Join Python's strings to one buffer of bytes, read from CPython's memory without the GIL."""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled

_LINE_FEED = 10
_POINTER = 8  # bytes
_LENGTH, _STATE = 16, 32  # offsets in CPython of the number of characters of a string, and of its flags
# The flags: three bits of the width of a character, one for "compact" and one for ASCII; until CPython 3.13, and later.
_ASCII_FLAGS, _FLAGS_MASK, _FLAGS_SHIFTS = 0b11001, 0b11111, (2, 16)
# A string of each kind, the encoding that has the bytes in which CPython stores it, and its flags.
_PROBES = [
    ("probe", "ascii", _ASCII_FLAGS),
    ("pr\xf6be", "latin-1", 0b01001),
    ("pr\u03bfbe", "utf-16-le", 0b01010),
    ("pr\U0001f600be", "utf-32-le", 0b01100),
]


class _Layout(NamedTuple):
    """Offsets within CPython's ASCII strings and bytes objects."""

    shift: int  # of the flags
    characters: int  # their offset from the address of an ASCII string
    bytes: int  # from the address of a bytes object


class Lines(NamedTuple):
    """Lines in one buffer."""

    buffer: NDArray[np.uint8]
    offsets: NDArray[np.int64]  # (n_lines + 1,)
    is_ascii: NDArray[np.bool_]  # (n_lines,)


def join_lines(texts: Sequence[str], around: tuple[bytes, bytes], encode: Callable[[int], bytes]) -> Lines:
    """Join texts to a buffer of lines; ``around`` encloses ASCII texts, ``encode`` makes the line of any other."""
    lines = np.empty(len(texts), dtype=object)
    lines[:] = texts
    layout = _layout()
    if layout is None:
        is_ascii = np.array([text.isascii() for text in texts], dtype=np.bool_)
        encoded = [text.encode().join(around) if is_ascii[i] else encode(i) for i, text in enumerate(texts)]
        return Lines(*join_bytes(encoded), is_ascii)
    # Each array operation of numpy would wait for the interpreter's lock once more.
    lengths = np.empty(len(texts), dtype=np.int64)
    if _measure(_address(lines), layout.shift, lengths) < len(texts):
        for i in np.flatnonzero(lengths < 0).tolist():
            lines[i] = line = encode(i)
            lengths[i] = ~len(line)
    parts = [np.frombuffer(part, dtype=np.uint8) for part in around]
    return Lines(*_join(_address(lines), lengths, layout.characters, layout.bytes, *parts))


def join_bytes(lines: Sequence[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Join encoded lines without a kernel; return the buffer and the offsets of the lines."""
    buffer = np.frombuffer(bytearray(b"".join(line + b"\n" for line in lines)), dtype=np.uint8)
    return buffer, np.cumsum([0, *(len(line) + 1 for line in lines)], dtype=np.int64)


def _address(objects: NDArray[np.object_]) -> int:
    return int(objects.__array_interface__["data"][0])


@cache
def _layout() -> _Layout | None:
    """Return how strings are stored, by looking at some; None if not as expected, as in other interpreters."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):  # objects of free-threaded builds have a larger header
        return None
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != _POINTER or sys.byteorder != "little":
        return None
    headers, shifts = [], set(_FLAGS_SHIFTS)
    for probe, encoding, flags in _PROBES:
        text = probe * 3  # computed here: a constant may also store its UTF-8 encoding
        characters = text.encode(encoding)
        header = sys.getsizeof(text) - len(characters) - len(characters) // len(text)  # a zero is at the end
        memory = ctypes.string_at(id(text), sys.getsizeof(text))
        if memory[header : header + len(characters)] != characters or _integer(memory, _LENGTH, 8) != len(text):
            return None
        state = _integer(memory, _STATE, 4)
        shifts = {shift for shift in shifts if state >> shift & _FLAGS_MASK == flags}
        headers.append(header)
    line = b"probe" * 3
    header = sys.getsizeof(line) - len(line) - 1
    if ctypes.string_at(id(line) + header, len(line)) != line or not shifts:
        return None
    return _Layout(min(shifts), headers[0], header)


def _integer(memory: bytes, at: int, size: int) -> int:
    return int.from_bytes(memory[at : at + size], "little")


@intrinsic  # type: ignore[untyped-decorator]  # numba has no types
def _load(_typing_context: Any, _address: Any) -> Any:
    """Load the 64-bit integer at an address."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], context.get_value_type(types.int64).as_pointer())
        return builder.load(pointer)

    return types.int64(types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]  # numba has no types
def _copy(_typing_context: Any, buffer: Any, _at: Any, _address: Any, _n_bytes: Any) -> Any:
    """Copy bytes from an address to ``buffer[at]`` and on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        source = builder.inttoptr(arguments[2], array.data.type)
        cgutils.raw_memcpy(builder, builder.gep(array.data, [arguments[1]]), source, arguments[3], 1)
        return context.get_dummy_value()

    return types.void(buffer, types.int64, types.int64, types.int64), generate


@compiled
def _measure(address: Number, shift: Number, lengths: NDArray[np.int64]) -> Number:
    """Set the length of each string, or -1 if it is not ASCII; return the number of ASCII strings."""
    n_ascii = 0
    for i in range(len(lengths)):
        text = _load(address + _POINTER * i)
        is_ascii = _load(text + _STATE) >> shift & _FLAGS_MASK == _ASCII_FLAGS
        lengths[i] = _load(text + _LENGTH) if is_ascii else -1
        n_ascii += is_ascii
    return n_ascii


@compiled
def _join(
    address: Number,
    lengths: NDArray[np.int64],  # (n_lines,): of strings; the complement of the length for bytes
    characters: Number,  # offset in strings
    content: Number,  # offset in bytes objects
    begin: NDArray[np.uint8],
    end: NDArray[np.uint8],
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.bool_]]:
    n_lines, n_around = len(lengths), len(begin) + len(end)
    offsets, is_ascii = np.empty(n_lines + 1, dtype=np.int64), np.empty(n_lines, dtype=np.bool_)
    offsets[0] = 0
    for i in range(n_lines):
        is_ascii[i] = lengths[i] >= 0
        offsets[i + 1] = offsets[i] + (lengths[i] + n_around if lengths[i] >= 0 else ~lengths[i]) + 1
    buffer = np.empty(offsets[n_lines], dtype=np.uint8)
    for i in range(n_lines):
        to = offsets[i]
        line = _load(address + _POINTER * i)
        if is_ascii[i]:
            for j in range(len(begin)):
                buffer[to + j] = begin[j]
            _copy(buffer, to + len(begin), line + characters, lengths[i])
            for j in range(len(end)):
                buffer[to + len(begin) + lengths[i] + j] = end[j]
        else:
            _copy(buffer, to, line + content, ~lengths[i])
        buffer[offsets[i + 1] - 1] = _LINE_FEED
    return buffer, offsets, is_ascii
