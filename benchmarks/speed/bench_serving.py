"""Serving texts: start of a process, latency of one text, eight threads, many texts, and memory.

Classifiers of AG News, each in new processes, several times in turn: TextClassifier(random_state=0)
saved by save_model and loaded in Python, by `hashnlp predict`, as fitted in the process, with words
and characters, and exported by export_predictor as a folder; the same with 100,000 buckets and rows
of importance weights as one file; fastText (dim 10, bigrams, 2,000,000 buckets, 5 epochs, learning
rate 0.25) by fastText 0.9.2 and by packages that read its file; TF-IDF + LinearSVC of words and
pairs of words, loaded by joblib.

start       Processor seconds from the start of the process to the first label.
memory      Peak resident memory up to that moment.
many        Texts per second of a call with all texts; for fastText they are tokenized before.
single      Milliseconds of a call with one text, median and 99th percentile over the texts.
threads     The same where eight threads of one process call at once, and texts per second of all of
            them. The threads share the processors and Python's interpreter lock.

    python -m benchmarks run bench_serving --data DIR

Each package is installed into a temporary folder for the run (--fasttext keeps them). Run it while
nothing else runs.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import joblib
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from benchmarks.common import fasttext_baseline
from benchmarks.common.benchmark import BenchmarkParser, add_fasttext, environment, write_result
from benchmarks.common.data import DataFolder, Rows
from benchmarks.common.fasttext_peers import FASTTEXT, LOWERCASE, PEERS, FastText, lines_of
from benchmarks.common.fasttext_processes import Process, peer_folders
from benchmarks.common.memory import megabytes
from benchmarks.common.pages import table
from sklearn_hashnlp import TextClassifier, export_predictor, save_model

RESULT = "serving.json"
PAGE = "serving.md"
METHODS = {
    "exported_small": "exported file, 100,000 buckets",
    "exported": "exported folder, default",
    "command_small": "`hashnlp predict`, 100,000 buckets",
    "command": "`hashnlp predict`, default",
    "process": "`load_model`, default",
    "fitted": "after `fit`, default",
    "characters": "`load_model`, words and characters",
    "fasttext": "fastText, 2,000,000 buckets",
    "fasttext-new": "the same, fasttext-new",
    "fasttext-turbo": "the same, fasttext-turbo",
    "fasttext-community": "the same, fasttext-community",
    "svm": "TF-IDF + LinearSVC, joblib",
}
COLUMNS = {
    "MB": ("size, MB", 1),
    "start s": ("start, s", 2),
    "memory MiB": ("memory, MiB", 0),
    "many texts/s": ("many, texts/s", 0),
    "single ms": ("one text, ms", 3),
    "single p99 ms": ("99 %", 3),
    "threads ms": ("eight threads, ms", 3),
    "threads p99 ms": ("99 %", 3),
    "threads texts/s": ("texts/s", 0),
}
KEYS = {FASTTEXT: "fasttext"}  # names in METHODS of what others name otherwise
SET = "ag_news"
WORKER, ROOT = "benchmarks.common.serving_worker", Path(__file__).parents[2]
PACKAGES = ("sklearn-hashnlp", "numpy", "scikit-learn", "scipy", "torch")
SMALL = {"n_buckets": 10**5, "n_embeddings": 10**5, "embedding_dim": 4}
SETTING = fasttext_baseline.SMALLER | {"lr": 0.25, "epoch": 5}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT)
    parser.add_argument(
        "--repeats", type=int, default=5, help="processes of each method (default: %(default)s)"
    )
    parser.add_argument(
        "--texts", type=int, default=7600, help="texts of each process (default: %(default)s)"
    )
    add_fasttext(parser)
    options, data, path = parser.read(arguments)
    with tempfile.TemporaryDirectory() as work, contextlib.ExitStack() as stack:
        env = environment(*PACKAGES)
        names = [FASTTEXT, *options.heirs]
        peers = stack.enter_context(peer_folders(names, options.fasttext, env["versions"]))
        methods = train(data, Path(work), peers)
        texts = Path(work, "texts.json")
        texts.write_text(json.dumps(data.test(SET).texts[: options.texts]), encoding="utf-8")
        runs: dict[str, list[dict[str, float]]] = {name: [] for name in methods}
        # repeat 0 is a warm-up, which fills the system's caches
        for repeat in range(options.repeats + 1):
            for name, (kind, where, _) in methods.items():
                run = run_worker(kind, where, texts)
                if repeat:
                    runs[name].append(run)
        models = {
            name: summary(runs[name]) | {"MB": size} for name, (_, _, size) in methods.items()
        }
    result = env | {"texts": options.texts, "threads": 8, "models": models}
    print(markdown(result))
    write_result(path, result)


def train(
    data: DataFolder, work: Path, peers: dict[str, Path]
) -> dict[str, tuple[str, str, float]]:
    """Train and write all models; return their kinds, paths and sizes in MB."""
    train = data.train(SET)
    ours = TextClassifier(random_state=0).fit(train.texts, train.labels)
    both = TextClassifier(random_state=0, features="words+characters").fit(
        train.texts, train.labels
    )
    small = TextClassifier(random_state=0, **SMALL).fit(train.texts, train.labels)
    save_model(ours, work / "model")
    save_model(small, work / "small_model")
    save_model(both, work / "characters")
    fitted = list(train.texts), list(train.labels), {"random_state": 0}
    (work / "fitted.json").write_text(json.dumps(fitted), encoding="utf-8")
    export_predictor(ours, work / "exported")
    export_predictor(small, work / "exported_small.py")
    peer = make_pipeline(TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True), LinearSVC())
    joblib.dump(peer.fit(train.texts, train.labels), work / "svm.joblib")
    theirs = train_fasttext(train, work, peers[FASTTEXT])
    command = [sys.executable, "-m", "sklearn_hashnlp", "predict", "--model"]
    methods = {
        "exported_small": ("exported", str(work / "exported_small.py")),
        "exported": ("exported", str(work / "exported")),
        "command_small": ("command", json.dumps([*command, str(work / "small_model")])),
        "command": ("command", json.dumps([*command, str(work / "model")])),
        "process": ("folder", str(work / "model")),
        "fitted": ("fitted", str(work / "fitted.json")),
        "characters": ("folder", str(work / "characters")),
        "svm": ("joblib", str(work / "svm.joblib")),
    }
    keys = {name: KEYS.get(name, name) for name in peers}
    for name, folder in peers.items():
        methods[keys[name]] = "fasttext", f"{folder}|{PEERS[name].module}|{theirs}"
    files = dict.fromkeys(keys.values(), theirs) | {
        "exported_small": work / "exported_small.py",
        "exported": work / "exported",
        "command_small": work / "small_model",
        "command": work / "model",
        "process": work / "model",
        "fitted": work / "model",
        "characters": work / "characters",
        "svm": work / "svm.joblib",
    }
    return {name: (*method, megabytes(files[name])) for name, method in methods.items()}


def train_fasttext(train: Rows, work: Path, folder: Path) -> Path:
    path, file = work / "train.txt", work / "fasttext.bin"
    lines = lines_of(train.texts, LOWERCASE)
    fasttext_baseline.write_rows(path, lines, train.labels, sorted(set(train.labels)))
    with Process(FASTTEXT, folder) as fasttext:
        fasttext_baseline.train(fasttext, path, SETTING, 0, 2)
        fasttext.call(FastText.save, str(file))
    return file


def run_worker(kind: str, where: str, texts: Path, folder: Path | None = None) -> dict[str, float]:
    """Measure a model, or a command, in a new process."""
    command = [sys.executable, "-m", WORKER, kind, where, str(texts)]
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def summary(runs: list[dict[str, float]]) -> dict[str, Any]:
    """Return the median of each figure over the processes, and all of them."""
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]} | {"runs": runs}


def markdown(result: dict[str, Any]) -> str:
    """Return the table: a row per method; empty cells were not measured."""
    models = result.get("models", {})
    return table(
        ("", *(head for head, _ in COLUMNS.values())),
        (
            (
                title,
                *(
                    f"{models[name][key]:,.{digits}f}" if key in models[name] else ""
                    for key, (_, digits) in COLUMNS.items()
                ),
            )
            for name, title in METHODS.items()
            if name in models
        ),
    )


TABLES = {"serving": markdown}
