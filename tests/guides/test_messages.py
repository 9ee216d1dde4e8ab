"""User stories: messages whose advice exists, and pages that state what a reader can know."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import HashingVectorizer

from sklearn_hashnlp import HashEmbeddingClassifier, HashingNgramVectorizer, make_text_classifier
from sklearn_hashnlp.text import distort_texts

ROOT = Path(__file__).parents[2]


def raised(function: Any, *args: Any) -> str:
    """Return the message of the ValueError that a call raises."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the message is what is tested)
        function(*args)
    return str(caught.value)


def test_a_program_that_matches_scikit_learns_message_on_nan_still_works() -> None:
    texts = ["hello world", np.nan, "hello hello"]
    theirs = raised(HashingVectorizer().fit_transform, texts)
    ours = raised(HashingNgramVectorizer().fit_transform, texts)
    assert ours.startswith(theirs)
    assert "document 1 is nan" in ours


def test_a_single_text_is_refused_with_advice_that_exists() -> None:
    model = make_text_classifier(random_state=0).fit(["fine film", "dull film"], ["good", "bad"])
    for call in (model.predict, distort_texts):
        message = raised(call, "one text")
        assert "in a list, [text]" in message
        assert "transform(" not in message  # a classifier's user calls predict, and distort_texts has no methods


def test_a_classifier_of_rows_shows_the_whole_text_that_it_refuses() -> None:
    assert "got the text 'one text'" in raised(HashEmbeddingClassifier().fit, "one text", [0])


@pytest.mark.parametrize("page", ["CHANGELOG.md", "docs/reproducibility.md", "docs/sgnn.md"])
def test_a_page_that_promises_bits_on_a_gpu_says_that_none_was_used(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    passages = [one for one in re.split(r"\n(?:\n|- |\| )", text) if "bit" in one and re.search(r"\bGPU\b|cuda", one)]
    assert passages
    assert all(re.search(r"not\s+(been\s+)?tested", one) for one in passages)


def rules_of(makefile: str) -> dict[str, tuple[str, str]]:
    """Return the prerequisites and the recipe of each target of a Makefile."""
    pattern = re.compile(r"^(\S+):[ ]*([^=\n]*)\n((?:\t.*\n)+)", re.MULTILINE)
    return {target: (prerequisites, recipe) for target, prerequisites, recipe in pattern.findall(makefile)}


def test_a_demo_installs_no_development_tools_and_is_never_silent() -> None:
    rules = rules_of((ROOT / "Makefile").read_text(encoding="utf-8"))
    installed, ready = "$(VENV)/installed", "$(VENV)/ready"
    assert rules["demo"][0] == installed
    assert '".[plot]"' in rules[installed][1]
    assert rules[ready][0] == installed
    assert "test" in rules[ready][1]
    assert "dev" in rules[ready][1]
    assert {rules[target][0] for target in ("test", "test-slow", "test-gpu", "golden", "check", "format")} == {ready}
    slow = [
        line for one in (installed, ready) for line in rules[one][1].splitlines() if "$(PIP)" in line or "venv " in line
    ]
    assert len(slow) == 3
    assert all("$(call run," in line for line in slow)


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_every_line_with_pip_install_works_and_names_what_the_extras_install() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    packages = {re.split("[<>=]", one)[0] for extra in ("plot", "wikipedia") for one in extras[extra]}
    files = [*PAGES, *(ROOT / "sklearn_hashnlp").rglob("*.py")]
    found = [
        match.removeprefix("--no-cache-dir ")
        for file in files
        for match in re.findall(r"pip install ([^`\"\n]+)", file.read_text(encoding="utf-8"))
    ]
    checkout = {".", *(f"'{name}[{extra}]'" for extra in extras for name in (".", "sklearn-hashnlp"))}
    assert len(found) >= 6
    torch = {f"torch --index-url {address}" for address in ("...", "https://download.pytorch.org/whl/cpu")}
    assert set(found) <= checkout | packages | torch | {"/src", "sklearn-hashnlp", "--upgrade sklearn-hashnlp"}


def test_a_page_names_the_reference_implementation_or_the_paper_that_it_mentions() -> None:
    names = r"Dubois|YannDubs|Chevalier|Svenstrup|Ravi|Bengio|Paddle"
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        first = re.search(r"\bthe (reference implementation|paper|report|source)\b(?! of| on)", text)
        assert first is None or re.search(names, text[: first.end() + 200]), (page.name, first)


def test_no_page_speaks_of_goals_that_a_reader_does_not_know() -> None:
    assert [
        page.name for page in PAGES if re.search(r"\bgoals?\b", page.read_text(encoding="utf-8"), re.IGNORECASE)
    ] == []
