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
            strings, and the compiled functions inside predict of fastText 0.9.2 and of the packages
            that read its files, each in a process of its own, from lines.
heirs       How far the probabilities of these packages are from those of fastText.

Then all train with the same dictionary, n-grams and buckets, on tokens separated by spaces; the
learning rate and epochs of fastText, which its heirs take too, and the solver of this package are
chosen on validation rows. The others train in two threads with three seeds, in turn with this
package; accuracy is that of the test rows, and they read the file that was written.

    python -m benchmarks run bench_fasttext_bridge --data DIR
    python -m benchmarks run bench_fasttext_bridge --data DIR --part written

Each package is installed into a temporary folder for the run (--fasttext keeps them).
"""

from __future__ import annotations

import tempfile
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.common import fasttext_baseline
from benchmarks.common.benchmark import (
    BenchmarkParser,
    add_fasttext,
    environment,
    read_result,
    write_result,
)
from benchmarks.common.data import SETS, TITLES, DataFolder, Rows
from benchmarks.common.fasttext_peers import CASED, FASTTEXT, RAW, FastText, lines_of
from benchmarks.common.fasttext_processes import Process, peer_processes
from benchmarks.common.pages import table
from benchmarks.common.timing import median_ratio, order_of_round, summarize_seconds
from sklearn_hashnlp.classifiers import load_fasttext, make_fasttext_classifier, save_fasttext

RESULT = "fasttext_bridge.json"
PAGE = "coming_from_fasttext.md"
HEADS = ("model", "MB", "other labels", "largest difference", "this package, s", "fastText, s")
HEADS_WRITTEN = ("data set", "trained by", "s", "fastText's time / ours", "accuracy, %")
HEADS_FILE = ("file", "MB", "other labels", "largest difference", ".ftz, MB", ".ftz, %")
OURS, SET = "ours", "ag_news"
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
    add_fasttext(parser)
    options, data, path = parser.read(arguments)
    train, test = data.train(SET), data.test(SET)
    result, measured = read_result(path), environment(*PACKAGES)
    processes = peer_processes([FASTTEXT, *options.heirs], options.fasttext, measured["versions"])
    with tempfile.TemporaryDirectory() as work, processes as peers:
        if "read" in options.part:
            result |= measured | {
                "data": {"train": len(train.texts), "texts": len(test.texts)},
                "models": {},
            }
            for name, setting in SETTINGS.items():
                file = trained(peers[FASTTEXT], setting, train, Path(work))
                result["models"][name] = compared(peers, file, test.texts, options.rounds)
                print(f"{name}: {result['models'][name]}", flush=True)
        if "written" in options.part:
            result["written"] = measured | {"sets": {}}
            for name, parameters in WRITTEN.items():
                one = written(peers, data, name, parameters, Path(work))
                print(f"{name}: {one}", flush=True)
                result["written"]["sets"][name] = one
    print(markdown(result), markdown_written(result), sep="\n\n")
    write_result(path, result)


def trained(fasttext: Process, setting: Setting, rows: Rows, work: Path) -> Path:
    """Train and quantize a model; return its file."""
    lines = lines_of(rows.texts, CASED)
    labels = [first_word_label(line) for line in lines] if setting.hashed_labels else rows.labels
    path, file = work / "train.txt", work / "model.bin"
    fasttext_baseline.write_rows(path, lines, labels, sorted(set(labels)))
    fasttext_baseline.train(fasttext, path, COMMON | setting.train, 0, THREADS)
    if setting.quantize is not None:
        fasttext.call(FastText.quantize, str(path), setting.quantize, THREADS)
    fasttext.call(FastText.save, str(file))
    return file


def first_word_label(line: str) -> str:
    return str(zlib.crc32(line.split(maxsplit=1)[0].encode()) % N_HASHED_LABELS)


def compared(
    peers: dict[str, Process], file: Path, texts: list[str], rounds: int
) -> dict[str, Any]:
    """Compare labels and probabilities, and measure the predictions in turn."""
    lines = lines_of(texts, CASED)
    ours = load_fasttext(file)
    expected = read_by(peers, file, lines)
    seconds: dict[str, list[float]] = {name: [] for name in (OURS, *peers)}
    for round_ in range(rounds):
        for name in order_of_round(list(seconds), round_):
            if name == OURS:
                start = time.process_time()
                ours.predict(lines)
                seconds[name].append(time.process_time() - start)
            else:
                seconds[name].append(peers[name].call(FastText.seconds)[1])
    return {
        "loss": ours[-1].loss_,
        "labels": len(ours.classes_),
        "MB": file.stat().st_size / 1e6,
        **differences(expected[FASTTEXT], ours, lines),
        "ours s": summarize_seconds(seconds[OURS]),
        "peers": {
            name: {
                "s": summarize_seconds(seconds[name]),
                "ratio": median_ratio(seconds[name], seconds[OURS]),
                "difference from fastText": largest_difference(expected[name], expected[FASTTEXT]),
            }
            for name in peers
        },
    }


def read_by(
    peers: dict[str, Process], file: Path, lines: list[str]
) -> dict[str, list[dict[str, float]]]:
    """Return the probabilities by each package, which holds the model and the lines afterwards."""
    expected = {}
    for name, peer in peers.items():
        peer.call(FastText.load, str(file))
        peer.call(FastText.hold, lines)
        expected[name] = peer.call(FastText.probabilities)
    return expected


def largest_difference(these: list[dict[str, float]], those: list[dict[str, float]]) -> float:
    """Return the largest difference of the probabilities of two packages."""
    return max(
        abs(probability - that.get(label, 0.0))
        for this, that in zip(these, those, strict=True)
        for label, probability in this.items()
    )


def differences(theirs: list[dict[str, float]], ours: Any, lines: list[str]) -> dict[str, Any]:
    """Return the number of different labels and the largest difference of any probability."""
    index_of = {f"__label__{label}": index for index, label in enumerate(ours.classes_.tolist())}
    predicted, probabilities = ours.predict(lines).tolist(), ours.predict_proba(lines)
    n_others, largest = 0, 0.0
    for expected, label, row in zip(theirs, predicted, probabilities, strict=True):
        n_others += expected[f"__label__{label}"] < max(expected.values())
        own = row[[index_of[name] for name in expected]]
        largest = max(
            largest, float(np.abs(own - (np.array(list(expected.values())) - ADDED)).max())
        )
    return {"other labels": n_others, "largest difference": largest}


def written(
    peers: dict[str, Process], data: DataFolder, name: str, setting: dict[str, Any], work: Path
) -> dict[str, Any]:
    """Train with all, and compare the file that is written."""
    train, test = data.train(name), data.test(name)
    form = RAW if SETS[name].only_characters else CASED
    names, path = sorted(set(train.labels)), work / "train.txt"
    theirs, setting = chosen(peers[FASTTEXT], data, name, setting, path)
    lines, tests = (lines_of(rows.texts, form) for rows in (train, test))
    fasttext_baseline.write_rows(path, lines, train.labels, names)
    seconds: dict[str, list[float]] = {name: [] for name in (OURS, *peers)}
    accuracies: dict[str, list[float]] = {name: [] for name in peers}
    for seed in range(SEEDS):
        for name in order_of_round(list(seconds), seed):
            if name == OURS:
                start = time.perf_counter()
                ours = make_fasttext_classifier(**setting, n_jobs=THREADS).fit(lines, train.labels)
                seconds[name].append(time.perf_counter() - start)
                continue
            took = fasttext_baseline.train(peers[name], path, theirs, seed, THREADS)
            seconds[name].append(took)
            score = fasttext_baseline.accuracy(peers[name], tests, test.labels, names)
            accuracies[name].append(score)
    files = work / "ours.bin", work / "ours.ftz"
    for file in files:
        save_fasttext(ours, file)
    read = read_by(peers, files[0], tests)
    return {
        "fasttext": theirs,
        "ours": setting,
        "ours s": summarize_seconds(seconds[OURS]),
        "accuracy": 100 * ours.score(tests, test.labels),
        "MB": [file.stat().st_size / 1e6 for file in files],
        "quantized accuracy": 100 * load_fasttext(files[1]).score(tests, test.labels),
        **differences(read[FASTTEXT], ours, tests),
        "peers": {
            name: {
                "s": summarize_seconds(seconds[name]),
                "ratio": median_ratio(seconds[name], seconds[OURS]),
                "accuracies": accuracies[name],
                "difference from fastText": largest_difference(read[name], read[FASTTEXT]),
            }
            for name in peers
        },
    }


def chosen(
    fasttext: Process, data: DataFolder, name: str, setting: dict[str, Any], path: Path
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings of fastText and of this package that are best on validation rows."""
    form = RAW if SETS[name].only_characters else CASED
    theirs = {NAMES[key]: value for key, value in setting.items()} | {"dim": 10}
    parts = [Rows(lines_of(rows.texts, form), rows.labels) for rows in data.train_valid(name)]
    names = sorted(set(parts[0].labels))
    fasttext_baseline.write_rows(path, *parts[0], names)
    scores = []
    for one in GRID:
        fasttext_baseline.train(fasttext, path, theirs | one, 0, THREADS)
        scores.append(fasttext_baseline.accuracy(fasttext, *parts[1], names))
    solvers = ("dual", "sgd")
    own = [
        make_fasttext_classifier(**setting, solver=one).fit(*parts[0]).score(*parts[1])
        for one in solvers
    ]
    solver = solvers[int(np.argmax(own))]
    return theirs | GRID[int(np.argmax(scores))], setting | {"solver": solver}


def peers_of(one: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the figures of each package; those of older results are of fastText alone."""
    if "peers" in one:
        peers: dict[str, dict[str, Any]] = one["peers"]
        return peers
    own = {"s": one["fasttext s"], "ratio": one["ratio"]}
    return {FASTTEXT: own | {"accuracies": one.get("fasttext accuracies", [])}}


def markdown_written(result: dict[str, Any]) -> str:
    """Return the tables of the trainings, and of the files that were written."""
    sets = result.get("written", {}).get("sets", {})
    trainings, files = [], []
    for key, one in sets.items():
        ours = f"{one['ours s']['median']:.2f}"
        trainings.append([TITLES[key], "this package", ours, "", f"{one['accuracy']:.1f}"])
        for name, peer in peers_of(one).items():
            seconds, accuracy = peer["s"]["median"], np.mean(peer["accuracies"])
            cells = f"{seconds:.2f}", f"{peer['ratio']:.1f}", f"{accuracy:.1f}"
            trainings.append(["", name, *cells])
        size, quantized = one["MB"]
        same = f"{one['other labels']:,}", f"{one['largest difference']:.0e}"
        quantized_cells = f"{quantized:.1f}", f"{one['quantized accuracy']:.1f}"
        files.append([TITLES[key], f"{size:.1f}", *same, *quantized_cells])
    return f"{table(HEADS_WRITTEN, trainings)}\n\n{table(HEADS_FILE, files)}" if sets else ""


def markdown(result: dict[str, Any]) -> str:
    """Return the table of the models that were read: a row per model."""
    models = {name: (one, peers_of(one)) for name, one in result.get("models", {}).items()}
    names = list(dict.fromkeys(name for _, peers in models.values() for name in peers))
    key = "difference from fastText"
    far = [
        f"{name} {max(peers[name][key] for _, peers in models.values()):.0e}"
        for name in names
        if name != FASTTEXT
    ]
    text = f"\n\nLargest difference from a probability of fastText: {', '.join(far)}."
    models_table = table(
        (*HEADS, *(f"faster than {name} by" for name in names)),
        (
            (
                title,
                f"{model['MB']:.1f}",
                f"{model['other labels']:,}",
                f"{model['largest difference']:.0e}",
                f"{model['ours s']['median']:.3f}",
                f"{peers[FASTTEXT]['s']['median']:.3f}",
                *(f"{peers[name]['ratio']:.1f}" for name in names),
            )
            for title, (model, peers) in models.items()
        ),
    )
    return models_table + (text if far else "")


TABLES = {"bridge": markdown, "written": markdown_written}
