"""Python's strings joined to one buffer."""

import itertools
import sys

from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.kernels.strings._join_lines import join_lines

LINES = st.lists(st.text(max_size=40) | st.text("ab \n\0", max_size=40), max_size=8)


@given(LINES, st.sampled_from([("", ""), ("<s> ", " </s>"), ("ß", "")]))
def test_lines_are_joined(texts, around):
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    begin, end = (part.encode() for part in around)
    is_ascii = [text.isascii() and "".join(around).isascii() for text in texts]
    lines = [
        (begin + line + end if plain else line) + b"\n"
        for line, plain in zip(encoded, is_ascii, strict=True)
    ]
    joined = join_lines(texts, around, encoded.__getitem__)
    assert joined.buffer.tobytes() == b"".join(lines)
    assert joined.offsets.tolist() == [0, *itertools.accumulate(map(len, lines))]
    assert joined.is_ascii.tolist() == is_ascii


def test_interned_and_used_strings():
    texts = [sys.intern("interned"), "a", "", "é", "日本語", "😀", "caf\xe9 ol\xe9"]
    for text in texts:
        hash(text), {text: 1}, text.encode()  # CPython keeps the hash, and may keep the encoding
    joined = join_lines(texts, ("", ""), lambda index: texts[index].encode())
    assert joined.buffer.tobytes().decode() == "".join(f"{text}\n" for text in texts)
    assert joined.is_ascii.tolist() == [True] * 3 + [False] * 4


def test_texts_keep_no_copy_of_their_encoding():
    texts = ["é" * 1000, "plain" * 1000]
    sizes = [*map(sys.getsizeof, texts)]
    join_lines(texts, ("", ""), lambda index: texts[index].encode())
    assert [*map(sys.getsizeof, texts)] == sizes
