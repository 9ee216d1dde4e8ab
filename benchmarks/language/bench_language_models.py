r"""Perplexity on Penn Treebank: every tree, the best tree against full softmax, hashed connections.

Four parts, each of which can be run alone (--part) and is added to the same JSON; minutes are on
two cores.

builders  A small network with each tree, and with adaptive softmax, the same settings and epochs
          for all. (15 minutes)
networks  A larger network with full softmax, with the cluster tree, with the tree learned from two
          epochs of the small network, and with that tree and hashed direct connections; then with a
          bag of the words before the window, also of earlier sentences: with residual blocks
          ("modern"), and with hashed direct connections ("far hashed"). Every epoch is saved in a
          folder (--work), and an interrupted run resumes from there. (80 minutes, of which the full
          softmax takes 40)
time      The larger network with full softmax and with the cluster tree, which has the shape of the
          learned one: seconds for the same 2,000 sentences, in turns in one process, and the median
          ratio. Run it while nothing else runs. (2 minutes)
ranking   The network with the learned tree: how often a test sentence is more probable than its
          words in a random order, 1,000 pairs. (1 minute, once the network is trained)

    python -m benchmarks run bench_language_models --data DIR --work FOLDER
    python -m benchmarks run bench_language_models --data DIR --work FOLDER --part networks \
        --networks cluster hashed

Hyper-parameters were chosen by the perplexity on valid.txt; test.txt is read once per model, at the
end. Perplexities count every word of a sentence and </s>; words outside the vocabulary are <unk>, a
token of the text too.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common.benchmark import BenchmarkParser, environment, read_result, write_result
from benchmarks.common.data import DataFolder, read_text
from benchmarks.common.timing import median_ratio
from sklearn_hashnlp.language import HsigmoidLanguageModel, LanguageSchedule, Regularization
from sklearn_hashnlp.training import EarlyStopping, TimeLimit

RESULT = "language_models.json"
PACKAGES = ("sklearn-hashnlp", "numpy", "scikit-learn", "scipy", "skorch", "torch")
PARTS = ("builders", "networks", "time", "ranking")

SMALL: dict[str, Any] = {
    "embedding_dim": 64,
    "hidden_size": 256,
    "regularization__dropout": 0.3,
} | {
    "learning_rate": 0.5,
    "batch_size": 512,
}
# Without a warm-up, a random tree diverges.
WARMUP = {"schedule__warmup_steps": LanguageSchedule().warmup_steps}
EPOCHS_OF_BUILDERS = 4
EPOCHS_BEFORE = 2  # of the small network with the cluster tree, from which the tree is learned
BUILDERS: dict[str, dict[str, Any]] = {
    "random": {"tree": "random"},
    "complete": {"tree": "complete"},
    "balanced": {"tree": "balanced"},
    "huffman": {"tree": "huffman"},
    "two_level": {"tree": "two_level"},
    "binary_cluster": {"tree": "binary_cluster"},
    "cluster": {"tree": "cluster"},
    "learned": {"tree": "learned"},
    "adaptive softmax": {"output": "adaptive", "optimizer": "adam", "learning_rate": 0.002},
}

LARGE: dict[str, Any] = {
    "embedding_dim": 128,
    "hidden_size": 400,
    "regularization__dropout": 0.5,
    "regularization__embedding_dropout": 0.2,
    "learning_rate": 0.3,  # the wider network needs a smaller one
    "batch_size": 512,
    "max_epochs": 8,
}
HASHED: dict[str, Any] = {
    "tree": "learned",
    "direct_connections": ("hashed", 2**24),
    "schedule__direct_learning_rate": 4.0,
    "max_epochs": 6,
}
FAR: dict[str, Any] = {"far_context": 64, "across_sentences": True}
NETWORKS: dict[str, dict[str, Any]] = {
    "softmax": LARGE | {"output": "softmax"},
    "cluster": LARGE | {"tree": "cluster"},
    "learned": LARGE | {"tree": "learned"},
    "hashed": LARGE | HASHED,
    "modern": LARGE
    | {"tree": "learned", "hidden_layer": "residual"}
    | {"optimizer": "adam", "learning_rate": 0.001}
    | FAR,
    "far hashed": LARGE | HASHED | FAR,
}
TIMED = ("softmax", "cluster")
TIMED_SENTENCES = 2000
ROUNDS = 5

RANKED = "learned"
PAIRS = 1000
MIN_WORDS = 4  # shorter sentences have few permutations


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT, "ptb/ with train.txt, valid.txt and test.txt")
    parser.add_argument(
        "--work", type=Path, help="folder to save the networks in (default: they are not saved)"
    )
    parser.add_choices("--part", PARTS)
    parser.add_choices("--builders", BUILDERS)
    parser.add_choices("--networks", NETWORKS)
    options, data, path = parser.read(arguments)
    result = read_result(path)
    with tempfile.TemporaryDirectory() as spare:
        work = Path(spare) if options.work is None else options.work
        for part in options.part:
            measured = RUN[part](data, options, work, result.get(part, {}).get("models", {}))
            result[part] = environment(*PACKAGES) | measured
            write_result(path, result)
            print(f"{part}: {measured}", flush=True)


def builders(
    data: DataFolder, options: argparse.Namespace, _work: Path, known: dict[str, Any]
) -> dict[str, Any]:
    epochs = EPOCHS_OF_BUILDERS if options.rows is None else 2
    for name in options.builders:
        known[name] = measure(data, name, SMALL | WARMUP | BUILDERS[name] | {"max_epochs": epochs})
    return {"network": SMALL | WARMUP, "epochs": epochs, "models": known}


def networks(
    data: DataFolder, options: argparse.Namespace, work: Path, known: dict[str, Any]
) -> dict[str, Any]:
    for name in options.networks:
        settings = NETWORKS[name] | ({"max_epochs": 2} if options.rows is not None else {})
        measured = measure(data, name, settings | checkpoints_in(work, name))
        known[name] = measured | {"commit": environment(*PACKAGES)["commit"]}
    return {"models": known}


def speed(
    data: DataFolder, options: argparse.Namespace, _work: Path, _known: dict[str, Any]
) -> dict[str, Any]:
    """Train the networks in turns on the same sentences; return median seconds and median ratio."""
    sentences = read_text(data, "ptb", "train.txt")
    some, rounds = (
        (sentences[:TIMED_SENTENCES], ROUNDS) if options.rows is None else (sentences[:100], 1)
    )
    models = {name: network(**NETWORKS[name], callbacks=[TimeLimit(1e-9)]) for name in TIMED}
    for model in models.values():
        model.fit(sentences)  # a single step, after which the network and its tree are made
        model.set_params(callbacks=None)
        model.partial_fit(some[:20])
    seconds: dict[str, list[float]] = {name: [] for name in TIMED}
    cpu_seconds: dict[str, list[float]] = {name: [] for name in TIMED}
    for _ in range(rounds):
        for name, model in models.items():
            start = time.process_time()
            model.partial_fit(some)
            cpu_seconds[name].append(time.process_time() - start)
            seconds[name].append(model.history_[-1]["dur"])
    return {
        "sentences": len(some),
        "rounds": rounds,
        "seconds": {name: float(np.median(values)) for name, values in seconds.items()},
        "CPU seconds": {name: float(np.median(values)) for name, values in cpu_seconds.items()},
        "ratio": median_ratio(*(seconds[name] for name in TIMED)),
        "ratio of CPU seconds": median_ratio(*(cpu_seconds[name] for name in TIMED)),
    }


def ranking(
    data: DataFolder, options: argparse.Namespace, work: Path, _known: dict[str, Any]
) -> dict[str, Any]:
    """Count the sentences that are more probable than their words shuffled."""
    settings = NETWORKS[RANKED] | ({"max_epochs": 2} if options.rows is not None else {})
    model = train(data, settings | checkpoints_in(work, RANKED))
    generator = np.random.default_rng(0)
    sentences = [line.split() for line in read_text(data, "ptb", "test.txt")]
    sentences = [words for words in sentences if len(words) >= MIN_WORDS]
    chosen = [sentences[i] for i in generator.permutation(len(sentences))[:PAIRS]]
    shuffled = [shuffle_words(words, generator) for words in chosen]
    correct = model.score_samples(chosen) > model.score_samples(shuffled)
    return {
        "model": RANKED,
        "pairs": len(chosen),
        "fewest words": MIN_WORDS,
        "correct": float(correct.mean()),
    }


def shuffle_words(words: list[str], generator: np.random.Generator) -> list[str]:
    """Shuffle until the order differs; words that are all equal stay."""
    shuffled = words
    while shuffled == words and len(set(words)) > 1:
        shuffled = [words[i] for i in generator.permutation(len(words))]
    return shuffled


def checkpoints_in(work: Path, name: str) -> dict[str, Any]:
    return {"checkpoint_dir": str(work / name), "resume": True}


def network(**settings: Any) -> HsigmoidLanguageModel:
    """Return a network without warmup and clipping; settings are parameters, also nested ones."""
    schedule, regularization = LanguageSchedule(warmup_steps=0), Regularization(max_grad_norm=None)
    plain = HsigmoidLanguageModel(schedule=schedule, regularization=regularization, random_state=0)
    return plain.set_params(**settings)


def train(data: DataFolder, settings: dict[str, Any]) -> HsigmoidLanguageModel:
    if settings.get("tree") == "learned":
        settings = settings | learned(data)
    # train for all epochs and restore the best one
    stopping = EarlyStopping("valid_loss", patience=None)
    model = network(**settings, early_stopping=stopping, verbose=1)
    return model.fit(
        read_text(data, "ptb", "train.txt"), X_valid=read_text(data, "ptb", "valid.txt")
    )


def learned(data: DataFolder) -> dict[str, Any]:
    first = network(**SMALL, tree="cluster", max_epochs=EPOCHS_BEFORE)
    sentences = read_text(data, "ptb", "train.txt")
    first.fit(sentences)
    return {"tree": first.learned_tree(sentences), "vocabulary": first.vocabulary_}


def measure(data: DataFolder, name: str, settings: dict[str, Any]) -> dict[str, Any]:
    print(f"\n{name}", flush=True)
    start = time.perf_counter()
    model = train(data, settings)
    measured = {
        "valid": model.perplexity(read_text(data, "ptb", "valid.txt")),
        "test": model.perplexity(read_text(data, "ptb", "test.txt")),
        "epochs": len(model.history_),
        "seconds an epoch": float(np.median([epoch["dur"] for epoch in model.history_])),
        "seconds": time.perf_counter() - start,
        "parameters": int(model.n_parameters_),
        "settings": {
            key: value for key, value in settings.items() if key not in ("checkpoint_dir", "resume")
        },
    }
    print(
        f"{name}: perplexity {measured['valid']:.1f} on valid, {measured['test']:.1f} on test",
        flush=True,
    )
    return measured


RUN = {"builders": builders, "networks": networks, "time": speed, "ranking": ranking}
