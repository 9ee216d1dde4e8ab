"""Accuracy on AG News: the text classifier, fastText and a linear model on the same rows.

Trains ``make_text_classifier`` with nothing set but the seed and the threads, fastText at its published setting and
TF-IDF with a linear SVM, prints a table and writes it as JSON. The test rows are read for the final figures only;
fastText's learning rate and epochs are chosen on a tenth of the training rows.

    python benchmarks/bench_ag_news.py --data DIR [--fasttext-python PYTHON]

DIR (or the variable HASHNLP_DATA) holds ag_news/train.csv and ag_news/test.csv with the columns label and text.
fastText needs an environment of its own, made for instance by

    python -m venv ft && ft/bin/pip install fasttext-wheel "numpy<2"

and named by --fasttext-python ft/bin/python; without it its row is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from surroundings import surroundings

from sklearn_hashnlp.estimators import make_text_classifier

TOKENS = r"\w+|[^\w\s]"
RATES, EPOCHS = (0.05, 0.1, 0.25, 0.5, 1.0), (3, 5, 10, 20)
# Published: dim 10, word bigrams, minCount 1, 10,000,000 buckets. Runs in fastText's own environment.
WORKER = """
import json, sys, time, fasttext
train, test, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
start = time.perf_counter()
model = fasttext.train_supervised(train, dim=10, wordNgrams=2, minCount=1, bucket=10_000_000, verbose=0, **options)
seconds = time.perf_counter() - start
print(json.dumps({"accuracy": 100 * model.test(test)[1], "seconds": seconds}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("HASHNLP_DATA"), help="folder that holds ag_news/")
    parser.add_argument("--fasttext-python", help="interpreter of an environment with fastText")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2, help="of fastText and of the vectorizer")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "ag_news.json")
    arguments = parser.parse_args()
    if arguments.data is None:
        parser.error("name the data folder with --data or in HASHNLP_DATA")

    train, test = (read(Path(arguments.data) / "ag_news" / name) for name in ("train.csv", "test.csv"))
    runs = {"make_text_classifier": [ours(train, test, seed, arguments.threads) for seed in range(arguments.seeds)]}
    settings: dict[str, Any] = {}
    if arguments.fasttext_python:
        settings = choose(arguments.fasttext_python, train, arguments.threads)
        runs["fastText"] = [
            fasttext(arguments.fasttext_python, train, test, settings | {"thread": arguments.threads, "seed": seed})
            for seed in range(arguments.seeds)
        ]
    runs["TF-IDF + LinearSVC"] = [linear(train, test)]
    report(runs, settings, arguments, (len(train), len(test)))


def read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def ours(train: pd.DataFrame, test: pd.DataFrame, seed: int, threads: int) -> dict[str, float]:
    start = time.perf_counter()
    model = make_text_classifier(random_state=seed, n_jobs=threads).fit(train["text"], train["label"])
    seconds = time.perf_counter() - start
    return {"accuracy": 100 * model.score(test["text"], test["label"]), "seconds": seconds}


def linear(train: pd.DataFrame, test: pd.DataFrame) -> dict[str, float]:
    start = time.perf_counter()
    vectorizer = TfidfVectorizer(token_pattern=TOKENS, ngram_range=(1, 2))
    model = make_pipeline(vectorizer, LinearSVC(random_state=0)).fit(train["text"], train["label"])
    seconds = time.perf_counter() - start
    return {"accuracy": 100 * model.score(test["text"], test["label"]), "seconds": seconds}


def choose(python: str, train: pd.DataFrame, threads: int) -> dict[str, Any]:
    """Choose fastText's learning rate and epochs on a tenth of the training rows."""
    fitted, held_out = train_test_split(train, test_size=0.1, stratify=train["label"], random_state=0)
    grid = [{"lr": lr, "epoch": epoch} for lr in RATES for epoch in EPOCHS]
    return max(grid, key=lambda s: fasttext(python, fitted, held_out, s | {"thread": threads})["accuracy"])


def fasttext(python: str, train: pd.DataFrame, test: pd.DataFrame, options: dict[str, Any]) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / name) for name in ("train.txt", "test.txt")]
        for path, frame in zip(paths, (train, test), strict=True):
            lines = [
                f"__label__{label.replace(' ', '_')} {' '.join(re.findall(TOKENS, text.lower()))}\n"
                for label, text in zip(frame["label"], frame["text"], strict=True)
            ]
            Path(path).write_text("".join(lines), encoding="utf-8")
        command = [python, "-c", WORKER, *paths, json.dumps(options)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def report(
    runs: dict[str, Any], settings: dict[str, Any], arguments: argparse.Namespace, rows: tuple[int, int]
) -> None:
    result: dict[str, Any] = surroundings("sklearn-hashnlp", "numpy", "scikit-learn", "scipy", "skorch", "torch") | {
        "data": {"name": "AG News", "training rows": rows[0], "test rows": rows[1]},
        "threads": arguments.threads,
        "fastText": settings,
        "models": {},
    }
    print(f"{'':22} {'accuracy %':>10} {'spread':>7} {'train s':>8}  (from raw text; fastText's from tokens)")
    for name, found in runs.items():
        accuracies = [run["accuracy"] for run in found]
        mean, spread = statistics.mean(accuracies), statistics.pstdev(accuracies)
        seconds = statistics.median(run["seconds"] for run in found)
        result["models"][name] = {"accuracy": mean, "spread": spread, "seconds": seconds, "runs": found}
        print(f"{name:22} {mean:10.2f} {spread:7.2f} {seconds:8.1f}")
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(result, indent=2) + "\n")
    print(f"written: {arguments.output}")


if __name__ == "__main__":
    main()
