"""The text classifier against fastText and linear models on the same rows: speed, memory, accuracy.

Four parts, each of which can be run alone (--part) and is added to the same JSON:

speed       Training time on AG News. fastText (dim 10, word bigrams, minCount 1, the published
            bucket 10,000,000; also bucket 2,000,000, and five epochs) and
            TextClassifier(random_state=seed) with its defaults train alternately on the same rows
            in one process, after one warm-up round. Ours is timed from raw strings to the trained
            model; fastText only for its own call on a file written before, which favors fastText.
            The texts of that file (as they are, as tokens, or as lowercase tokens), its learning
            rate and epochs are chosen on a validation set, a tenth of the training rows.
prediction  Texts per second on the test rows of AG News, alternately: this package from raw
            strings, with as many threads as processors and with one; fastText's compiled function,
            which has one thread, on texts tokenized beforehand, which favors fastText, in one call
            and in two processes that hold half of the texts each.
memory      Growth of peak memory in training, each method in a new process.
accuracy    Every labeled data set, mean over the seeds: ours with each value of `features` and the
            defaults, ours tuned on training rows, and the baselines: fastText tuned in the same
            way, and TF-IDF with a linear SVM on words, on words and punctuation, and with
            characters, each on texts in lowercase or not, whichever is better on validation rows.
            It takes hours. Each result is written when it is measured and skipped the next time
            (unless --again is given), so the script can be stopped and restarted.

    python -m benchmarks run bench_classifiers --data DIR --part speed prediction memory
    python -m benchmarks run bench_classifiers --data DIR --part accuracy --sets trec --models svm

fastText's settings are read from the JSON if they are there, and chosen first otherwise, or with
--again for `speed`. fastText is installed into a temporary folder for the run (--fasttext keeps
one). Run it while nothing else runs.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import classifier_accuracy, fasttext_baseline
from benchmarks.common.benchmark import BenchmarkParser, environment, read_result, write_result
from benchmarks.common.data import SETS, DataFolder
from benchmarks.speed import classifier_speed
from benchmarks.speed.classifier_memory import training_memory

PARTS = ("speed", "prediction", "memory", "accuracy")
RESULT = "classifiers.json"
PACKAGES = ("sklearn-hashnlp", "numpy", "scikit-learn", "scipy", "skorch", "torch")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT)
    parser.add_choices("--part", PARTS)
    parser.add_choices("--sets", SETS, of="for accuracy; ")
    parser.add_choices("--models", classifier_accuracy.MODELS, of="for accuracy; ")
    parser.add_again()
    parser.add_argument(
        "--seeds", type=int, default=5, help="trainings of each method (default: %(default)s)"
    )
    parser.add_argument(
        "--repeats", type=int, default=11, help="predictions of each method (default: %(default)s)"
    )
    parser.add_argument(
        "--threads",
        type=int,
        default=2,
        help="of fastText (default: %(default)s); ours uses its defaults",
    )
    parser.add_fasttext()
    options, data, path = parser.read(arguments)
    result = read_result(path)
    with contextlib.ExitStack() as stack:
        folder = (
            stack.enter_context(fasttext_baseline.fasttext_folder(options.fasttext))
            if needs_fasttext(options)
            else None
        )
        fasttext = None if folder is None else fasttext_baseline.import_fasttext(folder)
        env = environment(*PACKAGES)
        if folder is not None:
            env["versions"]["fastText"] = fasttext_baseline.fasttext_version(folder)
        if {"speed", "prediction", "memory"} & set(options.part):
            run_against_fasttext(options, data, fasttext, folder, env, path, result)
        if "accuracy" in options.part:
            run_accuracy(options, data, fasttext, env, path, result)


def needs_fasttext(options: argparse.Namespace) -> bool:
    return set(options.part) != {"accuracy"} or classifier_accuracy.FASTTEXT in options.models


def run_against_fasttext(
    options: argparse.Namespace,
    data: DataFolder,
    fasttext: Any,
    folder: Path | None,
    env: dict[str, Any],
    path: Path | None,
    result: dict[str, Any],
) -> None:
    """Run the parts that compare with fastText on AG News."""
    assert folder is not None
    if "tuning" not in result or ("speed" in options.part and options.again):
        measured = classifier_speed.choose_settings(fasttext, data, options.threads, log)
        result["tuning"] = env | measured
        write_result(path, result)
    settings = result["tuning"]["settings"]
    if "speed" in options.part:
        speed = classifier_speed.training(
            fasttext, data, settings, options.seeds, options.threads, log
        )
        result["speed"] = env | speed
        write_result(path, result)
        log(f"speed: {speed}")
    if "prediction" in options.part:
        setting = settings[classifier_speed.PUBLISHED]
        speed = classifier_speed.prediction(
            fasttext, folder, data, setting, options.repeats, options.threads, log
        )
        result["prediction"] = env | speed
        write_result(path, result)
        log(f"prediction: {speed}")
    if "memory" in options.part:
        growth = training_memory(data, folder, settings, 3, options.threads)
        result["memory"] = env | {"models": growth}
        write_result(path, result)
        log(f"memory: {growth}")


def run_accuracy(
    options: argparse.Namespace,
    data: DataFolder,
    fasttext: Any,
    env: dict[str, Any],
    path: Path | None,
    result: dict[str, Any],
) -> None:
    """Measure the accuracies that are requested and not in the JSON."""
    part = result.setdefault("accuracy", {}) | env
    sets = part.setdefault("sets", {})
    result["accuracy"] = part
    for name in options.sets:
        for model in [one for one in classifier_accuracy.models_of(name) if one in options.models]:
            cells = sets.setdefault(name, {})
            if model in cells and not options.again:
                continue
            start = time.perf_counter()
            measured = classifier_accuracy.measure(
                name,
                model,
                data,
                fasttext,
                options.seeds,
                options.threads,
                lambda line, what=f"{name}, {model}": log(f"{what}: {line}"),
            )
            cells[model] = {"date": env["date"]} | measured
            log(
                f"{name}, {model}: {measured['accuracy']:.2f} %, done in "
                f"{time.perf_counter() - start:.0f} s"
            )
            write_result(path, result)


def log(line: str) -> None:
    print(f"[{time.strftime('%H:%M:%S')}] {line}", flush=True)
