"""Accuracy of make_text_classifier and of the baselines on the labeled data sets.

Hyper-parameters are chosen on validation rows, for the baselines the form of the texts, too: as
they are or in lowercase. The test rows are read once, for the accuracy that is printed.
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

from benchmarks.common import fasttext_baseline
from benchmarks.common.data import SETS, DataFolder
from benchmarks.common.fasttext_peers import TOKENS, lines_of
from benchmarks.common.fasttext_processes import Process
from benchmarks.common.timing import summary, train_and_test
from sklearn_hashnlp.classifiers import make_text_classifier

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

# Coordinate-wise search: one parameter after the other keeps its best value on the validation rows,
# so the number of trainings is a sum and not a product. Most are parameters of a step of the
# pipeline.
TUNING: list[tuple[str, list[Any]]] = [
    ("features", ["words", "words+characters", "characters"]),
    ("classifier__loss", ["softmax", "ova", "hinge"]),
    ("classifier__learning_rate", [0.1, 0.2, 0.4]),
    ("classifier__max_epochs", [1, 2, 3, 5]),
    ("classifier__batch_size", ["auto", 32, 64]),
    ("classifier__n_hashes", [1, 2]),
    ("members", [1, 5]),  # seeds of a voting ensemble
]
NOT_STEPS = {"features", "members"}  # not parameters of a step

Progress = Callable[[str], None]


def models_of(name: str) -> list[str]:
    """Return the models that apply to a data set."""
    return [model for model in MODELS if not SETS[name].only_characters or model in WORDLESS]


def measure(
    name: str,
    model: str,
    data: DataFolder,
    fasttext: Process | None,
    seeds: int,
    threads: int,
    progress: Progress,
) -> dict[str, Any]:
    """Train and test one model on one data set."""
    if model == FASTTEXT:
        assert fasttext is not None
        return _measure_fasttext(name, data, fasttext, seeds, threads, progress)
    if model.startswith("svm"):
        return measure_linear(name, model, data)
    if model in FEATURES:
        chosen: dict[str, Any] = {"features": model}
        tuning = {}
    else:
        trials = tune(name, data, progress)
        chosen = trials[-1]["settings"]
        tuning = {"chosen": chosen, "tried": trials}
    train, test = data.train(name), data.test(name)
    runs = []
    for seed in range(seeds):
        runs.append(train_and_test(our_model(chosen, seed), train, test))
        progress(f"seed {seed}: {runs[-1]['accuracy']:.2f} % in {runs[-1]['seconds']:.1f} s")
    return summary(runs) | tuning


def our_model(settings: dict[str, Any], seed: int) -> Any:
    steps = {key: value for key, value in settings.items() if key not in NOT_STEPS}
    n_members = settings.get("members", 1)
    members = [
        make_text_classifier(
            features=settings["features"], random_state=n_members * seed + member
        ).set_params(**steps)
        for member in range(n_members)
    ]
    if n_members == 1:
        return members[0]
    return VotingClassifier(
        [(str(member), member) for member, member in enumerate(members)], voting="soft"
    )


def tune(name: str, data: DataFolder, progress: Progress) -> list[dict[str, Any]]:
    """Choose the parameters of ``TUNING``, one after the other."""
    train, valid = data.train_valid(name)
    seeds = fasttext_baseline.SEEDS_FOR_FEW if len(train.texts) < fasttext_baseline.FEW_ROWS else 1
    trials: list[dict[str, Any]] = []

    def evaluate(settings: dict[str, Any]) -> float:
        runs = [train_and_test(our_model(settings, seed), train, valid) for seed in range(seeds)]
        measured = statistics.mean(run["accuracy"] for run in runs)
        trials.append({"settings": settings, "accuracy": measured})
        progress(f"{settings}: {measured:.2f} % in {sum(run['seconds'] for run in runs):.1f} s")
        return measured

    best: dict[str, Any] = {}
    score = 0.0
    for key, values in TUNING:
        start = best
        for value in values:
            if key == "features":
                if SETS[name].only_characters and value != "characters":
                    continue
            elif value == (1 if key == "members" else our_model(start, 0).get_params()[key]):
                continue  # already evaluated
            settings = start | {key: value}
            if (measured := evaluate(settings)) > score:
                best, score = settings, measured
    return [*trials, {"settings": best, "accuracy": score}]


def measure_linear(name: str, model: str, data: DataFolder) -> dict[str, Any]:
    """Choose whether a linear model gets texts in lowercase, then train and test it."""
    rows = data.train_valid(name)
    choices = (True, False) if any(text != text.lower() for text in rows[0].texts) else (True,)
    trials = [
        {"lowercase": lowercase} | train_and_test(linear_model(name, model, lowercase), *rows)
        for lowercase in choices
    ]
    chosen = max(trials, key=lambda one: one["accuracy"])["lowercase"]
    run = train_and_test(linear_model(name, model, chosen), data.train(name), data.test(name))
    return summary([run]) | {"chosen": {"lowercase": chosen}, "tried": trials}


def linear_model(name: str, model: str, lowercase: bool = True) -> Pipeline:
    if SETS[name].only_characters:
        characters = TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 4), lowercase=lowercase)
        return make_pipeline(characters, LinearSVC(random_state=0))
    words = TfidfVectorizer(ngram_range=(1, 2), lowercase=lowercase)
    if model != "svm":
        words.set_params(token_pattern=TOKENS.pattern)
    if model == "svm-characters":
        characters = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), lowercase=lowercase)
        return make_pipeline(
            FeatureUnion([("words", words), ("characters", characters)]), LinearSVC(random_state=0)
        )
    return make_pipeline(words, LinearSVC(random_state=0))


def _measure_fasttext(
    name: str, data: DataFolder, fasttext: Process, seeds: int, threads: int, progress: Progress
) -> dict[str, Any]:
    fixed = fasttext_baseline.SMALLER
    if SETS[name].only_characters:
        # word bigrams are slower and not better
        fixed = fixed | {"wordNgrams": 1, "minn": 2, "maxn": 4}
    trials = fasttext_baseline.choose(fasttext, data.train_valid(name), fixed, threads, progress)
    forms = measure_forms(name, data, fasttext, fixed, trials, seeds, threads)
    chosen = fixed | fasttext_baseline.best(trials)
    result = {key: value for key, value in forms[chosen["form"]].items() if key != "setting"}
    return result | {"chosen": chosen, "forms": forms, "tried": trials}


def measure_forms(
    name: str,
    data: DataFolder,
    fasttext: Process,
    fixed: dict[str, Any],
    trials: list[dict[str, Any]],
    seeds: int,
    threads: int,
) -> dict[str, dict[str, Any]]:
    """Train and test fastText on each tried form of the texts, with the form's best settings."""
    train, test = data.train(name), data.test(name)
    names = sorted(set(train.labels))
    measured: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.txt"
        for form in dict.fromkeys(trial["form"] for trial in trials):
            setting = fixed | fasttext_baseline.best(
                [trial for trial in trials if trial["form"] == form]
            )
            lines = lines_of(test.texts, form)
            fasttext_baseline.write_rows(path, lines_of(train.texts, form), train.labels, names)
            runs = []
            for seed in range(seeds):
                seconds = fasttext_baseline.train(fasttext, path, setting, seed, threads)
                score = fasttext_baseline.accuracy(fasttext, lines, test.labels, names)
                runs.append({"accuracy": score, "seconds": seconds})
            measured[form] = summary(runs) | {"setting": setting}
    return measured
