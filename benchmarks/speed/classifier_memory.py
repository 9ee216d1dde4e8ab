"""Peak memory of training minus the memory of the idle process with everything imported.

Each method runs in a new process, which holds the raw texts before its idle memory is read.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.common import fasttext_baseline
from benchmarks.common.data import DataFolder, Rows
from benchmarks.common.memory import in_new_process, peak_mb, reset_peak, resident_mb
from benchmarks.speed.classifier_speed import OURS, SET
from sklearn_hashnlp import TextClassifier


def training_memory(
    data: DataFolder,
    fasttext_folder: Path,
    settings: dict[str, dict[str, Any]],
    repeats: int,
    threads: int,
) -> dict[str, Any]:
    """Measure ours and each setting of fastText ``repeats`` times; return the minimum."""
    train = data.train(SET)
    with tempfile.TemporaryDirectory() as folder:
        paths = {
            setting["form"]: Path(folder) / f"{setting['form']}.txt"
            for setting in settings.values()
        }
        for form, path in paths.items():
            lines = fasttext_baseline.lines_of(train.texts, form)
            fasttext_baseline.write_rows(path, lines, train.labels, sorted(set(train.labels)))
        measured = {OURS: [in_new_process(_measure, train) for _ in range(repeats)]}
        for name, setting in settings.items():
            peer = (fasttext_folder, paths[setting["form"]], setting, threads)
            measured[name] = [in_new_process(_measure, train, peer) for _ in range(repeats)]
    return {name: min(runs, key=lambda run: run["growth MiB"]) for name, runs in measured.items()}


def _measure(
    train: Rows, peer: tuple[Path, Path, dict[str, Any], int] | None = None
) -> dict[str, float]:
    """Train ours, or fastText given its folder, training file, parameters and threads."""
    if peer is None:  # imports torch
        TextClassifier(solver="sgd", max_epochs=1).fit(train.texts[:200], train.labels[:200])
    else:
        fasttext = fasttext_baseline.import_fasttext(peer[0])
    reset_peak()
    idle = resident_mb()
    if peer is None:
        model = TextClassifier(random_state=0).fit(train.texts, train.labels)
    else:
        model, _ = fasttext_baseline.train(fasttext, peer[1], peer[2], 0, peer[3])
    peak, after = peak_mb(), resident_mb()
    del model
    return {"idle MiB": idle, "growth MiB": peak - idle, "with the model MiB": after - idle}
