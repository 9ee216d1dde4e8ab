"""Calls that only some systems have stand in one file, and the package works without them."""

from __future__ import annotations

import ast
import errno
import os
import re
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

import sklearn_hashnlp
from sklearn_hashnlp import _posix

PACKAGE = Path(sklearn_hashnlp.__file__).parent
MODULES = {"fcntl", "grp", "mmap", "pty", "pwd", "resource", "select", "syslog", "termios", "tty"}
CALLS = {
    "chown",
    "fork",
    "fsync",
    "getpgid",
    "getuid",
    "killpg",
    "mkfifo",
    "nice",
    "register_at_fork",
    "setsid",
}
CALLS |= {
    "sched_getaffinity",
    "sched_setaffinity",
    "uname",
    "O_DIRECTORY",
    "SIGKILL",
    "SIGHUP",
    "SIGALRM",
    "SIGUSR1",
}


def posix_names(source: str) -> set[str]:
    """Return the names of modules and attributes in a source file that not every system has."""
    names: set[str] = set()
    if not set(re.findall(r"\w+", source)) & (MODULES | CALLS):
        return names
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names} & MODULES
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} & MODULES
        elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") in {"os", "signal"}:
            names |= {node.attr} & CALLS
    return names


def test_calls_of_single_systems_stand_in_one_file() -> None:
    paths = list(PACKAGE.rglob("*.py"))
    found = {
        str(path.relative_to(PACKAGE)): posix_names(path.read_text(encoding="utf-8"))
        for path in paths
    }
    assert {path: names for path, names in found.items() if names} == {
        "_posix.py": {"fcntl", "mmap", "fsync", "sched_getaffinity", "register_at_fork"},
        "persistence/_fasttext_file.py": {"mmap"},  # ACCESS_READ, which every system has
    }


def test_a_file_is_locked_against_others_until_it_is_closed(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    path = tmp_path / "file"
    with path.open("w") as first, path.open("a") as second:
        assert _posix.lock_file(first)
        with pytest.raises(BlockingIOError):
            _posix.lock_file(second)
    with path.open("a") as third:
        assert _posix.lock_file(third)


def test_files_and_folders_are_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("text")
    flushed = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: flushed.append(os.fstat(descriptor).st_ino))
    _posix.flush_to_disk(tmp_path / "file")
    _posix.flush_to_disk(tmp_path)
    assert flushed == [(tmp_path / "file").stat().st_ino, tmp_path.stat().st_ino]
    monkeypatch.delattr(os, "O_DIRECTORY")  # as on Windows
    _posix.flush_to_disk(tmp_path)
    _posix.flush_to_disk(tmp_path / "file")
    assert len(flushed) == 3


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EBADF, errno.EIO])
def test_folders_of_drives_that_cannot_flush_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(_: int) -> None:
        raise OSError(number, os.strerror(number))

    (tmp_path / "file").touch()
    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match=os.strerror(number)):
        _posix.flush_to_disk(tmp_path / "file")
    with (
        pytest.raises(OSError, match=os.strerror(number)) if number == errno.EIO else nullcontext()
    ):
        _posix.flush_to_disk(tmp_path)


# The libraries are imported first: they ask for the system, not for what it has.
WITHOUT_POSIX = """
import mmap, os, signal, sys, tempfile
import joblib, rich, safetensors.numpy, scipy.sparse, skorch, sklearn.ensemble, torch, typer
import sklearn.feature_extraction.text, subprocess
import multiprocessing.connection, multiprocessing.popen_spawn_posix

BLOCKED = {"fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty"}

class Absent:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}")

for name in BLOCKED & set(sys.modules):
    del sys.modules[name]
sys.meta_path.insert(0, Absent)
for name in ("register_at_fork", "sched_getaffinity", "sched_setaffinity", "O_DIRECTORY"):
    delattr(os, name)
for name in ("geteuid", "getuid", "uname"):
    delattr(os, name)
for name in ("MAP_ANONYMOUS", "MAP_PRIVATE", "MADV_HUGEPAGE", "MADV_NOHUGEPAGE"):
    delattr(mmap, name)
for name in ("SIGKILL", "SIGHUP", "SIGALRM", "SIGUSR1"):
    delattr(signal, name)

import importlib, pkgutil
import numpy as np
import sklearn_hashnlp
walked = pkgutil.walk_packages(sklearn_hashnlp.__path__, "sklearn_hashnlp.")
modules = [module.name for module in walked]
for name in modules:
    if not name.endswith(("__main__", "_wikitext", "_standalone_predictor")):
        importlib.import_module(name)
assert sklearn_hashnlp._posix.fcntl is None

from benchmarks.runner.results_file import ResultsFile
from sklearn_hashnlp.text import SGNNProjector
texts = ["a fine film", "a dull film", "fine and warm", "dull and long"] * 8
labels = ["good", "bad"] * 16
with tempfile.TemporaryDirectory() as folder:
    model = sklearn_hashnlp.TextClassifier(random_state=0).fit(texts, labels)
    sklearn_hashnlp.save_model(model, folder + "/model")
    loaded = sklearn_hashnlp.load_model(folder + "/model")
    assert np.array_equal(loaded.predict_proba(texts), model.predict_proba(texts))
    X = sklearn_hashnlp.HashingNgramVectorizer(n_features=256, n_jobs=2).transform(texts)
    net = sklearn_hashnlp.HashEmbeddingClassifier(
        n_buckets=50, n_embeddings=500, max_epochs=2, random_state=0, batch_size=16
    ).fit(X, labels)
    net.predict(X)
    sklearn_hashnlp.export_predictor(model, folder + "/predictor.py")
    with ResultsFile(folder + "/results.jsonl") as file:
        file.add({"recipe": "r", "seed": 0, "settings": {}})
    print(sorted(os.listdir(folder)), len(modules) > 100)
"""


def test_the_package_works_on_a_system_without_them() -> None:
    root = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", WITHOUT_POSIX],
        check=False,
        capture_output=True,
        text=True,
        cwd=root,
    )
    assert done.returncode == 0, done.stderr
    expected = "['model', 'predictor.py', 'results.jsonl'] True"
    assert done.stdout.strip() == expected


def test_the_memory_that_is_available(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = _posix.available_memory()
    assert memory is None or 0 < memory < 2**50
    monkeypatch.setattr(_posix, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(_posix, "_CGROUPS", tmp_path)
    assert _posix.available_memory() is None
    (tmp_path / "meminfo").write_text("MemTotal:  99 kB\nMemAvailable:  50 kB\n")
    assert _posix.available_memory() == 50 * 1024
    (tmp_path / "memory.current").write_text("1000\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert _posix.available_memory() == 50 * 1024
    (tmp_path / "memory.max").write_text("31000\n")  # of a container
    assert _posix.available_memory() == 30_000
    (tmp_path / "memory").mkdir()  # the first version of control groups
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text("500\n")
    (tmp_path / "memory" / "memory.usage_in_bytes").write_text("700\n")
    assert _posix.available_memory() == 0
