"""What the check of the built site finds, on a site of two pages."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
CODE = '<div class="highlight-python notranslate"><div class="highlight"><pre>{}</pre>'
CHAPTER = f"""<article class="bd-article"><a href="api/sklearn_hashnlp.text.Name.html#x">Name</a>
<img alt="a tree" src="tree.svg"/>{CODE.format("<span>" + "&gt;" * 80 + "</span>")}</article>"""
REFERENCE = (
    '<article class="bd-article">Read more in the User Guide: '
    '<a href="../chapter.html">chapter</a>\n'
    '<dl class="py class"><dt class="sig" id="x">Name(a)</dt><dd>Parameters</dd></dl></article>'
)


@pytest.fixture
def found(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(DOCS / "site")
    check_site = importlib.import_module("check_site")

    def check(chapter: str = CHAPTER, reference: str = REFERENCE) -> dict[str, int]:
        (tmp_path / "api").mkdir(exist_ok=True)
        (tmp_path / "chapter.html").write_text(chapter, encoding="utf-8")
        (tmp_path / "api" / "sklearn_hashnlp.text.Name.html").write_text(
            reference, encoding="utf-8"
        )
        return {kind: len(places) for kind, places in check_site.check(tmp_path).items() if places}

    return check


def test_a_complete_site(found):
    assert found() == {}


@pytest.mark.parametrize(
    ("old", "new", "kinds"),
    [
        ("api/sklearn_hashnlp.text.Name.html#x", "", {"chapters without a link to the reference"}),
        ("#x", "#y", {"dead links"}),
        ("Name.html#x", "Name2.html", {"dead links"}),
        ('alt="a tree"', 'alt=""', {"images without alt text"}),
        ('<img alt="a tree" src="tree.svg"/>', "", {"chapters without a picture"}),
        ("&gt;", "&gt;&gt;", {"code lines over 80 columns"}),
    ],
)
def test_what_a_chapter_lacks(found, old, new, kinds):
    assert set(found(chapter=CHAPTER.replace(old, new))) == kinds


@pytest.mark.parametrize(
    ("old", "new", "kinds"),
    [
        ("Read more in the User Guide", "", {"reference pages without a link to the guide"}),
        ("<dd>Parameters", "<dd>", {"reference pages of functions and classes without Parameters"}),
        ("../chapter.html", "chapter.html", {"dead links"}),
    ],
)
def test_what_a_page_of_the_reference_lacks(found, old, new, kinds):
    assert set(found(reference=REFERENCE.replace(old, new))) == kinds
