"""Regression guard: fails if speed, memory or cold start are worse than the recorded figures.

Each speed is a ratio to scikit-learn in the same process, in turns, both on one thread, by
processor time, so that other machines and other work on the machine change it little; a start is a
ratio to the import of scikit-learn's text features and linear models. Memory is in MiB, the growth
of the peak of a new process.

vectorizer   HashingVectorizer's seconds for the same matrix over ours, words 1-2 and characters 1-4
training     HashingVectorizer (words 1-2) + SGDClassifier's seconds of fit over
             make_text_classifier's
prediction   the same pipeline's seconds of predict over ours
start        `hashnlp predict`, and load_model and predict in Python, over the import of
             scikit-learn
memory       of make_text_classifier().fit, and of a transform (words 1-2)

A ratio of speeds must be at least 75 % of the one in benchmarks/results/check.json; a start or
memory at most 1 / 75 %. It prints a line for each and ends with exit status 1 if one is worse.

    # Also: HASHNLP_DATA=DIR make bench-check
    python -m benchmarks run bench_check --data DIR
    # Records new figures: run it while nothing else runs
    python -m benchmarks run bench_check --data DIR --record
    # A test run; compares nothing
    python -m benchmarks run bench_check --data DIR --rows 500

AG News' training rows are read (and of them the last 7,600 predicted). --output names another file
of figures.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline

from benchmarks.common.benchmark import (
    FOLDER,
    BenchmarkParser,
    environment,
    read_result,
    write_result,
)
from benchmarks.common.data import DataFolder, Rows
from benchmarks.common.memory import in_new_process, peak_mb, reset_peak, resident_mb
from benchmarks.common.timing import median_ratio, order_of_round
from sklearn_hashnlp import HashingNgramVectorizer, make_text_classifier, save_model

RESULT = "check.json"
SET = "ag_news"
PACKAGES = ("sklearn-hashnlp", "numpy", "scikit-learn", "scipy", "torch")
TOLERANCE = 0.75
N_PREDICTED = 7600
PEER_START = "import sklearn.feature_extraction.text, sklearn.linear_model"
OUR_START = (
    "import sys, sklearn_hashnlp; "
    "print(sklearn_hashnlp.load_model(sys.argv[1]).predict(['one text'])[0])"
)


class Comparison(NamedTuple):
    """A measured and a recorded figure."""

    name: str
    measured: float
    recorded: float
    more_is_better: bool

    @property
    def limit(self) -> float:
        """Return the worst figure that passes."""
        return self.recorded * TOLERANCE if self.more_is_better else self.recorded / TOLERANCE

    @property
    def passes(self) -> bool:
        """Return whether the figure is within the limit."""
        return self.measured >= self.limit if self.more_is_better else self.measured <= self.limit

    def line(self) -> str:
        """Return the line that is printed."""
        bound = "at least" if self.more_is_better else "at most"
        verdict = "ok" if self.passes else "WORSE"
        figures = (
            f"{self.measured:9.2f}   {bound:8} {self.limit:8.2f}   recorded {self.recorded:8.2f}"
        )
        return f"{self.name:44}{figures}   {verdict}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = BenchmarkParser(__doc__, RESULT)
    parser.add_argument(
        "--rounds", type=int, default=5, help="number of times each is timed (default: %(default)s)"
    )
    parser.add_argument(
        "--record", action="store_true", help="write the figures instead of comparing with them"
    )
    options = parser.parse_args(arguments)
    if options.rounds < 1:
        parser.error(f"--rounds must be at least 1, got {options.rounds}.")
    if options.record and options.rows is not None and options.output is None:
        parser.error("--record needs all rows, or --output for the figures of some.")
    data, path = parser.data_of(options), options.output or FOLDER / RESULT
    compares = not options.record and (options.rows is None or options.output is not None)
    recorded = read_result(path) if compares else {}
    if compares and not recorded:
        parser.error(f"no figures are recorded in {path}: add --record.")
    measured = measure(data, options.rounds)
    if options.record:
        write_result(
            path,
            environment(*PACKAGES) | {"tolerance": TOLERANCE, "rounds": options.rounds} | measured,
        )
        print(f"Written: {path}")
        return 0
    if not compares:
        print("No comparison: the recorded figures are of all rows.")
        return 0
    return report(measured, recorded)


def measure(data: DataFolder, rounds: int) -> dict[str, Any]:
    """Measure everything; the first key of a figure is the direction of improvement."""
    train = data.train(SET)
    figures: dict[str, Any] = {"speed": {}, "start": {}, "memory": {}}

    def note(kind: str, name: str, value: float) -> None:
        figures[kind][name] = value
        print(f"{name:44}{value:9.2f}", flush=True)

    for name, ratio in speeds(train, rounds):
        note("speed", name, ratio)
    with tempfile.TemporaryDirectory() as folder:
        model = make_text_classifier(random_state=0).fit(train.texts[:2000], train.labels[:2000])
        save_model(model, Path(folder) / "model")
        for name, ratio in starts(Path(folder) / "model", rounds):
            note("start", name, ratio)
        for task in ("train", "transform"):
            grown = [in_new_process(growth, task, train) for _ in range(3)]
            note("memory", f"memory of {task}, MiB", statistics.median(grown))
    return figures


def growth(task: str, rows: Rows) -> float:
    """Return the growth of peak memory in MiB while a new process trains or transforms."""

    def work(part: slice) -> Any:
        if task == "transform":
            return HashingNgramVectorizer(ngram_range=(1, 2)).transform(rows.texts[part])
        return make_text_classifier(random_state=0, solver="sgd").fit(
            rows.texts[part], rows.labels[part]
        )

    work(slice(0, 200))  # imports, and kernels from their cache
    idle = resident_mb()
    reset_peak()
    kept = work(slice(None))
    grown = peak_mb() - idle
    del kept
    return grown


def speeds(train: Rows, rounds: int) -> Sequence[tuple[str, float]]:
    """Return the ratios of scikit-learn's processor seconds to ours."""
    some = train.texts[-N_PREDICTED:]
    words: dict[str, Any] = {"ngram_range": (1, 2)}
    characters: dict[str, Any] = {"analyzer": "char", "ngram_range": (1, 4)}
    theirs, ours = peer_pipeline().fit(*train), make_text_classifier(random_state=0).fit(*train)
    pairs: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "vectorizer, words 1-2, times scikit-learn": (
            lambda: HashingVectorizer(**words).transform(train.texts),
            lambda: HashingNgramVectorizer(**words).transform(train.texts),
        ),
        "vectorizer, characters 1-4, times": (
            lambda: HashingVectorizer(**characters).transform(some),
            lambda: HashingNgramVectorizer(**characters).transform(some),
        ),
        "training, times scikit-learn": (
            lambda: peer_pipeline().fit(*train),
            lambda: make_text_classifier(random_state=0).fit(*train),
        ),
        "prediction, times scikit-learn": (
            lambda: theirs.predict(some),
            lambda: ours.predict(some),
        ),
    }
    return [(name, ratio_of(*pair, rounds)) for name, pair in pairs.items()]


def peer_pipeline() -> Any:
    return make_pipeline(HashingVectorizer(ngram_range=(1, 2)), SGDClassifier(random_state=0))


def ratio_of(theirs: Callable[[], Any], ours: Callable[[], Any], rounds: int) -> float:
    """Return the median ratio of processor seconds, measured in turns after a warm-up."""
    work = {"theirs": theirs, "ours": ours}
    seconds: dict[str, list[float]] = {"theirs": [], "ours": []}
    ours()
    for round_ in range(rounds):
        for method in order_of_round(["theirs", "ours"], round_):
            start = time.process_time()
            work[method]()
            seconds[method].append(time.process_time() - start)
    return median_ratio(seconds["theirs"], seconds["ours"])


def starts(model: Path, rounds: int) -> Sequence[tuple[str, float]]:
    """Return processor seconds of new processes as multiples of importing scikit-learn."""
    commands = {
        "peer": [sys.executable, "-c", PEER_START],
        "start of hashnlp predict, times": [
            sys.executable,
            "-m",
            "sklearn_hashnlp",
            "predict",
            "--model",
            str(model),
        ],
        "start of load_model and predict, times": [sys.executable, "-c", OUR_START, str(model)],
    }
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for round_ in range(rounds + 1):  # the first, which fills the system's caches, does not count
        for name in order_of_round(list(commands), round_):
            spent = processor_seconds(commands[name])
            if round_:
                seconds[name].append(spent)
    return [
        (name, median_ratio(seconds[name], seconds["peer"])) for name in commands if name != "peer"
    ]


def processor_seconds(command: list[str]) -> float:
    """Return the processor seconds of a process that reads one text."""
    # This counts in microseconds, os.times in hundredths of a second.
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, input="one text\n", text=True, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def report(measured: dict[str, Any], recorded: dict[str, Any]) -> int:
    """Print each figure with its limit; return the exit status."""
    compared = [
        Comparison(name, value, recorded[kind][name], more_is_better=kind == "speed")
        for kind, figures in measured.items()
        for name, value in figures.items()
        if name in recorded.get(kind, {})
    ]
    missing = [
        name
        for kind, figures in measured.items()
        for name in figures
        if name not in recorded.get(kind, {})
    ]
    gone = [
        name
        for kind, figures in measured.items()
        for name in recorded.get(kind, {})
        if name not in figures
    ]
    print()
    for one in compared:
        print(one.line())
    worse = [one.name for one in compared if not one.passes]
    if missing:
        print(
            f"bench-check FAILED: no figure is recorded of: {'; '.join(missing)}. Record them with "
            "--record."
        )
    if gone:
        print(
            f"bench-check FAILED: recorded but not measured: {'; '.join(gone)}. Record the new "
            "figures by --record."
        )
    if worse:
        print(
            f"bench-check FAILED: worse than {TOLERANCE:.0%} of what was recorded: "
            f"{'; '.join(worse)}"
        )
    failed = bool(missing or gone or worse)
    if not failed:
        print(
            f"bench-check passed: all {len(compared)} figures are within {TOLERANCE:.0%} of what "
            "was recorded"
        )
    return int(failed)
