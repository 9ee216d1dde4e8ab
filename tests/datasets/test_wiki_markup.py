"""Wikitext without its markup."""

from __future__ import annotations

import mwparserfromhell
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mwparserfromhell.parser import ParserError

from sklearn_hashnlp.datasets._wiki_markup import plain_paragraphs

HIDDEN = frozenset({"file", "image", "category", "datei", "mediawiki file"})
PIECES = [
    *["\n", "\n\n", "* "],
    *[
        "{{",
        "}}",
        "[[",
        "]]",
        "{|",
        "|}",
        "|",
        "'''",
        "==",
        "<ref>",
        "</ref>",
        "<br>",
        "<!--",
        "-->",
    ],
    *[
        "File:",
        "http://a.b ",
        "[",
        "]",
        "&nbsp;",
        "&#0;",
        "&#xd800;",
        "word ",
        "𝒳",
        "<",
        ">",
        "</div>",
        "__TOC__",
        ":",
    ],
]


@pytest.mark.parametrize(
    ("wikitext", "expected"),
    [
        ("One.\n\nTwo.\nStill two.\n\n\n\nThree.", ["One.", "Two. Still two.", "Three."]),
        (
            "'''Cats''' are ''[[felid|feline]]'' [[pet]]s of [[:Category:Pets]].",
            ["Cats are feline pets of Category:Pets."],
        ),
        ("L'''amour'', rock 'n' roll", ["Lamour, rock 'n' roll"]),
        (
            "A [http://a.b page] [http://a.b] at http://a.b here, and [[Help:Links|help]].",
            ["A page at here, and help."],
        ),
        (
            "One<ref>A [[source]].\n\nLong.</ref>, two<ref name=x/><REF>x</REF > {{as "
            "of|{{now}}|lc=y}}.<!-- no -->",
            ["One, two."],
        ),
        ("{{Infobox\n| name = [[Cat]]\n}}\nA cat.\n{{Stub}}", ["A cat."]),
        ("Before\n{| class=x\n|-\n! Head\n| cell [[a]]\n* b\n|}\nafter", ["Before", "after"]),
        ("== Head ==\nBelow.\n=== [[Sub]] ===\nMore.", ["Below.", "More."]),
        (
            "Text:\n* one\n** [[two]]\n# three\n; term : meaning\n: ''indented''\nEnd * of: "
            "list; yes.",
            ["Text:", "End * of: list; yes."],
        ),
        (
            "<ul><li>one</li></ul>Text<br/>line <b>bold</b> <sup>2</sup><hr>next<p>p</p>end",
            ["Text line bold 2", "next", "p", "end"],
        ),
        ("<div style='x'>In.\n* item\n</div>Out. <nowiki>[[x]]</nowiki>", ["In.", "Out. x"]),
        ("[[File:Cat.jpg|thumb|A [[cat]] of {{x}}]]A cat.", ["A cat."]),
        (
            "[[Datei:K.webm|x]][[Bild:Katze.JPG|mini|Eine]] [[mediawiki_File:a]][[Kategorie|Art]]",
            ["Art"],
        ),
        (
            "Cat.\n\n[[Category:Pets| ]]\n[[de:Katze]]\n[[zh-yue:Q]]\n[[:fr:Chat]] "
            "[[voy:Rome|Rome]] [[:File:A.jpg]]",
            ["Cat.", "fr:Chat Rome File:A.jpg"],
        ),
        (
            "The sum <math>a+b</math> of <gallery>\nA.jpg|c\n</gallery> <code>x</code>.",
            ["The sum of x."],
        ),
        (
            "School ({{lang|zh|x}}) and ( ; – ) is (''f''; {{x}}) (a ) ({{x}}; b) one .",
            ["School and is (f) (a) (b) one."],
        ),
        ("AT&amp;T&nbsp;&ndash; &#233; &lt;3", ["AT&T – é <3"]),
        (
            "__NOTOC__A __b__.\n{{unclosed\n  | a = [[b\n! c\n|}\nKept [[d. <ref>no end",
            ["A.", "Kept d. no end"],
        ),
        ("", []),
        (" \n\n{{x}}\n.\n– ()", []),
    ],
)
def test_markup_is_removed(wikitext: str, expected: list[str]) -> None:
    assert plain_paragraphs(wikitext, HIDDEN) == expected


@given(
    st.lists(st.sampled_from(PIECES), max_size=30).map("".join)
    | st.text(st.characters(exclude_characters="\0"))
)
def test_paragraphs_of_any_text_are_single_lines_without_markup(wikitext: str) -> None:
    for paragraph in plain_paragraphs(wikitext, HIDDEN):
        assert paragraph == " ".join(paragraph.split())
        assert paragraph
        assert "\0" not in paragraph
        assert not {"[[", "]]", "{{", "}}", "''"} & {
            paragraph[i : i + 2] for i in range(len(paragraph))
        }


def test_plain_text_is_unchanged() -> None:
    text = 'A cat (Felis catus), 1.5 kg; it\'s "domestic" & small: a < b, c > d. 日本語 🙂!'
    assert plain_paragraphs(text, HIDDEN) == [text]


def test_a_parser_error_is_a_value_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise ParserError("no way")

    monkeypatch.setattr(mwparserfromhell, "parse", refuse)
    with pytest.raises(ValueError, match=r"cannot parse the markup .*no way"):
        plain_paragraphs("x", HIDDEN)
