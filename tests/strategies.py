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

TEXT = st.lists(st.sampled_from(AWKWARD) | st.characters(exclude_categories=["Cs"]), max_size=40).map("".join)
"""Short texts of all of Unicode, mostly of characters that are known to be awkward."""

TEXTS = st.lists(TEXT | st.text(alphabet="ab c.", max_size=60), max_size=6)
"""A few of them, with plain ones between."""
