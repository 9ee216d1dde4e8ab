"""Training and prediction time of TextClassifier, fastText and its heirs on AG News, in turn."""

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
from benchmarks.common.fasttext_peers import FASTTEXT, HEIRS, FastText, lines_of
from benchmarks.common.fasttext_processes import Process, two_processes
from benchmarks.common.latencies import SINGLE, latencies, seconds_of
from benchmarks.common.memory import megabytes
from benchmarks.common.timing import median_ratio, order_of_round, summary, train_and_test
from sklearn_hashnlp import TextClassifier, save_model

SET = "ag_news"
OURS = "TextClassifier"
PUBLISHED = FASTTEXT
SMALLER = "fastText, bucket 2,000,000"
FIVE_EPOCHS = "fastText, 5 epochs as published"
OURS_ONE_THREAD, FASTTEXT_TWO_PROCESSES = "TextClassifier, one thread", "fastText, two processes"

Setting = dict[str, Any]
Progress = Callable[[str], None]
Result = TypeVar("Result")


def choose_settings(
    fasttext: Process, data: DataFolder, threads: int, progress: Progress
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


def methods_of(settings: dict[str, Setting]) -> dict[str, tuple[str, Setting]]:
    """Return the package and the setting of each method; heirs have one, that of the paper."""
    methods = {name: (FASTTEXT, setting) for name, setting in settings.items()}
    return methods | {name: (name, settings[PUBLISHED]) for name in HEIRS}


def training(
    peers: dict[str, Process],
    data: DataFolder,
    methods: dict[str, tuple[str, Setting]],
    seeds: int,
    threads: int,
    progress: Progress,
) -> dict[str, Any]:
    """Train each method once per seed, alternately, after a warm-up round that is not timed."""
    train, test = data.train(SET), data.test(SET)
    names = sorted(set(train.labels))
    forms = sorted({setting["form"] for _, setting in methods.values()})
    test_lines = {form: lines_of(test.texts, form) for form in forms}
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in (OURS, *methods)}
    with tempfile.TemporaryDirectory() as folder:
        paths, tokenization = {form: Path(folder) / f"{form}.txt" for form in forms}, {}
        for form, path in paths.items():
            start = time.perf_counter()
            fasttext_baseline.write_rows(path, lines_of(train.texts, form), train.labels, names)
            tokenization[form] = time.perf_counter() - start
        for round_ in range(seeds + 1):  # round 0 is a warm-up
            for method in order_of_round(list(runs), round_):
                if method == OURS:
                    run = train_and_test(TextClassifier(random_state=round_), train, test)
                else:
                    peer, setting = peers[methods[method][0]], methods[method][1]
                    form = setting["form"]
                    seconds = fasttext_baseline.train(peer, paths[form], setting, round_, threads)
                    score = fasttext_baseline.accuracy(peer, test_lines[form], test.labels, names)
                    run = {"accuracy": score, "seconds": seconds}
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
                "settings": methods[method][1],
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
    peers: dict[str, Process],
    data: DataFolder,
    setting: Setting,
    repeats: int,
    threads: int,
    progress: Progress,
) -> dict[str, Any]:
    """Time the methods alternately on test rows: ours on raw strings, the others on token lines.

    Calls with one text of a thousand include tokenization; sizes are of saved models.
    """
    train, test = data.train(SET), data.test(SET)
    lines = lines_of(test.texts, setting["form"])
    progress("training the classifiers")
    ours = TextClassifier(random_state=0).fit(train.texts, train.labels)
    counted, sizes = _train_peers(peers, data, setting, threads)
    with tempfile.TemporaryDirectory() as folder:
        save_model(ours, Path(folder) / "model")
        sizes[OURS] = megabytes(Path(folder) / "model")
    one_thread = copy(ours).set_params(n_jobs=1)
    some = test.texts[:SINGLE]
    with two_processes(peers[FASTTEXT], lines) as predict_in_two_processes:
        work: dict[str, Callable[[], float]] = {
            OURS: lambda: seconds_of(lambda: ours.predict(test.texts)),
            OURS_ONE_THREAD: lambda: on_one_processor(
                lambda: seconds_of(lambda: one_thread.predict(test.texts))
            ),
            **{
                name: lambda peer=peer: peer.call(FastText.seconds)[0]
                for name, peer in peers.items()
            },
            FASTTEXT_TWO_PROCESSES: lambda: seconds_of(predict_in_two_processes),
        }
        seconds: dict[str, list[float]] = {method: [] for method in work}
        single: dict[str, list[float]] = {name: [] for name in (OURS, *peers)}
        for repeat in range(repeats + 1):  # repeat 0 is a warm-up
            for method in order_of_round(list(work), repeat):
                measured = work[method]()
                if repeat:
                    seconds[method].append(measured)
            for name in order_of_round(list(single), repeat):
                alone = (
                    latencies(lambda text: ours.predict([text]), some)
                    if name == OURS
                    else peers[name].call(FastText.latencies, some, setting["form"])
                )
                if repeat:
                    single[name].append(statistics.median(alone))
    speeds = {method: [len(lines) / one for one in times] for method, times in seconds.items()}
    times = {name: median_ratio(seconds[name], seconds[OURS]) for name in peers}
    return {
        "texts": len(lines),
        "repeats": repeats,
        "accuracy of fastText": counted[FASTTEXT],
        "accuracies": counted,
        "texts/s": {
            method: {"best": max(measured), "median": statistics.median(measured), "all": measured}
            for method, measured in speeds.items()
        },
        "times fastText": times[FASTTEXT],
        "times": times,
        "one text ms": {
            name: {"median": statistics.median(measured), "all": measured}
            for name, measured in single.items()
        },
        "MB": sizes,
    }


def _train_peers(
    peers: dict[str, Process], data: DataFolder, setting: Setting, threads: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Train each package, which then holds the test lines; return accuracies and sizes in MB."""
    train, test = data.train(SET), data.test(SET)
    names = sorted(set(train.labels))
    lines = lines_of(test.texts, setting["form"])
    counted, sizes = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        path, test_path = Path(folder) / "train.txt", Path(folder) / "test.txt"
        fasttext_baseline.write_rows(
            path, lines_of(train.texts, setting["form"]), train.labels, names
        )
        fasttext_baseline.write_rows(test_path, lines, test.labels, names)
        for name, peer in peers.items():
            fasttext_baseline.train(peer, path, setting, 0, threads)
            counted[name] = fasttext_baseline.accuracy(peer, lines, test.labels, names)
            own = peer.call(FastText.own_accuracy, str(test_path))
            if abs(counted[name] - own) > 1e-6:
                raise SystemExit(
                    f"The accuracy of {name} is {counted[name]} % by its predictions, {own} % by "
                    "its own count; they must agree."
                )
            sizes[name] = peer.call(FastText.save, str(Path(folder) / "model.bin"))
    return counted, sizes


def on_one_processor(work: Callable[[], Result]) -> Result:
    """Call a function on one processor, so that it starts no threads."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        return work()
    finally:
        os.sched_setaffinity(0, allowed)
