"""Peak memory of training minus the memory of the idle process with everything imported.

Each method runs in a new process, which holds the raw texts before its idle memory is read. Run as a script, this
module is that process: its one argument is JSON with the fields of :class:`Task`.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.common import fasttext_baseline
from benchmarks.common.data import DataFolder
from benchmarks.common.memory import peak_mb, reset_peak, resident_mb, run_worker
from benchmarks.speed.classifier_speed import OURS, SET
from sklearn_hashnlp.classifiers import make_text_classifier


@dataclasses.dataclass(frozen=True)
class Task:
    """One training in a new process."""

    data: str
    rows: int | None
    fasttext: str | None = None
    train_file: str = ""
    setting: dict[str, Any] = dataclasses.field(default_factory=dict)
    threads: int = 2


def training_memory(
    data: DataFolder, fasttext_folder: Path, settings: dict[str, dict[str, Any]], repeats: int, threads: int
) -> dict[str, Any]:
    """Measure ours and each setting of fastText ``repeats`` times; return the minimum, the least noisy."""
    train = data.train(SET)
    ours = Task(data=str(data.path), rows=data.rows)
    with tempfile.TemporaryDirectory() as folder:
        paths = {setting["form"]: Path(folder) / f"{setting['form']}.txt" for setting in settings.values()}
        for form, path in paths.items():
            lines = fasttext_baseline.lines_of(train.texts, form)
            fasttext_baseline.write_rows(path, lines, train.labels, sorted(set(train.labels)))
        tasks = {OURS: ours} | {
            name: dataclasses.replace(
                ours,
                fasttext=str(fasttext_folder),
                train_file=str(paths[setting["form"]]),
                setting=setting,
                threads=threads,
            )
            for name, setting in settings.items()
        }
        measured = {name: [_measure_in_worker(task) for _ in range(repeats)] for name, task in tasks.items()}
    return {name: min(runs, key=lambda run: run["growth MiB"]) for name, runs in measured.items()}


def show_training_memory(measured: dict[str, Any]) -> None:
    print("\nGrowth of peak memory in training, over the idle process, with everything imported and the texts read")
    for name, run in measured.items():
        print(f"{name:34}{run['growth MiB']:9,.0f} MiB{run['idle MiB']:9,.0f} MiB idle")
    print("Goal: not above the first row of fastText.")


def _measure_in_worker(task: Task) -> dict[str, float]:
    return run_worker("-m", "benchmarks.speed.classifier_memory", json.dumps(dataclasses.asdict(task)))


def _measure(task: Task) -> dict[str, float]:
    train = DataFolder(Path(task.data), task.rows).train(SET)
    fasttext = None if task.fasttext is None else fasttext_baseline.import_fasttext(Path(task.fasttext))
    reset_peak()
    idle = resident_mb()
    if fasttext is None:
        model = make_text_classifier(random_state=0).fit(train.texts, train.labels)
    else:
        model, _ = fasttext_baseline.train(fasttext, Path(task.train_file), task.setting, 0, task.threads)
    peak, after = peak_mb(), resident_mb()
    del model
    return {"idle MiB": idle, "growth MiB": peak - idle, "with the model MiB": after - idle}


if __name__ == "__main__":
    print(json.dumps(_measure(Task(**json.loads(sys.argv[1])))))
