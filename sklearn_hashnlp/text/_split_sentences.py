"""Sentences of a text, by its punctuation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import numpy as np


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Marks that end a sentence and do nothing else, so that they need no blank after them: of Chinese and Japanese, the
# Indian scripts, Arabic, Urdu, Armenian, Ethiopic, Burmese, Khmer and Mongolian.
_SURE_MARKS = frozenset("。！？｡।॥؟۔։።፧။។᠃᠉")

# A place where a sentence may end: the marks; quotes, brackets and the numbers of footnotes that close after them; and
# blanks. It takes all that it can at once and never gives any back, so that no text needs more than one pass.
_CANDIDATE = re.compile(
    rf"([.!?…‽{''.join(sorted(_SURE_MARKS))}]++)"
    r"((?:[\"'”’“‘»›«‹)\]}」』）＂】》〉*]|\[\d{1,3}\]|\s(?:»|›|'')(?=\s|$))*+)"
    r"(\s*+)"
)
# What stands behind it: quotes and brackets that open, a word, and one more character.
_FOLLOWING = re.compile(r"([\"'“„”‘‚’«»‹›(\[{`¿¡「『（＂《〈【*_#•]*+)([^\W_]*+)(.?)", re.DOTALL)
_TOKEN = re.compile(r"[\w.'’]*$")
_LONGEST_TOKEN = 16

# Before one of these the sentence goes on.
_CONTINUING = frozenset(",;:.!?…)]}%&/=+~-‐–—、，；：）」』")

# After these abbreviations, written as inside a sentence, a name or another word of the same sentence follows always;
_NEVER_LAST = _words(
    "Mr Mrs Ms Mx Dr Drs Prof Messrs Mme Mlle Fr Hr Sra Srta Dra Rev Hon Gen Brig Col Lt Lieut Capt Maj Cmdr Comdr Adm "
    "Sgt Cpl Pvt Pfc Sen Rep Reps Gov Pres Supt Insp Det Atty Amb Msgr Wm Jas Mmes Sens vs cf viz approx ca fl lit "
    "e.g i.e c.f"
)
# after these a number does, or else they are words;
_BEFORE_NUMBERS = _words(
    "No Nos no nos Nr Rte Pt Vol Vols vol vols Fig Figs fig figs Eq Eqs Art art Sec sec Ch ch chap Op op pp Pp Ref "
    "Stat Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec"
)
# and these stand within a sentence or at its end, which is where a word follows that often begins one.
_SOMETIMES_LAST = _words(
    "Jr Sr Snr Inc Ltd Co Corp Cos Bros Mfg Assn Dept Dist Univ Bldg Est Ry et al etc St Ste Mt Ft Ave Av Blvd Rd Pl "
    "Sq ed eds trans est var sp spp subsp ft lb lbs oz sq cu hr hrs mi mph cm mm km kg mg gm cc bzw usw "
    "Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec "
    "Ala Ariz Ark Calif Colo Conn Del Fla Ga Ill Ind Kan Ky La Mass Md Mich Minn Miss Mo Neb Nev Okla Ore Pa Penn Tenn "
    "Tex Va Vt Wash Wis"
)
_OFTEN_FIRST = _words(
    "The A An In On At He She It They We I You This That These Those His Her Its Their Our My Your There Here When "
    "While After Before As If But And Or However Although Since For From By With During Because What Who Where Why How "
    "Some Many Most All Both Each Every One Two Such Then Thus So Yet Also Today Later Now Once Until Upon Under "
    "Despite According Not No Another Other Only"
)
_ROMAN_NUMBER = re.compile(r"[IVXLC]{2,}")

_WORD = re.compile(r"\S+")


def split_sentences(text: str, *, max_words: int = 100) -> list[str]:
    """Split a text into sentences, by its punctuation.

    A line break ends a sentence, and so does a full stop, a question mark, an exclamation mark or an ellipsis, with the
    quotes and brackets that close after it, where a blank follows and then something that can begin a sentence. Not
    after titles, initials and other abbreviations of English (``Mr.``, ``J. S. Bach``, ``e.g.``, ``No. 5``), nor before
    a small letter (``"Why?" he asked.``) unless the line has no capitals at all. After an abbreviation that may be the
    last word (``U.S.``, ``Inc.``, ``etc.``) the sentence ends before a word that often begins one (``The``, ``He``,
    ``In``). The marks of scripts that use them for nothing else, such as the Chinese ``。`` and the Hindi ``।``, end a
    sentence without a blank too.

    Parameters
    ----------
    text : str
        The text, of any length.
    max_words : int, default=100
        How many words, which are what stands between blanks, a sentence may have. A longer one, for example a text
        without punctuation, is cut into as few parts as will do, equal but for one word.

    Returns
    -------
    list of str
        The sentences as they stand in the text, in its order, without the blanks around them. Together they have all
        its characters but blanks. None is empty; a text of blanks has none.

    Raises
    ------
    TypeError
        If ``text`` is no ``str``.
    ValueError
        If ``max_words`` is no int or smaller than 1.

    See Also
    --------
    sklearn_hashnlp.datasets.stream_paragraphs : The paragraphs of text files.

    Notes
    -----
    The time grows as the length of the text does, whatever stands in it. Text that has no blanks, as in Chinese or
    Thai, is a single word between two marks and never cut for its length.

    Examples
    --------
    >>> from sklearn_hashnlp.text import split_sentences
    >>> split_sentences('Dr. J. Smith moved to Washington, D.C. in 1990. "Why?" she asked. He paid $3.50 for No. 5.')
    ['Dr. J. Smith moved to Washington, D.C. in 1990.', '"Why?" she asked.', 'He paid $3.50 for No. 5.']
    >>> split_sentences("今日は晴れ。明日は雨。")
    ['今日は晴れ。', '明日は雨。']
    >>> split_sentences("one two three four five", max_words=2)
    ['one', 'two three', 'four five']
    """
    if not isinstance(text, str):
        raise TypeError(
            f"split_sentences expects one text, a str, got {type(text).__name__}. Of several texts, hand in each alone."
        )
    if not isinstance(max_words, int | np.integer) or max_words < 1:
        raise ValueError(f"split_sentences: max_words must be an int of at least 1. Got {max_words!r} instead.")
    return [
        part
        for line in text.splitlines()
        for sentence in _sentences_of_line(line.strip())
        for part in _parts(sentence, max_words)
    ]


def _sentences_of_line(line: str) -> Iterator[str]:
    has_case = not line.islower()
    start = 0
    for candidate in _CANDIDATE.finditer(line):
        if _ends_sentence(line, start, candidate, has_case):
            yield line[start : candidate.end()].rstrip()
            start = candidate.end()
    if start < len(line):
        yield line[start:]


def _ends_sentence(line: str, start: int, candidate: re.Match[str], has_case: bool) -> bool:
    marks, closing, gap = candidate.groups()
    opening, word, after = _FOLLOWING.match(line, candidate.end()).groups()  # type: ignore[union-attr]
    first = word[:1] or after
    if candidate.start() == start or not first or first in _CONTINUING:
        return False
    if not _SURE_MARKS.isdisjoint(marks):
        return not (closing and first == "と")  # which leads from the words said to who said them
    before = line[max(start, candidate.start() - _LONGEST_TOKEN) : candidate.start()]
    often_first = word.capitalize() in _OFTEN_FIRST and after not in {".", "-", "‐", "–"}
    if not gap:  # a decimal point, a web address; or a blank that was forgotten
        return often_first and first.isupper() and before[-2:].isalpha()
    if has_case and _is_small(word):
        return False
    if opening.endswith(("(", "[")) and first.isdigit() and (after != ")" or len(word) > 2):
        return False  # a year, a reference, but no "(2)" before what it counts
    if marks != ".":
        return True
    token = _TOKEN.search(before).group()  # type: ignore[union-attr]
    if len(token) == candidate.start() - start and (len(token) == 1 or (token.isdigit() and len(token) < 4)):
        return False  # "1." and "a." before what they count
    token = token.lstrip("'’")
    all_capitals = token.isupper() and (first.isdigit() or (word.isupper() and len(word) > 1))
    names = {token.lower(), token.capitalize()} if all_capitals or not has_case else {token}
    if not _NEVER_LAST.isdisjoint(names):
        return False
    if not _BEFORE_NUMBERS.isdisjoint(names) and (first.isdigit() or _ROMAN_NUMBER.fullmatch(word)):
        return False
    return often_first or (_SOMETIMES_LAST.isdisjoint(names) and not _is_initials(token))


def _is_initials(token: str) -> bool:
    """Return initials, "J" and "U.S", and what is written like them, "c" and "p.m", from words and numbers."""
    parts = token.split(".")
    if len(parts) == 1:
        return len(token) == 1 and (token.isupper() or "a" <= token <= "z")
    return all(len(part) <= 2 and part.isalpha() for part in parts)


def _is_small(word: str) -> bool:
    """Return "word" from "Word", "iPhone", and words of scripts without capitals or, as Georgian, a use of them."""
    return word[:1] != word[:1].title() and not word[1:2].isupper()


def _parts(sentence: str, max_words: int) -> Iterator[str]:
    if len(sentence) <= 2 * max_words:  # so few characters cannot be more words
        yield sentence
        return
    ends = [match.end() for match in _WORD.finditer(sentence)]
    n_parts = -(-len(ends) // max_words)
    borders = [0, *(ends[len(ends) * part // n_parts - 1] for part in range(1, n_parts + 1))]
    for first, last in pairwise(borders):
        yield sentence[first:last].lstrip()
