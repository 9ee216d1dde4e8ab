"""``hashnlp demo``: train, test and save a classifier of the docstrings on this machine."""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from time import perf_counter
from typing import Any

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._pipelines import make_model
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
    output: Path = typer.Option(
        Path("hashnlp-demo"), "--output", "-o", metavar="DIR", help="Output folder."
    ),
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
    report: dict[str, Any] = {
        "n_train": len(texts) - n_test,
        "n_test": n_test,
        "model": str(folder),
    }
    table = plain_table("model", ">test accuracy", ">training time")
    for name, key in _MODELS.items():
        accuracies, seconds = [], []
        for number in range(_N_SPLITS):
            parts = train_test_split(
                texts, labels, test_size=_TEST_SIZE, stratify=labels, random_state=number
            )
            train_texts, test_texts, train_labels, test_labels = parts
            model = _make_model(name, number)
            started = perf_counter()
            if name == _SAVED and number == 0:
                fit_model(screen, model, train_texts, train_labels)
                save_model(model, folder)
            else:
                model.fit(train_texts, train_labels)
            seconds.append(perf_counter() - started)
            accuracies.append(float(model.score(test_texts, test_labels)))
        mean, deviation = statistics.mean(accuracies), statistics.pstdev(accuracies)
        time = statistics.median(seconds)
        report[key] = {"accuracy": mean, "standard_deviation": deviation, "seconds": round(time, 3)}
        figures = f"{mean:.4f} ± {deviation:.4f}", f"{time:.1f} s"
        table.add_row(name, *figures, style="bold" if name == _SAVED else None)
    splits = f"Mean and standard deviation over {_N_SPLITS} splits into training and test texts."
    screen.result(report, [table, splits, f"\nModel saved in  {folder}"])
    command = f'echo "{_EXAMPLE}" | {{hashnlp}} predict --model {{path}} --top 3 --proba'
    screen.next_step("predict the module of another sentence", command, path=folder)


def _make_model(name: str, seed: int) -> Any:
    """Return an untrained model; the linear ones are scikit-learn's usual pipeline for text."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline, make_union
    from sklearn.svm import LinearSVC

    characters = name.endswith("characters")
    if name.startswith("hash embedding"):
        features = "words+characters" if characters else "words"
        return make_model(features=features, random_state=seed)
    vectorizers = [TfidfVectorizer(ngram_range=(1, 2))]
    if characters:
        vectorizers.append(TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5)))
    return make_pipeline(make_union(*vectorizers), LinearSVC(random_state=seed))
