"""Word vectors in equal time: HsigmoidLanguageModel and gensim's skip-gram (hierarchical softmax).

The text is 3.9 million words of Wikipedia, in lowercase, punctuation marks among them. Both get the
same tokens, drop words that occur less than five times, drop frequent words at random (sample=1e-3)
and train on one thread. Ours trains for two epochs on windows of the five words before a word, and
of five words on each side. Then gensim gets the number of epochs of which the last one ends after
ours: its processor time is at least ours, vectors of contexts included. Processor time is compared,
which depends little on what else runs on the machine.

Measured are analogies (first is to second as third is to which word?) on the half of the word pairs
that was not used to choose settings, nearest neighbors in groups of words of a kind, and the
similarity of sentences (development set of the STS benchmark) by mean vectors. The lists are in
common/word_lists.py.

    python -m benchmarks run bench_word_vectors --data DIR
    python -m benchmarks run bench_word_vectors --data DIR --seeds 3

gensim is installed into a temporary folder for the run (--gensim keeps one). 10 minutes per seed.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.common.benchmark import BenchmarkParser, environment, read_result, write_result
from benchmarks.common.data import DataFolder, read_text
from benchmarks.common.pages import number, table
from benchmarks.common.peer_packages import peer_folder, peer_version
from benchmarks.language import word_vector_models as models
from benchmarks.language import word_vector_tasks as tasks
from benchmarks.language.sentence_tasks import Pairs, read_pairs

RESULT = "word_vectors.json"
PAGE = "coming_from_gensim.md"
DIGITS = {
    "analogies": 1,
    "nearest of the same group": 1,
    "average precision": 1,
    "sentences": 1,
    "processor seconds": 0,
}  # decimal places
NEIGHBORS_OF = ("france", "guitar", "wrote", "larger", "church", "professor")
NEIGHBORS = {
    "gensim, skip-gram": "gensim",
    "ours, words on both sides, embeddings": "embeddings",
    "ours, words on both sides, context vectors": "context vectors",
}
PACKAGES = ("sklearn-hashnlp", "numpy", "scipy", "skorch", "torch")
PEER = "gensim, skip-gram"
SHOWN = (
    "france",
    "river",
    "guitar",
    "football",
    "wrote",
    "larger",
    "church",
    "1950",
    "professor",
    "quickly",
)
N_SHOWN = 6


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT, "wikipedia/paragraphs.txt and stsb/dev.csv")
    parser.add_argument(
        "--seeds", type=int, default=1, help="trainings of each model (default: %(default)s)"
    )
    parser.add_argument(
        "--epochs",
        type=int,
        default=models.OURS["max_epochs"],
        help="epochs of ours (default: %(default)s)",
    )
    parser.add_argument(
        "--gensim", type=Path, help="folder to install gensim into, or that holds it"
    )
    options, data, path = parser.read(arguments)
    text = models.tokenize(read_text(data, "wikipedia", "paragraphs.txt"))
    pairs = read_pairs(data)
    result = read_result(path)
    with peer_folder(models.GENSIM, options.gensim) as folder, threadpool_limits(1):
        env = environment(*PACKAGES)
        env["versions"]["gensim"] = peer_version(models.GENSIM, folder)
        runs = {name: dict(result["models"][name]["runs"]) for name in result.get("models", {})}
        for seed in range(options.seeds):
            for name, run in measure(folder, text, pairs, seed, options.epochs).items():
                runs.setdefault(name, {})[str(seed)] = run
            result = env | {
                "threads": 1,
                "text": describe(data, text),
                "settings": {PEER: models.SKIP_GRAM, "ours": models.OURS, "sides": models.SIDES},
                "models": {name: summary(of_seeds) for name, of_seeds in runs.items()},
            }
            write_result(path, result)
    print(f"{figures(result)}\n\n{neighbors(result)}")


def measure(
    folder: Path, text: models.Text, pairs: Pairs, seed: int, epochs: int
) -> dict[str, dict[str, Any]]:
    """Train ours, then gensim for at least as much processor time as the longer of ours."""
    runs: dict[str, dict[str, Any]] = {}
    longest = 0.0
    for side in models.SIDES:
        trained = models.ours(text, side, seed, epochs)
        longest = max(longest, trained.cpu_seconds)
        for name, run in evaluate(trained, pairs).items():
            runs[f"ours, {side}, {name}"] = run | {"epochs": epochs}
    trained, n_epochs = at_least_as_long(
        lambda n_epochs: models.skip_gram(folder, text, n_epochs, seed), longest
    )
    runs[PEER] = evaluate(trained, pairs)["vectors"] | {"epochs": n_epochs}
    return runs


def at_least_as_long(
    train: Callable[[int], models.Trained], seconds: float
) -> tuple[models.Trained, int]:
    """Train the fewest epochs that take a processor time; return the model and their number."""
    trained = train(1)
    one_epoch, n_epochs = trained.cpu_seconds, 1
    while trained.cpu_seconds < seconds:
        n_epochs += math.ceil((seconds - trained.cpu_seconds) / one_epoch)
        trained = train(n_epochs)
    return trained, n_epochs


def evaluate(trained: models.Trained, pairs: Pairs) -> dict[str, dict[str, Any]]:
    runs = {}
    for name, vectors in trained.vectors.items():
        relations = tasks.analogies(trained.words, vectors, "test")
        runs[name] = {
            "analogies": statistics.mean(relations.values()),
            **tasks.neighbors(trained.words, vectors),
            "sentences": tasks.sentence_similarity(trained.words, vectors, pairs),
            "relations": relations,
            "nearest": {
                word: tasks.nearest(trained.words, vectors, word, N_SHOWN)
                for word in SHOWN
                if word in trained.words
            },
            "columns": int(vectors.shape[1]),
            "processor seconds": trained.cpu_seconds,
            "seconds": trained.seconds,
        }
        print(
            f"[{time.strftime('%H:%M:%S')}] {name}: {runs[name]['analogies']:.1f} % of analogies",
            flush=True,
        )
    return runs


def summary(runs: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the means over seeds, and the runs."""
    return {figure: statistics.mean(run[figure] for run in runs.values()) for figure in DIGITS} | {
        "runs": runs
    }


def describe(data: DataFolder, text: models.Text) -> dict[str, Any]:
    return {
        "name": "Wikipedia",
        "paragraphs": len(text.paragraphs),
        "words": sum(map(len, text.paragraphs)),
        "vocabulary": len(text.counts),
        "questions": sum(1 for _ in tasks.questions(list(text.counts), "test")),
        "rows": data.rows,
    }


def figures(result: dict[str, Any]) -> str:
    """Return the table of all figures: a row per kind of vectors, means over the seeds."""
    return table(
        ("", "columns", *DIGITS),
        (
            (
                name,
                str(_first(model)["columns"]),
                *(number(model["runs"], *column) for column in DIGITS.items()),
            )
            for name, model in result["models"].items()
        ),
    )


def neighbors(result: dict[str, Any]) -> str:
    """Return the nearest words of some words, with the first seed."""
    models = result["models"]
    nearest = {name: _first(models[name])["nearest"] for name in NEIGHBORS if name in models}
    words = [word for word in NEIGHBORS_OF if all(word in words for words in nearest.values())]
    rows = ((word, *(", ".join(words[word][:5]) for words in nearest.values())) for word in words)
    return table(("", *(NEIGHBORS[name] for name in nearest)), rows)


def _first(model: dict[str, Any]) -> dict[str, Any]:
    run: dict[str, Any] = next(iter(model["runs"].values()))
    return run


TABLES = {"figures": figures, "neighbors": neighbors}
