"""make_text_classifier and fastText on the same rows of AG News in one process: training, then prediction."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sklearn_hashnlp.classifiers import make_text_classifier

from . import fasttext_baseline
from .data import DataFolder
from .timing import summary, train_and_test

SET = "ag_news"
OURS = "make_text_classifier"
PUBLISHED, SMALLER, FIVE_EPOCHS = "fastText", "fastText, bucket 2,000,000", "fastText, 5 epochs as published"
POINTS_MORE, TIMES_FASTER, TIMES_FASTER_PREDICTION = 0.5, 5.0, 5.0

Setting = dict[str, Any]
Progress = Callable[[str], None]


def choose_settings(fasttext: Any, data: DataFolder, threads: int, progress: Progress) -> dict[str, Any]:
    """Choose learning rate and epochs of fastText on a tenth of the training rows, for each number of buckets.

    Returns
    -------
    dict
        ``"settings"`` by name, and ``"tried"``, the whole grid by number of buckets. One setting has five epochs, as in
        fastText's paper, and the best learning rate for them: many epochs may win by little and make fastText slow.
    """
    rows = data.choosing(SET)
    settings, tried = {}, {}
    for name, fixed in ((PUBLISHED, fasttext_baseline.PUBLISHED), (SMALLER, fasttext_baseline.SMALLER)):
        found = fasttext_baseline.choose(
            fasttext, rows, fixed, threads, lambda line, name=name: progress(f"{name}: {line}")
        )
        tried[f"bucket {fixed['bucket']:,}"] = found
        settings[name] = fixed | _setting(found[0])
        if name == PUBLISHED:
            settings[FIVE_EPOCHS] = fixed | _setting(next(one for one in found if one["epoch"] == 5))
    return {"settings": settings, "tried": tried}


def _setting(tried: dict[str, Any]) -> Setting:
    return {"lr": tried["lr"], "epoch": tried["epoch"]}


def race(
    fasttext: Any, data: DataFolder, settings: dict[str, Setting], seeds: int, threads: int, progress: Progress
) -> dict[str, Any]:
    """Train each side once a seed, in turn, and once before that without the clock."""
    train, test = data.train(SET), data.test(SET)
    names = sorted(set(train.labels))
    test_lines = fasttext_baseline.tokenised(test.texts)
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in (OURS, *settings)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.txt"
        start = time.perf_counter()
        fasttext_baseline.write_rows(path, fasttext_baseline.tokenised(train.texts), train.labels, names)
        tokenising = time.perf_counter() - start
        for turn in range(seeds + 1):  # turn 0 warms both sides up: compiled kernels are loaded, files are in memory
            sides = list(runs) if turn % 2 else list(reversed(runs))
            for side in sides:
                if side == OURS:
                    run = train_and_test(make_text_classifier(random_state=turn), train, test)
                else:
                    model, seconds = fasttext_baseline.train(fasttext, path, settings[side], turn, threads)
                    run = {
                        "accuracy": fasttext_baseline.accuracy(model, test_lines, test.labels, names),
                        "seconds": seconds,
                    }
                    del model
                progress(f"turn {turn}/{seeds}: {side}: {run['accuracy']:.2f} % in {run['seconds']:.2f} s")
                if turn:
                    runs[side].append(run)
    models: dict[str, Any] = {}
    for side, found in runs.items():
        models[side] = summary(found)
        if side != OURS:
            pairs = zip(found, runs[OURS], strict=True)
            ratios = [theirs["seconds"] / ours["seconds"] for theirs, ours in pairs]
            models[side] |= {"settings": settings[side], "times ours": statistics.median(ratios), "ratios": ratios}
    return {
        "rows": {"train": len(train.texts), "test": len(test.texts)},
        "threads of fastText": threads,
        "clock": "ours from raw strings to the trained model; fastText's own call on a file of tokens written before",
        "tokens of fastText s, not counted": tokenising,
        "models": models,
    }


def show_race(found: dict[str, Any]) -> None:
    models, ours = found["models"], found["models"][OURS]
    print(f"\nAG News, {found['rows']['train']:,} training rows and {found['rows']['test']:,} test rows")
    print(f"{'':34}{'accuracy %':>11}{'spread':>8}{'train s':>9}{'times ours':>12}{'points below':>14}")
    for name, model in models.items():
        line = f"{name:34}{model['accuracy']:11.2f}{model['spread']:8.2f}{model['seconds']:9.2f}"
        if name != OURS:
            line += f"{model['times ours']:12.2f}{ours['accuracy'] - model['accuracy']:14.2f}"
        print(line)
    tokenising = found["tokens of fastText s, not counted"]
    print(
        f"Ours from raw strings; fastText from tokens written before, which took {tokenising:.1f} s. "
        f"Goal, beside the first row of fastText: {TIMES_FASTER:g} times, {POINTS_MORE:g} points."
    )


def prediction(
    fasttext: Any, data: DataFolder, setting: Setting, repeats: int, threads: int, progress: Progress
) -> dict[str, Any]:
    """Time both sides in turn on the test rows: ours from raw strings, fastText from lines of tokens."""
    train, test = data.train(SET), data.test(SET)
    names = sorted(set(train.labels))
    lines = fasttext_baseline.tokenised(test.texts)
    progress("training both sides once")
    ours = make_text_classifier(random_state=0).fit(train.texts, train.labels)
    with tempfile.TemporaryDirectory() as folder:
        path, test_path = Path(folder) / "train.txt", Path(folder) / "test.txt"
        fasttext_baseline.write_rows(path, fasttext_baseline.tokenised(train.texts), train.labels, names)
        fasttext_baseline.write_rows(test_path, lines, test.labels, names)
        theirs, _ = fasttext_baseline.train(fasttext, path, setting, 0, threads)
        own_count = 100 * theirs.test(str(test_path))[1]
    counted = fasttext_baseline.accuracy(theirs, lines, test.labels, names)
    if abs(counted - own_count) > 1e-6:
        raise SystemExit(
            f"fastText's answers are {counted} % right, its own count says {own_count} %: they must agree."
        )
    work = {OURS: lambda: ours.predict(test.texts), PUBLISHED: lambda: fasttext_baseline.predict(theirs, lines)}
    speeds: dict[str, list[float]] = {side: [] for side in work}
    for repeat in range(repeats + 1):  # the first is not counted
        for side, predict in work.items():
            start = time.perf_counter()
            predict()
            if repeat:
                speeds[side].append(len(lines) / (time.perf_counter() - start))
    return {
        "texts": len(lines),
        "repeats": repeats,
        "accuracy of fastText": counted,
        "texts/s": {
            side: {"best": max(found), "median": statistics.median(found), "all": found}
            for side, found in speeds.items()
        },
        "times fastText": statistics.median(
            ours / theirs for ours, theirs in zip(speeds[OURS], speeds[PUBLISHED], strict=True)
        ),
    }


def show_prediction(found: dict[str, Any]) -> None:
    print(f"\nPrediction of {found['texts']:,} texts, texts/s (ours from raw strings, fastText from lines of tokens)")
    for side, speed in found["texts/s"].items():
        print(f"{side:34}{speed['median']:12,.0f} median{speed['best']:12,.0f} best")
    print(f"Ours is {found['times fastText']:.2f} times as fast; goal: {TIMES_FASTER_PREDICTION:g}.")
