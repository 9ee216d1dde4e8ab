"""Seeded mutations of bytes and of JSON values, for fuzzing without another package."""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Sequence
from typing import Any

NUMBERS = [
    *(
        b"0",
        b"-1",
        b"1",
        b"255",
        b"65536",
        b"2147483648",
        b"4294967296",
        b"9223372036854775808",
        b"1" * 40,
    ),
    *(
        b"1e400",
        b"-1e400",
        b"nan",
        b"-inf",
        b"1e38",
        b"1e300",
        b"0.0",
        b"-0.0",
        b"1_0",
        b"0x10",
        b"0x1p-1",
    ),
]
FRAGMENTS = [
    *(
        b"\0",
        b"\n",
        b"\r",
        b"\r\n",
        b"\t",
        b" ",
        b'"',
        b'""',
        b"'",
        b",",
        b"\\",
        b"{",
        b"}",
        b"[",
        b"]",
        b":",
        b"=",
    ),
    *(
        b"\xff",
        b"\xfe\xff",
        b"\xef\xbb\xbf",
        b"\xed\xa0\x80",
        b"\xc2\x85",
        b"\xe2\x80\xa8",
        b"\xf0\x9f\x99\x82",
    ),
    *(
        b"null",
        b"true",
        b"NaN",
        b"Infinity",
        b'"\\ud800"',
        b"[" * 2000,
        b"[[[",
        b'{"a":' * 2000,
        b"\x1f\x8b",
        b"BZh",
    ),
]
JSON_VALUES: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        2**31,
        2**63,
        10**18,
        10**400,
        0.5,
        -0.0,
        1e300,
        float("nan"),
        float("inf"),
    ),
    *(
        "",
        "a",
        "\0",
        "\ud800",
        "a" * 5000,
        "../../etc/passwd",
        "/etc/passwd",
        "__class__",
        "os.system",
        "<U1000000000",
    ),
    *(
        [],
        {},
        [[]],
        [None],
        [1, 2],
        {"a": 1},
        {"float": "nan"},
        {"type": "int"},
        {"dtype": "float64"},
    ),
    *(
        {"estimator": None},
        {"tuple": []},
        {"dict": [[1, 2]]},
        {"array": ["int8", [10**12], []]},
        {"path": "/dev/zero"},
    ),
    {"tree": {}},
    {"numpy_type": "float32"},
]


class Mutator:
    """Mutations of bytes, by one seed: flips, cuts, copies, splices, numbers and fragments of the
    format.
    """

    def __init__(
        self, seed: int, corpus: Sequence[bytes], dictionary: Sequence[bytes] = ()
    ) -> None:
        self.random = random.Random(seed)
        self._corpus = list(corpus)
        self._fragments = [*FRAGMENTS, *NUMBERS, *dictionary, *dictionary]

    def next(self) -> bytes:
        """Return a sample of the corpus after one to five mutations."""
        return self.mutate(self.random.choice(self._corpus))

    def mutate(self, sample: bytes) -> bytes:
        """Return a sample after one to five mutations."""
        data = bytearray(sample)
        for _ in range(self.random.randint(1, 5)):
            self._mutate_once(data)
        return bytes(data)

    def _mutate_once(self, data: bytearray) -> None:
        draw = self.random
        start = draw.randint(0, len(data))
        stop = min(len(data), start + draw.choice([1, 2, 4, 8, 30, len(data)]))
        match draw.randint(0, 8):
            case 0 if start < len(data):
                data[start] ^= 1 << draw.randint(0, 7)
            case 1 if start < len(data):
                data[start] = draw.choice([0, 1, 0x20, 0x7F, 0x80, 0xFF, draw.randint(0, 255)])
            case 2:
                del data[start:stop]
            case 3:
                del data[start:]
            case 4:
                data[start:start] = data[start:stop] * draw.choice([1, 2, 20])
            case 5 if numbers := list(re.finditer(rb"\d+", data)):
                number = draw.choice(numbers)
                data[number.start() : number.end()] = draw.choice(NUMBERS)
            case 6:
                other = draw.choice(self._corpus)
                data[start:] = other[draw.randint(0, len(other)) :]
            case 7:
                data[start:stop] = draw.choice(self._fragments)
            case _:
                data[start:start] = draw.choice(self._fragments)


def mutate_json(draw: random.Random, value: Any) -> Any:
    """Return a copy of a JSON value with one to three parts replaced, removed, exchanged or
    renamed.
    """
    root = [copy.deepcopy(value)]
    for _ in range(draw.randint(1, 3)):
        places = list(_places(root))
        holder, key = draw.choice(places)
        match draw.randint(0, 6):
            case 0 | 1 | 2:
                holder[key] = copy.deepcopy(draw.choice(JSON_VALUES))
            case 3:
                other, where = draw.choice(places)
                holder[key] = copy.deepcopy(other[where])
            case 4 if holder is not root:
                del holder[key]
            case 5 if isinstance(holder, dict):
                names = [name for one, name in places if isinstance(name, str)]
                holder[draw.choice([*names, "unknown"])] = holder.pop(key)
            case _ if isinstance(holder[key], bool | int | float):
                holder[key] = draw.choice(
                    [holder[key] + 1, holder[key] - 1, -holder[key], holder[key] * 1000]
                )
            case _:
                holder[key] = [holder[key]] * draw.choice([1, 2])
    return root[0]


def _places(value: Any) -> Any:
    """Yield every list or dict inside a value with each of its keys."""
    pairs = enumerate(value) if isinstance(value, list) else value.items()
    for key, part in pairs:
        yield value, key
        if isinstance(part, list | dict):
            yield from _places(part)
