import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.text import split_sentences

from ..strategies import TEXT

PIECES = [
    *(". ", ".", "! ", "? ", "?! ", "... ", "… ", "。", "！", "।", "؟ "),
    *('." ', ".) ", ".[1] ", ".'' ", " . '' ", ". » "),
    *[
        "Mr",
        "J",
        "U.S",
        "e.g",
        "No",
        "Inc",
        "3",
        "1.5",
        "IV",
        "The",
        "he",
        "iPhone",
        "“Well",
        "(so",
        "と",
        "ა",
        "-",
    ],
    *["•", "\n", "\u2028", " ", "  ", "word ", "\x1c", "word\tword "],
]
MARKED = st.lists(st.sampled_from(PIECES), max_size=40).map("".join) | TEXT


def words(text):
    return "".join(text.split())


@pytest.mark.parametrize(
    "marked",
    [
        "It rained. |We stayed in. |Nobody came.",
        "Is it? |Yes! |Is it?! |Well... |No… |Good.",
        "A stop ends it.\n|a line does\n\n|so does a blank one",
        # what a full stop is besides
        "Mr. Smith and 'Dr. Jones' met Prof. Ida B. Wells. |She spoke.",
        "It costs $3.50, e.g. at Smith's, i.e. No. 5 of vol. IV, pp. 3 to 5. |It sells.",
        "I said no. |I left at once. |That was No. 7.",
        "J. S. Bach and J.R.R. Tolkien vs. Lt.-Col. Blimp (c. 1900, b. May 1850).",
        "Born on Sept. 5, he left in Oct. 1999. |He came back.",
        "See www.example.com or version 2.0. |Write to a.b@example.com. |Thanks.",
        "1. Open it. |2. Close it.\n|a. The end.\n|1990. |That was a year.",
        "He came in 1990. |Then he left. |It was the 1930s. |Macy's. |Bloomingdale's.",
        # abbreviations that may end a sentence
        "The U.S. Army of Apple Inc. and Tim Cook, Ph.D., Jr. was here.",
        "He lives in the U.S. |He works for Apple Inc. |The firm opens at 5 p.m. |It is big, "
        "new, etc. |So what?",
        "At St. Louis, in Main St. |The house, by Smith et al. (1990), is in Austin, Tex. |It "
        "stood on Mt. Everest.",
        "The U.S. All-Star team met at 5 p.m. A. A. Milne.",
        "She took vitamin C. |It helped. |World War I. |After that, peace. |Is he from the U.S.? "
        "|Smith is.",
        # quotes and brackets
        '"Why?" he asked. |"Because." |(It was so.) |She left.',
        "He said, “I know.” |“You do?” |“Yes.” |‘No!’ she cried.",
        "„Ja.“ |„Nein.“ |« Oui. » |Non. |»Ja.« |»Nein.«",
        "`` It is . '' |He left . |`` Why ? '' she said .",
        "That is so.[1][23] |This is not.[4]",
        'They sang "Oklahoma!" (1943) and "Help!", too.',
        "It ended.* |*It* began. |(1) So far. |(2) And further. (1990)",
        # a small letter, a mark, the end
        "Yahoo! is ok... and so on… but no. of. these. |The iPod sold. |iPhones sold too.",
        "Is it (?) so . . . or not?! – No. – Yes. , no",
        'Come here. "',
        "! What?",
        # blanks: forgotten, or too many
        "He died.|The end was near. |System.Out, a.The, U.S.The, it.the, file.The.end and "
        "it.The-end are none.",
        "Mr. Smith said so . |Did he ? |He did .",
        # no capitals, nothing but capitals
        "this is it. |so be it! |mr. smith, e.g. here, etc. |the end.",
        "MR. SMITH SAID NO. |THE END OF NO. 5. |HE LEFT.",
        "It was sold to HR. |Nobody has MS. |I do.",
        # other scripts
        "今日は晴れ。|明日は雨！|本当？！|「行く。」と言った。|「はい。」|『いいえ』。|とても。",
        "Это он. |А. С. Пушкин писал. |Это я. |Кто?",
        "यह है। |वह है ।|कौन?",
        "هذا كتاب. |ما هذا؟ |نعم.",
        "나는 간다. |그는 본다.",
        "ეს არის Tbilisi. |ის არის.",
        "¿Qué? |¡No! |Sí.",
    ],
)
def test_a_sentence_ends_where_it_does(marked):
    assert split_sentences(marked.replace("|", "")) == [part.strip() for part in marked.split("|")]


@given(MARKED, st.integers(1, 5))
def test_sentences_stand_in_the_text_and_lose_no_character(text, max_words):
    result = split_sentences(text, max_words=max_words)
    assert words("".join(result)) == words(text)
    assert all(part and part == part.strip() for part in result)
    position = 0
    for part in result:
        position = text.index(part, position) + len(part)
    assert max((len(part.split()) for part in result), default=0) <= max_words


@given(MARKED, MARKED)
def test_a_line_is_split_without_regard_to_others(first, second):
    assert split_sentences(f"{first}\n{second}") == split_sentences(first) + split_sentences(second)


@given(st.integers(1, 60), st.integers(1, 20), st.sampled_from(["word\t ", "a "]))
def test_a_text_without_punctuation_is_cut_into_few_and_equal_parts(n_words, max_words, word):
    lengths = [len(part.split()) for part in split_sentences(word * n_words, max_words=max_words)]
    assert len(lengths) == -(-n_words // max_words)
    assert sum(lengths) == n_words
    assert max(lengths) - min(lengths) <= 1


def test_a_hundred_words_are_a_sentence_by_default():
    assert len(split_sentences("word " * 100)) == 1
    assert len(split_sentences("word " * 101)) == 2
    assert len(split_sentences("word " * 10_000)) == 100


@pytest.mark.parametrize("text", ["", " \n\t\u2028\x1f "])
def test_nothing_has_no_sentences(text):
    assert split_sentences(text) == []


@pytest.mark.parametrize(
    "piece",
    [
        ".",
        ". ",
        "a.",
        "A. ",
        "It. ",
        ".(",
        '."',
        ". [1",
        ".[1]",
        "“",
        " ",
        ". '",
        "。",
        "word",
        "。と",
        ".\n",
        "it.It",
    ],
)
def test_time_grows_as_the_text_does(piece):
    start = time.process_time()
    split_sentences(piece * 20_000)
    split_sentences("word. " + piece * 20_000, max_words=1)
    assert time.process_time() - start < 1


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ([["a text"]], {}, TypeError, "split_sentences expects one text, a str, got list"),
        ([b"a text"], {}, TypeError, "got bytes"),
        (
            ["a text"],
            {"max_words": 0},
            ValueError,
            "max_words must be an int of at least 1. Got 0 instead",
        ),
        (["a text"], {"max_words": 2.5}, ValueError, "Got 2.5"),
        (["a text"], {"max_words": None}, ValueError, "Got None"),
    ],
)
def test_what_cannot_be_is_refused(arguments, options, error, message):
    with pytest.raises(error, match=message):
        split_sentences(*arguments, **options)
