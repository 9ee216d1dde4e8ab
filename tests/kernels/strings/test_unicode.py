import re
import sys

import numpy as np
import pytest

from sklearn_hashnlp.kernels._compile import compiled
from sklearn_hashnlp.kernels.strings._unicode import (
    ASCII,
    SPACE,
    UNICODE,
    WORD,
    character_classes,
    utf8_code_point,
    utf8_width,
    visible_as_words,
)


@pytest.mark.parametrize(("pattern", "kind"), [(r"\w", WORD), (r"\s", SPACE)])
def test_every_code_point_is_what_re_says(pattern, kind):
    characters = "".join(map(chr, range(sys.maxunicode + 1)))
    result = np.zeros(UNICODE, dtype=bool)
    result[[match.start() for match in re.finditer(pattern, characters)]] = True
    np.testing.assert_array_equal(character_classes() == kind, result)


def test_the_ascii_table_is_the_beginning_of_the_whole():
    np.testing.assert_array_equal(character_classes(ASCII), character_classes()[:ASCII])
    np.testing.assert_array_equal(visible_as_words(ASCII), visible_as_words()[:ASCII])


@compiled
def decode(text, code_points):
    position = 0
    for i in range(len(code_points)):
        width = utf8_width(text[position])
        code_points[i] = utf8_code_point(text, position, width)
        position += width
    return position


def test_every_character_is_decoded():
    characters = "".join(chr(i) for i in range(sys.maxunicode + 1) if not 0xD800 <= i < 0xE000)
    text = np.frombuffer(characters.encode(), dtype=np.uint8)
    code_points = np.empty(len(characters), dtype=np.int64)
    assert decode(text, code_points) == len(text)
    np.testing.assert_array_equal(code_points, [ord(character) for character in characters])
