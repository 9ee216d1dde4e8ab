"""Texts that break tokenizers."""

from hypothesis import strategies as st

AWKWARD = [
    *"aAbBzZ09_ .,!-'<>",
    *"\x00\t\n\r\x0b\x0c\x1c\x1f\x85\xa0\u2028\u3000\u200b",
    *"éÉßẞıİſK",  # lower case in one character, in two, or of another script
    *"ΣσςΑ",  # a capital sigma ends a word in its final form
    *"ﬁ℡²½Ⅷ٣ǅ",  # compatibility characters, digits that are no decimals, title case
    "e\u0301",  # a combining mark, which is no letter
    *"日本語한국ไทยअनु",
    *"🙂👩🏽‍🔬🇫🇷",
    "word",
    "  ",
    "the",
    "OF",
]

TEXT = st.lists(
    st.sampled_from(AWKWARD) | st.characters(exclude_categories=["Cs"]), max_size=40
).map("".join)
"""Short texts of all of Unicode, mostly of characters that are known to be awkward."""

TEXTS = st.lists(TEXT | st.text(alphabet="ab c.", max_size=60), max_size=6)
"""A few of them, with plain ones between."""

_PLANES = st.one_of(
    [st.integers(plane << 16, (plane << 16) + 0xFFFF).map(chr) for plane in range(17)]
)
_BIDIRECTIONAL = [*"\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"]
_JOINERS = [*"\u200b\u200c\u200d\u2060\ufeff\ufe0f\u034f\u180e", "\U000e0061", "\U000e007f"]
_SURROGATES = ["\ud800", "\udbff", "\udc00", "\udfff", "\udc80"]

PIECES = st.one_of(
    _PLANES,
    st.sampled_from([*AWKWARD, *_BIDIRECTIONAL, *_JOINERS, *_SURROGATES]),
    st.text(alphabet="ab c.!?\n\t<>", max_size=20),
    st.tuples(_PLANES, st.integers(2, 400)).map(lambda pair: pair[0] * pair[1]),
)
DOCUMENT = st.lists(PIECES, max_size=15).map("".join)
"""Anything that a str can hold: every plane, NUL, lone surrogates, bidirectional marks, joiners,
long repetitions.
"""

DOCUMENTS = st.lists(DOCUMENT, min_size=1, max_size=4)
