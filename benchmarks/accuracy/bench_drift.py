"""Rate of alarms of compare_texts: without drift, and with 10 % of the texts replaced.

Of each data set a model is trained on a random sample of the training rows, and 250 other training
rows are compared with them, as they are and with some replaced:

new label     By texts of a label that the model was not trained on; "without a label" are the
              texts compared with that model before any is replaced.
language      By texts in German, Spanish, French, Italian, Dutch or Swedish.
first words   By their first three words.
first half    By the first half of their words.
upper case    By themselves in upper case; the model has lowercase=False.

No test row is read. Each seed has another sample and another label.

    python -m benchmarks run bench_drift --data DIR
    python -m benchmarks run bench_drift --data DIR --sets trec --seeds 2

Each data set is written when it is measured and not measured again (unless --again is given).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.benchmark import BenchmarkParser, environment, read_result, write_result
from benchmarks.common.data import ENGLISH_SETS, TITLES, DataFolder, Rows
from benchmarks.common.pages import table
from sklearn_hashnlp import TextClassifier
from sklearn_hashnlp.inspection import compare_texts

RESULT = "drift.json"
PAGE = "inspection.md"
PACKAGES = ("sklearn-hashnlp", "numpy", "scikit-learn", "scipy", "torch")
SETS = tuple(name for name in ENGLISH_SETS if name != "imdb")
LANGUAGES = ("de", "es", "fr", "it", "nl", "sv")
N_NEW, N_TRAIN = 250, 8_000
N_REPLACED = 25
MANY = 50  # replaced by a new label, beside N_REPLACED
MIN_ROWS_OF_A_LABEL = 100
NO_DRIFT, NO_LABEL = "none", "without a label"
COLUMNS = (
    NO_DRIFT,
    NO_LABEL,
    "new label 10 %",
    "new label 20 %",
    "language",
    "first words",
    "first half",
    "upper case",
)


def drifts(
    data: DataFolder, rows: Rows, seed: int
) -> Iterator[tuple[str, TextClassifier, list[str]]]:
    """Yield a kind of drift, a trained model and the texts to compare."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(rows.texts))
    texts = np.array(rows.texts, dtype=object)
    labels = np.array(rows.labels)

    def fit(chosen: NDArray[np.int64], **parameters: Any) -> TextClassifier:
        model = TextClassifier(random_state=seed, **parameters)
        return model.fit(texts[chosen].tolist(), labels[chosen])

    def mixed(new: NDArray[Any], others: list[str]) -> list[str]:
        """Replace some texts, the same ones for each kind."""
        result = new.copy()
        result[: len(others)] = others
        return list(result.tolist())

    new, train = order[:N_NEW], order[N_NEW : N_NEW + N_TRAIN]
    model, own = fit(train), texts[new]
    yield NO_DRIFT, model, own.tolist()
    foreign = data.train("languages79")
    pool = [
        text
        for text, label in zip(foreign.texts, foreign.labels, strict=True)
        if label == LANGUAGES[seed % len(LANGUAGES)]
    ]
    yield "language", model, mixed(own, rng.choice(pool, N_REPLACED).tolist())
    words = [text.split() for text in own[:N_REPLACED]]
    yield "first words", model, mixed(own, [" ".join(some[:3]) for some in words])
    yield "first half", model, mixed(own, [" ".join(some[: -(-len(some) // 2)]) for some in words])
    upper = [text.upper() for text in own[:N_REPLACED]]
    yield "upper case", fit(train, lowercase=False), mixed(own, upper)
    names, counts = np.unique(labels, return_counts=True)
    names = names[counts >= MIN_ROWS_OF_A_LABEL]
    if len(names) > 2:
        is_left_out = labels[order] == names[seed % len(names)]
        others, left_out = order[~is_left_out], texts[order[is_left_out]]
        model, own = fit(others[N_NEW : N_NEW + N_TRAIN]), texts[others[:N_NEW]]
        yield NO_LABEL, model, own.tolist()
        for n_replaced, name in ((N_REPLACED, "new label 10 %"), (MANY, "new label 20 %")):
            yield name, model, mixed(own, left_out[:n_replaced].tolist())


def measure(data: DataFolder, name: str, n_seeds: int) -> dict[str, dict[str, Any]]:
    """Return for each kind the seeds with an alarm, and the measures that raised it."""
    found: dict[str, dict[str, Any]] = {}
    for seed in range(n_seeds):
        for kind, model, texts in drifts(data, data.train(name), seed):
            comparison = compare_texts(model, texts)
            cell = found.setdefault(kind, {"alarms": 0, "seeds": 0, "by": {}})
            cell["seeds"] += 1
            cell["alarms"] += comparison.alarm
            for measure in comparison.measures:
                if measure.p_value < comparison.level:
                    is_label = measure.name.startswith("label ")
                    reason = "label" if is_label else measure.name
                    cell["by"][reason] = cell["by"].get(reason, 0) + 1
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT)
    parser.add_choices("--sets", SETS)
    parser.add_argument("--seeds", type=int, default=20, help="default: %(default)s")
    parser.add_again()
    options, data, path = parser.read(arguments)
    result = read_result(path)
    sets = result.setdefault("sets", {})
    for name in options.sets:
        if name in sets and not options.again:
            continue
        sets[name] = measure(data, name, options.seeds)
        result |= environment(*PACKAGES)
        print(f"{name}: {sets[name]}", flush=True)
        write_result(path, result)
    print(markdown(result))


def markdown(result: dict[str, Any]) -> str:
    """Return the table: a row per data set, the alarms of each kind of drift."""
    rows = []
    for name in SETS:
        cells = result.get("sets", {}).get(name)
        if cells:
            rows.append((TITLES[name], *(_cell(cells.get(kind)) for kind in COLUMNS)))
    return table(("", *COLUMNS), rows)


def _cell(cell: dict[str, Any] | None) -> str:
    return "" if cell is None else f"{cell['alarms']} of {cell['seeds']}"


TABLES = {"drift": markdown}
