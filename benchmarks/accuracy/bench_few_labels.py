r"""The text classifier with few labels: alone, with unlabeled texts, and with pretrained vectors.

default      TextClassifier, with nothing set.
unlabeled    The same, with unlabeled=: the vectors of a CooccurrenceEncoder that is fitted to all
             training texts of the set, without their labels. It is fitted once for all samples,
             which are among these texts.
english      The same, with pretrained="english".
both         Both of them.
linear       TF-IDF of words and characters, and LinearSVC; lowercase, sublinear_tf and C are chosen
             by cross-validation, as in bench_small_sets. With all rows only of sets of at most
             10,000.
teacher      Logistic regression on the vectors of the Transformer that the English encoder learned
             from, C by cross-validation; only with --teacher-vectors, and with at most 4,000 rows.

With 0 labels a text has the label with the nearest name by cosine similarity, for sets whose labels
have names, by the English encoder and the teacher.

Each model is trained on the same random samples of the training rows, another one for each seed,
and tested on the same test rows, at most 8,000. All choices were made on training rows; test rows
are read once, here. The seven English sets were the development sets of the encoder: they decided
whether it is shipped.

    python -m benchmarks run bench_few_labels --data DIR --teacher-vectors FOLDER --cache FOLDER
    python -m benchmarks run bench_few_labels --data DIR --sets trec --sizes 250 --models both

Each result is written when it is measured and not measured again (unless --again is given).
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegressionCV
from sklearn.pipeline import FeatureUnion
from threadpoolctl import threadpool_limits

from benchmarks.accuracy.bench_small_sets import linear_correct
from benchmarks.common.benchmark import BenchmarkParser, environment, read_result, write_result
from benchmarks.common.data import ENGLISH_SETS, TITLES, DataFolder, Rows
from benchmarks.common.pages import table
from benchmarks.language import sentence_teacher
from sklearn_hashnlp import TextClassifier
from sklearn_hashnlp.sentences import CooccurrenceEncoder, load_pretrained

RESULT = "few_labels.json"
PAGE = "few_labels.md"
PACKAGES = ("sklearn-hashnlp", "numpy", "scikit-learn", "scipy", "torch")
SETS = (*ENGLISH_SETS, "languages79")
SIZES = (0, 50, 250, 1000, 4000, -1)
NO_LABELS, ALL_ROWS = 0, -1
DEFAULT, UNLABELED, ENGLISH, BOTH = "default", "unlabeled", "english", "both"
LINEAR, TEACHER = "linear", "teacher"
MODELS = (LINEAR, DEFAULT, UNLABELED, ENGLISH, BOTH, TEACHER)
N_TEST = 8_000
N_TIMED = 1_000
MANY_ROWS = 10_000  # that the linear model is not tuned on
# What a text with the label is about, for sets whose labels have a meaning of their own.
NAMES: dict[str, dict[str, str]] = {
    "trec": {
        "ABBR": "abbreviation",
        "DESC": "description",
        "ENTY": "entity",
        "HUM": "human",
        "LOC": "location",
        "NUM": "number",
    },
    "sst2": {"0": "negative", "1": "positive"},
    "imdb": {"neg": "negative", "pos": "positive"},
    "ag_news": {
        "World": "world news",
        "Sports": "sports",
        "Business": "business",
        "Sci/Tech": "science and technology",
    },
}


class Bench:
    """A data set, its samples and its encoders."""

    def __init__(self, name: str, data: DataFolder, options: argparse.Namespace) -> None:
        self.name = name
        self.options = options
        self.train = data.train(name)
        self.test = data.test(name).sample(N_TEST)
        self.labels = np.array(self.test.labels)
        self._data = data

    def has(self, model: str, size: int) -> bool:
        """Check whether a model is measured with a number of labeled rows."""
        n_rows = len(self.train.texts)
        if size >= n_rows or (model in (ENGLISH, BOTH) and self.name not in ENGLISH_SETS):
            return False
        if model == TEACHER and (
            self.options.teacher_vectors is None
            or size == ALL_ROWS
            or self.name not in ENGLISH_SETS
        ):
            return False
        if size == NO_LABELS:
            return model in (ENGLISH, TEACHER) and self.name in NAMES
        return not (model == LINEAR and size == ALL_ROWS and n_rows > MANY_ROWS)

    def sample(self, size: int, seed: int) -> Rows:
        """Return a sample of the training rows."""
        return self.train.sample(None if size == ALL_ROWS else size, seed)

    @cached_property
    def english(self) -> Any:
        """The encoder that comes with the package."""
        return load_pretrained("english").set_params(n_jobs=-1)

    @cached_property
    def own(self) -> Any:
        """An encoder of all training texts, as ``unlabeled`` fits it."""
        start = time.perf_counter()
        encoder = CooccurrenceEncoder(n_jobs=-1).fit(self.train.texts)
        self.seconds_of_own = time.perf_counter() - start
        return encoder

    def classifier(self, model: str, seed: int) -> TextClassifier:
        """Return an untrained classifier."""
        pretrained: Any = {
            DEFAULT: lambda: None,
            UNLABELED: lambda: self.own,
            ENGLISH: lambda: self.english,
            BOTH: lambda: FeatureUnion([("english", self.english), ("own", self.own)]),
        }[model]()
        return TextClassifier(pretrained=pretrained, random_state=seed)

    def vectors(self, texts: list[str]) -> NDArray[np.float32]:
        """Return the teacher's vectors."""
        return np.stack([self._vector_of[text] for text in texts])

    @cached_property
    def _vector_of(self) -> dict[str, NDArray[np.float32]]:
        """The teacher's vectors of all texts that it needs, which are kept in the folder."""
        needed = dict.fromkeys([*self.test.texts, *NAMES.get(self.name, {}).values()])
        for size in SIZES:
            if size not in (NO_LABELS, ALL_ROWS) and self.has(TEACHER, size):
                for seed in range(self.options.seeds):
                    needed |= dict.fromkeys(self.sample(size, seed).texts)
        kind = f"few labels of {self.name}"
        vectors = sentence_teacher.TeacherVectors(
            self.options.teacher_vectors, self._data, self.options.package, {}, {kind: list(needed)}
        )
        return dict(zip(*vectors.read(kind), strict=True))

    def correct(self, model: str, size: int, seed: int) -> NDArray[np.bool_]:
        """Train a model on a sample; return whether each test row is predicted correctly."""
        rows = self.sample(size, seed)
        if model == LINEAR:
            test = self.test
            return linear_correct(self.name, size, seed, rows, test, self.options.cache)[0]
        if model == TEACHER:
            regression = LogisticRegressionCV(Cs=(0.1, 1.0, 10.0, 100.0), cv=3, max_iter=1000)
            regression.fit(self.vectors(rows.texts), rows.labels)
            predicted = regression.predict(self.vectors(self.test.texts))
        else:
            predicted = self.classifier(model, seed).fit(*rows).predict(self.test.texts)
        return np.asarray(predicted == self.labels)

    def correct_by_name(self, model: str) -> NDArray[np.bool_]:
        """Predict the label with the nearest name."""
        labels, names = zip(*NAMES[self.name].items(), strict=True)
        encode = self.vectors if model == TEACHER else self.english.transform
        nearest = (encode(self.test.texts) @ encode(list(names)).T).argmax(axis=1)
        return np.asarray(np.array(labels)[nearest] == self.labels)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT)
    parser.add_choices("--sets", SETS)
    parser.add_choices("--models", MODELS)
    parser.add_argument(
        "--sizes",
        nargs="+",
        type=int,
        default=list(SIZES),
        help="labeled rows, -1 for all (default: %(default)s)",
    )
    parser.add_argument(
        "--seeds", type=int, default=5, help="samples of rows, and trainings (default: %(default)s)"
    )
    parser.add_argument("--teacher-vectors", type=Path, help="folder of the teacher's vectors")
    parser.add_argument(
        "--package", type=Path, help="folder to install the teacher in (default: not kept)"
    )
    parser.add_argument(
        "--cache", type=Path, metavar="DIR", help="folder for the predictions of the linear model"
    )
    parser.add_argument(
        "--speed", action="store_true", help="only time the English encoder and the teacher"
    )
    parser.add_again()
    options, data, path = parser.read(arguments)
    result = read_result(path)
    if options.speed:
        result["texts per second"] = speeds(data, options.package)
        print(result["texts per second"])
        write_result(path, result)
        return
    for name in options.sets:
        bench = Bench(name, data, options)
        cells = result.setdefault("sets", {}).setdefault(name, {})
        for size in options.sizes:
            for model in options.models:
                cell = cells.setdefault(str(size), {})
                if (model in cell and not options.again) or not bench.has(model, size):
                    continue
                cell[model] = measure(bench, model, size)
                result |= environment(*PACKAGES)
                print(f"{name}, {size} labels, {model}: {cell[model]}", flush=True)
                write_result(path, result)
        if "seconds_of_own" in vars(bench):
            known = result.setdefault("seconds of an encoder", {})
            known[name] = {"texts": len(bench.train.texts), "seconds": bench.seconds_of_own}
            write_result(path, result)
    print(markdown(result))


def measure(bench: Bench, model: str, size: int) -> dict[str, Any]:
    """Return the accuracy on the test rows: the mean over the seeds, and each."""
    start = time.process_time()
    if size == NO_LABELS:
        accuracies = [100 * float(bench.correct_by_name(model).mean())]
    else:
        accuracies = [
            100 * float(bench.correct(model, size, seed).mean())
            for seed in range(bench.options.seeds)
        ]
    return {
        "accuracy": statistics.fmean(accuracies),
        "of seeds": accuracies,
        "cpu seconds": (time.process_time() - start) / len(accuracies),
    }


def speeds(data: DataFolder, package: Path | None) -> dict[str, float]:
    """Return how many texts of AG News each encoder converts in a second, with one thread."""
    texts = data.train("ag_news").sample(N_TIMED).texts
    english = load_pretrained("english").transform
    with threadpool_limits(1), sentence_teacher.teacher(package) as (teacher, _):
        seconds = {}
        for name, encode in ((ENGLISH, english), (TEACHER, teacher)):
            encode(texts[:64])
            start = time.perf_counter()
            encode(texts)
            seconds[name] = time.perf_counter() - start
    return {name: len(texts) / value for name, value in seconds.items()}


def means(result: dict[str, Any], names: Sequence[str] = ENGLISH_SETS) -> dict[str, dict[str, Any]]:
    """Return the mean accuracy of each model over sets, by number of labels, where all have it."""
    sets = result.get("sets", {})
    found: dict[str, dict[str, Any]] = {}
    for size in map(str, SIZES):
        cells = [sets[name][size] for name in names if sets.get(name, {}).get(size)]
        for model in MODELS:
            if cells and all(model in cell for cell in cells):
                mean = statistics.fmean(cell[model]["accuracy"] for cell in cells)
                found.setdefault(size, {})[model] = {"accuracy": mean, "sets": len(cells)}
    return found


def markdown(result: dict[str, Any]) -> str:
    """Return the table: a row per number of labels and data set, a column per model."""
    rows = []
    for size in map(str, SIZES):
        label = {str(ALL_ROWS): "all"}.get(size, f"{int(size):,}")
        for name in SETS:
            cell = result.get("sets", {}).get(name, {}).get(size)
            if cell:
                rows.append((label, TITLES[name], *(_cell(cell.get(model)) for model in MODELS)))
        mean = means(result).get(size, {})
        if len(mean) > 1:
            rows.append((label, "mean, English", *(_cell(mean.get(model)) for model in MODELS)))
    return table(("labels", "", *MODELS), rows)


def _cell(cell: dict[str, Any] | None) -> str:
    return "" if cell is None else f"{cell['accuracy']:.1f}"


def speed_table(result: dict[str, Any]) -> str:
    """Return the table of texts per second."""
    names = {ENGLISH: "English encoder, 6 MB", TEACHER: "all-MiniLM-L6-v2, 22 million parameters"}
    speed = result.get("texts per second", {})
    rows = [(names[name], f"{value:,.0f}") for name, value in speed.items()]
    return table(("vectors of AG News, one thread", "texts per second"), rows)


TABLES = {"few labels": markdown, "few labels speed": speed_table}
