"""Models of fastText read by load_fasttext, and written by save_fasttext, compared with fastText.

fastText trains classifiers of AG News with each loss, with and without pairs of words, character
n-grams and quantization; one has 400 labels, the hashes of the first words, because fastText
quantizes an output matrix only if it has 256 rows or more. For each model, over all test texts:

labels      The number of texts with a predicted label that is not one of fastText's most probable
            ones. The sigmoids of "ova" and "ns" are from a table, so that several labels can be the
            most probable.
difference  The largest difference of a probability, of all labels, without the 1e-5 that fastText
            adds.
seconds     Processor seconds of the labels of all texts, in turn: predict of the pipeline from
            strings, and the compiled function inside fastText's predict from lines that end with a
            line break.

Then both train with the same dictionary, n-grams and buckets, on tokens separated by spaces;
fastText's learning rate and epochs, and the solver of this package, are chosen on validation rows.
fastText trains in two threads with three seeds, in turn with this package; accuracy is that of the
test rows, and fastText reads the file that was written.

    python -m benchmarks run bench_fasttext_bridge --data DIR
    python -m benchmarks run bench_fasttext_bridge --data DIR --part written

fastText is installed into a temporary folder for the run (--fasttext keeps one).
"""

from __future__ import annotations

import contextlib
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.common import fasttext_baseline
from benchmarks.common.benchmark import BenchmarkParser, environment, read_result, write_result
from benchmarks.common.data import SETS, TITLES, DataFolder, Rows
from benchmarks.common.pages import table
from benchmarks.common.timing import median_ratio, order_of_round, summarize_seconds
from sklearn_hashnlp.classifiers import load_fasttext, make_fasttext_classifier, save_fasttext

RESULT = "fasttext_bridge.json"
PAGE = "coming_from_fasttext.md"
HEADS = (
    "model",
    "MB",
    "other labels",
    "largest difference",
    "this package, s",
    "fastText, s",
    "faster by",
)
HEADS_WRITTEN = (
    *(
        "data set",
        "fastText, s",
        "this package, s",
        "faster by",
        "fastText, %",
        "this package, %",
        "MB",
    ),
    *("other labels", "largest difference", ".ftz, MB", ".ftz, %"),
)
SET = "ag_news"
WRITTEN: dict[str, dict[str, Any]] = {  # parameters of make_fasttext_classifier
    "ag_news": {"word_ngrams": 2, "bucket": 200_000},
    "trec": {"word_ngrams": 2, "bucket": 200_000},
    "languages79": {"min_n": 1, "max_n": 3, "bucket": 200_000},
}
NAMES = {"word_ngrams": "wordNgrams", "min_n": "minn", "max_n": "maxn", "bucket": "bucket"}
GRID = [{"lr": lr, "epoch": epoch} for lr in (0.1, 0.25, 0.5, 1.0) for epoch in (5, 20)]
SEEDS = 3
PACKAGES = ("sklearn-hashnlp", "numpy", "scikit-learn", "scipy")
THREADS = 2
N_HASHED_LABELS = 400
ADDED = 1e-5  # by fastText to each probability

COMMON = {"dim": 10, "epoch": 3, "lr": 0.5, "bucket": 200_000}
WORDS, PAIRS = {"wordNgrams": 1}, {"wordNgrams": 2}
SUBWORDS = {"minn": 2, "maxn": 4}
QUANTIZED = {"qnorm": True, "retrain": True, "cutoff": 50_000}


class Setting(NamedTuple):
    """Arguments of training and quantization."""

    train: dict[str, Any]
    quantize: dict[str, Any] | None = None
    hashed_labels: bool = False


SETTINGS = {
    "softmax": Setting(WORDS),
    "softmax, pairs": Setting(PAIRS),
    "softmax, subwords": Setting(SUBWORDS),
    "softmax, pairs, subwords": Setting(PAIRS | SUBWORDS),
    "hs": Setting(WORDS | {"loss": "hs"}),
    "hs, pairs, subwords": Setting(PAIRS | SUBWORDS | {"loss": "hs"}),
    "ova": Setting(WORDS | {"loss": "ova"}),
    "ova, pairs, subwords": Setting(PAIRS | SUBWORDS | {"loss": "ova"}),
    "ns, pairs": Setting(PAIRS | {"loss": "ns"}),
    "softmax, quantized": Setting(WORDS, {"qnorm": False}),
    "softmax, pairs, pruned and quantized": Setting(PAIRS, QUANTIZED),
    "softmax, pairs, subwords, pruned and quantized": Setting(PAIRS | SUBWORDS, QUANTIZED),
    "hs, pairs, quantized": Setting(PAIRS | {"loss": "hs"}, {"qnorm": True}),
    "ova, subwords, quantized": Setting(SUBWORDS | {"loss": "ova"}, {"qnorm": True, "dsub": 3}),
    "softmax, 400 labels, output quantized": Setting(
        PAIRS, QUANTIZED | {"qout": True}, hashed_labels=True
    ),
    "hs, 400 labels, output quantized": Setting(
        WORDS | {"loss": "hs"}, {"qout": True}, hashed_labels=True
    ),
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT)
    parser.add_argument(
        "--rounds", type=int, default=7, help="rounds of predictions (default: %(default)s)"
    )
    parser.add_choices("--part", ("read", "written"))
    parser.add_fasttext()
    options, data, path = parser.read(arguments)
    train, test = data.train(SET), data.test(SET)
    with tempfile.TemporaryDirectory() as work, contextlib.ExitStack() as stack:
        package = stack.enter_context(fasttext_baseline.fasttext_folder(options.fasttext))
        result, measured = read_result(path), environment(*PACKAGES)
        measured["versions"]["fastText"] = fasttext_baseline.fasttext_version(package)
        fasttext = fasttext_baseline.import_fasttext(package)
        if "read" in options.part:
            result |= measured | {
                "data": {"train": len(train.texts), "texts": len(test.texts)},
                "models": {},
            }
            for name, setting in SETTINGS.items():
                model, file = trained(fasttext, setting, train, Path(work))
                result["models"][name] = compared(model, file, test.texts, options.rounds)
                print(f"{name}: {result['models'][name]}", flush=True)
        if "written" in options.part:
            result["written"] = measured | {"sets": {}}
            for name, parameters in WRITTEN.items():
                one = written(fasttext, data, name, parameters, Path(work))
                print(f"{name}: {one}", flush=True)
                result["written"]["sets"][name] = one
    print(markdown(result), markdown_written(result), sep="\n\n")
    write_result(path, result)


def trained(fasttext: Any, setting: Setting, rows: Rows, work: Path) -> tuple[Any, Path]:
    """Train and quantize a model; return it and its file."""
    lines = fasttext_baseline.lines_of(rows.texts, fasttext_baseline.CASED)
    labels = [first_word_label(line) for line in lines] if setting.hashed_labels else rows.labels
    path = work / "train.txt"
    fasttext_baseline.write_rows(path, lines, labels, sorted(set(labels)))
    model, _ = fasttext_baseline.train(fasttext, path, COMMON | setting.train, 0, THREADS)
    if setting.quantize is not None:
        model.quantize(str(path), thread=THREADS, verbose=0, **setting.quantize)
    file = work / "model.bin"
    model.save_model(str(file))
    return model, file


def first_word_label(line: str) -> str:
    return str(zlib.crc32(line.split(maxsplit=1)[0].encode()) % N_HASHED_LABELS)


def compared(theirs: Any, file: Path, texts: list[str], rounds: int) -> dict[str, Any]:
    """Compare labels and probabilities, and measure both predictions in turn."""
    lines = fasttext_baseline.lines_of(texts, fasttext_baseline.CASED)
    ours = load_fasttext(file)
    calls: dict[str, Callable[[], Any]] = {
        "ours": lambda: ours.predict(lines),
        "fasttext": lambda: fasttext_baseline.predict(theirs, lines),
    }
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for round_ in range(rounds):
        for name in order_of_round(list(calls), round_):
            start = time.process_time()
            calls[name]()
            seconds[name].append(time.process_time() - start)
    return {
        "loss": ours[-1].loss_,
        "labels": len(ours.classes_),
        "MB": file.stat().st_size / 1e6,
        **differences(theirs, ours, lines),
        "ours s": summarize_seconds(seconds["ours"]),
        "fasttext s": summarize_seconds(seconds["fasttext"]),
        "ratio": median_ratio(seconds["fasttext"], seconds["ours"]),
    }


def differences(theirs: Any, ours: Any, lines: list[str]) -> dict[str, Any]:
    """Return the number of different labels and the largest difference of any probability."""
    index_of = {f"__label__{label}": index for index, label in enumerate(ours.classes_.tolist())}
    predicted, probabilities = ours.predict(lines).tolist(), ours.predict_proba(lines)
    n_others, largest = 0, 0.0
    for line, label, row in zip(lines, predicted, probabilities, strict=True):
        # One line at a time: fastText mixes up the labels of several lines.
        pairs = theirs.f.predict(line, -1, 0.0, "strict")
        expected = {name: probability for probability, name in pairs}
        n_others += expected[f"__label__{label}"] < max(expected.values())
        own = row[[index_of[name] for name in expected]]
        largest = max(
            largest, float(np.abs(own - (np.array(list(expected.values())) - ADDED)).max())
        )
    return {"other labels": n_others, "largest difference": largest}


def written(
    fasttext: Any, data: DataFolder, name: str, setting: dict[str, Any], work: Path
) -> dict[str, Any]:
    """Train with both, and compare the file that is written."""
    train, test = data.train(name), data.test(name)
    form = fasttext_baseline.RAW if SETS[name].only_characters else fasttext_baseline.CASED
    names, path = sorted(set(train.labels)), work / "train.txt"
    theirs = {NAMES[key]: value for key, value in setting.items()} | {"dim": 10}
    parts = [
        Rows(fasttext_baseline.lines_of(rows.texts, form), rows.labels)
        for rows in data.train_valid(name)
    ]
    fasttext_baseline.write_rows(path, *parts[0], names)
    scores = [
        fasttext_baseline.accuracy(
            fasttext_baseline.train(fasttext, path, theirs | one, 0, THREADS)[0], *parts[1], names
        )
        for one in GRID
    ]
    theirs |= GRID[int(np.argmax(scores))]
    solvers = ("dual", "sgd")
    own = [
        make_fasttext_classifier(**setting, solver=one).fit(*parts[0]).score(*parts[1])
        for one in solvers
    ]
    setting = setting | {"solver": solvers[int(np.argmax(own))]}
    lines, tests = (fasttext_baseline.lines_of(rows.texts, form) for rows in (train, test))
    fasttext_baseline.write_rows(path, lines, train.labels, names)
    seconds: dict[str, list[float]] = {"fasttext": [], "ours": []}
    accuracies = []
    for seed in range(SEEDS):
        model, took = fasttext_baseline.train(fasttext, path, theirs, seed, THREADS)
        accuracies.append(fasttext_baseline.accuracy(model, tests, test.labels, names))
        start = time.perf_counter()
        ours = make_fasttext_classifier(**setting, n_jobs=THREADS).fit(lines, train.labels)
        seconds["fasttext"].append(took)
        seconds["ours"].append(time.perf_counter() - start)
    files = work / "ours.bin", work / "ours.ftz"
    for file in files:
        save_fasttext(ours, file)
    return {
        "fasttext": theirs,
        "ours": setting,
        "fasttext s": summarize_seconds(seconds["fasttext"]),
        "ours s": summarize_seconds(seconds["ours"]),
        "ratio": median_ratio(seconds["fasttext"], seconds["ours"]),
        "fasttext accuracies": accuracies,
        "accuracy": 100 * ours.score(tests, test.labels),
        "MB": [file.stat().st_size / 1e6 for file in files],
        "quantized accuracy": 100 * load_fasttext(files[1]).score(tests, test.labels),
        **differences(fasttext.load_model(str(files[0])), ours, tests),
    }


def markdown_written(result: dict[str, Any]) -> str:
    """Return the table of the models that were written: a row per data set."""
    rows = []
    for name, one in result.get("written", {}).get("sets", {}).items():
        seconds = [f"{one[key]['median']:.2f}" for key in ("fasttext s", "ours s")]
        accuracies = [f"{np.mean(one['fasttext accuracies']):.1f}", f"{one['accuracy']:.1f}"]
        same = [f"{one['other labels']:,}", f"{one['largest difference']:.0e}"]
        quantized = [f"{one['MB'][1]:.1f}", f"{one['quantized accuracy']:.1f}"]
        rows.append(
            [
                TITLES[name],
                *seconds,
                f"{one['ratio']:.1f}",
                *accuracies,
                f"{one['MB'][0]:.1f}",
                *same,
                *quantized,
            ]
        )
    return table(HEADS_WRITTEN, rows) if rows else ""


def markdown(result: dict[str, Any]) -> str:
    """Return the table of the models that were read: a row per model."""
    return table(
        HEADS,
        (
            (
                name,
                f"{model['MB']:.1f}",
                f"{model['other labels']:,}",
                f"{model['largest difference']:.0e}",
                f"{model['ours s']['median']:.3f}",
                f"{model['fasttext s']['median']:.3f}",
                f"{model['ratio']:.1f}",
            )
            for name, model in result.get("models", {}).items()
        ),
    )


TABLES = {"bridge": markdown, "written": markdown_written}
