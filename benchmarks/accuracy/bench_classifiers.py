"""The text classifier against fastText, its heirs and linear models: speed, memory, accuracy.

Four parts, each of which can be run alone (--part) and is added to the same JSON:

speed       Training time on AG News. fastText (dim 10, word bigrams, minCount 1, the published
            bucket 10,000,000; also bucket 2,000,000, and five epochs), its heirs (fasttext-new,
            fasttext-turbo, fasttext-community; the published bucket) and
            TextClassifier(random_state=seed) with its defaults train alternately on the same rows,
            each package in a process of its own, after one warm-up round. Ours is timed from raw
            strings to the trained model; the others only for their own call on a file written
            before, which favors them. The texts of that file (as they are, as tokens, or as
            lowercase tokens), learning rate and epochs are chosen with fastText on a validation
            set, a tenth of the training rows.
prediction  Texts per second on the test rows of AG News, alternately: this package from raw
            strings, with as many threads as processors and with one; the compiled functions of
            fastText and its heirs, of which only that of fasttext-new has threads, on texts
            tokenized beforehand, which favors them, in one call; fastText also in two processes
            that hold half of the texts each. Also the milliseconds of one text, tokenization
            included, and the sizes of the saved models.
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
--again for `speed`. Each package is installed into a temporary folder for the run (--fasttext keeps
them). Run it while nothing else runs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import classifier_accuracy
from benchmarks.common.benchmark import (
    BenchmarkParser,
    add_fasttext,
    environment,
    read_result,
    write_result,
)
from benchmarks.common.data import SETS, DataFolder
from benchmarks.common.fasttext_peers import FASTTEXT
from benchmarks.common.fasttext_processes import Process, peer_processes
from benchmarks.common.pages import table
from benchmarks.speed import classifier_speed
from benchmarks.speed.classifier_memory import training_memory

PARTS = ("speed", "prediction", "memory", "accuracy")
RESULT = "classifiers.json"
PAGE = "benchmarks.md"
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
    add_fasttext(parser)
    options, data, path = parser.read(arguments)
    result = read_result(path)
    env = environment(*PACKAGES)
    with peer_processes(peers_of(options), options.fasttext, env["versions"]) as peers:
        if set(options.part) != {"accuracy"}:
            run_against_fasttext(options, data, peers, env, path, result)
        if "accuracy" in options.part:
            run_accuracy(options, data, peers.get(FASTTEXT), env, path, result)


def peers_of(options: argparse.Namespace) -> list[str]:
    """Return the packages that the parts need."""
    if set(options.part) != {"accuracy"}:
        return [FASTTEXT, *options.heirs]
    return [FASTTEXT] if classifier_accuracy.FASTTEXT in options.models else []


def run_against_fasttext(
    options: argparse.Namespace,
    data: DataFolder,
    peers: dict[str, Process],
    env: dict[str, Any],
    path: Path | None,
    result: dict[str, Any],
) -> None:
    """Run the parts that compare with fastText and its heirs on AG News."""
    if "tuning" not in result or ("speed" in options.part and options.again):
        measured = classifier_speed.choose_settings(peers[FASTTEXT], data, options.threads, log)
        result["tuning"] = env | measured
        write_result(path, result)
    settings = result["tuning"]["settings"]
    methods = {
        name: method
        for name, method in classifier_speed.methods_of(settings).items()
        if method[0] in peers
    }
    if "speed" in options.part:
        speed = classifier_speed.training(peers, data, methods, options.seeds, options.threads, log)
        result["speed"] = env | speed
        write_result(path, result)
        log(f"speed: {speed}")
    if "prediction" in options.part:
        setting = settings[classifier_speed.PUBLISHED]
        speed = classifier_speed.prediction(
            peers, data, setting, options.repeats, options.threads, log
        )
        result["prediction"] = env | speed
        write_result(path, result)
        log(f"prediction: {speed}")
    if "memory" in options.part:
        folders = {name: peer.folder for name, peer in peers.items()}
        growth = training_memory(data, folders, methods, 3, options.threads)
        result["memory"] = env | {"models": growth}
        write_result(path, result)
        log(f"memory: {growth}")


def run_accuracy(
    options: argparse.Namespace,
    data: DataFolder,
    fasttext: Process | None,
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


def against_fasttext(result: dict[str, Any]) -> str:
    """Return the table of the parts on AG News: a row per method, empty where not measured."""
    parts = {part: result.get(part, {}) for part in ("speed", "prediction", "memory")}
    columns: list[tuple[str, dict[str, Any], str, str]] = [
        ("training, s", parts["speed"].get("models", {}), "seconds", ".2f"),
        ("accuracy, %", parts["speed"].get("models", {}), "accuracy", ".2f"),
        ("many, texts/s", parts["prediction"].get("texts/s", {}), "median", ",.0f"),
        ("one text, ms", parts["prediction"].get("one text ms", {}), "median", ".3f"),
        ("memory growth, MiB", parts["memory"].get("models", {}), "growth MiB", ",.0f"),
    ]
    sizes = parts["prediction"].get("MB", {})
    names = dict.fromkeys(name for _, cells, _, _ in columns for name in cells)
    return table(
        ("", *(head for head, *_ in columns), "size, MB"),
        (
            (
                name,
                *(
                    format(cells[name][key], digits) if name in cells else ""
                    for _, cells, key, digits in columns
                ),
                f"{sizes[name]:.1f}" if name in sizes else "",
            )
            for name in names
        ),
    )


TABLES = {"classifiers": against_fasttext}
