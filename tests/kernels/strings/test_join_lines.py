"""Python's strings read where the interpreter stores them."""

import itertools
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.kernels.strings import _join_lines
from sklearn_hashnlp.kernels.strings._join_lines import join_lines

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


def test_a_free_threaded_build_reads_copies(monkeypatch):
    monkeypatch.setattr("sysconfig.get_config_var", {"Py_GIL_DISABLED": 1}.get)
    assert FIND_LAYOUT.__wrapped__() is None


@given(LINES, st.sampled_from([(b"", b""), (b"<s> ", b" </s>")]))
def test_lines_are_joined(texts, around):
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    begin, end = around
    lines = [(begin + line + end if line.isascii() else line) + b"\n" for line in encoded]
    joined = join_lines(texts, around, encoded.__getitem__)
    assert joined.buffer.tobytes() == b"".join(lines)
    assert joined.offsets.tolist() == [0, *itertools.accumulate(map(len, lines))]
    assert joined.is_ascii.tolist() == [text.isascii() for text in texts]


def test_interned_and_used_strings():
    texts = [sys.intern("interned"), "a", "", "é", "日本語", "😀", "caf\xe9 ol\xe9"]
    for text in texts:
        hash(text), {text: 1}, text.encode()  # CPython keeps the hash, and may keep the encoding
    joined = join_lines(texts, (b"", b""), lambda index: texts[index].encode())
    assert joined.buffer.tobytes().decode() == "".join(f"{text}\n" for text in texts)
    assert joined.is_ascii.tolist() == [True] * 3 + [False] * 4
