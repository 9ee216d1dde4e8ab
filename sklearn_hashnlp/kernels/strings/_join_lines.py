"""Join Python's strings to one buffer of bytes, read from CPython's memory without the GIL."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
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


def object_array(values: Sequence[Any]) -> NDArray[np.object_]:
    """Return an array of references to any objects, shape (n_values,)."""
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return objects


def ascii_lengths(texts: NDArray[np.object_]) -> NDArray[np.int64]:
    """Return the length of each ``str``, shape (n_texts,), or -1 for a text that is not ASCII."""
    lengths = np.empty(len(texts), dtype=np.int64)
    layout = _layout()
    if layout is None:
        lengths[:] = [len(text) if text.isascii() else -1 for text in texts]
    else:
        _measure(_address(texts), layout.shift, lengths)
    return lengths


def join_lines(
    lines: NDArray[np.object_],  # (n_lines,): ASCII strings, and bytes
    lengths: NDArray[np.int64],  # (n_lines,): in bytes
    is_text: NDArray[np.bool_],  # (n_lines,): whether a line is a string
) -> NDArray[np.uint8]:
    """Join lines to one buffer, a line feed after each."""
    layout = _layout()
    if layout is None:
        encoded = (line.encode("ascii") if isinstance(line, str) else line for line in lines)
        return np.frombuffer(b"".join(line + b"\n" for line in encoded), dtype=np.uint8)
    buffer = np.empty(lengths.sum() + len(lengths), dtype=np.uint8)
    _copy_lines(_address(lines), lengths, np.where(is_text, layout.characters, layout.bytes), buffer)
    return buffer


def _address(objects: NDArray[np.object_]) -> int:
    return int(objects.__array_interface__["data"][0])


@cache
def _layout() -> _Layout | None:
    """Find out how strings are stored, by looking at some; None if not as expected, as in other interpreters."""
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
def _measure(address: Number, shift: Number, lengths: NDArray[np.int64]) -> None:
    for i in range(len(lengths)):
        text = _load(address + _POINTER * i)
        lengths[i] = _load(text + _LENGTH) if _load(text + _STATE) >> shift & _FLAGS_MASK == _ASCII_FLAGS else -1


@compiled
def _copy_lines(
    address: Number, lengths: NDArray[np.int64], characters: NDArray[np.int64], buffer: NDArray[np.uint8]
) -> None:
    to = 0
    for i in range(len(lengths)):
        _copy(buffer, to, _load(address + _POINTER * i) + characters[i], lengths[i])
        to += lengths[i]
        buffer[to] = _LINE_FEED
        to += 1
