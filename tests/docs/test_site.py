"""The documentation site has every page and every public name; without Sphinx, which `make docs` runs."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.release.public_api import public_api, public_modules

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GENERATED = {"api/index", "gallery/index", "generated/benchmarks"}


@pytest.fixture
def site(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "site")
    return importlib.import_module("generated_pages")


@pytest.fixture(scope="module")
def reference():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(DOCS / "site")
        return importlib.import_module("reference_pages").pages()


def entries(page):
    """Return the entries of the tables of contents of a page; those that match a pattern one by one."""
    result = []
    for body in re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
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
    assert pages - set(reached) == set(), "add these to a toctree, of docs/user_guide.md for a chapter of the guide"
    assert sorted(reached) == sorted(set(reached)), "a page has one place"
    assert len(pages) > 30


def test_every_entry_of_a_table_of_contents_is_a_page(site):
    known = GENERATED | {f"generated/{name.removesuffix('.md')}" for name in site.PROJECT_PAGES.values()}
    for page in DOCS.glob("*.md"):
        for name in entries(page):
            assert (DOCS / f"{name}.md").exists() or name in known, f"{page.name} lists {name}"


def test_every_public_name_has_a_page_of_the_reference(reference):
    for full_name in public_api():
        module, _, name = full_name.rpartition(".")
        if module == "sklearn_hashnlp":  # the package itself: names of its folders, once more
            assert re.search(rf":obj:`{name} <sklearn_hashnlp\.\w+\.{name}>`", reference["index.rst"]), full_name
            continue
        assert f"{full_name}.rst" in reference
        directive = rf"^\.\. auto(class|function|data):: {re.escape(full_name)}$"
        assert re.search(directive, reference[f"{full_name}.rst"], re.MULTILINE)
        assert f"\n   {name}\n" in reference[f"{module}.rst"], full_name


def test_the_reference_has_every_folder(reference):
    folders = [module for module in public_modules() if module != "sklearn_hashnlp"]
    assert folders
    for module in folders:
        assert f"\n   {module}\n" in reference["index.rst"], "add it to FOLDERS of reference_pages.py"
        assert f".. currentmodule:: {module}\n" in reference[f"{module}.rst"]


def test_a_page_of_a_class_lists_what_it_does(reference):
    page = reference["sklearn_hashnlp.classifiers.TextClassifier.rst"]
    for method in ("fit", "partial_fit", "predict_topk", "history_"):
        assert re.search(rf":members: .*\b{method}\b", page)
    assert "set_fit_request" not in page
    assert "``BaseEstimator`` of scikit-learn" in page


def test_a_page_of_a_function_describes_its_result(reference):
    page = reference["sklearn_hashnlp.inspection.explain.rst"]
    assert re.search(r"^.. autoclass:: sklearn_hashnlp.*\.Explanation\n   :members: .*to_html", page, re.MULTILINE)


def test_links_that_leave_the_folder_lead_to_pages_of_the_site(site):
    text = (
        "[a](../CHANGELOG.md#x) [b](../README.md) [c](saving.md#d) [d](../benchmarks/speed/bench_sgnn.py)"
        " ![e](images/a.png)"
        " [f](../examples/07_larger_than_one_machine/0010_dask.py) [g](https://example.org/a.md)\n"
        "```\n[h](../README.md)\n```\n"
    )
    assert site.with_site_links(text, DOCS, DOCS) == (
        "[a](generated/changelog.md#x) [b](index.md) [c](saving.md#d) d ![e](images/a.png)"
        " [f](gallery/07_larger_than_one_machine/0010_dask.rst) [g](https://example.org/a.md)\n"
        "```\n[h](../README.md)\n```\n"
    )
    assert site.with_site_links("[a](docs/saving.md)", ROOT, DOCS / "generated") == "[a](../saving.md)"


def test_links_between_pages_are_right():
    for page in [*DOCS.glob("*.md"), *ROOT.glob("*.md")]:
        text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        for target, anchor in re.findall(r"\]\(([^)\s:#]*)(?:#([^)\s]*))?\)", text):
            path = (page.parent / target) if target else page
            if target.startswith(("generated/", "gallery/", "api/")):
                continue
            assert path.exists(), f"{page.name} links to {target}"
            if anchor:
                assert anchor in anchors(path), f"{page.name} links to {target}#{anchor}"


def anchors(page):
    """Return the names of the headings, as GitHub and the site make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_folder_of_examples_has_a_heading():
    folders = [path for path in (ROOT / "examples").iterdir() if path.is_dir() and list(path.glob("*.py"))]
    assert len(folders) > 2
    for folder in [ROOT / "examples", *folders]:
        heading, underline, *_ = (folder / "GALLERY_HEADER.rst").read_text(encoding="utf-8").splitlines()
        assert len(underline) == len(heading), folder


def test_examples_run_again_on_all_data_after_a_quick_run(site, tmp_path):
    gallery = tmp_path / "gallery"
    site.forget_other_examples(gallery, quick=True)
    (gallery / "page.rst").touch()
    site.forget_other_examples(gallery, quick=True)
    assert (gallery / "page.rst").exists()
    site.forget_other_examples(gallery, quick=False)
    assert not (gallery / "page.rst").exists()


def test_lines_break_within_long_paths_but_not_within_code_blocks_and_tags(site):
    path = "tests/docs/test_site.py::test_a"
    plot = '<img src="a_long_folder/of_plots/a.png" class = "sphx-glr-single-img"/>'
    context = {"body": f'<h1>FullSoftmax</h1><td><a href="{path}">{path}</a> short/path</td><pre>{path}</pre>{plot}'}
    site.fit_to_small_screens(None, "page", "page.html", context, None)
    broken = "tests/<wbr>docs/<wbr>test_<wbr>site.<wbr>py::<wbr>test_<wbr>a"
    cell = f'<td><a href="{path}">{broken}</a> short/path</td>'
    assert context["body"] == f"<h1>Full<wbr>Softmax</h1>{cell}<pre>{path}</pre><p>{plot}</p>"


def test_pages_of_an_earlier_build_are_removed(site, tmp_path):
    site.write_folder(tmp_path, {"a.md": "a", "b.md": "b"})
    before = (tmp_path / "a.md").stat().st_mtime_ns
    site.write_folder(tmp_path, {"a.md": "a"})
    assert [path.name for path in tmp_path.iterdir()] == ["a.md"]
    assert (tmp_path / "a.md").stat().st_mtime_ns == before


def test_diagrams_are_those_that_the_script_draws(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "images")
    diagrams = importlib.import_module("diagrams")
    for draw in diagrams.DIAGRAMS:
        path = DOCS / "images" / f"{draw.__name__}.svg"
        assert str(draw()) == path.read_text(encoding="utf-8"), "run: python docs/images/diagrams.py"
        assert any(f"(images/{path.name})" in page.read_text(encoding="utf-8") for page in DOCS.glob("*.md")), path
    assert len(diagrams.DIAGRAMS) > 8


def test_powers_are_code_and_not_bold():
    for page in DOCS.glob("*.md"):
        prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        for paragraph in re.split(r"\n\n|\|", prose):
            assert len(re.findall(r"\d\*\*\d", paragraph)) < 2, (
                f"{page.name}: write `2**31`, in backquotes: {paragraph}"
            )


@pytest.mark.parametrize(
    "element",
    ['<script async src="https://cdn.example/a.js"></script>', '<link rel="stylesheet" href="//example/a.css">'],
)
def test_a_page_that_loads_something_from_elsewhere_is_an_error(site, tmp_path, element):
    app = SimpleNamespace(outdir=tmp_path)
    page = tmp_path / "index.html"
    page.write_text('<a href="https://example.org"></a><img src="_images/a.svg">', encoding="utf-8")
    site.refuse_remote_files(app, None)
    page.write_text(element, encoding="utf-8")
    with pytest.raises(ValueError, match=r"index\.html cannot be read offline"):
        site.refuse_remote_files(app, None)


def public_docstrings():
    """Return full name -> docstring of all public names, and of methods and properties of classes."""
    found = {}
    for module in public_modules():
        for name in importlib.import_module(module).__all__:
            value = getattr(importlib.import_module(module), name)
            members = vars(value).items() if inspect.isclass(value) else ()
            found |= {f"{module}.{name}.{key}": member.__doc__ for key, member in members if key[0] != "_"}
            found[f"{module}.{name}"] = value.__doc__
    return {name: text for name, text in found.items() if isinstance(text, str)}


def test_names_with_an_underscore_at_the_end_are_code():
    # Sphinx takes others for links: "ndarray of shape (n_features_in_,)" is a warning, and warnings are errors.
    docstrings = public_docstrings()
    assert len(docstrings) > 300
    for name, text in docstrings.items():
        prose = re.sub(r"``.*?``|`.*?`|\[\w+\]_", "", text.partition("    Examples\n")[0], flags=re.DOTALL)
        for line in prose.splitlines():
            left, colon, right = line.partition(" : ")
            assert not re.search(r"\b[A-Za-z]\w*_(?=[\s)\],.:;?!]|$)", right if colon else left), (
                f"{name}: {line.strip()}"
            )
