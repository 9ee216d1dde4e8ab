"""Softmax against hierarchical softmax over the labels: training time and accuracy.

Two data sets, with the defaults of make_text_classifier except where named. Synthetic texts of
10,000 labels, 200,000 training and 10,000 test rows: each label has four word pairs, and a text has
two of them among twelve other words. And the 79 languages (characters). The losses alternate within
each seed. Seconds are of the classifier's fit, wall-clock time and CPU time of all threads (other
programs on the machine affect only the first); n-grams are counted beforehand. Prediction is timed
on the test rows.

    python -m benchmarks run bench_many_labels --data DIR
    # A test run; writes no JSON
    python -m benchmarks run bench_many_labels --data DIR --rows 5000 --labels 500
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import torch

from benchmarks.common.benchmark import BenchmarkParser, environment, read_result, write_result
from benchmarks.common.data import DataFolder, Rows
from benchmarks.common.synthetic_texts import synthetic_rows
from benchmarks.common.timing import summary
from sklearn_hashnlp.classifiers import make_text_classifier

RESULT = "many_labels.json"
PROBLEMS = ("made-up", "languages79")
MODELS: dict[str, dict[str, Any]] = {
    "softmax": {"loss": "softmax"},
    "hsigmoid, two_level": {"loss": "hsigmoid"},
    "hsigmoid, huffman": {"loss": "hsigmoid", "tree": "huffman"},
    "softmax, 32": {"loss": "softmax", "embedding_dim": 32},
    "hsigmoid, two_level, 32": {"loss": "hsigmoid", "embedding_dim": 32},
    "softmax, two epochs": {"loss": "softmax", "max_epochs": 2},
    "hsigmoid, two_level, two epochs": {"loss": "hsigmoid", "max_epochs": 2},
}
N_TEXTS, N_TEST_TEXTS = 200_000, 10_000
UNITS = ("accuracy", "seconds", "processor seconds", "seconds to predict")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT)
    parser.add_choices("--problems", PROBLEMS)
    parser.add_choices("--models", MODELS)
    parser.add_argument(
        "--labels", type=int, default=10_000, help="synthetic labels (default: %(default)s)"
    )
    parser.add_argument(
        "--seeds", type=int, nargs="+", default=[0, 1, 2], help="default: %(default)s"
    )
    parser.add_argument("--threads", type=int, default=1, help="of torch (default: %(default)s)")
    options, data, path = parser.read(arguments)
    torch.set_num_threads(options.threads)

    problems: dict[str, Any] = read_result(path).get("problems", {})
    for problem in options.problems:
        train, test = rows_of(problem, data, options.labels)
        features = "characters" if problem == "languages79" else "words"
        measured = problems.setdefault(
            problem, {"rows": len(train.texts), "labels": len(set(train.labels)), "models": {}}
        )
        models = measured["models"]
        for seed in options.seeds:
            for name in options.models:
                run = {"seed": seed} | measure(MODELS[name], features, train, test, seed)
                others = [
                    one for one in models.get(name, {}).get("runs", []) if one["seed"] != seed
                ]
                models[name] = summary([*others, run], UNITS[1:])
                print(
                    f"{problem:12}{name:32}",
                    *(f"{unit} {run[unit]:.2f}" for unit in UNITS),
                    sep="  ",
                    flush=True,
                )
                packages = ("sklearn-hashnlp", "numpy", "scikit-learn", "scipy", "skorch", "torch")
                write_result(
                    path,
                    environment(*packages)
                    | {"torch threads": options.threads, "problems": problems},
                )


def rows_of(problem: str, data: DataFolder, n_labels: int) -> tuple[Rows, Rows]:
    if problem == "languages79":
        return data.train(problem), data.test(problem)
    n_texts, n_test = (
        n if data.rows is None else min(n, data.rows) for n in (N_TEXTS, N_TEST_TEXTS)
    )
    return synthetic_rows(n_texts, n_labels, seed=0), synthetic_rows(n_test, n_labels, seed=1)


def measure(
    settings: dict[str, Any], features: str, train: Rows, test: Rows, seed: int
) -> dict[str, float]:
    vectorizer, classifier = make_text_classifier(features=features, random_state=seed, **settings)
    few = vectorizer.transform(train.texts[:200])
    # Load everything used before timing.
    warm = make_text_classifier(random_state=seed, **settings)["classifier"]
    warm.fit(few, [str(i % 40) for i in range(few.shape[0])]).predict(few)
    X, X_test = vectorizer.transform(train.texts), vectorizer.transform(test.texts)
    start, processor = time.perf_counter(), time.process_time()
    classifier.fit(X, train.labels)
    seconds, processor_seconds = time.perf_counter() - start, time.process_time() - processor
    start = time.perf_counter()
    accuracy = 100 * float(classifier.score(X_test, test.labels))
    return {
        "accuracy": accuracy,
        "seconds": seconds,
        "processor seconds": processor_seconds,
        "seconds to predict": time.perf_counter() - start,
    }
