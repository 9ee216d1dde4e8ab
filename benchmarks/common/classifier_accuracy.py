"""Accuracy of make_text_classifier and of its peers on the labelled sets.

Settings are chosen on rows that are not test rows; the test rows are read once, for the figure that is printed.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sklearn.ensemble import VotingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.svm import LinearSVC

from sklearn_hashnlp.classifiers import make_text_classifier

from . import fasttext_baseline
from .data import SETS, DataFolder
from .timing import summary, train_and_test

FEATURES = ("words", "words+characters", "characters")
TUNED, FASTTEXT = "tuned", "fasttext"
MODELS = {
    "words": 'ours, features="words"',
    "words+characters": 'ours, features="words+characters"',
    "characters": 'ours, features="characters"',
    TUNED: "ours, tuned on training rows",
    FASTTEXT: "fastText, tuned on training rows",
    "svm": "TF-IDF words 1-2 + LinearSVC",
    "svm-punctuation": "the same with punctuation",
    "svm-characters": "TF-IDF words and characters + LinearSVC",
}
WORDLESS = {"characters", TUNED, FASTTEXT, "svm-characters"}

# One parameter after the other, in this order, keeps the value that is best on the choosing rows, so that the runs add
# up and do not multiply. Most are parameters of a step of the pipeline.
TUNING: list[tuple[str, list[Any]]] = [
    ("features", ["words", "words+characters", "characters"]),
    ("classifier__loss", ["softmax", "ova", "hinge"]),
    ("classifier__learning_rate", [0.1, 0.2, 0.4]),
    ("classifier__max_epochs", [1, 2, 3, 5]),
    ("classifier__batch_size", ["auto", 32, 64]),
    ("classifier__n_hashes", [1, 2]),
    ("members", [1, 5]),  # so many seeds vote
]
PARTS = {"features", "members"}  # these are not parameters of a step
FEW_ROWS, SEEDS_FOR_FEW = 10_000, 3  # on few rows one seed decides by chance

Progress = Callable[[str], None]


def models_of(name: str) -> list[str]:
    """Give the models that make sense on a set."""
    return [model for model in MODELS if not SETS[name].only_characters or model in WORDLESS]


def measure(
    name: str, model: str, data: DataFolder, fasttext: Any, seeds: int, threads: int, progress: Progress
) -> dict[str, Any]:
    """Train and test one model on one set.

    Returns
    -------
    dict
        ``accuracy`` in percent (the mean over the seeds), ``spread`` (the standard deviation), ``seconds`` (the median
        of training), ``runs``, and for what was tuned ``chosen`` and ``tried``.
    """
    if model == FASTTEXT:
        return _measure_fasttext(name, data, fasttext, seeds, threads, progress)
    if model.startswith("svm"):
        return summary([train_and_test(linear_model(name, model), data.train(name), data.test(name))])
    if model in FEATURES:
        chosen: dict[str, Any] = {"features": model}
        tuning = {}
    else:
        tried = tune(name, data, progress)
        chosen = tried[-1]["settings"]
        tuning = {"chosen": chosen, "tried": tried}
    train, test = data.train(name), data.test(name)
    runs = []
    for seed in range(seeds):
        runs.append(train_and_test(our_model(chosen, seed), train, test))
        progress(f"seed {seed}: {runs[-1]['accuracy']:.2f} % in {runs[-1]['seconds']:.1f} s")
    return summary(runs) | tuning


def our_model(settings: dict[str, Any], seed: int) -> Any:
    steps = {key: value for key, value in settings.items() if key not in PARTS}
    n_members = settings.get("members", 1)
    members = [
        make_text_classifier(features=settings["features"], random_state=n_members * seed + place).set_params(**steps)
        for place in range(n_members)
    ]
    if n_members == 1:
        return members[0]
    return VotingClassifier([(str(place), member) for place, member in enumerate(members)], voting="soft")


def tune(name: str, data: DataFolder, progress: Progress) -> list[dict[str, Any]]:
    """Choose each parameter of ``TUNING`` in its turn.

    Returns
    -------
    list of dict
        What was tried and its accuracy, and as the last one the settings that won.
    """
    fitted, judged = data.choosing(name)
    seeds = SEEDS_FOR_FEW if len(fitted.texts) < FEW_ROWS else 1
    tried: list[dict[str, Any]] = []

    def judge(settings: dict[str, Any]) -> float:
        runs = [train_and_test(our_model(settings, seed), fitted, judged) for seed in range(seeds)]
        found = statistics.mean(run["accuracy"] for run in runs)
        tried.append({"settings": settings, "accuracy": found})
        progress(f"{settings}: {found:.2f} % in {sum(run['seconds'] for run in runs):.1f} s")
        return found

    best: dict[str, Any] = {}
    reached = 0.0
    for key, values in TUNING:
        start = best
        for value in values:
            if key == "features":
                if SETS[name].only_characters and value != "characters":
                    continue
            elif value == (1 if key == "members" else our_model(start, 0).get_params()[key]):
                continue  # is what was judged already
            settings = start | {key: value}
            if (found := judge(settings)) > reached:
                best, reached = settings, found
    return [*tried, {"settings": best, "accuracy": reached}]


def linear_model(name: str, model: str) -> Pipeline:
    if SETS[name].only_characters:
        return make_pipeline(TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 4)), LinearSVC(random_state=0))
    words = TfidfVectorizer(ngram_range=(1, 2))
    if model != "svm":
        words.set_params(token_pattern=fasttext_baseline.TOKENS.pattern)
    if model == "svm-characters":
        characters = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5))
        return make_pipeline(FeatureUnion([("words", words), ("characters", characters)]), LinearSVC(random_state=0))
    return make_pipeline(words, LinearSVC(random_state=0))


def _measure_fasttext(
    name: str, data: DataFolder, fasttext: Any, seeds: int, threads: int, progress: Progress
) -> dict[str, Any]:
    fixed = fasttext_baseline.SMALLER
    if SETS[name].only_characters:
        fixed = fixed | {"wordNgrams": 1, "minn": 2, "maxn": 4}  # pairs of words made it slower and no better
    tried = fasttext_baseline.choose(fasttext, data.choosing(name), fixed, threads, progress)
    chosen = fixed | {key: tried[0][key] for key in ("lr", "epoch")}
    train, test = data.train(name), data.test(name)
    names, lines = sorted(set(train.labels)), fasttext_baseline.tokenised(test.texts)
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.txt"
        fasttext_baseline.write_rows(path, fasttext_baseline.tokenised(train.texts), train.labels, names)
        for seed in range(seeds):
            model, seconds = fasttext_baseline.train(fasttext, path, chosen, seed, threads)
            reached = fasttext_baseline.accuracy(model, lines, test.labels, names)
            runs.append({"accuracy": reached, "seconds": seconds})
            progress(f"seed {seed}: {reached:.2f} % in {seconds:.1f} s")
    return summary(runs) | {"chosen": chosen, "tried": tried}


def show_accuracy(sets: dict[str, dict[str, Any]]) -> None:
    """Print a row a set and a column a model."""
    print("\nTest accuracy, %")
    print(f"{'':14}" + "".join(f"{model:>17}" for model in MODELS))
    for name, found in sets.items():
        cells = [
            f"{found[model]['accuracy']:.2f} +-{found[model]['spread']:.2f}" if model in found else ""
            for model in MODELS
        ]
        print(f"{name:14}" + "".join(f"{cell:>17}" for cell in cells))
    for model, title in MODELS.items():
        print(f"  {model}: {title}")
