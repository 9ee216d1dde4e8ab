"""Training and prediction time of TextClassifier and fastText on AG News, in one process."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.common import fasttext_baseline
from benchmarks.common.data import DataFolder
from benchmarks.common.fasttext_processes import two_processes
from benchmarks.common.timing import summary, train_and_test
from sklearn_hashnlp import TextClassifier

SET = "ag_news"
OURS = "TextClassifier"
PUBLISHED = "fastText"
SMALLER = "fastText, bucket 2,000,000"
FIVE_EPOCHS = "fastText, 5 epochs as published"
OURS_ONE_THREAD, FASTTEXT_TWO_PROCESSES = "TextClassifier, one thread", "fastText, two processes"

Setting = dict[str, Any]
Progress = Callable[[str], None]
Result = TypeVar("Result")


def choose_settings(
    fasttext: Any, data: DataFolder, threads: int, progress: Progress
) -> dict[str, Any]:
    """Choose fastText's texts, learning rate and epochs by buckets; one has its paper's epochs."""
    rows = data.train_valid(SET)
    settings, trials = {}, {}
    for name, fixed in (
        (PUBLISHED, fasttext_baseline.PUBLISHED),
        (SMALLER, fasttext_baseline.SMALLER),
    ):
        measured = fasttext_baseline.choose(
            fasttext, rows, fixed, threads, lambda line, name=name: progress(f"{name}: {line}")
        )
        trials[f"bucket {fixed['bucket']:,}"] = measured
        settings[name] = fixed | fasttext_baseline.best(measured)
        if name == PUBLISHED:
            settings[FIVE_EPOCHS] = fixed | fasttext_baseline.best(
                [one for one in measured if one["epoch"] == 5]
            )
    return {"settings": settings, "tried": trials}


def training(
    fasttext: Any,
    data: DataFolder,
    settings: dict[str, Setting],
    seeds: int,
    threads: int,
    progress: Progress,
) -> dict[str, Any]:
    """Train each method once per seed, alternately, after a warm-up round that is not timed."""
    train, test = data.train(SET), data.test(SET)
    names = sorted(set(train.labels))
    forms = sorted({setting["form"] for setting in settings.values()})
    test_lines = {form: fasttext_baseline.lines_of(test.texts, form) for form in forms}
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in (OURS, *settings)}
    with tempfile.TemporaryDirectory() as folder:
        paths, tokenization = {form: Path(folder) / f"{form}.txt" for form in forms}, {}
        for form, path in paths.items():
            start = time.perf_counter()
            fasttext_baseline.write_rows(
                path, fasttext_baseline.lines_of(train.texts, form), train.labels, names
            )
            tokenization[form] = time.perf_counter() - start
        for round_ in range(seeds + 1):  # round 0 is a warm-up
            methods = list(runs) if round_ % 2 else list(reversed(runs))
            for method in methods:
                if method == OURS:
                    run = train_and_test(TextClassifier(random_state=round_), train, test)
                else:
                    setting = settings[method]
                    form = setting["form"]
                    model, seconds = fasttext_baseline.train(
                        fasttext, paths[form], setting, round_, threads
                    )
                    run = {
                        "accuracy": fasttext_baseline.accuracy(
                            model, test_lines[form], test.labels, names
                        ),
                        "seconds": seconds,
                    }
                    del model
                progress(
                    f"round {round_}/{seeds}: {method}: {run['accuracy']:.2f} % in "
                    f"{run['seconds']:.2f} s"
                )
                if round_:
                    runs[method].append(run)
    models: dict[str, Any] = {}
    for method, measured in runs.items():
        models[method] = summary(measured, list(measured[0])[1:])
        if method != OURS:
            pairs = zip(measured, runs[OURS], strict=True)
            ratios = [theirs["seconds"] / ours["seconds"] for theirs, ours in pairs]
            models[method] |= {
                "settings": settings[method],
                "times ours": statistics.median(ratios),
                "ratios": ratios,
            }
    return {
        "rows": {"train": len(train.texts), "test": len(test.texts)},
        "threads of fastText": threads,
        "clock": (
            "ours from raw strings to the trained model; "
            "fastText's own call on a file of tokens written before"
        ),
        "tokens of fastText s, not counted": tokenization,
        "models": models,
    }


def prediction(
    fasttext: Any,
    fasttext_folder: Path,
    data: DataFolder,
    setting: Setting,
    repeats: int,
    threads: int,
    progress: Progress,
) -> dict[str, Any]:
    """Time the methods alternately on test rows: ours on raw strings, fastText on token lines."""
    train, test = data.train(SET), data.test(SET)
    names = sorted(set(train.labels))
    lines = fasttext_baseline.lines_of(test.texts, setting["form"])
    progress("training both classifiers")
    ours = TextClassifier(random_state=0).fit(train.texts, train.labels)
    with tempfile.TemporaryDirectory() as folder:
        path, test_path = Path(folder) / "train.txt", Path(folder) / "test.txt"
        train_lines = fasttext_baseline.lines_of(train.texts, setting["form"])
        fasttext_baseline.write_rows(path, train_lines, train.labels, names)
        fasttext_baseline.write_rows(test_path, lines, test.labels, names)
        theirs, _ = fasttext_baseline.train(fasttext, path, setting, 0, threads)
        own_count = 100 * theirs.test(str(test_path))[1]
    counted = fasttext_baseline.accuracy(theirs, lines, test.labels, names)
    if abs(counted - own_count) > 1e-6:
        raise SystemExit(
            f"fastText's accuracy is {counted} % by its predictions, {own_count} % by its own "
            "count; they must agree."
        )
    one_thread = copy(ours).set_params(n_jobs=1)
    with two_processes(fasttext_folder, theirs, lines) as predict_in_two_processes:
        work: dict[str, Callable[[], Any]] = {
            OURS: lambda: ours.predict(test.texts),
            OURS_ONE_THREAD: lambda: on_one_processor(lambda: one_thread.predict(test.texts)),
            PUBLISHED: lambda: fasttext_baseline.predict(theirs, lines),
            FASTTEXT_TWO_PROCESSES: predict_in_two_processes,
        }
        speeds: dict[str, list[float]] = {method: [] for method in work}
        for repeat in range(repeats + 1):  # repeat 0 is a warm-up
            for method, predict in work.items():
                start = time.perf_counter()
                predict()
                if repeat:
                    speeds[method].append(len(lines) / (time.perf_counter() - start))
    return {
        "texts": len(lines),
        "repeats": repeats,
        "accuracy of fastText": counted,
        "texts/s": {
            method: {"best": max(measured), "median": statistics.median(measured), "all": measured}
            for method, measured in speeds.items()
        },
        "times fastText": statistics.median(
            ours / theirs for ours, theirs in zip(speeds[OURS], speeds[PUBLISHED], strict=True)
        ),
    }


def on_one_processor(work: Callable[[], Result]) -> Result:
    """Call a function on one processor, so that it starts no threads."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        return work()
    finally:
        os.sched_setaffinity(0, allowed)
