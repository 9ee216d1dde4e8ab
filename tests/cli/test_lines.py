"""Lines of a stream in chunks of any size."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from sklearn_hashnlp.cli.reading._lines import LineStream, batches, check_text_file, strip_line_end


class CountedJoins(bytes):
    """Bytes that cannot be added to others: an addition copies all bytes before."""

    def __radd__(self, other: bytes) -> bytes:
        raise AssertionError("copied")

    __add__ = __radd__


def test_a_long_line_in_many_chunks_is_joined_once() -> None:
    class Stream:
        parts = [CountedJoins(b"x" * 10)] * 50 + [CountedJoins(b"y\n")]

        def read(self, _: int) -> bytes:
            return self.parts.pop(0) if self.parts else b""

    assert list(LineStream(Stream())) == ["x" * 500 + "y\n"]  # type: ignore[arg-type]


def test_chunks_of_any_size_give_the_same_lines() -> None:
    content = "\ufefferste\n\nzweite 🎈 Zeile\r\n\ufeffdritte".encode()
    for size in range(1, len(content) + 2):
        chunks = [content[start : start + size] for start in range(0, len(content), size)]

        class Stream:
            def __init__(self, parts: list[bytes]) -> None:
                self.parts = parts

            def read(self, _: int) -> bytes:
                return self.parts.pop(0) if self.parts else b""

        lines = [strip_line_end(line) for line in LineStream(Stream(chunks))]  # type: ignore[arg-type]
        assert lines == ["erste", "", "zweite 🎈 Zeile", "\ufeffdritte"]


@pytest.mark.parametrize("text", ["the company said", "the company said " * 50])
def test_a_text_instead_of_a_file_name_is_an_error(text: str) -> None:
    with pytest.raises(FileNotFoundError, match=r"There is no file 'the company said.*pipe it: echo TEXT"):
        check_text_file(Path(text))


def test_a_missing_file_and_a_folder_are_errors(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"^nothing\.txt does not exist\.$"):
        check_text_file(Path("nothing.txt"))
    with pytest.raises(FileNotFoundError, match="is a folder; expected a text file"):
        check_text_file(tmp_path)
    check_text_file(Path(__file__))
    check_text_file(Path("-"))
    check_text_file(None)


def test_no_batch_is_larger_than_its_size() -> None:
    stream = LineStream(io.BytesIO(b"a\nb\nc\nd"))
    assert list(batches(stream, 2, lambda: stream.ready)) == [["a\n", "b\n"], ["c\n"], ["d"]]
