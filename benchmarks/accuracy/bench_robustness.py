"""Accuracy under typing errors: SGNN and hash embeddings, also augmented, LinearSVC, fastText.

The test texts get random deletions, swaps of adjacent characters and insertions at 0, 2, 5, 10 and
20 edits per hundred characters. Hyper-parameters are chosen on a validation set: of plain
classifiers (n-grams; for the SVM also lowercase or not; for fastText the form of the texts,
learning rate, epochs and subwords) by the accuracy without errors, of augmented ones (error rate of
three copies of each text) by the mean accuracy over the same rates. SGNN takes the same number of
steps with and without copies. Each seed determines the training and the errors. Each result is
written when it is measured and skipped the next time (unless --again is given).

    python -m benchmarks run bench_robustness --data DIR

fastText is installed into a temporary folder for the run (--fasttext keeps one).
"""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.common import fasttext_peers, robustness_models
from benchmarks.common.benchmark import (
    BenchmarkParser,
    add_fasttext,
    environment,
    read_result,
    write_result,
)
from benchmarks.common.data import TITLES, DataFolder
from benchmarks.common.fasttext_processes import Process, peer_processes
from benchmarks.common.pages import table
from benchmarks.common.robustness_models import AUGMENTED, FASTTEXT, MODELS, RATES

RESULT = "robustness.json"
PAGE = "robustness.md"
SETS = ("trec", "sst2")
PACKAGES = ("sklearn-hashnlp", "numpy", "scikit-learn", "scipy", "skorch", "torch")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT)
    parser.add_choices("--sets", SETS)
    parser.add_choices("--models", MODELS)
    parser.add_again()
    parser.add_argument(
        "--seeds", type=int, default=3, help="trainings per model (default: %(default)s)"
    )
    parser.add_argument("--threads", type=int, default=1, help="of fastText (default: %(default)s)")
    add_fasttext(parser, heirs=False)
    options, data, path = parser.read(arguments)
    result = read_result(path)
    with contextlib.ExitStack() as stack:
        env, fasttext = environment(*PACKAGES), None
        if FASTTEXT in options.models:
            peers = peer_processes([fasttext_peers.FASTTEXT], options.fasttext, env["versions"])
            fasttext = stack.enter_context(peers)[fasttext_peers.FASTTEXT]
        if options.models:
            result = {"sets": result.get("sets", {})} | env | {"rates": list(RATES)}
        for name in options.sets:
            for model in options.models:
                cells = result["sets"].setdefault(name, {})
                if model in cells and not options.again:
                    continue
                cells[model] = {"date": env["date"]} | measure(
                    name, model, cells, data, fasttext, options
                )
                write_result(path, result)
    print(*(table_of(result) for table_of in TABLES.values()), sep="\n\n")


def measure(
    name: str,
    model: str,
    cells: dict[str, Any],
    data: DataFolder,
    fasttext: Process | None,
    options: argparse.Namespace,
) -> dict[str, Any]:
    """Choose a model's hyper-parameters and return mean and spread of its accuracy at each rate."""

    def progress(line: str) -> None:
        print(f"[{time.strftime('%H:%M:%S')}] {name}, {model}: {line}", flush=True)

    if model == FASTTEXT:
        assert fasttext is not None
        setting, trials, curves = robustness_models.fasttext_curves(
            fasttext, name, data, options.seeds, options.threads, progress
        )
    else:
        plain = model.removesuffix(AUGMENTED)
        known = None if plain == model else cells.get(plain, {}).get("tried")
        trials = known or robustness_models.choose_plain(name, plain, data, progress)
        if plain != model:
            setting = robustness_models.setting_of(trials)
            trials = robustness_models.choose_augmented(name, model, setting, data, progress)
        setting = robustness_models.setting_of(trials)
        curves = robustness_models.tested_curves(
            name, model, setting, data, options.seeds, progress
        )
    return {
        "accuracy": np.mean(curves, axis=0).tolist(),
        "spread": np.std(curves, axis=0).tolist(),
        "runs": curves,
        "chosen": setting,
        "tried": trials,
    }


def markdown(result: dict[str, Any], name: str) -> str:
    """Return the table of a data set: a row per model and a column per error rate."""
    cells = result.get("sets", {}).get(name, {})
    rows = [
        (MODELS[model], *(f"{accuracy:.1f}" for accuracy in cells[model]["accuracy"]))
        for model in MODELS
        if model in cells
    ]
    rates = [f"{100 * rate:g}" for rate in result.get("rates", RATES)]
    return table((f"{TITLES[name]}: edits per hundred characters", *rates), rows)


TABLES = {
    "errors in questions": partial(markdown, name="trec"),
    "errors in reviews": partial(markdown, name="sst2"),
}
