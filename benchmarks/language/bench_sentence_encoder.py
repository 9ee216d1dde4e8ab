r"""SGNNSentenceEncoder trained on Wikipedia, against TF-IDF, hashed n-grams and no training.

Parts, each of which can be run alone (--part) and is added to the same JSON:

training        Each encoder and seed: seconds, the share of the time that steps waited for a batch,
                and the curve of the validation score, the rank correlation on the first half of the
                STS benchmark's development set. The encoders are saved in a folder (--work); an
                interrupted training resumes from there.
similarity      Spearman's correlation of cosine similarities and human scores on the first half,
                the second half and the whole set, of baselines and encoders.
classification  Logistic regression on frozen vectors, with C = 1000 as in the reference
                implementation and C chosen on training rows: trec, sst2, and imdb with the mean of
                a review's sentence vectors.
retrieval       Search in 5,000 texts that the encoder was fitted on: ag_news, swda, paragraphs of
                Wikipedia, and imdb, on which nothing was chosen.
speed           Sentences per second of the small encoder on two threads, and without deduplication
                of words.
ablation        The small encoder, with earlier defaults and one setting changed at a time, each
                trained for the same seconds.
defaults        Changes of the defaults: for each of three tasks the change is chosen by the other
                two; see sentence_left_out.py. No test rows are read.
report          The full network of the reference implementation; only on request. It needs a GPU.

    python -m benchmarks run bench_sentence_encoder --data DIR --work FOLDER
    python -m benchmarks run bench_sentence_encoder --data DIR --work FOLDER --part similarity \
        --models "TF-IDF, words"
    python -m benchmarks run bench_sentence_encoder --data DIR --work FOLDER --part report \
        --device cuda

Each result is written when it is measured and not measured again (unless --again is given).
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks.common.benchmark import BenchmarkParser, environment, read_result, write_result
from benchmarks.common.data import DataFolder, read_text
from benchmarks.language import sentence_left_out, sentence_search, sentence_tasks
from benchmarks.language.sentence_models import (
    ABLATIONS,
    BASELINES,
    EARLIER,
    ENCODERS,
    SMALL,
    train_encoder,
)
from benchmarks.language.sentence_tables import TABLES
from sklearn_hashnlp.sentences import SGNNSentenceEncoder
from sklearn_hashnlp.text import split_sentences
from sklearn_hashnlp.training import StepLog, TimeLimit

RESULT = "sentence_encoder.json"
CONTENT = (
    "wikipedia/paragraphs.txt, stsb/dev.csv and trec/, sst2/ and imdb/, each with train.csv and "
    "test.csv"
)
PAGE = "sentence_encoder.md"
PACKAGES = ("sklearn-hashnlp", "numpy", "scikit-learn", "scipy", "skorch", "torch")
PARTS = ("training", "similarity", "classification", "retrieval", "speed", "ablation", "defaults")
MODELS = (*BASELINES, *ENCODERS)
SEARCH_MODELS = (sentence_search.BASELINE, *sentence_search.MODELS)
TRAINED = "trained encoder"
SPEED_SENTENCES = 8_000
ABLATION_C = 10.0


class Bench:
    """Options, texts, models and results of a run."""

    def __init__(
        self, data: DataFolder, path: Path | None, work: Path, options: argparse.Namespace
    ) -> None:
        self.data = data
        self.path = path
        self.work = work
        self.options = options
        self.result = read_result(path)
        self._fitted: dict[str, Any] = {}

    @cached_property
    def paragraphs(self) -> list[str]:
        """The training text."""
        return read_text(self.data, "wikipedia", "paragraphs.txt")

    @cached_property
    def pairs(self) -> sentence_tasks.Pairs:
        """Pairs of sentences with human similarity scores."""
        return sentence_tasks.read_pairs(self.data)

    def seeds(self, name: str) -> range:
        """Return the seeds of a model; a baseline needs one."""
        return range(1 if name in BASELINES else self.options.seeds)

    def model(self, name: str, seed: int) -> Any:
        """Return a fitted baseline or encoder by its name; the last one is cached."""
        if name in BASELINES:
            return self._cached(name, lambda: BASELINES[name](self.paragraphs))
        return self._cached(f"{name} {seed}", lambda: self.encoder(name, ENCODERS[name], seed))

    def encoder(
        self, name: str, settings: dict[str, Any], seed: int, group: str = "training"
    ) -> SGNNSentenceEncoder:
        """Train an encoder, or load the saved one, and record its training."""
        settings = {
            "n_jobs": self.options.jobs,
            "callbacks": [StepLog(self.options.log_every)],
        } | settings
        monitored = sentence_tasks.first_half(self.pairs)
        folder = self.work / f"{group} {name} {seed}".replace(" ", "-").replace(",", "").replace(
            ":", ""
        )
        encoder, training = train_encoder(
            self.paragraphs, settings, seed=seed, folder=folder, monitored=monitored
        )
        self.record(group, name, seed, training)
        return encoder

    def record(self, part: str, name: str, seed: int, measured: dict[str, Any]) -> None:
        """Write a result to the JSON, keeping what another run has written meanwhile."""
        self.result = read_result(self.path) or self.result
        group = self.result.setdefault(part, {})
        group.update(environment(*PACKAGES))
        run = group.setdefault("models", {}).setdefault(name, {}).setdefault(str(seed), {})
        run.update(measured)
        write_result(self.path, self.result)

    def is_known(self, part: str, name: str, seed: int, what: str) -> bool:
        """Check whether the JSON already holds a result, and --again is not given."""
        known = self.result.get(part, {}).get("models", {}).get(name, {}).get(str(seed), {})
        return what in known and not self.options.again

    def _cached(self, key: str, make: Callable[[], Any]) -> Any:
        if key not in self._fitted:
            self._fitted.clear()
            self._fitted[key] = make()
        return self._fitted[key]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT, CONTENT)
    parser.add_argument(
        "--work", type=Path, help="folder to save the encoders in (default: they are not saved)"
    )
    parser.add_choices("--part", PARTS)
    parser.add_choices("--models", MODELS)
    parser.add_choices("--sets", sentence_tasks.SETS)
    parser.add_choices("--search-models", SEARCH_MODELS)
    parser.add_choices("--search-sets", sentence_search.SETS)
    parser.add_choices("--ablations", ABLATIONS)
    parser.add_argument("--seeds", type=int, default=3, help="of encoders (default: %(default)s)")
    parser.add_argument(
        "--imdb-seeds",
        type=int,
        default=1,
        help="for imdb, which has 600,000 sentences (default: %(default)s)",
    )
    parser.add_argument("--ablation-seeds", type=int, default=3, help="default: %(default)s")
    parser.add_argument(
        "--ablation-time",
        type=float,
        default=150.0,
        help="seconds of training (default: %(default)s)",
    )
    parser.add_argument(
        "--jobs", type=int, default=1, help="threads that prepare batches (default: %(default)s)"
    )
    parser.add_argument("--log-every", type=int, default=100, help="steps (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="of speed (default: %(default)s)")
    parser.add_again()
    options, data, path = parser.read(arguments)
    with tempfile.TemporaryDirectory() as spare:
        bench = Bench(data, path, Path(spare) if options.work is None else options.work, options)
        # Each model is fitted once and evaluated on all requested parts.
        for model in [name for name in options.models if set(options.part) & {*PER_MODEL}]:
            for seed in bench.seeds(model):
                for part in PER_MODEL:
                    if part in options.part:
                        PER_MODEL[part](bench, model, seed)
        for part in RUN:
            if part in options.part:
                RUN[part](bench)
    print(
        "\n\n".join(
            f"{name}\n\n{make(bench.result)}"
            for name, make in TABLES.items()
            if name in bench.result
        )
    )


def training(bench: Bench, name: str, seed: int) -> None:
    if name in ENCODERS and not bench.is_known("training", name, seed, "seconds"):
        bench.model(name, seed)


def similarity(bench: Bench, name: str, seed: int) -> None:
    if not bench.is_known("similarity", name, seed, "whole"):
        evaluate_similarity(bench, bench.model(name, seed), "similarity", name, seed)


def evaluate_similarity(bench: Bench, model: Any, part: str, name: str, seed: int) -> None:
    measured: dict[str, Any] = sentence_tasks.correlations(model, bench.pairs)
    print(
        f"{name}, {seed}:",
        ", ".join(f"{half} {value:.2f}" for half, value in measured.items()),
        flush=True,
    )
    bench.record(part, name, seed, measured | {"columns": int(model.transform(["a"]).shape[1])})


def classification(bench: Bench, name: str, seed: int) -> None:
    for one in bench.options.sets:
        is_wanted = one != "imdb" or seed < bench.options.imdb_seeds
        if is_wanted and not bench.is_known("classification", name, seed, one):
            evaluate_classification(
                bench, bench.model(name, seed), "classification", name, seed, one
            )


def evaluate_classification(
    bench: Bench, model: Any, part: str, name: str, seed: int, one: str
) -> None:
    start = time.perf_counter()
    measured = sentence_tasks.classify(model, one, bench.data)
    shown = ", ".join(f"{key} {value:.2f}" for key, value in measured.items())
    print(
        f"{name}, {seed}, {one}: {shown}, done in {time.perf_counter() - start:.0f} s", flush=True
    )
    bench.record(part, name, seed, {one: measured})


def retrieval(bench: Bench) -> None:
    for seed in range(bench.options.seeds):
        for one in bench.options.search_sets:
            models = [
                model
                for model in bench.options.search_models
                if not bench.is_known("retrieval", model, seed, one)
            ]
            if models:
                for model, score in sentence_search.evaluate(one, bench.data, seed, models):
                    print(f"{model}, {seed}, {one}: {score:.2f}", flush=True)
                    bench.record("retrieval", model, seed, {one: score})


def speed(bench: Bench) -> None:
    """Measure the sentences per second on two threads."""
    if bench.is_known("speed", TRAINED, 0, "sentences/s"):
        return
    encoder = bench.model(TRAINED, 0).set_params(n_jobs=2)
    sentences = [one for paragraph in bench.paragraphs for one in split_sentences(paragraph)][
        :SPEED_SENTENCES
    ]
    rates = []
    for _ in range(bench.options.rounds):
        start = time.perf_counter()
        encoder.transform(sentences)
        rates.append(len(sentences) / (time.perf_counter() - start))
    bench.record(
        "speed", TRAINED, 0, {"sentences/s": {"each distinct word once": statistics.median(rates)}}
    )


def ablation(bench: Bench) -> None:
    """Measure each change's effect: similarity, and a classifier on validation rows of sst2."""
    for seed, name in ablations_by_seed(bench):
        if bench.is_known("ablation", name, seed, "sst2"):
            continue
        callbacks = [StepLog(bench.options.log_every), TimeLimit(bench.options.ablation_time)]
        settings = SMALL | EARLIER | {"callbacks": callbacks} | ABLATIONS[name]
        encoder = bench.encoder(name, settings, seed, "ablation")
        evaluate_similarity(bench, encoder, "ablation", name, seed)
        bench.record(
            "ablation",
            name,
            seed,
            {"sst2": sentence_tasks.validation_accuracy(encoder, "sst2", bench.data, ABLATION_C)},
        )


def ablations_by_seed(bench: Bench) -> Iterator[tuple[int, str]]:
    """Return all ablations with the first seed, then with the next."""
    return (
        (seed, name)
        for seed in range(bench.options.ablation_seeds)
        for name in bench.options.ablations
    )


def defaults(bench: Bench) -> None:
    """Measure the changes of the defaults with each seed."""
    for seed in range(bench.options.seeds):
        for one, tasks in sentence_left_out.FITTED_ON.items():
            changes = [
                change
                for change in sentence_left_out.CHANGES
                if not all(bench.is_known("defaults", change, seed, task) for task in tasks)
            ]
            for change, figures in sentence_left_out.measure(
                one, bench.data, bench.paragraphs, seed, changes
            ):
                print(
                    f"{change}, {seed}:",
                    ", ".join(f"{key} {value:.2f}" for key, value in figures.items()),
                    flush=True,
                )
                bench.record("defaults", change, seed, figures)


PER_MODEL = {"training": training, "similarity": similarity, "classification": classification}
RUN = {"retrieval": retrieval, "speed": speed, "ablation": ablation, "defaults": defaults}
