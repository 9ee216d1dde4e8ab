r"""The default text classifier against a tuned linear model, on all rows and on 250 to 4,000.

The linear model is TF-IDF of words 1-2 (with punctuation) and of characters 2-5 within words, and
LinearSVC; lowercase, sublinear_tf and C are chosen by cross-validation on the training rows. Both
train on the same rows: all of them, or for each seed another random sample. The test rows are read
once, for the accuracy. A paired bootstrap over the test rows shows how much of the lead may be
noise (90 %).

    python -m benchmarks run bench_small_sets --data DIR
    python -m benchmarks run bench_small_sets --data DIR --sets trec sst2 --sizes 250 1000 \
        --cache FOLDER

The linear model takes hours on the large sets. --cache keeps its predictions, so that it runs once.
Each result is written when it is measured and skipped the next time (unless --again is given).
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.benchmark import BenchmarkParser, environment, read_result, write_result
from benchmarks.common.data import SETS, TITLES, DataFolder, Rows
from benchmarks.common.pages import table
from benchmarks.common.samples import ALL, add_sample_options, bootstrap
from benchmarks.common.tuned_linear_model import Counts, TfidfSvm, choose
from sklearn_hashnlp.classifiers import make_text_classifier

RESULT = "small_sets.json"
PAGE = "model_selection.md"
SIZES = {"250": "250 rows", "1000": "1,000 rows", "4000": "4,000 rows", "0": "all rows"}
PACKAGES = ("sklearn-hashnlp", "numpy", "scikit-learn", "scipy", "torch")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT)
    add_sample_options(parser, SETS)
    parser.add_argument(
        "--cache", type=Path, metavar="DIR", help="folder for the predictions of the linear model"
    )
    options, data, path = parser.read(arguments)
    result = read_result(path) | environment(*PACKAGES)
    cells = result.setdefault("sets", {})
    for size in options.sizes:
        for name in options.sets:
            if str(size) in cells.get(name, {}) and not options.again:
                continue
            train = data.train(name)
            if size >= len(train.texts):
                continue
            cell = measure(name, size, train, data, options)
            cells.setdefault(name, {})[str(size)] = {"date": result["date"]} | cell
            print(
                f"{name}, {size or 'all'} rows: ours {cell['ours']:.2f}, linear "
                f"{cell['linear']:.2f}, lead {cell['lead']:+.2f} ({cell['interval'][0]:+.2f} to "
                f"{cell['interval'][1]:+.2f})",
                flush=True,
            )
            write_result(path, result)
    for size, (lead, n_sets) in mean_leads(result).items():
        print(f"Mean lead, {size} rows: {lead:+.2f} over {n_sets} sets")


def measure(
    name: str, size: int, train: Rows, data: DataFolder, options: argparse.Namespace
) -> dict[str, Any]:
    """Train and test both models on the same rows, for each seed."""
    test = data.test(name)
    ours = []
    seconds = []
    chosen = []
    linear: list[NDArray[np.bool_]] = []
    for seed in range(options.seeds):
        rows = train.sample(size or None, seed)
        start = time.process_time()
        model = make_text_classifier(random_state=seed).fit(rows.texts, rows.labels)
        seconds.append(time.process_time() - start)
        ours.append(np.asarray(model.predict(test.texts) == np.array(test.labels)))
        if size == ALL and linear:
            linear.append(linear[0])  # the linear model depends on no seed
            continue
        correct, settings = linear_correct(name, size, seed, rows, test, options.cache)
        linear.append(correct)
        chosen.append(settings)
    lead = 100 * (np.mean(ours, axis=0) - np.mean(linear, axis=0))
    return {
        "ours": 100 * float(np.mean(ours)),
        "spread": 100 * statistics.pstdev(float(one.mean()) for one in ours),
        "linear": 100 * float(np.mean(linear)),
        "lead": float(lead.mean()),
        "interval": bootstrap(lead),
        "cpu seconds": statistics.median(seconds),
        "seeds": options.seeds,
        "features": str(getattr(model[0], "features_", "")),
        "chosen": chosen,
    }


def linear_correct(
    name: str, size: int, seed: int, train: Rows, test: Rows, cache: Path | None
) -> tuple[NDArray[np.bool_], dict[str, Any]]:
    """Return which test rows the tuned linear model predicts correctly, and its settings."""
    file = None if cache is None else cache / f"{name}-{size}-{seed}.npz"
    if file is not None and file.exists():
        with np.load(file) as arrays:
            return arrays["correct"], json.loads(str(arrays["chosen"]))
    has_capitals = any(text != text.lower() for text in train.texts)
    forms = {
        lowercase: Counts.of(train.texts, lowercase=lowercase)
        for lowercase in (True, False)[: 1 + has_capitals]
    }
    labels = np.array(train.labels)
    chosen = choose(forms, labels)
    del chosen["tried"]
    lowercase = chosen["lowercase"]
    model = TfidfSvm(chosen["C"], chosen["sublinear"]).fit(forms[lowercase], labels)
    correct = model.predict(Counts.of(test.texts, lowercase=lowercase)) == np.array(test.labels)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(file, correct=correct, chosen=json.dumps(chosen))
    return correct, chosen


def markdown(result: dict[str, Any]) -> str:
    """Return the table: a row per data set, ours / linear by training rows, and the mean leads."""
    sets, leads = result.get("sets", {}), mean_leads(result)
    rows = [
        (TITLES[name], *(_cell(sets[name].get(size)) for size in SIZES))
        for name in SETS
        if name in sets
    ]
    mean = (
        "mean lead",
        *(
            f"{leads[size][0]:+.2f} ({leads[size][1]} sets)" if size in leads else ""
            for size in SIZES
        ),
    )
    return table(
        ("", *SIZES.values()),
        [*rows, mean, ("seconds of a fit", *(_seconds(sets, size) for size in SIZES))],
    )


def mean_leads(result: dict[str, Any]) -> dict[str, tuple[float, int]]:
    """Return for each number of rows the mean lead over the data sets, and their number."""
    sets = result.get("sets", {}).values()
    leads = {size: [cells[size]["lead"] for cells in sets if size in cells] for size in SIZES}
    return {
        size: (statistics.mean(values), len(values)) for size, values in leads.items() if values
    }


def _seconds(sets: dict[str, Any], size: str) -> str:
    seconds = [cells[size]["cpu seconds"] for cells in sets.values() if size in cells]
    return f"{min(seconds):.2f} to {max(seconds):.1f}" if seconds else ""


def _cell(cell: dict[str, Any] | None) -> str:
    return "" if cell is None else f"{cell['ours']:.2f} / {cell['linear']:.2f}"


TABLES = {"small sets": markdown}
