"""Hash functions against published vectors and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils import murmurhash3_32

from sklearn_hashnlp._hash_specification import splitmix64
from sklearn_hashnlp.kernels._hashes import murmur3
from sklearn_hashnlp.kernels._ragged import Ragged

# Published vectors of MurmurHash3_x86_32, as unsigned numbers.
GOLDEN = [
    (b"", 0, 0x00000000),
    (b"", 1, 0x514E28B7),
    (b"", 0xFFFFFFFF, 0x81F16F39),
    (b"\xff\xff\xff\xff", 0, 0x76293B50),
    (b"\x21\x43\x65\x87", 0, 0xF55B516B),
    (b"\x21\x43\x65", 0, 0x7E4A8634),
    (b"\x21\x43", 0, 0xA0F7B07A),
    (b"\x21", 0, 0x72661CF4),
    (b"\x00\x00\x00\x00", 0, 0x2362F9DE),
    (b"Hello, world!", 0x9747B28C, 0x24884CBA),
    (b"The quick brown fox jumps over the lazy dog", 0x9747B28C, 0x2FA826CD),
]


def rows_of(strings: list[bytes]) -> Ragged:
    offsets = np.cumsum([0, *map(len, strings)], dtype=np.int64)
    return Ragged(np.frombuffer(b"".join(strings), dtype=np.uint8), offsets)


@pytest.mark.parametrize(("string", "seed", "expected"), GOLDEN)
def test_murmur3_gives_the_published_vectors(string, seed, expected):
    assert int(murmur3(rows_of([string]), seed=seed).view(np.uint32)[0]) == expected


@given(st.lists(st.binary(max_size=40)), st.integers(0, 2**32 - 1))
def test_murmur3_is_scikit_learns(strings, seed):
    expected = [murmurhash3_32(string, seed=seed) for string in strings]
    assert murmur3(rows_of(strings), seed=seed).tolist() == expected


def test_splitmix64_gives_the_published_sequence():
    assert splitmix64(1234567, 5) == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
