"""The three cuts against regular expressions and slices of Python strings."""

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given

from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels.strings._units import (
    Texts,
    Units,
    character_units,
    word_character_units,
    word_units,
)

from ...strategies import TEXTS


def pack(texts: list[str], *, lowercase: bool = False) -> Texts:
    encoded = [text.encode() for text in texts]
    offsets = np.cumsum([0, *(len(text) + 1 for text in encoded)], dtype=np.int64)
    buffer = np.frombuffer(b"".join(text + b"\n" for text in encoded), dtype=np.uint8)
    return Texts(
        Ragged(buffer, offsets), np.array([text.isascii() for text in texts], dtype=bool), lowercase
    )


def strings(units: Units) -> list[list[list[str]]]:
    """Return the rows' segments' units as strings."""
    text = units.text.tobytes()
    rows = []
    for row in range(len(units.rows) - 1):
        segments = []
        for segment in range(units.rows[row], units.rows[row + 1]):
            boundaries = units.boundaries[units.segments[segment] : units.segments[segment + 1]]
            segments.append(
                [text[a : b - units.separator_width].decode() for a, b in pairwise(boundaries)]
            )
        rows.append(segments)
    return rows


@given(texts=TEXTS)
def test_characters_of_words_and_of_punctuation(texts):
    units = word_character_units(pack(texts), before=" ", after=" ", split_punctuation=True)
    assert strings(units) == [
        [[" ", *word, " "] for word in re.findall(r"\w+|[^\w\s]", text)] for text in texts
    ]


@pytest.mark.parametrize(
    "cut", [word_units, character_units, lambda t: word_character_units(t, before="<", after=">")]
)
def test_only_ascii_becomes_lower_case_in_the_kernels(cut):
    upper, lower = (strings(cut(pack(["ABC Z [", "ÀB"], lowercase=flag))) for flag in (False, True))
    assert str(lower[0]) == str(upper[0]).lower()
    assert lower[1] == upper[1]


@pytest.mark.parametrize("keep_punctuation", [False, True])
def test_ascii_words_across_the_edges_of_blocks(keep_punctuation):
    # Words are found 64 characters at a time, and blocks of 4096 at a time.
    rng = np.random.default_rng(0)
    texts = [
        "".join(rng.choice(list("abzAZ09_ .,!\t\x1c\x85"[:13]), size=size))
        for size in (63, 64, 65, 4095, 9000)
    ]
    texts += ["x" * size + " y" for size in (1, 7, 8, 15, 16, 17, 63, 64, 65, 4094, 4096, 10_000)]
    texts += [".!" * 5000, "é" + "a b " * 2000, "A" * 5000]
    units = word_units(pack(texts, lowercase=True), min_length=1, keep_punctuation=keep_punctuation)
    pattern = r"\w+|[^\w\s]" if keep_punctuation else r"\w+"
    expected = [text.lower() if text.isascii() else text for text in texts]
    assert strings(units) == [[re.findall(pattern, text)] for text in expected]


@pytest.mark.parametrize("split_punctuation", [False, True])
def test_ascii_characters_are_classified_as_by_the_table(split_punctuation):
    for code_point in range(128):
        text = f"a{chr(code_point)}b"
        pattern = r"\w+|[^\w\s]" if split_punctuation else r"\S+"
        units = word_units(pack([text]), split_punctuation=split_punctuation)
        assert strings(units) == [[re.findall(pattern, text)]]
