import re
import sys

import numpy as np
import pytest

from sklearn_hashnlp.kernels.strings._unicode import (
    ASCII,
    SPACE,
    UNICODE,
    WORD,
    character_classes,
    visible_as_words,
)
from sklearn_hashnlp.kernels.strings._units import word_units

from .test_units import pack, strings


@pytest.mark.parametrize(("pattern", "kind"), [(r"\w", WORD), (r"\s", SPACE)])
def test_every_code_point_is_what_re_says(pattern, kind):
    characters = "".join(map(chr, range(sys.maxunicode + 1)))
    result = np.zeros(UNICODE, dtype=bool)
    result[[match.start() for match in re.finditer(pattern, characters)]] = True
    np.testing.assert_array_equal(character_classes() == kind, result)


def test_the_ascii_table_is_the_beginning_of_the_whole():
    np.testing.assert_array_equal(character_classes(ASCII), character_classes()[:ASCII])
    np.testing.assert_array_equal(visible_as_words(ASCII), visible_as_words()[:ASCII])


def test_every_character_is_decoded():
    visible = [
        chr(i)
        for i in range(sys.maxunicode + 1)
        if not 0xD800 <= i < 0xE000 and not chr(i).isspace()
    ]
    units = word_units(pack([" ".join(visible)]), split_punctuation=False)
    assert strings(units) == [[visible]]
