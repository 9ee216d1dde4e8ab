"""Lines of a stream, whatever chunks they come in."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from sklearn_hashnlp.cli._lines import batches_of_stream, check_lines


class CountedJoins(bytes):
    """A chunk whose addition to others is an error: it copies all that came before."""

    def __radd__(self, other: bytes) -> bytes:
        raise AssertionError("copied")

    __add__ = __radd__


def test_a_long_line_in_many_chunks_is_put_together_once() -> None:
    class Stream:
        parts = [CountedJoins(b"x" * 10)] * 50 + [CountedJoins(b"y\n")]

        def read(self, _: int) -> bytes:
            return self.parts.pop(0) if self.parts else b""

    assert list(batches_of_stream(Stream())) == [["x" * 500 + "y"]]  # type: ignore[arg-type]


def test_chunks_of_any_size_give_the_same_lines() -> None:
    content = "\ufefferste\n\nzweite 🎈 Zeile\r\n\ufeffdritte".encode()
    for size in range(1, len(content) + 2):
        chunks = [content[start : start + size] for start in range(0, len(content), size)]

        class Stream:
            def __init__(self, parts: list[bytes]) -> None:
                self.parts = parts

            def read(self, _: int) -> bytes:
                return self.parts.pop(0) if self.parts else b""

        lines = [line for batch in batches_of_stream(Stream(chunks)) for line in batch]  # type: ignore[arg-type]
        assert lines == ["erste", "", "zweite 🎈 Zeile", "\ufeffdritte"]


@pytest.mark.parametrize("text", ["the company said", "the company said " * 50])
def test_text_in_the_place_of_a_file(text: str) -> None:
    with pytest.raises(FileNotFoundError, match=r"No file is called 'the company said.*pipe it: echo TEXT"):
        check_lines(Path(text))


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"^nothing\.txt does not exist\.$"):
        check_lines(Path("nothing.txt"))
    with pytest.raises(FileNotFoundError, match="is a folder; expected a text file"):
        check_lines(tmp_path)
    check_lines(Path(__file__))
    check_lines(Path("-"))
    check_lines(None)


def test_no_batch_is_larger_than_asked_for() -> None:
    assert list(batches_of_stream(io.BytesIO(b"a\nb\nc\nd"), 2)) == [["a", "b"], ["c"], ["d"]]
