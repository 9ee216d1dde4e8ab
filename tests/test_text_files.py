"""Reading lines: compression, encodings, damaged files."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sklearn_hashnlp._text_files import Decoding, name_inside, read_lines

CONTENT = "erste Zeile\nzweite, mit NUL \0 und \u2028 und \r darin\r\n🎈 ohne Ende".encode()
LINES = ["erste Zeile\n", "zweite, mit NUL \0 und \u2028 und \r darin\r\n", "🎈 ohne Ende"]


def zipped(content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("__MACOSX/._a.csv", b"shadow")
        archive.writestr("folder/a.csv", content)
    return file.getvalue()


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zip": zipped,
}


@pytest.mark.parametrize(("suffix", "compress"), {"": bytes, **COMPRESS}.items())
def test_lines_and_name_of_a_compressed_file(
    tmp_path: Path, suffix: str, compress: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / f"a.csv{suffix}"
    path.write_bytes(compress(CONTENT))
    assert list(read_lines(path)) == LINES
    assert name_inside(path) == "a.csv"


def test_a_zip_archive_of_two_files_names_them(tmp_path: Path) -> None:
    path = tmp_path / "archive.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("train.csv", b"")
        archive.writestr("test.csv", b"")
    with pytest.raises(ValueError, match=r"one file in it, got 2 \(train.csv, test.csv\)"):
        list(read_lines(path))


@pytest.mark.parametrize("suffix", COMPRESS)
def test_a_damaged_or_truncated_file_is_named(tmp_path: Path, suffix: str) -> None:
    whole = CONTENT + bytes(range(1, 128)) * 1000
    path = tmp_path / f"a.csv{suffix}"
    for content in (COMPRESS[suffix](whole)[:-40], b"this was never compressed"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=rf"a\.csv\{suffix}.*damaged"):
            list(read_lines(path))


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("\ufeffa\n\ufeffb\n".encode())
    assert list(read_lines(path)) == ["a\n", "\ufeffb\n"]


def test_wrong_encodings_are_named_with_line_and_remedy(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"label,text\na,b\na,caf\xe9\n")
    with pytest.raises(
        ValueError,
        match=(
            r"a\.csv, line 3: expected UTF-8, but byte 6 of the line is 0xe9\. .*encoding='cp1252'"
        ),
    ):
        list(read_lines(path))
    path.write_bytes("label,text\n".encode("utf-16"))
    with pytest.raises(
        ValueError, match=r"line 1: expected UTF-8, but the file begins like UTF-16\. .*'utf-16'"
    ):
        list(read_lines(path))


@pytest.mark.parametrize(
    ("line", "advice", "other"),
    [
        # a euro sign, a dash and quotes of Windows
        (b"\x80 5 \x96 \x93now\x94\n", "encoding='cp1252'", "latin1"),
        (b"caf\xe9\n", "encoding='cp1252'", "latin1"),
        (b"\x81\x40\n", "encoding='gb18030' or 'shift_jis'", "cp1252"),  # no character of cp1252
        (
            "caf\u00e9 ".encode() + b"caf\xe9\n",
            "Other characters of the line are UTF-8: errors='replace'",
            "cp1252",
        ),
    ],
)
def test_the_advice_for_bytes_that_are_not_utf_8(
    tmp_path: Path, line: bytes, advice: str, other: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"first\n" + line)
    with pytest.raises(ValueError, match=r"a\.csv, line 2: ") as caught:
        list(read_lines(path))
    assert advice in str(caught.value)
    assert other not in str(caught.value)
    assert "iconv" not in str(caught.value)


@pytest.mark.parametrize(
    "encoding",
    [
        "cp1252",
        "utf-8",
        "utf-8-sig",
        "utf-16",
        "utf-16-le",
        "utf-32",
        "cp037",
        "shift_jis",
        "gb18030",
    ],
)
def test_lines_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    lines = [
        "first\n",
        "ab\rc\r\n",
        "\n",
        "last" if encoding in ("cp037", "shift_jis") else "última",
    ]
    for compress, name in ((bytes, "a.txt"), (gzip.compress, "a.txt.gz")):
        (tmp_path / name).write_bytes(compress("".join(lines).encode(encoding)))
        assert list(read_lines(tmp_path / name, decoding=Decoding(encoding))) == lines


def test_a_mark_is_no_character_in_any_encoding(tmp_path: Path) -> None:
    for encoding in ("utf-16-le", "utf-16-be", "gb18030"):
        (tmp_path / "a.txt").write_bytes("\ufeffa\n".encode(encoding))
        assert list(read_lines(tmp_path / "a.txt", decoding=Decoding(encoding))) == ["a\n"]
    (tmp_path / "a.txt").write_bytes("\ufeffa\n".encode())
    with pytest.raises(ValueError, match=r"line 1: .*byte order mark of UTF-8.*encoding='utf-8'"):
        list(read_lines(tmp_path / "a.txt", decoding=Decoding("cp1252")))


def test_errors_of_other_encodings_name_the_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("abc\n".encode("utf-16") + b"x")
    with pytest.raises(
        ValueError, match=r"a\.txt, line 2 or soon after: expected utf-16.*encoding"
    ):
        list(read_lines(tmp_path / "a.txt", decoding=Decoding("utf-16")))
    (tmp_path / "a.txt").write_bytes(b"abc\n\x81\n")
    with pytest.raises(
        ValueError, match=r"a\.txt, line 2: expected cp1252, but byte 1 .* 0x81\. Pass another"
    ):
        list(read_lines(tmp_path / "a.txt", decoding=Decoding("cp1252")))


@pytest.mark.parametrize("encoding", ["utf-9", "zlib", "", None])
def test_names_of_no_text_encoding_are_refused(encoding: Any) -> None:
    with pytest.raises(
        ValueError,
        match="encoding must be the name of a text encoding, such as 'utf-8' or 'cp1252'",
    ):
        Decoding(encoding)


def test_lines_end_in_carriage_returns_if_there_is_no_line_feed(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"label,text\ra,b\r\rc,\xe9\r")
    assert list(read_lines(tmp_path / "a.txt", decoding=Decoding("cp1252"))) == [
        "label,text\n",
        "a,b\n",
        "\n",
        "c,é\n",
    ]
    with pytest.raises(ValueError, match="line 4: expected UTF-8"):
        list(read_lines(tmp_path / "a.txt"))


@pytest.mark.skipif(os.name == "nt", reason="a POSIX pipe")
@pytest.mark.parametrize(("name", "compress"), [("pipe", bytes), ("pipe.gz", gzip.compress)])
def test_a_pipe_is_read_without_progress(
    tmp_path: Path, name: str, compress: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / name
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=[compress(b"line\n" * 3000)])
    writer.start()
    seen: list[int] = []
    assert list(read_lines(path, lambda done, size: seen.append(done))) == ["line\n"] * 3000
    assert seen == []
    writer.join()


@pytest.mark.skipif(os.name == "nt", reason="a POSIX pipe")
def test_a_zip_archive_in_a_pipe_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pipe.zip"
    os.mkfifo(path)
    writing = os.open(path, os.O_RDWR)  # or opening it for reading would wait for a writer
    try:
        with pytest.raises(
            ValueError, match=r"pipe\.zip: a zip archive cannot be read from a pipe"
        ):
            list(read_lines(path))
    finally:
        os.close(writing)


def test_progress_ends_at_the_size_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"line\n" * 5000))
    seen: list[tuple[int, int]] = []
    list(read_lines(path, lambda done, size: seen.append((done, size))))
    assert len(seen) == 6
    assert seen == sorted(seen)
    assert seen[-1] == (path.stat().st_size,) * 2


def test_damaged_zip_archives_are_named(tmp_path: Path) -> None:
    """Found by fuzzing: other errors of the module zipfile."""
    path = tmp_path / "archive.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", CONTENT)
    whole = path.read_bytes()
    directory, end = whole.rindex(b"PK\x01\x02"), whole.rindex(b"PK\x05\x06")
    for content in (
        b"XX" + whole[2:],  # the header of the member
        whole[:7] + b"\x08" + whole[8:30] + b"\xff" + whole[31:],  # its name, which is no UTF-8
        whole[: directory + 6] + b"\xff" + whole[directory + 7 :],  # the version of the format
        whole[: end + 12] + b"\xff\xff\x00\x00" + whole[end + 16 :],  # the size of the directory
        whole[: end + 16] + b"\xff\xff\xff\x00" + whole[end + 20 :],  # its offset
    ):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"archive\.zip: .*(damaged|cannot be read)"):
            list(read_lines(path))
