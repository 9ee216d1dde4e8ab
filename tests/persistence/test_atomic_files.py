"""Files that are written whole or not at all, and what killed processes leave."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

import pytest

from sklearn_hashnlp import _posix
from sklearn_hashnlp.persistence import _atomic_files
from sklearn_hashnlp.persistence._atomic_files import (
    remove_abandoned,
    replacing,
    replacing_files,
    unfinished_folder,
)

WRITER = """
import sys
from pathlib import Path
from sklearn_hashnlp.persistence._atomic_files import unfinished_folder

with unfinished_folder(Path(sys.argv[1])) as folder:
    (folder / "half").write_text("x")
    print("ready", flush=True)
    sys.stdin.read()
"""
needs_locks = pytest.mark.skipif(_posix.fcntl is None, reason="the system has no locks")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@needs_locks
def test_only_partial_files_of_dead_processes_are_deleted(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        (left,) = tmp_path.iterdir()
        with replacing(tmp_path / "file") as path:
            path.write_text("new")
        assert names(left) == ["half", "sklearn-hashnlp.lock"]
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    assert left.exists()
    with replacing(tmp_path / "file") as path:
        assert not left.exists()
        path.write_text("newer")
    assert names(tmp_path) == ["file"]
    assert (tmp_path / "file").read_text() == "newer"


@needs_locks
def test_folders_of_others_stay(tmp_path: Path) -> None:
    (tmp_path / ".unfinished-work").mkdir()
    (tmp_path / ".unfinished-work" / "lock").touch()
    (tmp_path / ".unfinished-note").touch()
    (tmp_path / ".unfinished-killed-at-once").mkdir()
    remove_abandoned(tmp_path)
    assert names(tmp_path) == [".unfinished-note", ".unfinished-work"]


@needs_locks
def test_an_abandoned_folder_is_deleted_without_a_look_at_its_age(tmp_path: Path) -> None:
    folder = tmp_path / ".unfinished-killed"
    folder.mkdir()
    (folder / "sklearn-hashnlp.lock").touch()
    _atomic_files._remove_if_abandoned(folder)
    assert not folder.exists()


def test_without_locks_only_what_is_old_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_posix, "fcntl", None)
    for name in ("old", "growing", "young"):
        folder = tmp_path / f".unfinished-{name}"
        folder.mkdir()
        for file in ("sklearn-hashnlp.lock", "weights"):
            (folder / file).touch()
    two_days_ago = time.time() - 2 * 86_400
    for path in [*tmp_path.glob(".unfinished-old/*"), *tmp_path.glob(".unfinished-[og]*")]:
        os.utime(path, (two_days_ago, two_days_ago))
    with unfinished_folder(tmp_path) as folder:
        assert names(tmp_path) == sorted([".unfinished-growing", ".unfinished-young", folder.name])
    assert names(tmp_path) == [".unfinished-growing", ".unfinished-young"]


@needs_locks
def test_a_folder_that_another_process_takes_for_abandoned_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock_file, taken = _posix.lock_file, []

    def take(lock: IO[bytes]) -> bool:
        taken.append(Path(lock.name).parent)
        if len(taken) < 3:
            shutil.rmtree(taken[-1])
        if len(taken) == 2:
            raise BlockingIOError
        return lock_file(lock)

    monkeypatch.setattr(_atomic_files, "lock_file", take)
    with unfinished_folder(tmp_path) as folder:
        assert folder.is_dir()
        assert len(set(taken)) == 3


def test_several_files_are_replaced_when_all_are_complete(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text("old")
    with pytest.raises(FileNotFoundError), replacing_files(tmp_path, ["a", "b"]) as folder:
        (folder / "a").write_text("new")
    assert (tmp_path / "a").read_text() == "old"
    with replacing_files(tmp_path, ["a", "b"]) as folder:
        for name in "ab":
            (folder / name).write_text("new")
        assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text() == "old"
    assert names(tmp_path) == ["a", "b"]
    assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text() == "new"
