"""The stored results that are older than the code they measure: ``python -m benchmarks stale``."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.commands.registry import RECIPES
from benchmarks.commands.scripts import script_of
from benchmarks.commands.sources import ROOT, source_files
from benchmarks.runner.results_file import read_results

_SHOWN = 3  # files of a line
_REASON = re.compile(r"^\| `([\w-]+\.jsonl?)` \| (.+) \|$", re.MULTILINE)


class Measurement(NamedTuple):
    """A part of a file of results, the commit and time it names, and the module that measured."""

    file: str
    part: str
    commit: str
    module: str | None


def stale_results(paths: Sequence[Path], *, all_files: bool = False) -> Iterator[str]:
    """Yield a line for each result with a source that has changed since, oldest commits first."""
    measured = {one for path in paths for one in _measurements(path)}
    for one in sorted(measured, key=lambda one: (one.commit.partition(" of ")[2], one)):
        label = f"{one.file}{f' ({one.part})' if one.part else ''}: {one.commit}"
        if one.module is None:
            yield f"{label}: no benchmark writes it"
            continue
        sources = sorted(str(path.relative_to(ROOT)) for path in source_files(one.module))
        commit = one.commit.partition(" ")[0]
        try:
            changed = _changed(commit, sources)
            n_commits = _git("rev-list", "--count", f"{commit}..HEAD", "--", *sources).strip()
        except subprocess.CalledProcessError:
            yield f"{label}: not a commit of this repository"
            continue
        if changed:
            shown = changed if all_files else changed[:_SHOWN]
            more = f" and {len(changed) - len(shown)} more" if len(shown) < len(changed) else ""
            yield f"{label}: {n_commits} commits, changed {', '.join(shown)}{more}"


def reasons(folder: Path) -> dict[str, str]:
    """Return why files were not measured again, from the README of their folder."""
    readme = folder / "README.md"
    return dict(_REASON.findall(readme.read_text(encoding="utf-8"))) if readme.exists() else {}


def _measurements(path: Path) -> Iterator[Measurement]:
    if path.suffix == ".jsonl":
        for result in read_results(path):
            recipe = RECIPES.get(result["recipe"])
            module = None if recipe is None else recipe.run.__module__
            yield Measurement(path.name, result["recipe"], str(result["commit"]), module)
        return
    script = script_of(path)
    module = None if script is None else f"benchmarks.{script.parent.name}.{script.stem}"
    for part, commit in _commits(json.loads(path.read_text(encoding="utf-8"))):
        yield Measurement(path.name, part, commit, module)


def _commits(result: Any, part: str = "") -> Iterator[tuple[str, str]]:
    """Yield the name of each part that was measured together, and its commit."""
    if isinstance(result, dict):
        if "commit" in result:
            yield part, str(result["commit"])
        for key, value in result.items():
            yield from _commits(value, f"{part}, {key}" if part else key)


def _changed(commit: str, sources: Sequence[str]) -> list[str]:
    """Return the files that differ from a commit, those with most changed lines first."""
    rows = [
        line.split("\t") for line in _git("diff", "--numstat", commit, "--", *sources).split("\n")
    ]
    lines = {path: _count(added) + _count(removed) for added, removed, path in rows[:-1]}
    return sorted(lines, key=lambda path: -lines[path])


def _count(lines: str) -> int:
    return 0 if lines == "-" else int(lines)  # of a file that is no text


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
