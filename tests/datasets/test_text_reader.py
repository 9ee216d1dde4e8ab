"""Texts of files and streams, with their rows."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sklearn_hashnlp.datasets import TextReader


def texts_of(file: Any, **options: Any) -> list[str]:
    return [row.text for row in TextReader(file, **options)]


class CountedJoins(bytes):
    """Bytes that cannot be added to others: an addition copies all bytes before."""

    def __radd__(self, other: bytes) -> bytes:
        raise AssertionError("copied")

    __add__ = __radd__


class Chunks(io.BytesIO):
    """A stream with chunks of any size."""

    def __init__(self, parts: list[bytes]) -> None:
        self.parts = parts

    def read(self, _: int | None = None) -> bytes:
        return self.parts.pop(0) if self.parts else b""


def test_a_long_line_in_many_chunks_is_joined_once() -> None:
    assert texts_of(Chunks([CountedJoins(b"x" * 10)] * 50 + [CountedJoins(b"y\n")])) == [
        "x" * 500 + "y"
    ]


def test_chunks_of_any_size_give_the_same_lines() -> None:
    content = "\ufefferste\n\nzweite 🎈 Zeile\r\n\ufeffdritte".encode()
    for size in range(1, len(content) + 2):
        chunks = [content[start : start + size] for start in range(0, len(content), size)]
        assert texts_of(Chunks(chunks)) == ["erste", "", "zweite 🎈 Zeile", "\ufeffdritte"]


def test_batches_of_a_stream_do_not_wait_and_are_no_larger_than_their_size() -> None:
    def sizes(*parts: bytes, size: int) -> list[int]:
        return [len(rows) for rows in TextReader(Chunks(list(parts))).batches(size)]

    assert sizes(b"a\nb\n", b"c\n", b"d", size=9) == [2, 1, 1]
    assert sizes(b"a\nb\nc\nd", size=2) == [2, 1, 1]


def test_texts_before_an_error_are_yielded_first(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"fine\nlong\nb\xe9d\n")
    batches: Iterator[list[Any]] = TextReader(tmp_path / "a.txt").batches(9)
    assert [row.text for row in next(batches)] == ["fine", "long"]
    with pytest.raises(ValueError, match=r"a\.txt, line 3: expected UTF-8"):
        next(batches)


@pytest.mark.parametrize(
    ("name", "content", "records"),
    [
        ("a.csv.gz", b"id,text\n1,fine\n2,long\n", [["1", "fine"], ["2", "long"]]),
        ("a.tsv", b"text\tid\nfine\t1\nlong\t2\n", [["fine", "1"], ["long", "2"]]),
        (
            "a.jsonl",
            b'{"text": "fine"}\n{"text": "long", "id": 2}',
            [{"text": "fine"}, {"text": "long", "id": 2}],
        ),
        ("a.txt", b"fine\nlong\n", [None, None]),
        ("a.log", b"fine\nlong", [None, None]),
    ],
)
def test_the_rows_of_each_format(
    tmp_path: Path, name: str, content: bytes, records: list[Any]
) -> None:
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    reader = TextReader(tmp_path / name)
    rows = list(reader)
    assert ([row.text for row in rows], [row.record for row in rows]) == (["fine", "long"], records)
    assert reader.file_format == ("lines" if records[0] is None else name.split(".")[1])
    assert reader.text_column == (None if records[0] is None else "text")
    assert "text" in reader.header or name[2:5] not in ("csv", "tsv")


def test_the_delimiter_of_a_first_line_is_known() -> None:
    reader = TextReader(io.BytesIO(b"sep=;\na;text\n1;x,y\n"), file_format="csv")
    assert [row.record for row in reader] == [["1", "x,y"]]
    assert (reader.delimiter, reader.header) == (";", ["a", "text"])


def test_labels_are_removed_and_named() -> None:
    with pytest.warns(UserWarning, match="stdin has labels"):
        assert texts_of(io.BytesIO(b"__label__a fine\n\nlong __label__b\n")) == ["fine", "", "long"]
    assert texts_of(io.BytesIO(b"__label__a fine\n"), file_format="lines") == ["__label__a fine"]
    assert texts_of(io.BytesIO(b"#a fine\n"), file_format="fasttext", label_prefix="#") == ["fine"]


@pytest.mark.parametrize("content", [b"label,text\nspam,win\n", b'{"text": "win"}\n', b"id;text\n"])
def test_a_table_is_not_read_as_lines_unless_asked(content: bytes) -> None:
    with pytest.raises(
        ValueError, match=r"stdin, line 1: .* looks like .*file_format='(csv|jsonl)'"
    ):
        texts_of(io.BytesIO(content))
    assert len(texts_of(io.BytesIO(content), file_format="lines")) == content.count(b"\n")


def test_rows_are_skipped_with_a_warning() -> None:
    table = b"text,id\nfine,1\nlong\nd\xefll,2\n"
    with pytest.warns(UserWarning, match="Skipped 2 rows .* stdin, line 3"):
        assert texts_of(io.BytesIO(table), file_format="csv", errors="skip") == ["fine"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"errors": "skip"}, "are for tables, and stdin is read as lines"),
        ({"text_column": "body"}, "are for tables"),
        ({"file_format": "xml"}, "file_format must be one of lines, csv"),
        ({"encoding": "latin-99"}, "encoding must be the name"),
    ],
)
def test_wrong_options_are_an_error_before_anything_is_read(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        TextReader(io.BytesIO(b"x"), **options)


@pytest.mark.parametrize("file", [io.StringIO("a text"), 3], ids=["characters", "number"])
def test_only_paths_and_streams_of_bytes_are_read(file: Any) -> None:
    with pytest.raises(TypeError, match=r"file must be a path or a stream of bytes"):
        TextReader(file)


def test_a_reader_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a\nb\n", encoding="utf-8")
    reader = TextReader(path)
    assert [row.text for row in reader] == ["a", "b"]
    with pytest.raises(ValueError, match=r"reads .*a\.txt once"):
        next(iter(reader))
    with pytest.raises(ValueError, match="size must be at least 1, got 0"):
        next(TextReader(path).batches(0))
