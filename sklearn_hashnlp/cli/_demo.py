"""``hashnlp demo``: train, test and save a classifier of the docstrings on this machine."""

from __future__ import annotations

import itertools
import math
import statistics
from pathlib import Path
from time import perf_counter
from typing import Any

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import ComputeDevice, Jobs, Seed
from sklearn_hashnlp.cli._screen import Screen, plain_table

_TEST_SIZE = 0.25
_N_SPLITS = 5
_SAVED = "hash embedding, words + characters"
_MODELS = {  # with the keys of the JSON report
    "hash embedding, words": "hash_embedding_words",
    "TF-IDF + LinearSVC, words": "tfidf_linear_svc",
    _SAVED: "hash_embedding",
    "TF-IDF + LinearSVC, words + characters": "tfidf_characters_linear_svc",
}
_EXAMPLE = "Return the names of all members of the archive, and extract one of them."


@reporting_errors
def demo(
    screen: Screen,
    output: Path = typer.Option(Path("hashnlp-demo"), "--output", "-o", metavar="DIR", help="Output folder."),
    seed: Seed = 0,
    device: ComputeDevice = "cpu",
    n_jobs: Jobs = None,
) -> None:
    """Train a classifier that predicts the module of a Python docstring, on text that is on your
    machine.

      hashnlp demo
      hashnlp demo --output /tmp/demo --json

    It reads the docstrings of Python's standard library, trains on three quarters of them to
    predict in which module each one is, and tests on the rest. Hash embeddings are compared with
    linear support vector machines on TF-IDF, both on words and on words and characters, over five
    seeds of the split. The model of words and characters is saved in the folder hashnlp-demo. No
    network, no GPU; less than a minute.
    """
    folder = output / "model"
    screen.note("Loading libraries ...", style="dim")
    from sklearn.model_selection import train_test_split

    from sklearn_hashnlp.cli._fit_classifier import fit_model
    from sklearn_hashnlp.datasets import load_stdlib_docstrings
    from sklearn_hashnlp.persistence import save_model

    save_model(None, folder, dry_run=True)
    texts, labels = load_stdlib_docstrings(return_X_y=True)
    n_test = math.ceil(_TEST_SIZE * len(texts))
    screen.note(
        f"{len(texts):,} docstrings of {len(set(labels))} modules of Python's standard library: "
        f"{len(texts) - n_test:,} training and {n_test:,} test texts\n"
    )
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in _MODELS}
    for number, name in itertools.product(range(_N_SPLITS), _MODELS):
        parts = train_test_split(texts, labels, test_size=_TEST_SIZE, stratify=labels, random_state=number)
        train_texts, test_texts, train_labels, test_labels = parts
        model = _make_model(name, seed=seed + number, device=device, n_jobs=n_jobs)
        started = perf_counter()
        if number == 0 and name == _SAVED:
            fit_model(screen, model, train_texts, train_labels)
            save_model(model, folder)
        else:
            model.fit(train_texts, train_labels)
        seconds = perf_counter() - started
        runs[name].append((float(model.score(test_texts, test_labels)), seconds))
    results = {name: _summary(of_model) for name, of_model in runs.items()}
    report = {"n_train": len(texts) - n_test, "n_test": n_test, "model": str(folder)}
    report |= {key: results[name] for name, key in _MODELS.items()}
    screen.result(report, _describe(results, folder))
    command = f'echo "{_EXAMPLE}" | {{hashnlp}} predict --model {{path}} --top 3 --proba'
    screen.next_step("predict the module of another sentence", command, path=folder)


def _make_model(name: str, *, seed: int, **options: Any) -> Any:
    """Return one of the models, untrained; the linear ones are scikit-learn's usual pipeline for text."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline, make_union
    from sklearn.svm import LinearSVC

    from sklearn_hashnlp.cli import _pipelines

    characters = name.endswith("characters")
    if name.startswith("hash embedding"):
        return _pipelines.make_model(seed=seed, features="words+characters" if characters else "words", **options)
    vectorizers = [TfidfVectorizer(ngram_range=(1, 2))]
    if characters:
        vectorizers.append(TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5)))
    return make_pipeline(make_union(*vectorizers), LinearSVC(random_state=seed))


def _summary(runs: list[tuple[float, float]]) -> dict[str, float]:
    accuracies, seconds = zip(*runs, strict=True)
    return {
        "accuracy": statistics.mean(accuracies),
        "standard_deviation": statistics.pstdev(accuracies),
        "seconds": round(statistics.median(seconds), 3),
    }


def _describe(results: dict[str, dict[str, float]], folder: Path) -> list[Any]:
    """Return the lines of the result."""
    table = plain_table("model", ">test accuracy", ">training time")
    for name, row in results.items():
        accuracy = f"{row['accuracy']:.4f} ± {row['standard_deviation']:.4f}"
        table.add_row(name, accuracy, f"{row['seconds']:.1f} s", style="bold" if name == _SAVED else None)
    best = max(results, key=lambda name: results[name]["accuracy"])
    return [
        table,
        f"Mean and standard deviation over {_N_SPLITS} splits into training and test texts.",
        *([] if best == _SAVED else [f"\nBest here: {best}."]),
        f"\nModel saved in  {folder}",
    ]
