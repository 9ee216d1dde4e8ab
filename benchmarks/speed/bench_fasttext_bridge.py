"""Models of fastText read by load_fasttext: labels, probabilities and speed compared with fastText.

fastText trains classifiers of AG News with each loss, with and without pairs of words, character n-grams and
quantization; one has 400 labels, the hashes of the first words, because fastText quantizes an output matrix only if it
has 256 rows or more. For each model, over all test texts:

labels      The number of texts with a predicted label that is not one of fastText's most probable ones. The sigmoids of
            "ova" and "ns" are from a table, so that several labels can be the most probable.
difference  The largest difference of a probability, of all labels, without the 1e-5 that fastText adds.
seconds     Processor seconds of the labels of all texts, in turn: predict of the pipeline from strings, and the
            compiled function inside fastText's predict from lines that end with a line break.

    python -m benchmarks run bench_fasttext_bridge --data DIR

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
from benchmarks.common.benchmark import BenchmarkParser, environment, write_result
from benchmarks.common.data import Rows
from benchmarks.common.pages import table
from benchmarks.common.timing import median_ratio, order_of_round, summarize_seconds
from sklearn_hashnlp.classifiers import load_fasttext

RESULT = "fasttext_bridge.json"
PAGE = "coming_from_fasttext.md"
HEADS = ("model", "MB", "other labels", "largest difference", "this package, s", "fastText, s", "faster by")
SET = "ag_news"
PACKAGES = ("sklearn-hashnlp", "numpy", "numba", "scikit-learn", "scipy")
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
    "softmax, 400 labels, output quantized": Setting(PAIRS, QUANTIZED | {"qout": True}, hashed_labels=True),
    "hs, 400 labels, output quantized": Setting(WORDS | {"loss": "hs"}, {"qout": True}, hashed_labels=True),
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT)
    parser.add_argument("--rounds", type=int, default=7, help="rounds of predictions (default: %(default)s)")
    parser.add_fasttext()
    options, data, path = parser.read(arguments)
    train, test = data.train(SET), data.test(SET)
    with tempfile.TemporaryDirectory() as work, contextlib.ExitStack() as stack:
        package = stack.enter_context(fasttext_baseline.fasttext_folder(options.fasttext))
        result: dict[str, Any] = environment(*PACKAGES)
        result["versions"]["fastText"] = fasttext_baseline.fasttext_version(package)
        fasttext = fasttext_baseline.import_fasttext(package)
        result |= {"data": {"train": len(train.texts), "texts": len(test.texts)}, "models": {}}
        for name, setting in SETTINGS.items():
            model, file = trained(fasttext, setting, train, Path(work))
            result["models"][name] = compared(model, file, test.texts, options.rounds)
            print(f"{name}: {result['models'][name]}", flush=True)
    print(markdown(result))
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
    """Return the number of other labels, and the largest difference of a probability of any label."""
    index_of = {f"__label__{label}": index for index, label in enumerate(ours.classes_.tolist())}
    predicted, probabilities = ours.predict(lines).tolist(), ours.predict_proba(lines)
    n_others, largest = 0, 0.0
    for line, label, row in zip(lines, predicted, probabilities, strict=True):
        pairs = theirs.f.predict(line, -1, 0.0, "strict")  # of several lines at once fastText mixes them up
        expected = {name: probability for probability, name in pairs}
        n_others += expected[f"__label__{label}"] < max(expected.values())
        own = row[[index_of[name] for name in expected]]
        largest = max(largest, float(np.abs(own - (np.array(list(expected.values())) - ADDED)).max()))
    return {"other labels": n_others, "largest difference": largest}


def markdown(result: dict[str, Any]) -> str:
    """Return the table: a row per model."""
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


TABLES = {"bridge": markdown}
