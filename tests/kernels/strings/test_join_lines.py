"""Python's strings read where the interpreter stores them."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.kernels.strings import _join_lines
from sklearn_hashnlp.kernels.strings._join_lines import ascii_lengths, join_lines, object_array

LINES = st.lists(st.text(max_size=40) | st.text("ab \n\0", max_size=40), max_size=8)


FIND_LAYOUT = _join_lines._layout


@pytest.fixture(params=["in memory", "by Python"], autouse=True, scope="module")
def _path(request):
    """Run every test on both paths: that of CPython, and that of any other interpreter."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "by Python":
            patch.setattr(_join_lines, "_layout", lambda: None)
        yield


@pytest.mark.skipif(sys.implementation.name != "cpython" or sys.maxsize < 2**32, reason="the layout is CPython's")
def test_the_layout_is_found():
    layout = FIND_LAYOUT()
    assert layout is not None
    assert layout.bytes == sys.getsizeof(b"") - 1
    assert layout.characters == sys.getsizeof("") - 1


@given(LINES)
def test_lengths_of_ascii_texts(lines):
    expected = [len(line) if line.isascii() else -1 for line in lines]
    assert ascii_lengths(object_array(lines)).tolist() == expected


@given(LINES)
def test_lines_are_joined(lines):
    is_text = np.array([line.isascii() for line in lines], dtype=bool)
    mixed = [line if line.isascii() else line.encode("utf-8", "surrogatepass") for line in lines]
    lengths = np.array([len(line) for line in mixed], dtype=np.int64)
    expected = b"".join(line.encode("utf-8", "surrogatepass") + b"\n" for line in lines)
    assert join_lines(object_array(mixed), lengths, is_text).tobytes() == expected


def test_interned_and_used_strings():
    texts = [sys.intern("interned"), "a", "", "é", "日本語", "😀", "caf\xe9 ol\xe9"]
    for text in texts:
        hash(text), {text: 1}, text.encode()  # CPython keeps the hash, and may keep the encoding
    assert ascii_lengths(object_array(texts)).tolist() == [8, 1, 0, -1, -1, -1, -1]
