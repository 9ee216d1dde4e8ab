"""fastText as a baseline: its settings, chosen on validation rows with the best form of texts."""

from __future__ import annotations

import random
import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.common.data import Rows
from benchmarks.common.fasttext_peers import FORMS, FastText, lines_of
from benchmarks.common.fasttext_processes import Process

PUBLISHED = {"dim": 10, "wordNgrams": 2, "minCount": 1, "bucket": 10_000_000}
SMALLER = PUBLISHED | {"bucket": 2_000_000}
GRID = [
    {"lr": lr, "epoch": epoch} for lr in (0.05, 0.1, 0.25, 0.5, 1.0) for epoch in (3, 5, 10, 20)
]
CHOSEN = ("form", "lr", "epoch")  # what `choose` chooses
FEW_ROWS, SEEDS_FOR_FEW = 10_000, 3  # on few rows one seed is too noisy to choose by


def write_rows(
    path: Path, lines: Sequence[str], labels: Sequence[str], names: Sequence[str]
) -> None:
    """Write shuffled rows in fastText's format; labels become their indices in ``names``."""
    index_of = {name: i for i, name in enumerate(names)}
    rows = [f"__label__{index_of[label]} {line}" for line, label in zip(lines, labels, strict=True)]
    random.Random(0).shuffle(rows)
    path.write_text("".join(rows), encoding="utf-8")


def train(fasttext: Process, path: Path, setting: dict[str, Any], seed: int, threads: int) -> float:
    """Train in a process on a written file; return the seconds."""
    return fasttext.call(FastText.train, str(path), setting, seed, threads)


def accuracy(
    fasttext: Process, lines: list[str], labels: Sequence[str], names: Sequence[str]
) -> float:
    """Return the accuracy in percent over all rows; fastText's count omits unknown labels."""
    index_of = {name: f"__label__{i}" for i, name in enumerate(names)}
    fasttext.call(FastText.hold, lines)
    predicted = fasttext.call(FastText.labels)
    correct = sum(index_of.get(label) in one for one, label in zip(predicted, labels, strict=True))
    return 100 * correct / len(lines)


def choose(
    fasttext: Process,
    rows: tuple[Rows, Rows],
    fixed: dict[str, Any],
    threads: int,
    progress: Callable[[str], None],
) -> list[dict[str, Any]]:
    """Evaluate forms of the texts, learning rates and epochs; the best, of few epochs, is first."""
    train_rows, valid_rows = rows
    names = sorted(set(train_rows.labels))
    seeds = SEEDS_FOR_FEW if len(train_rows.texts) < FEW_ROWS else 1
    trials: list[dict[str, Any]] = []
    evaluated: list[list[str]] = []
    for form in FORMS:
        train_lines, lines = lines_of(train_rows.texts, form), lines_of(valid_rows.texts, form)
        if train_lines in evaluated:
            continue
        evaluated.append(train_lines)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "train.txt"
            write_rows(path, train_lines, train_rows.labels, names)
            for number, setting in enumerate(GRID, start=1):
                runs = [
                    _evaluate(
                        fasttext,
                        path,
                        fixed | setting,
                        seed,
                        threads,
                        lines,
                        valid_rows.labels,
                        names,
                    )
                    for seed in range(seeds)
                ]
                score, seconds = (statistics.mean(values) for values in zip(*runs, strict=True))
                trials.append({"form": form} | setting | {"accuracy": score, "seconds": seconds})
                progress(
                    f"{form}, {number}/{len(GRID)}: {setting} {score:.2f} % in {seconds:.1f} s"
                )
    return sorted(trials, key=lambda one: (-one["accuracy"], one["epoch"]))


def _evaluate(
    fasttext: Process,
    path: Path,
    setting: dict[str, Any],
    seed: int,
    threads: int,
    lines: list[str],
    labels: Sequence[str],
    names: Sequence[str],
) -> tuple[float, float]:
    try:
        seconds = train(fasttext, path, setting, seed, threads)
        return accuracy(fasttext, lines, labels, names), seconds
    except RuntimeError as error:  # fastText's error when training diverges
        if "NaN" not in str(error):
            raise
        return 0.0, 0.0


def best(trials: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what :func:`choose` chose."""
    return {key: trials[0][key] for key in CHOSEN}
