"""Peak memory of training minus the memory of the idle process with everything imported.

Each method runs in a new process, which holds the raw texts before its idle memory is read.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.common import fasttext_baseline
from benchmarks.common.data import DataFolder, Rows
from benchmarks.common.fasttext_peers import PEERS, FastText, lines_of
from benchmarks.common.memory import in_new_process, peak_mb, reset_peak, resident_mb
from benchmarks.speed.classifier_speed import OURS, SET
from sklearn_hashnlp import TextClassifier


def training_memory(
    data: DataFolder,
    folders: dict[str, Path],
    methods: dict[str, tuple[str, dict[str, Any]]],
    repeats: int,
    threads: int,
) -> dict[str, Any]:
    """Measure ours and each package with its setting ``repeats`` times; return the minimum."""
    train = data.train(SET)
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for _, setting in methods.values():
            form = setting["form"]
            paths[form] = Path(folder) / f"{form}.txt"
            lines = lines_of(train.texts, form)
            fasttext_baseline.write_rows(
                paths[form], lines, train.labels, sorted(set(train.labels))
            )
        measured = {OURS: [in_new_process(_measure, train) for _ in range(repeats)]}
        for name, (peer, setting) in methods.items():
            package = PEERS[peer].module, str(folders[peer])
            arguments = str(paths[setting["form"]]), setting, 0, threads
            measured[name] = [
                in_new_process(_measure, train, package, arguments) for _ in range(repeats)
            ]
    return {name: min(runs, key=lambda run: run["growth MiB"]) for name, runs in measured.items()}


def _measure(
    train: Rows,
    package: tuple[str, str] | None = None,
    arguments: tuple[str, dict[str, Any], int, int] | None = None,
) -> dict[str, float]:
    """Train ours, or a package of fastText given its module, folder and arguments."""
    model: TextClassifier | FastText
    if package is None or arguments is None:  # imports torch
        model = TextClassifier(solver="sgd", max_epochs=1)
        model.fit(train.texts[:200], train.labels[:200])
    else:
        model = FastText(*package)
    reset_peak()
    idle = resident_mb()
    if isinstance(model, FastText) and arguments is not None:
        model.train(*arguments)
    else:
        model = TextClassifier(random_state=0).fit(train.texts, train.labels)
    peak, after = peak_mb(), resident_mb()
    del model
    return {"idle MiB": idle, "growth MiB": peak - idle, "with the model MiB": after - idle}
