r"""Changes of the text classifier's defaults, judged on the data sets that did not choose them.

Each change is tried on samples of the training rows and on all of them, and compared with the
defaults on other training rows, the same for both (at most 4,000; the validation file of a set if
all rows are trained on). Large sets are halved: even seeds draw from one half, odd seeds from the
other. For every data set the best change is chosen by the mean gain on all *other* sets, and its
gain on the set that was left out is reported, with the 90 % interval of a paired bootstrap over the
rows. A change becomes a default if this mean rises and no set falls by more than its noise. Test
rows are not read: `bench_small_sets` compares the defaults with a tuned linear model on them, once.

    python -m benchmarks run bench_left_out --data DIR --cache FOLDER
    python -m benchmarks run bench_left_out --data DIR --cache FOLDER --sizes 1000 \
        --changes "C from 0.3 to 10"

--cache keeps which rows each model predicts correctly, so that an interrupted run continues; use
another folder and another output after a change of the package.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.benchmark import BenchmarkParser, environment, read_result, write_result
from benchmarks.common.data import SETS, TITLES, Rows
from benchmarks.common.pages import table
from benchmarks.common.samples import ALL, add_sample_options, bootstrap
from sklearn_hashnlp import TextClassifier
from sklearn_hashnlp.classifiers.hash_embedding import _auto_parameters, _dual_fit
from sklearn_hashnlp.text import _auto_ngram_vectorizer
from sklearn_hashnlp.text._ngram_spec import NgramSpec

RESULT = "left_out.json"
PAGE = "model_selection.md"
PACKAGES = ("sklearn-hashnlp", "numpy", "scikit-learn", "scipy", "torch")
N_VALID = 4000
MANY_ROWS = 20_000  # of a set that is halved

Specs = tuple[NgramSpec, ...]


def constants(module: Any, **values: Any) -> AbstractContextManager[Any]:
    """Change private constants of a module."""
    return patch.multiple(module, **values)


def specs(change: Callable[[Specs], Specs]) -> AbstractContextManager[Any]:
    """Change the n-grams that ``features="auto"`` counts."""
    original = _auto_ngram_vectorizer._specs
    return patch.object(
        _auto_ngram_vectorizer, "_specs", lambda *arguments: change(original(*arguments))
    )


def characters(**values: Any) -> Callable[[Specs], Specs]:
    """Change the specification of n-grams of characters, the last one if there are any."""
    return lambda specs: (*specs[:-1], replace(specs[-1], **values)) if len(specs) > 1 else specs


DEFAULTS = "defaults"
CHANGES: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    DEFAULTS: nullcontext,
    "C from 0.3 to 10": lambda: constants(_dual_fit, _STRENGTHS=(0.3, 1.0, 3.0, 10.0)),
    "C from 1 to 30": lambda: constants(_dual_fit, _STRENGTHS=(1.0, 3.0, 10.0, 30.0)),
    "log-odds up to 0.25": lambda: constants(_dual_fit, _SHARES=(0.0, 0.03, 0.06, 0.12, 0.25)),
    "twice the epochs": lambda: constants(_dual_fit, _EPOCHS=((5_000, 20), (20_000, 12))),
    "softmax without log-odds": lambda: constants(
        _dual_fit, _SHARES_OF_SGD={"softmax": 0.0, "hinge": 0.0}
    ),
    "softmax of many classes": lambda: constants(_auto_parameters, _MANY_CLASSES=(10**9, 10**9)),
    "characters 2-5 with any letters": lambda: constants(
        _auto_ngram_vectorizer, _MANY_LETTERS=10**9
    ),
    "characters at the fixed weight 0.5": lambda: constants(
        _auto_ngram_vectorizer, _MIN_TEXTS=10**9
    ),
    "weight of characters 0.35": lambda: specs(characters(weight=0.35)),
    "characters 1-5": lambda: specs(characters(ngram_range=(1, 5))),
    "characters 3-5": lambda: specs(characters(ngram_range=(3, 5))),
    "characters across words": lambda: specs(characters(analyzer="char")),
    "words 1-3": lambda: specs(lambda specs: (replace(specs[0], ngram_range=(1, 3)), *specs[1:])),
    "characters with capitals": lambda: specs(characters(lowercase=False)),
}


class Trial(NamedTuple):
    """A model's predictions for the validation rows of one sample."""

    correct: NDArray[np.bool_]  # (n_rows,)
    seconds: float  # of processor time, to fit


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT)
    add_sample_options(parser, SETS)
    parser.add_choices("--changes", CHANGES)
    parser.add_argument("--cache", type=Path, metavar="DIR", help="folder for the predictions")
    options, data, path = parser.read(arguments)
    trials: dict[str, dict[tuple[str, int], list[Trial]]] = {}
    for change in dict.fromkeys((DEFAULTS, *options.changes)):
        cells = trials[change] = {}
        for name in options.sets:
            rows = data.train_valid(name)
            for size in options.sizes:
                if size < len(rows[0].texts):
                    cells[name, size] = [
                        trial(change, name, size, seed, rows, options.cache)
                        for seed in range(options.seeds)
                    ]
        gains = [compare(cells[cell], trials[DEFAULTS][cell])["gain"] for cell in cells]
        print(
            f"{change:28}" + "".join(f"{gain:+7.2f}" for gain in gains) + f"{np.mean(gains):+8.3f}",
            flush=True,
        )
    changes = read_result(path).get("changes", {})
    for change, cells in trials.items():
        for name, by_size in compare_all(cells, trials[DEFAULTS]).items():
            changes.setdefault(change, {}).setdefault(name, {}).update(by_size)
    result = environment(*PACKAGES) | {
        "seeds": options.seeds,
        "changes": changes,
        "left out": left_out(changes),
    }
    write_result(path, result)
    print(left_out_table(result), changes_table(result), sep="\n")


def trial(
    change: str, name: str, size: int, seed: int, rows: tuple[Rows, Rows], cache: Path | None
) -> Trial:
    """Train with a change on a sample of the training rows, and predict other rows."""
    file = None if cache is None else cache / f"{change}-{name}-{size}-{seed}.npz"
    if file is not None and file.exists():
        with np.load(file) as arrays:
            return Trial(arrays["correct"], float(arrays["seconds"]))
    train, valid = draw(rows, size, seed)
    with CHANGES[change]():
        start = time.process_time()
        model = TextClassifier(random_state=seed).fit(train.texts, train.labels)
        seconds = time.process_time() - start
        correct = np.asarray(model.predict(valid.texts) == np.array(valid.labels))
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(file, correct=correct, seconds=seconds)
    return Trial(correct, seconds)


def draw(rows: tuple[Rows, Rows], size: int, seed: int) -> tuple[Rows, Rows]:
    """Return training and validation rows: disjoint samples of one half of a large set."""
    train, valid = rows
    if size == ALL:
        return train, valid.sample(N_VALID, seed)
    n_rows = len(train.texts)
    if n_rows >= MANY_ROWS:  # the halves are the same for all seeds
        halves = np.array_split(np.random.default_rng(0).permutation(n_rows), 2)
        order = np.random.default_rng(seed).permutation(halves[seed % 2])
    else:
        order = np.random.default_rng(seed).permutation(n_rows)
    return _take(train, order[:size]), _take(train, order[size : size + N_VALID])


def _take(rows: Rows, indices: NDArray[np.int64]) -> Rows:
    return Rows([rows.texts[i] for i in indices], [rows.labels[i] for i in indices])


def compare(trials: list[Trial], defaults: list[Trial]) -> dict[str, Any]:
    """Return the gain in percentage points, its 90 % interval and the median ratio of seconds."""
    pairs = list(zip(trials, defaults, strict=True))
    gain = 100 * np.concatenate([one.correct.astype(float) - other.correct for one, other in pairs])
    return {
        "accuracy": 100 * float(np.mean([one.correct.mean() for one in trials])),
        "gain": float(gain.mean()),
        "interval": bootstrap(gain),
        "times the seconds": float(
            np.median([one.seconds / other.seconds for one, other in pairs])
        ),
    }


def compare_all(
    cells: dict[tuple[str, int], list[Trial]], defaults: dict[tuple[str, int], list[Trial]]
) -> dict[str, dict[str, Any]]:
    """Compare a change with the defaults; return the comparisons by set and size."""
    result: dict[str, dict[str, Any]] = {}
    for (name, size), trials in cells.items():
        result.setdefault(name, {})[str(size)] = compare(trials, defaults[name, size])
    return result


def left_out(changes: dict[str, dict[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Choose each set's change by mean gain on the others; return it with its gain on the set."""
    means = {
        change: {
            name: float(np.mean([cell["gain"] for cell in cells.values()]))
            for name, cells in sets.items()
        }
        for change, sets in changes.items()
    }
    result = {}
    for name in means[DEFAULTS]:
        others = {
            change: float(
                np.mean([gain for other, gain in gains.items() if other != name] or [0.0])
            )
            for change, gains in means.items()
        }
        best = max(others, key=lambda change: (others[change], change == DEFAULTS))
        result[name] = {
            "change": best,
            "gain on the others": others[best],
            "cells": changes[best][name],
        }
    return result


def left_out_table(result: dict[str, Any]) -> str:
    """Return the table: a row per data set with the change chosen without it and gains by size."""
    sizes = sizes_of(result)
    rows = [
        (TITLES[name], one["change"], *(_gain(one["cells"].get(size)) for size in sizes))
        for name, one in result["left out"].items()
    ]
    return table(("", "chosen without it", *sizes.values()), rows)


def changes_table(result: dict[str, Any]) -> str:
    """Return the table: a row per change with mean gains by size and the most harmed data set."""
    sizes = sizes_of(result)
    rows = []
    for change, sets in result["changes"].items():
        if change == DEFAULTS:
            continue
        cells = {
            size: [cells[size]["gain"] for cells in sets.values() if size in cells]
            for size in sizes
        }
        means = [f"{np.mean(gains):+.2f}" if gains else "" for gains in cells.values()]
        worst, name = min(
            (float(np.mean([cell["gain"] for cell in one.values()])), name)
            for name, one in sets.items()
        )
        rows.append((change, *means, f"{TITLES[name]} {worst:+.2f}"))
    return table(("change", *sizes.values(), "lowest mean of a set"), rows)


def sizes_of(result: dict[str, Any]) -> dict[str, str]:
    """Return the numbers of training rows that were measured, with their titles."""
    measured = {
        int(size)
        for sets in result["changes"].values()
        for cells in sets.values()
        for size in cells
    }
    return {
        str(size): f"{size:,} rows" if size else "all rows"
        for size in sorted(measured, key=lambda size: size or 1e9)
    }


def _gain(cell: dict[str, Any] | None) -> str:
    return (
        ""
        if cell is None
        else f"{cell['gain']:+.2f} ({cell['interval'][0]:+.2f} to {cell['interval'][1]:+.2f})"
    )


TABLES = {"left out": left_out_table, "changes of defaults": changes_table}
