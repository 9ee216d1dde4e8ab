"""``python -m benchmarks stale``: which results are older than the code they measure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.commands import stale
from benchmarks.commands.sources import ROOT, source_files
from benchmarks.common.benchmark import FOLDER

OLD, NEW = "aaaaaaa of 2026-01-01 00:00", "bbbbbbb of 2026-01-02 00:00, changed"


def names(module: str) -> set[str]:
    return {str(path.relative_to(ROOT)) for path in source_files(module)}


def test_the_sources_of_a_benchmark_are_what_it_imports() -> None:
    found = names("benchmarks.speed.bench_vectorizers")
    assert {
        "benchmarks/speed/bench_vectorizers.py",
        "benchmarks/common/data.py",
        "sklearn_hashnlp/text/_hashing_ngram_vectorizer.py",
        "sklearn_hashnlp/kernels/ngrams/count_ngrams.hpp",
        "sklearn_hashnlp/kernels/hashes.cpp",
    } <= found
    assert (
        not {
            "benchmarks/common/benchmark.py",  # options, and files of results
            "sklearn_hashnlp/classifiers/_text_classifier.py",
            "sklearn_hashnlp/text/_sgnn_projector.py",
            "sklearn_hashnlp/kernels/trees/trees.hpp",
        }
        & found
    )


def test_code_in_strings_and_names_of_modules_are_sources_too() -> None:
    assert "sklearn_hashnlp/classifiers/_text_classifier.py" in names(
        "benchmarks.speed.bench_first_minute"
    )
    assert "benchmarks/common/serving_worker.py" in names("benchmarks.speed.bench_serving")


def test_a_line_for_each_part_with_sources_that_changed(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = {"speed": {"commit": NEW}, "memory": {"commit": OLD, "models": {}}}
    (tmp_path / "classifiers.json").write_text(json.dumps(parts), encoding="utf-8")
    (tmp_path / "other.json").write_text(json.dumps({"commit": NEW}), encoding="utf-8")

    def git(command: str, *arguments: str) -> str:
        if command == "rev-list":
            return "3\n"
        assert "benchmarks/accuracy/bench_classifiers.py" in arguments
        return "" if "bbbbbbb" in arguments else "1\t0\ta.py\n9\t9\tb.py\n-\t-\tc.bin\n"

    monkeypatch.setattr(stale, "_git", git)
    result = bench("stale", tmp_path / "classifiers.json", tmp_path / "other.json")
    assert result.code == 0, result.err
    assert result.out.splitlines() == [
        f"classifiers.json (memory): {OLD}: 3 commits, changed b.py, a.py, c.bin",
        f"other.json: {NEW}: no benchmark writes it",
    ]
    (tmp_path / "classifiers.json").write_text(
        json.dumps(parts | {"speed": {"commit": "0123456 of 2026-01-01 00:00"}}), encoding="utf-8"
    )
    monkeypatch.undo()
    out = bench("stale", tmp_path / "classifiers.json").out
    assert out.count("not a commit of this repository") == 2


def test_files_beyond_three_are_counted_or_named(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "serving.json").write_text(json.dumps({"commit": OLD}), encoding="utf-8")
    changed = "".join(f"1\t1\t{name}.py\n" for name in "abcde")
    monkeypatch.setattr(
        stale, "_git", lambda command, *_: "2" if command == "rev-list" else changed
    )
    assert (
        "2 commits, changed a.py, b.py, c.py and 2 more\n"
        in bench("stale", tmp_path / "serving.json").out
    )
    assert "c.py, d.py, e.py\n" in bench("stale", tmp_path / "serving.json", "--all").out
    table = "| file | reason |\n|---|---|\n| `serving.json` | It takes an hour. |\n"
    (tmp_path / "README.md").write_text(table, encoding="utf-8")
    assert "and 2 more. It takes an hour.\n" in bench("stale", tmp_path / "serving.json").out


def test_reasons_are_of_stored_files() -> None:
    assert stale.reasons(FOLDER)
    assert all((FOLDER / name).exists() for name in stale.reasons(FOLDER))
