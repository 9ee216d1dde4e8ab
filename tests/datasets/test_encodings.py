"""Every reader of text files reads other encodings, and its errors name the file, the line and what
to do.
"""

from __future__ import annotations

import gzip
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sklearn_hashnlp import KneserNeyLanguageModel
from sklearn_hashnlp.datasets import load_labelled, stream_labelled, stream_paragraphs
from sklearn_hashnlp.persistence import load_word_vectors
from sklearn_hashnlp.sentences._sentence_reader import _split_paragraphs

ARPA = "\\data\\\nngram 1=1\n\n\\1-grams:\n-0.5\tété\n\n\\end\\\n"


def first_batch(path: Path, **options: Any) -> Any:
    return next(iter(stream_labelled(path, **options)))[0]


def words_of_arpa(path: Path, **options: Any) -> Any:
    return list(KneserNeyLanguageModel.load_arpa(path, **options).vocabulary_)[:1]


READERS: dict[str, tuple[Callable[..., Any], str, str]] = {
    "load_labelled": (
        lambda path, **options: load_labelled(path, **options)[0],
        ".csv",
        "label,text\na,été\n",
    ),
    "stream_labelled": (first_batch, ".txt", "__label__a été\n"),
    "stream_paragraphs": (
        lambda path, **options: list(stream_paragraphs(path, **options)),
        ".txt",
        "été\n",
    ),
    "load_word_vectors": (
        lambda path, **options: load_word_vectors(path, **options)[0],
        ".vec",
        "1 1\nété 1\n",
    ),
    "load_arpa": (words_of_arpa, ".arpa", ARPA),
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8", "utf-8-sig"])
def test_a_reader_takes_the_encoding(tmp_path: Path, name: str, encoding: str) -> None:
    read, suffix, content = READERS[name]
    path = tmp_path / f"a{suffix}.gz"
    path.write_bytes(gzip.compress(content.encode(encoding)))
    assert read(path, encoding=encoding) == ["été"]
    if encoding == "utf-8-sig":
        assert read(path) == ["été"]


@pytest.mark.parametrize("name", READERS)
def test_a_decoding_error_names_the_file_and_what_to_do(tmp_path: Path, name: str) -> None:
    read, suffix, content = READERS[name]
    path = tmp_path / f"a{suffix}"
    path.write_bytes(content.encode("cp1252"))
    with pytest.raises(ValueError, match=r"a\.\w+.* encoding='cp1252'") as caught:
        read(path, errors="strict")
    assert not isinstance(caught.value, UnicodeError)
    assert read(path, errors="replace") == ["\ufffdt\ufffd"]
    with pytest.raises(
        ValueError, match=r"errors must be one of 'strict', 'replace'.*Got 'ignore'\."
    ):
        read(path, errors="ignore")
    with pytest.raises(ValueError, match="encoding must be the name of a text encoding"):
        read(path, encoding="latin-99")


def test_the_parameters_have_one_order() -> None:
    for reader in (
        load_labelled,
        stream_labelled,
        stream_paragraphs,
        load_word_vectors,
        KneserNeyLanguageModel.load_arpa,
    ):
        names = list(inspect.signature(reader).parameters)
        assert names[names.index("encoding") + 1] == "errors"
    options = [
        list(inspect.signature(reader).parameters) for reader in (load_labelled, stream_labelled)
    ]
    assert [
        name for name in options[0] if name not in ("path", "classes", "return_X_y")
    ] == options[1][2:]


def fit_counts(path: Path) -> list[str]:
    return list(KneserNeyLanguageModel(order=2).fit(path).vocabulary_)


def read_paragraphs(path: Path) -> list[str]:
    return [
        word
        for sentences in _split_paragraphs(path, lambda text: [text], "Encoder")
        for word in sentences
    ]


@pytest.mark.parametrize("read", [fit_counts, read_paragraphs])
def test_a_path_in_fit_is_read_as_by_the_readers(
    tmp_path: Path, read: Callable[[Path], list[str]]
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("the\n\nthe\n", encoding="utf-8")
    plain = read(path)
    path.write_text("the\n\nthe\n", encoding="utf-8-sig")
    assert read(path) == plain
    compressed = tmp_path / "a.txt.gz"
    compressed.write_bytes(gzip.compress(b"the\r\n\r\nthe"))
    assert read(compressed) == plain
    path.write_bytes(b"the\ncaf\xe9\n")
    with pytest.raises(
        ValueError,
        match=r"a\.txt, line 2: expected UTF-8.*stream_paragraphs\(path, encoding='cp1252'\)",
    ):
        read(path)
    with pytest.raises(IsADirectoryError, match="is a folder"):
        read(tmp_path)


@pytest.mark.parametrize("start", ["<mediawiki xmlns='x'>", "<?xml version='1.0'?>\n<mediawiki>"])
def test_a_dump_of_wikipedia_is_refused_with_advice(tmp_path: Path, start: str) -> None:
    path = tmp_path / "dump.xml"
    path.write_text(f"{start}\n  <page>\n", encoding="utf-8")
    for read in (
        fit_counts,
        read_paragraphs,
        lambda path: list(stream_paragraphs(path, paragraph="block")),
    ):
        with pytest.raises(
            ValueError, match=r"dump\.xml, line \d: .* dump of Wikipedia.*stream_wikipedia"
        ):
            read(path)
    path.write_text("first\nsecond\n<mediawiki> is a tag\n", encoding="utf-8")
    assert len(list(stream_paragraphs(path))) == 3
