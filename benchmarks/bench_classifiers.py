"""The text classifier beside fastText and linear models: speed, memory and accuracy on the same rows.

Four parts, each of which can be run alone (--part) and is added to the same JSON:

race        AG News. fastText (dim 10, word bigrams, minCount 1, bucket 10,000,000 as it was published; beside it
            bucket 2,000,000, and five epochs) and make_text_classifier(random_state=seed) with nothing else set train
            in turn on the same rows in one process, after a turn that is not counted. Ours is timed from raw strings
            to the trained model; fastText's own call on a file of the same tokens that is written before, in its
            favour. Its learning rate and epochs are chosen on a tenth of the training rows.
prediction  Texts a second on the AG test rows, in turn: ours from raw strings, fastText's compiled function on lines
            that are tokenised before, in its favour.
memory      Growth of peak memory in training, each side in a fresh process of its own.
accuracy    Every labelled set, mean of the seeds: ours with each value of `features` and nothing else set, ours tuned
            on training rows, and the peers: fastText tuned likewise, and TF-IDF with a linear SVM on words, on words
            and punctuation, and with characters. It takes hours. Each result is written as soon as it is there and
            is skipped the next time (unless --again), so stop it and start it as you like.

    python benchmarks/bench_classifiers.py --data DIR --part race prediction memory
    python benchmarks/bench_classifiers.py --data DIR --part accuracy --sets trec sst2 --models words tuned svm
    python benchmarks/bench_classifiers.py --data DIR --rows 2000 --seeds 2          (a trial; writes no JSON)

prediction and memory take fastText's settings from the JSON where race has written them, and choose them first
otherwise. fastText is installed for the run into a folder of its own (--fasttext keeps one). Run it with nothing else
running.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common import classifier_accuracy, classifier_speed, fasttext_baseline
from common.classifier_memory import show_training_memory, training_memory
from common.data import SETS, DataFolder, add_data_options, data_folder
from common.results_file import add_output_option, output_path, read_result, surroundings, write_result

PARTS = ("race", "prediction", "memory", "accuracy")
RESULT = "classifiers.json"
PACKAGES = ("sklearn-hashnlp", "numpy", "numba", "scikit-learn", "scipy", "skorch", "torch")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = make_parser()
    options = parser.parse_args(arguments)
    data, path = data_folder(parser, options), output_path(options, RESULT)
    result = read_result(path)
    with contextlib.ExitStack() as stack:
        folder = (
            stack.enter_context(fasttext_baseline.fasttext_folder(options.fasttext))
            if needs_fasttext(options)
            else None
        )
        fasttext = None if folder is None else fasttext_baseline.import_fasttext(folder)
        place = surroundings(*PACKAGES)
        if folder is not None:
            place["versions"]["fastText"] = fasttext_baseline.fasttext_version(folder)
        if {"race", "prediction", "memory"} & set(options.part):
            run_beside_fasttext(options, data, fasttext, folder, place, path, result)
        if "accuracy" in options.part:
            run_accuracy(options, data, fasttext, place, path, result)
    if path is not None:
        print(f"Written: {path}")


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_options(parser)
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS), help="default: all")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), help="of accuracy; default: all")
    parser.add_argument(
        "--models",
        nargs="+",
        choices=classifier_accuracy.MODELS,
        default=list(classifier_accuracy.MODELS),
        help="of accuracy; default: all that make sense on a set",
    )
    parser.add_argument("--again", action="store_true", help="measure accuracies anew that the JSON has already")
    parser.add_argument("--seeds", type=int, default=5, help="trainings of each side (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=11, help="predictions of each side (default: %(default)s)")
    parser.add_argument(
        "--threads", type=int, default=2, help="of fastText (default: %(default)s); ours has its defaults"
    )
    parser.add_argument(
        "--fasttext",
        type=Path,
        metavar="DIR",
        help="folder that fastText is in, or is installed into and left (default: a temporary one)",
    )
    add_output_option(parser, RESULT)
    return parser


def needs_fasttext(options: argparse.Namespace) -> bool:
    return set(options.part) != {"accuracy"} or classifier_accuracy.FASTTEXT in options.models


def run_beside_fasttext(
    options: argparse.Namespace,
    data: DataFolder,
    fasttext: Any,
    folder: Path | None,
    place: dict[str, Any],
    path: Path | None,
    result: dict[str, Any],
) -> None:
    """Run the parts on AG News that have fastText beside them."""
    assert folder is not None
    if "race" in options.part or "choosing" not in result:
        found = classifier_speed.choose_settings(fasttext, data, options.threads, say)
        result["choosing"] = place | found
        write_result(path, result)
    settings = result["choosing"]["settings"]
    if "race" in options.part:
        race = classifier_speed.race(fasttext, data, settings, options.seeds, options.threads, say)
        result["race"] = place | race
        write_result(path, result)
        classifier_speed.show_race(race)
    if "prediction" in options.part:
        setting = settings[classifier_speed.PUBLISHED]
        speed = classifier_speed.prediction(fasttext, data, setting, options.repeats, options.threads, say)
        result["prediction"] = place | speed
        write_result(path, result)
        classifier_speed.show_prediction(speed)
    if "memory" in options.part:
        growth = training_memory(data, folder, settings, 3, options.threads)
        result["memory"] = place | {"models": growth}
        write_result(path, result)
        show_training_memory(growth)


def run_accuracy(
    options: argparse.Namespace,
    data: DataFolder,
    fasttext: Any,
    place: dict[str, Any],
    path: Path | None,
    result: dict[str, Any],
) -> None:
    """Measure what is asked for and not there yet."""
    part = result.setdefault("accuracy", {}) | place
    sets = part.setdefault("sets", {})
    result["accuracy"] = part
    for name in options.sets:
        for model in [one for one in classifier_accuracy.models_of(name) if one in options.models]:
            cells = sets.setdefault(name, {})
            if model in cells and not options.again:
                continue
            start = time.perf_counter()
            found = classifier_accuracy.measure(
                name,
                model,
                data,
                fasttext,
                options.seeds,
                options.threads,
                lambda line, what=f"{name}, {model}": say(f"{what}: {line}"),
            )
            cells[model] = {"date": place["date"]} | found
            say(f"{name}, {model}: {found['accuracy']:.2f} %, done in {time.perf_counter() - start:.0f} s")
            write_result(path, result)
    classifier_accuracy.show_accuracy(sets)


def say(line: str) -> None:
    print(f"[{time.strftime('%H:%M:%S')}] {line}", flush=True)


if __name__ == "__main__":
    main()
