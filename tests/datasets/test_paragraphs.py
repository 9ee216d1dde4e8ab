"""Paragraphs of text files."""

from __future__ import annotations

import bz2
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.datasets import stream_paragraphs

TEXT = "  Erster Absatz.\r\nzweiter 🎈\n\n \t\n\x0c\n\ndritter\u2028Absatz\n"
LINES = ["Erster Absatz.", "zweiter 🎈", "dritter\u2028Absatz"]
BLOCKS = ["Erster Absatz.\nzweiter 🎈", "dritter\u2028Absatz"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "articles.txt"
    path.write_bytes(TEXT.encode())
    return path


def test_a_paragraph_is_a_line_or_a_block_of_lines(path: Path) -> None:
    assert (
        list(stream_paragraphs(path))
        == list(stream_paragraphs(str(path), paragraph="line"))
        == LINES
    )
    assert list(stream_paragraphs(path, paragraph="block")) == BLOCKS


def test_files_follow_each_other_and_a_block_ends_with_its_file(path: Path, tmp_path: Path) -> None:
    second = tmp_path / "more.txt.bz2"
    second.write_bytes(bz2.compress(b"vierter"))
    assert list(stream_paragraphs(iter([second, str(path)]))) == ["vierter", *LINES]
    assert list(stream_paragraphs([second, second, path], paragraph="block")) == [
        "vierter",
        "vierter",
        *BLOCKS,
    ]


@given(
    paragraphs=st.lists(
        st.lists(st.text("ab\u3000 .é", min_size=1).map(str.strip).filter(bool), min_size=1)
    )
)
def test_written_paragraphs_are_read_back(
    tmp_path_factory: pytest.TempPathFactory, paragraphs: list[list[str]]
) -> None:
    path = tmp_path_factory.mktemp("text") / "a.txt"
    path.write_text(
        "\n\n".join("\n".join(lines) for lines in paragraphs), encoding="utf-8", newline=""
    )
    assert list(stream_paragraphs(path)) == [line for lines in paragraphs for line in lines]
    assert list(stream_paragraphs(path, paragraph="block")) == [
        "\n".join(lines) for lines in paragraphs
    ]


@pytest.mark.parametrize("paragraph", ["line", "block"])
def test_paragraphs_are_yielded_before_the_file_is_read_to_its_end(
    tmp_path: Path, paragraph: str
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"first\n\nsecond\n\n" + b"\xff")
    stream = stream_paragraphs(path, paragraph=paragraph)
    assert [next(stream), next(stream)] == ["first", "second"]
    with pytest.raises(ValueError, match=r"a\.txt, line 5: expected UTF-8"):
        next(stream)


def test_a_missing_file_is_named_before_the_first_paragraph(path: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"absent\.txt does not exist"):
        stream_paragraphs([path, tmp_path / "absent.txt"])
    with pytest.raises(IsADirectoryError, match="is a folder; expected a text file"):
        stream_paragraphs(tmp_path)


def test_invalid_arguments(path: Path) -> None:
    with pytest.raises(ValueError, match="expected one or more files, got none"):
        stream_paragraphs([])
    with pytest.raises(ValueError, match=r"paragraph must be one of 'line', 'block'\. Got 'page'"):
        stream_paragraphs(path, paragraph="page")
