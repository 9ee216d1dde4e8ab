"""Files of results: appended, incomplete, locked, and written by older versions."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any, BinaryIO, cast

import pytest

from benchmarks.runner.results_file import (
    ResultsFile,
    completed_steps,
    identity_of,
    read_results,
    run_identity,
)


def made(step: int, seed: int = 0, **settings: Any) -> dict[str, Any]:
    return {"recipe": "counting", "seed": seed, "settings": settings, "step": step, "value": "é\n"}


def write(path: Path, *lines: object) -> str:
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    path.write_text(text)
    return text


def test_results_are_added_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "found.jsonl"
    with ResultsFile(path) as file:
        assert file.results == []
        for step in range(3):
            file.add(made(step))
            assert len(read_results(path)) == step + 1  # at once, not when it is closed
    with ResultsFile(path) as file:
        assert file.results == [made(0), made(1), made(2)]
        file.add(made(3))
    assert read_results(path) == [made(step) for step in range(4)]


def test_an_incomplete_last_line_is_ignored_and_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "found.jsonl"
    whole = write(path, made(0))
    incomplete = json.dumps(made(1))
    for length in range(len(incomplete) + 1):
        path.write_text(whole + incomplete[:length])
        n_results = 2 if length == len(incomplete) else 1
        assert len(read_results(path)) == n_results
        with ResultsFile(path) as file:
            assert len(file.results) == n_results
            file.add(made(2))
        assert [result["step"] for result in read_results(path)] == (
            [0, 1, 2] if n_results == 2 else [0, 2]
        )


def test_other_lines_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "found.jsonl"
    text = write(path, {"an": "older line"}, [1], made(0) | {"seed": "0"}, made(0))
    with ResultsFile(path) as file:
        assert file.results == [made(0)]
        file.add(made(1))
    assert path.read_text() == f"{text}{json.dumps(made(1))}\n"


@pytest.mark.parametrize(
    "text", [b"a,b\n1,2\n", b"a word", b'{"recipe": \n', b"\xff\xfe", b'{"a": 1}\n{torn', b"\0\0"]
)
def test_a_file_without_json_lines_is_refused_and_kept(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(text)
    for read in (read_results, ResultsFile):
        with pytest.raises(
            ValueError, match=r"notes\.txt, line \d is not JSON. The file must hold JSON lines"
        ):
            read(path)
    assert path.read_bytes() == text
    with pytest.raises(ValueError, match="must be a file"):
        ResultsFile(tmp_path)


def test_a_file_is_locked_while_it_is_open(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    path = tmp_path / "found.jsonl"
    with (
        ResultsFile(path),
        pytest.raises(BlockingIOError, match=r"Another run is writing to .*found\.jsonl"),
    ):
        ResultsFile(path)
    ResultsFile(path).close()


class FullFile:
    """A file on a full disk: every write fails, and the flush on closing, too."""

    def write(self, line: bytes = b"") -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    close = flush = write


def test_a_full_disk_is_reported_with_the_name_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "found.jsonl"

    def add() -> None:
        with ResultsFile(path) as file:
            file.close()
            file._file = cast(BinaryIO, FullFile())
            file.add(made(0))

    with pytest.raises(OSError, match="a result cannot be written") as caught:
        add()
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == str(path)


def test_completed_steps_end_before_a_missing_step() -> None:
    newer = made(0) | {"value": 5}
    results = [
        made(1),
        made(0),
        made(3),
        made(0, seed=1),
        made(0, size=2),
        newer,
        {**made(2, size=2)},
    ]
    identity = run_identity("counting", {}, 0)
    assert completed_steps(results, identity) == [newer, made(1)]
    assert completed_steps(results, identity_of(made(0, size=2))) == [made(0, size=2)]
    assert completed_steps(results, run_identity("counting", {}, 2)) == []


def test_the_identity_does_not_depend_on_the_order_of_settings() -> None:
    assert run_identity("a", {"x": 1, "y": 2}, 0) == run_identity("a", {"y": 2, "x": 1}, 0)
    assert (
        len(
            {
                run_identity("a", {"x": 1}, 0),
                run_identity("a", {"x": 2}, 0),
                run_identity("b", {"x": 1}, 0),
            }
        )
        == 3
    )
