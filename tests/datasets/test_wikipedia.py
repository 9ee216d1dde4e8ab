"""Paragraphs of a small dump of Wikipedia, made here."""

from __future__ import annotations

import bz2
import gzip
import runpy
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from sklearn_hashnlp.datasets import _wiki_markup, _wikipedia, stream_wikipedia

HEAD = """\
<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="de">
  <siteinfo>
    <sitename>Wikipedia</sitename>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="1" case="first-letter">Diskussion</namespace>
      <namespace key="6" case="first-letter">Datei</namespace>
      <namespace key="14" case="first-letter">Kategorie</namespace>
    </namespaces>
  </siteinfo>
"""


def page(
    title: str,
    text: str | None,
    *,
    ns: int | None = 0,
    redirect: bool = False,
    model: str = "wikitext",
) -> str:
    content = (
        "<text deleted='deleted' />"
        if text is None
        else f"<text xml:space='preserve'>{escape(text)}</text>"
    )
    return (
        f"<page><title>{escape(title)}</title>"
        + (f"<ns>{ns}</ns>" if ns is not None else "")
        + (f"<redirect title='{escape(title)}' />" if redirect else "")
        + f"<revision><id>1</id><model>{model}</model>{content}</revision></page>\n"
    )


DUMP = (
    HEAD
    + page(
        "Katze",
        "{{Box\n|a=b}}\n'''Katzen''' & [[Diskussion:Hund|Hund]]e.<ref>Q</ref>\n"
        "== K ==\n[[Datei:K.x|Bild]]Zwei <3.\n[[Kategorie:Tier]]",
    )
    + page("Diskussion:Katze", "Nein.", ns=1)
    + page("Katzen", "Umleitung.", redirect=True)
    + page("Kater", "  #WEITERLEITUNG [[Katze]]")
    + page("Daten", '{"a": 1}', model="json")
    + page("Fort", None)
    + "<page><title>Leer</title><ns>0</ns></page>"
    + page("Hund", "#1 ist er.\n\nHunde.", ns=None)
    + page("Ende", "Ende.")
    + "</mediawiki>\n"
).encode()
PARAGRAPHS = ["Katzen & Hunde.", "Zwei <3.", "Hunde.", "Ende."]


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [("", bytes), (".bz2", bz2.compress), (".gz", gzip.compress)],
    ids=["xml", "bz2", "gz"],
)
def test_only_articles_have_paragraphs(
    tmp_path: Path, suffix: str, compress: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / f"pages-articles.xml{suffix}"
    path.write_bytes(compress(DUMP))
    assert list(stream_wikipedia(path)) == list(stream_wikipedia(str(path))) == PARAGRAPHS


def test_paragraphs_are_yielded_page_by_page_until_a_truncated_dump_ends(tmp_path: Path) -> None:
    path = tmp_path / "dump.xml"
    path.write_bytes(DUMP[: DUMP.index(b"<title>Hund")])
    stream = stream_wikipedia(path)
    assert [next(stream), next(stream)] == PARAGRAPHS[:2]
    with pytest.raises(
        ValueError, match=r"dump\.xml: .* the file is not XML, or truncated \(no element found"
    ):
        next(stream)


def test_other_files_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "feed.xml"
    path.write_text("<rss><page/></rss>", encoding="utf-8")
    with pytest.raises(ValueError, match=r"feed\.xml: expected a MediaWiki dump, .* got <rss>"):
        list(stream_wikipedia(path))
    (tmp_path / "dump.xml.bz2").write_bytes(bz2.compress(DUMP)[:-20])
    with pytest.raises(ValueError, match=r"dump\.xml\.bz2: the file is damaged or truncated"):
        list(stream_wikipedia(tmp_path / "dump.xml.bz2"))
    with pytest.raises(FileNotFoundError, match=r"absent\.xml does not exist"):
        stream_wikipedia(tmp_path / "absent.xml")
    with pytest.raises(IsADirectoryError, match="is a folder; expected a dump"):
        stream_wikipedia(tmp_path)


def test_memory_does_not_grow_with_the_dump(tmp_path: Path) -> None:
    path = tmp_path / "dump.xml"
    talk = page("Diskussion", "lang " * 2000, ns=1)
    article = page("Artikel", "Kurz.")
    with path.open("w", encoding="utf-8") as file:
        file.write(HEAD)
        for _ in range(1000):
            file.write(talk + article)
        file.write("</mediawiki>")
    assert path.stat().st_size > 10_000_000
    next(stream_wikipedia(path))  # imports
    tracemalloc.start()
    try:
        n_paragraphs = sum(1 for _ in stream_wikipedia(path))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert n_paragraphs == 1000
    assert peak < 1_000_000


def test_an_article_that_cannot_be_parsed_is_skipped_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "dump.xml"
    path.write_bytes(DUMP)
    plain_paragraphs = _wiki_markup.plain_paragraphs

    def refuse_dogs(wikitext: str, hidden: frozenset[str]) -> list[str]:
        if "ist er" in wikitext:
            raise ValueError("too hard")
        return plain_paragraphs(wikitext, hidden)

    monkeypatch.setattr(_wiki_markup, "plain_paragraphs", refuse_dogs)
    with pytest.warns(UserWarning, match=r"dump\.xml: the article 'Hund' is skipped: too hard\."):
        assert list(stream_wikipedia(path)) == ["Katzen & Hunde.", "Zwei <3.", "Ende."]


def test_without_mwparserfromhell_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mwparserfromhell", None)
    with pytest.raises(
        ImportError, match=r"needs mwparserfromhell\. .* pip install mwparserfromhell"
    ):
        stream_wikipedia(tmp_path / "dump.xml")
    runpy.run_path(_wikipedia.__file__)  # the other functions of the folder can be imported
