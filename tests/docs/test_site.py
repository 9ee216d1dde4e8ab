"""The documentation site has every page and every public name; without Sphinx, which `make docs`
runs.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

import sklearn_hashnlp
from tests.release.public_api import public_api

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture
def site(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "site")
    return importlib.import_module("generated_pages")


@pytest.fixture(scope="module")
def reference():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(DOCS / "site")
        return importlib.import_module("reference_pages").pages()


@pytest.fixture
def drawn(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "images")
    return importlib.import_module("diagrams")


def entries(page):
    """Return the entries of the tables of contents of a page; those that match a pattern one by
    one.
    """
    result = []
    for body in re.findall(
        r"^```\{toctree\}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    ):
        for line in body.splitlines():
            if "*" in line:
                result += sorted(path.stem for path in DOCS.glob(f"{line}.md"))
            elif line and not line.startswith(":"):
                result.append(line)
    return result


def test_every_page_is_in_the_table_of_contents():
    reached, waiting = [], ["index"]
    while waiting:
        name = waiting.pop()
        reached.append(name)
        if (DOCS / f"{name}.md").exists():
            waiting += entries(DOCS / f"{name}.md")
    pages = {path.stem for path in DOCS.glob("*.md")}
    assert pages - set(reached) == set(), (
        "add these to a toctree, of docs/user_guide.md for a chapter of the guide"
    )
    assert sorted(reached) == sorted(set(reached)), "a page has one place"
    assert len(pages) > 30


def test_every_public_name_has_a_page_of_the_reference(reference):
    for full_name in public_api():
        module, _, name = full_name.rpartition(".")
        if module == "sklearn_hashnlp":  # the package itself: names of its folders, once more
            assert re.search(
                rf":obj:`{name} <sklearn_hashnlp\.\w+\.{name}>`", reference["index.rst"]
            ), full_name
            continue
        assert f"{full_name}.rst" in reference
        directive = rf"^\.\. auto(class|exception|function|data):: {re.escape(full_name)}$"
        assert re.search(directive, reference[f"{full_name}.rst"], re.MULTILINE)
        assert f"\n   {name}\n" in reference[f"{module}.rst"], full_name


def test_a_clone_has_what_its_pages_link_to():
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    built = [ROOT / line.strip("/") for line in ignored if line.startswith("/docs/")]
    assert len(built) == 4
    for page in [*DOCS.glob("*.md"), *ROOT.glob("*.md"), *(ROOT / "benchmarks").rglob("*.md")]:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"^`{3,}\{(?:literal)?include\}", text, re.MULTILINE), page.name
        text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
        for target, anchor in re.findall(r"\]\(([^)\s:#]*)(?:#([^)\s]*))?\)", text):
            path = (page.parent / target).resolve() if target else page
            assert path.exists(), f"{page.name} links to {target}"
            assert not any(path.is_relative_to(folder) for folder in built), (
                f"{page.name} links to {target}"
            )
            if anchor:
                assert anchor in anchors(path), f"{page.name} links to {target}#{anchor}"


def test_the_readme_leads_newcomers_to_the_pages_for_them():
    linked = set(re.findall(r"\(docs/(\w+)\.md", (ROOT / "README.md").read_text(encoding="utf-8")))
    assert {"installation", "tutorial", "faq", "stream"} <= linked


def test_links_to_source_files_become_links_to_gallery_and_reference(site):
    text = (
        "[a](../examples/) [b](../examples/06_gpu/0010_a.py) [c](../sklearn_hashnlp/) "
        "[d](../pyproject.toml)"
    )
    expected = "[a](gallery/index.rst) [b](gallery/06_gpu/0010_a.rst) [c](api/index.rst) d"
    assert site.with_site_links(text, DOCS, DOCS) == expected


def anchors(page):
    """Return the names of the headings, as GitHub and the site make them."""
    text = re.sub(
        r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_pictures_are_those_that_the_script_draws_and_are_shown(drawn):
    pages = [
        page.read_text(encoding="utf-8")
        for page in [*DOCS.glob("*.md"), *(ROOT / "examples").rglob("*.py")]
    ]
    for draw in drawn.DIAGRAMS:
        path = DOCS / "images" / f"{draw.__name__}.svg"
        assert str(draw()) == path.read_text(encoding="utf-8"), (
            "run: python docs/images/diagrams.py"
        )
        assert any(f"images/{path.name}" in page for page in pages), path
    assert {path.stem for path in DOCS.glob("images/*.svg")} == {
        draw.__name__ for draw in drawn.DIAGRAMS
    }


def test_every_chapter_has_a_picture_with_a_text_that_describes_it():
    tables_of_links = {"contents", "getting_started", "more", "user_guide"}
    chapters = {
        name for page in ("user_guide", "coming_from") for name in entries(DOCS / f"{page}.md")
    } | {"index"}
    for page in DOCS.glob("*.md"):
        pictures = re.findall(
            r"^!\[(.*?)\]\((.*?)\)$", page.read_text(encoding="utf-8"), re.MULTILINE
        )
        assert pictures or page.stem not in chapters - tables_of_links, page
        for text, target in pictures:
            assert len(text.split()) > 1, f"{page.name}: say what is seen in {target}"
            assert (DOCS / target).exists()
    assert len(chapters) > 30


def contrast(first, second):
    """Return the contrast of two colors, as WCAG defines it."""
    values = [[int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)] for color in (first, second)]
    linear = [
        [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in color]
        for color in values
    ]
    low, high = sorted(0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in linear)
    return (high + 0.05) / (low + 0.05)


def test_colors_of_pictures_can_be_read_on_both_grounds(drawn):
    drawing = importlib.import_module("drawing")
    light, dark = re.findall(
        r"^html.*?\{(.*?)\}",
        (DOCS / "site/static/pictures.css").read_text("utf-8"),
        re.DOTALL | re.M,
    )[:2]
    for colors, style, ground in (
        (drawing.LIGHT, light, "#ffffff"),
        (drawing.DARK, dark, "#14181e"),
    ):
        assert dict(re.findall(r"--picture-(\w+): (#\w+);", style)) == colors
        assert all(contrast(color, ground) >= 4.5 for color in colors.values())


def test_a_picture_is_put_into_its_page_with_the_text_that_describes_it(drawn, monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "site")
    pictures = importlib.import_module("pictures")
    images = {"images/tree.svg": "tree.svg", "images/collisions.png": "collisions.png"}
    app = SimpleNamespace(srcdir=DOCS, builder=SimpleNamespace(images=images))
    card = '<a class="reference" href="a.html"><img alt="" src="_images/thumb.svg" /></a>'
    body = (
        '<img alt="A &quot;path&quot;" src="_images/tree.svg" />'
        '<img alt="b" src="_images/collisions.png" />'
    )
    context = {"body": body + card}
    pictures.show(app, "", "", context, None)
    assert (
        '<a class="picture" href="_images/tree.svg" title="larger">'
        '<svg aria-label="A &quot;path&quot;"'
    ) in context["body"]
    assert "<style>" not in context["body"]
    assert '<img alt="b" src="_images/collisions.png" class="dark-light"/></a>' in context["body"]
    assert context["body"].endswith('<img alt="" src="_images/thumb.svg" class="dark-light"/></a>')
    assert pictures.inline('<svg><path id="a" fill="currentColor"/></svg>', "") == ""


@pytest.mark.parametrize(
    "element",
    [
        '<script async src="https://cdn.example/a.js"></script>',
        '<link rel="stylesheet" href="//example/a.css">',
    ],
)
def test_a_page_that_loads_something_from_elsewhere_is_an_error(site, tmp_path, element):
    app = SimpleNamespace(outdir=tmp_path)
    page = tmp_path / "index.html"
    page.write_text('<a href="https://example.org"></a><img src="_images/a.svg">', encoding="utf-8")
    site.refuse_remote_files(app, None)
    page.write_text(element, encoding="utf-8")
    with pytest.raises(ValueError, match=r"index\.html cannot be read offline"):
        site.refuse_remote_files(app, None)


def test_the_table_of_contents_names_what_is_public():
    page = (DOCS / "contents.md").read_text(encoding="utf-8")
    rows = [row.split("|")[1] for row in page.splitlines() if row.startswith("| `")]
    # command, folder
    names = {name for row in rows for name in re.findall(r"`([\w.]+)`", row)} - {"hashnlp", "trees"}
    assert {f"sklearn_hashnlp.{name}" for name in names} <= set(public_api())
    assert [
        name for name in sklearn_hashnlp.__all__ if name[0].isupper() and name not in page
    ] == []


def test_the_chapter_of_a_name_has_the_name(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "site")
    names = importlib.import_module("names")
    without = []
    for full_name in set(names.public_names().values()):
        page, title = names.chapter_of(full_name)
        assert title
        if full_name.rpartition(".")[2] not in (DOCS / f"{page}.md").read_text(encoding="utf-8"):
            without.append((full_name, page))
    assert without == []
