"""The three cuts against regular expressions and slices of Python strings."""

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.kernels import Ragged, Texts, Units, WordSet, character_units, word_character_units, word_units

from ..strategies import TEXTS


def pack(texts: list[str], *, lowercase: bool = False) -> Texts:
    encoded = [text.encode() for text in texts]
    offsets = np.cumsum([0, *(len(text) + 1 for text in encoded)], dtype=np.int64)
    buffer = np.frombuffer(b"".join(text + b"\n" for text in encoded), dtype=np.uint8)
    return Texts(Ragged(buffer, offsets), np.array([text.isascii() for text in texts], dtype=bool), lowercase)


def strings(units: Units) -> list[list[list[str]]]:
    """Return the rows' segments' units as strings."""
    text = units.text.tobytes()
    rows = []
    for row in range(len(units.rows) - 1):
        segments = []
        for segment in range(units.rows[row], units.rows[row + 1]):
            boundaries = units.boundaries[units.segments[segment] : units.segments[segment + 1]]
            segments.append([text[a : b - units.separator_width].decode() for a, b in pairwise(boundaries)])
        rows.append(segments)
    return rows


@pytest.mark.parametrize(
    ("pattern", "min_length", "keep_punctuation"),
    [(r"(?u)\b\w\w+\b", 2, False), (r"(?u)\b\w+\b", 1, False), (r"\w+|[^\w\s]", 1, True)],
)
@given(texts=TEXTS)
def test_words_are_those_of_the_regular_expression(pattern, min_length, keep_punctuation, texts):
    units = word_units(pack(texts), min_length=min_length, keep_punctuation=keep_punctuation)
    assert strings(units) == [[re.findall(pattern, text)] for text in texts]


@pytest.mark.parametrize("min_length", [1, 2, 3])
@given(texts=TEXTS)
def test_words_between_white_space(min_length, texts):
    units = word_units(pack(texts), min_length=min_length, split_punctuation=False)
    assert strings(units) == [[[word for word in text.split() if len(word) >= min_length]] for text in texts]


@given(texts=TEXTS, stop_words=st.frozensets(st.sampled_from(["a", "aa", ".", "é", "ab", "", "日本", "nowhere"])))
def test_stop_words_are_dropped(texts, stop_words):
    units = word_units(pack(texts), stop_words=WordSet.of(stop_words))
    expected = [[word for word in re.findall(r"\w+|[^\w\s]", text) if word not in stop_words] for text in texts]
    assert strings(units) == [[words] for words in expected]


@given(texts=TEXTS)
def test_characters_with_runs_of_white_space_made_one(texts):
    assert strings(character_units(pack(texts))) == [[list(re.sub(r"\s\s+", " ", text))] for text in texts]


@given(texts=TEXTS)
def test_characters_of_words_between_marks(texts):
    units = word_character_units(pack(texts), before="<", after=">")
    assert strings(units) == [[["<", *word, ">"] for word in text.split()] for text in texts]


@given(texts=TEXTS)
def test_characters_of_words_and_of_punctuation(texts):
    units = word_character_units(pack(texts), before=" ", after=" ", split_punctuation=True)
    assert strings(units) == [[[" ", *word, " "] for word in re.findall(r"\w+|[^\w\s]", text)] for text in texts]


@pytest.mark.parametrize("cut", [word_units, character_units, lambda t: word_character_units(t, before="<", after=">")])
def test_only_ascii_becomes_lower_case_in_the_kernels(cut):
    upper, lower = (strings(cut(pack(["ABC Z [", "ÀB"], lowercase=flag))) for flag in (False, True))
    assert str(lower[0]) == str(upper[0]).lower()
    assert lower[1] == upper[1]
