"""Rule-based sentence splitting."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import numpy as np


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Punctuation that always ends a sentence, even without whitespace after it: Chinese and Japanese,
# the Indian scripts, Arabic, Urdu, Armenian, Ethiopic, Burmese, Khmer and Mongolian.
_UNAMBIGUOUS = frozenset("。！？｡।॥؟۔։።፧။។᠃᠉")

# A possible end of a sentence: punctuation; closing quotes, brackets and footnote numbers; and
# whitespace. Quantifiers are possessive, without backtracking, so the time is linear in the length
# of the text.
_SENTENCE_END = re.compile(
    rf"([.!?…‽{''.join(sorted(_UNAMBIGUOUS))}]++)"
    r"((?:[\"'”’“‘»›«‹)\]}」』）＂】》〉*]|\[\d{1,3}\]|\s(?:»|›|'')(?=\s|$))*+)"
    r"(\s*+)"
)
# The next characters: opening quotes and brackets, a word, and one more character.
_NEXT = re.compile(r"([\"'“„”‘‚’«»‹›(\[{`¿¡「『（＂《〈【*_#•]*+)([^\W_]*+)(.?)", re.DOTALL)
_TOKEN = re.compile(r"[\w.'’]*$")
_MAX_TOKEN = 16

# The sentence continues before these characters.
_CONTINUATIONS = frozenset(",;:.!?…)]}%&/=+~-‐–—、，；：）」』")

# After these abbreviations, a name or another word of the same sentence always follows.
_NEVER_LAST = _word_set(
    "Mr Mrs Ms Mx Dr Drs Prof Messrs Mme Mlle Fr Hr Sra Srta Dra Rev Hon Gen Brig Col Lt Lieut "
    "Capt Maj Cmdr Comdr Adm Sgt Cpl Pvt Pfc Sen Rep Reps Gov Pres Supt Insp Det Atty Amb Msgr Wm "
    "Jas Mmes Sens vs cf viz approx ca fl lit e.g i.e c.f"
)
# After these, a number of the same sentence follows; otherwise they are words.
_BEFORE_NUMBERS = _word_set(
    "No Nos no nos Nr Rte Pt Vol Vols vol vols Fig Figs fig figs Eq Eqs Art art Sec sec Ch ch "
    "chap Op op pp Pp Ref Stat Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec"
)
# These may end a sentence, if a word follows that often starts one.
_SOMETIMES_LAST = _word_set(
    "Jr Sr Snr Inc Ltd Co Corp Cos Bros Mfg Assn Dept Dist Univ Bldg Est Ry et al etc St Ste Mt "
    "Ft Ave Av Blvd Rd Pl Sq ed eds trans est var sp spp subsp ft lb lbs oz sq cu hr hrs mi mph "
    "cm mm km kg mg gm cc bzw usw Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Ala Ariz Ark "
    "Calif Colo Conn Del Fla Ga Ill Ind Kan Ky La Mass Md Mich Minn Miss Mo Neb Nev Okla Ore Pa "
    "Penn Tenn Tex Va Vt Wash Wis"
)
_FREQUENT_FIRST = _word_set(
    "The A An In On At He She It They We I You This That These Those His Her Its Their Our My "
    "Your There Here When While After Before As If But And Or However Although Since For From By "
    "With During Because What Who Where Why How Some Many Most All Both Each Every One Two Such "
    "Then Thus So Yet Also Today Later Now Once Until Upon Under Despite According Not No Another "
    "Other Only"
)
_ROMAN_NUMBER = re.compile(r"[IVXLC]{2,}")

_WORD = re.compile(r"\S+")


def split_sentences(text: str, *, max_words: int = 100) -> list[str]:
    """Split a text into sentences by rules for its punctuation.

    A line break ends a sentence, and so does a period, a question mark, an exclamation mark or an
    ellipsis, including closing quotes and brackets, if whitespace and a possible start of a
    sentence follow. Exceptions are titles, initials and other abbreviations of English (``Mr.``,
    ``J. S. Bach``, ``e.g.``, ``No. 5``), and punctuation before a lowercase letter
    (``"Why?" he asked.``) unless the whole line is lowercase. After an abbreviation that may be the
    last word (``U.S.``, ``Inc.``, ``etc.``) the sentence ends before a word that often starts one
    (``The``, ``He``, ``In``). Punctuation that only ends sentences, such as the Chinese ``。`` and
    the Hindi ``।``, needs no whitespace after it.

    Parameters
    ----------
    text : str
        The text, usually a paragraph.
    max_words : int, default=100
        Maximum number of words of a sentence, separated by whitespace. A longer one, for example a
        text without punctuation, is split into as few parts as possible, with lengths that differ
        by at most one word. Chinese or Thai, without whitespace, is never split because of its
        length.

    Returns
    -------
    list of str
        The sentences in order, stripped, which together have all characters of the text except
        whitespace. None is empty; a text of whitespace has no sentence.

    Examples
    --------
    >>> from sklearn_hashnlp.text import split_sentences
    >>> text = 'Dr. J. Smith moved to Washington, D.C. in 1990. "Why?" she asked.'
    >>> split_sentences(text)
    ['Dr. J. Smith moved to Washington, D.C. in 1990.', '"Why?" she asked.']
    >>> split_sentences("He paid $3.50 for No. 5. It is in the U.S. The end.")
    ['He paid $3.50 for No. 5.', 'It is in the U.S.', 'The end.']
    >>> split_sentences("one two three four five", max_words=2)
    ['one', 'two three', 'four five']
    """
    if not isinstance(text, str):
        raise TypeError(
            f"split_sentences expects one text, a str, got {type(text).__name__}. Call it once for "
            "each text."
        )
    if not isinstance(max_words, int | np.integer) or max_words < 1:
        raise ValueError(
            f"split_sentences: max_words must be an int of at least 1. Got {max_words!r} instead."
        )
    return [
        part
        for line in text.splitlines()
        for sentence in _sentences_of_line(line.strip())
        for part in _split_long(sentence, max_words)
    ]


def _sentences_of_line(line: str) -> Iterator[str]:
    has_case = not line.islower()
    start = 0
    for candidate in _SENTENCE_END.finditer(line):
        if _ends_sentence(line, start, candidate, has_case):
            yield line[start : candidate.end()].rstrip()
            start = candidate.end()
    if start < len(line):
        yield line[start:]


def _ends_sentence(line: str, start: int, candidate: re.Match[str], has_case: bool) -> bool:
    punctuation, closing, space = candidate.groups()
    opening, word, after = _NEXT.match(line, candidate.end()).groups()  # type: ignore[union-attr]
    first = word[:1] or after
    if candidate.start() == start or not first or first in _CONTINUATIONS:
        return False
    if not _UNAMBIGUOUS.isdisjoint(punctuation):
        return not (closing and first == "と")  # the Japanese particle of quotation
    before = line[max(start, candidate.start() - _MAX_TOKEN) : candidate.start()]
    is_frequent_first = word.capitalize() in _FREQUENT_FIRST and after not in {".", "-", "‐", "–"}
    if not space:  # a decimal point, a URL, or a missing space
        return is_frequent_first and first.isupper() and before[-2:].isalpha()
    # A word such as "iPhone" starts no sentence; scripts without case are not asked.
    if has_case and word[:1] != word[:1].title() and not word[1:2].isupper():
        return False
    if opening.endswith(("(", "[")) and first.isdigit() and (after != ")" or len(word) > 2):
        return False  # a year or a reference, but not the "(2)" of a list
    if punctuation != ".":
        return True
    token = _TOKEN.search(before).group()  # type: ignore[union-attr]
    if len(token) == candidate.start() - start and (
        len(token) == 1 or (token.isdigit() and len(token) < 4)
    ):
        return False  # the "1." or "a." of a list
    token = token.lstrip("'’")
    all_capitals = token.isupper() and (first.isdigit() or (word.isupper() and len(word) > 1))
    names = {token.lower(), token.capitalize()} if all_capitals or not has_case else {token}
    if not _NEVER_LAST.isdisjoint(names):
        return False
    if not _BEFORE_NUMBERS.isdisjoint(names) and (first.isdigit() or _ROMAN_NUMBER.fullmatch(word)):
        return False
    return is_frequent_first or (_SOMETIMES_LAST.isdisjoint(names) and not _is_initials(token))


def _is_initials(token: str) -> bool:
    """Return whether a token is initials ("J", "U.S") or a similar abbreviation ("c", "p.m")."""
    parts = token.split(".")
    if len(parts) == 1:
        return len(token) == 1 and (token.isupper() or "a" <= token <= "z")
    return all(len(part) <= 2 and part.isalpha() for part in parts)


def _split_long(sentence: str, max_words: int) -> Iterator[str]:
    if len(sentence) <= 2 * max_words:  # cannot have more words
        yield sentence
        return
    ends = [match.end() for match in _WORD.finditer(sentence)]
    n_parts = -(-len(ends) // max_words)
    boundaries = [0, *(ends[len(ends) * part // n_parts - 1] for part in range(1, n_parts + 1))]
    for first, last in pairwise(boundaries):
        yield sentence[first:last].lstrip()
