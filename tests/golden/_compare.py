"""Comparison of two commits, and of one thread with two, on one machine, to the last bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TypeAlias

from tests.golden._register import THREADS

ROOT = Path(__file__).parents[2]
N_THREADS = (1, 2)
_OF_LIBRARIES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")

Digests: TypeAlias = dict[str, dict[str, str]]
"""Configuration -> array -> digest."""


def compare_commits(base: str, head: str | None) -> bool:
    """Print for each configuration whether two commits give the same digests; return whether all
    do.

    None is the working tree. Each commit computes at one thread and at two.
    """
    with tempfile.TemporaryDirectory() as folder:
        before = _digests_of_commit(base, Path(folder, "base"))
        after = (
            _digests_of_tree(ROOT)
            if head is None
            else _digests_of_commit(head, Path(folder, "head"))
        )
    verdicts = {name: _verdict(name, before, after) for name in sorted({*before[1], *after[1]})}
    for name, verdict in verdicts.items():
        print(f"{name:45} {verdict}")
    different = sum(verdict not in {"same", "new"} for verdict in verdicts.values())
    new = sum(verdict == "new" for verdict in verdicts.values())
    print(
        f"{len(verdicts) - different - new} same, {different} different, {new} new: {base} and "
        f"{head or 'this tree'}"
    )
    return different == 0


def _verdict(name: str, before: dict[int, Digests], after: dict[int, Digests]) -> str:
    """Say in words how the digests of a configuration compare."""
    for side, digests in (("base", before), ("head", after)):
        one, *more = (digests[n_threads].get(name) for n_threads in N_THREADS)
        if any(other != one for other in more):
            return f"DIFFERENT at one and two threads in {side}: {_differing(one, more[0])}"
    old, new = before[1].get(name), after[1].get(name)
    if old is None:
        return "new"
    if new is None:
        return "DIFFERENT: gone"
    return (
        "same" if list(old.values()) == list(new.values()) else f"DIFFERENT: {_differing(old, new)}"
    )


def _differing(old: dict[str, str] | None, new: dict[str, str] | None) -> str:
    """List the arrays that differ."""
    old, new = old or {}, new or {}
    return (
        ", ".join(key for key in {**old, **new} if old.get(key) != new.get(key))
        or "the order of the arrays"
    )


def _digests_of_commit(commit: str, folder: Path) -> dict[int, Digests]:
    """Check a commit out into a folder and run its own golden script there."""
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(folder), commit], check=True)
    try:
        if not (folder / "native").exists():
            sys.exit(f"The kernels of commit {commit} are not in C++; take a later one.")
        print(f"{folder.name}: compiling the kernels ...", file=sys.stderr, flush=True)
        subprocess.run(
            [sys.executable, "native/build_backend.py"], cwd=folder, check=True, stdout=sys.stderr
        )
        return _digests_of_tree(folder)
    finally:
        subprocess.run([*git, "remove", "--force", str(folder)], check=True)


def _digests_of_tree(tree: Path) -> dict[int, Digests]:
    """Run a tree's golden script at each number of threads, each in a fresh process."""
    digests = {}
    for n_threads in N_THREADS:
        print(
            f"{tree.name}: {n_threads} thread{'s' * (n_threads > 1)} ...",
            file=sys.stderr,
            flush=True,
        )
        threads = dict.fromkeys((*_OF_LIBRARIES, THREADS), str(n_threads))
        environment = {**os.environ, **threads, "PYTHONPATH": str(tree)}
        command = [sys.executable, "-m", "tests.golden", "--digests"]
        done = subprocess.run(
            command, cwd=tree, env=environment, stdout=subprocess.PIPE, check=True, text=True
        )
        digests[n_threads] = json.loads(done.stdout)
    return digests
