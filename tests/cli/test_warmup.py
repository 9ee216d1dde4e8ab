"""``hashnlp warmup``: what it writes and tells; *slow*: that afterwards nothing is compiled, on any processor."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import pytest

from sklearn_hashnlp.cli import _warmup_models
from sklearn_hashnlp.kernels import _cache
from sklearn_hashnlp.kernels._cache import KernelCache
from sklearn_hashnlp.kernels._compile import compilations, compiled

ROOT = Path(__file__).parents[2]


def add_one(x: Any) -> Any:
    return x + 1


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let each command be as in a new process, and call one small kernel; return the folder that it may write."""
    for name, value in (("_folders", None), ("failure", None)):
        monkeypatch.setattr(KernelCache, name, value)
    monkeypatch.setattr(compilations, "announced", True)
    monkeypatch.setattr(numba.core.config, "reload_config", lambda: None)  # which would reset the next line
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(_warmup_models, "KINDS", {"sums": lambda: compiled(add_one)(1.0)})
    return tmp_path / "cache"


def test_it_says_what_it_wrote_and_the_second_time_that_nothing_was_left(folder, hashnlp):
    first, second = hashnlp("warmup"), hashnlp("warmup")
    assert first.code == second.code == 0
    [file] = folder.glob("*/*.nbc")
    assert first.err == "1/1 sums ...\n"
    assert first.out.startswith("Compiled 1 function in ")
    assert second.out.startswith("Compiled 0 functions in ")
    for result in (first, second):
        assert f"1 file, {file.stat().st_size / 1e6:.1f} MB, in {file.parent}" in result.out
    report, size = hashnlp("warmup", "--json").json, file.stat().st_size
    assert report.pop("seconds") > 0
    assert report == {"folder": str(file.parent), "portable": False, "n_compiled": 0, "n_files": 1, "bytes": size}
    assert hashnlp("warmup", "--quiet").out == ""


def test_a_folder_that_cannot_be_written_and_a_full_disk_are_errors(folder, hashnlp, monkeypatch):
    def fail(path: Path, _content: bytes) -> None:
        raise OSError(28, "No space left on device", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(_cache, "_write", fail)
        full = hashnlp("warmup")
    assert (full.code, full.out, full.err.endswith(".nbc: No space left on device\n")) == (1, "", True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.touch()
    monkeypatch.setattr(KernelCache, "_folders", None)
    result = hashnlp("warmup")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith(f"hashnlp: Compiled functions cannot be kept: {folder}")


def test_a_folder_that_comes_second_is_named_with_the_reason(tmp_path, hashnlp, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(_cache, "_KERNELS", tmp_path)
    (tmp_path / "__pycache__").touch()
    result = hashnlp("warmup")
    assert result.code == 0
    assert result.err.startswith(f"{tmp_path / '__pycache__' / 'machine_code'} cannot be written.\n")
    assert str(tmp_path / "home") in result.out


def test_portable_machine_code_is_made_in_a_process_of_its_own(hashnlp):
    result = hashnlp("warmup", "--portable")
    assert result.code == 1
    assert "needs a new process" in result.err


# What users do, with other models and texts than those of the command.
USE = """
import json, sys, tempfile, warnings
warnings.simplefilter("ignore")
import numpy as np
import sklearn_hashnlp as hashnlp
from sklearn_hashnlp.kernels._compile import compilations
texts = ["red apples and green pears", "apples are cheap", "a fast car", "cars need fuel", "pears, plums: 3 kg"] * 20
labels = ["fruit", "fruit", "car", "car", "fruit"] * 20
model = hashnlp.TextClassifier(random_state=0).fit(texts, labels)
with tempfile.TemporaryDirectory() as folder:
    hashnlp.save_model(model, folder)
    loaded = hashnlp.load_model(folder)
assert loaded.predict(["plums"]).tolist() == model.predict(["plums"]).tolist()
loaded.partial_fit(texts[:3], labels[:3]).predict_proba(texts)
tagger = hashnlp.TextClassifier(max_epochs=3, random_state=0).fit(texts, [[label] for label in labels])
tagger.predict(texts)
large = hashnlp.TextClassifier(loss="softmax", max_epochs=2, random_state=0).fit(texts, labels)
large.predict_proba(texts)
hashnlp.HsigmoidLanguageModel(random_state=0, max_epochs=2).fit(texts).perplexity(texts)
counts = hashnlp.KneserNeyLanguageModel(order=4).fit(texts)
counts.predict(["apples are"])
encoder = hashnlp.SGNNSentenceEncoder(max_epochs=1, random_state=0).fit(texts)
encoder.most_similar(["an apple"], texts, k=3)
print(compilations.n)
"""


@pytest.mark.slow  # compiles all functions, in minutes
def test_after_a_portable_warmup_another_processor_and_a_copy_compile_nothing(tmp_path):
    def run(*command: str, **environment: str) -> str:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "XDG_"))}
        own = {"PYTHONPATH": str(ROOT), "HOME": os.devnull, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        command = (sys.executable, *command)
        return subprocess.run(command, env=inherited | own | environment, check=True, stdout=-1, text=True).stdout

    made = json.loads(run("-m", "sklearn_hashnlp", "warmup", "--portable", "--json", NUMBA_CPU_NAME="nehalem"))
    assert made["portable"]
    assert made["n_compiled"] == made["n_files"] > 100
    assert int(run("-c", USE)) == 0
    [folder] = (tmp_path / "cache").iterdir()
    copy = tmp_path / "copy" / folder.name
    copy.parent.mkdir()
    shutil.copytree(folder, copy, copy_function=shutil.copy)  # with the time of today
    if hasattr(os, "geteuid"):
        copy.chmod(0o555)
    assert int(run("-c", USE, NUMBA_CPU_NAME="haswell", NUMBA_CACHE_DIR=str(copy.parent))) == 0
    assert len(list(copy.iterdir())) == made["n_files"]
