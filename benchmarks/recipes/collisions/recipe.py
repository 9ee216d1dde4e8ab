"""The recipe ``collisions``: colliding words of hash embeddings, counted and by formula."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import ceil
from time import perf_counter

import numpy as np

from benchmarks.recipes.collisions.counts import (
    N_COLUMNS,
    count_collisions,
    expected_pairs,
    ids_by_constants,
    pair_probability,
    seeded_constants,
    sharing_probability,
)
from benchmarks.recipes.collisions.report import (
    parse_sizes,
    plot_collisions,
    reference_bound,
    report_collisions,
)
from benchmarks.runner.recipe import Recipe, Result, Run
from benchmarks.runner.settings import setting
from sklearn_hashnlp.text import HashingNgramVectorizer

_VARIANTS = ("improved", "paper")
_KINDS = ("embedding", "components")

_DESCRIPTION = """\
Two words collide if a hash embedding has the same parameters for both: then no classifier can
distinguish them. Of V distinct words, V (V - 1) / 2 q pairs are expected to collide.
q = 1 / (n B^k) in the improved variant: the hash functions h and u_1 .. u_k all hash the word.
q = 1 / n in the paper's variant: components are chosen by the hash D1 of the word. Its components
alone collide with q = 1 / n + (1 - 1 / n) / B^k. The reference is Y. Dubois's Hash-Embeddings
(https://github.com/YannDubs/Hash-Embeddings), section "Decreasing number of collisions for free".

hash embedding: a simulation with the hash functions of this package, with another seed in each
trial, at sizes where pairs can be counted; no table is allocated. Counted are words that share the
importance row and the components in order (all trained parameters), and the components.
columns: distinct strings that the vectorizer hashes to the same of 2**31 - 1 columns, which no hash
embedding can undo.
formulas: the example of the reference, a billion words, and one that can be counted; both with the
formulas of the reference, which are upper bounds.

Differences: the reference prints probabilities by its formulas, and counts nothing. About half a
minute on one core."""


@dataclass(frozen=True)
class CollisionsSettings:
    """Settings of the experiment; the metadata of each field describe it."""

    tables: tuple[str, ...] = setting(
        ("500:30:2", "1000:10:4", "2000:1000:1", "2000:100:2"),
        "table sizes n:B:k of the simulation",
    )
    words: tuple[int, ...] = setting(
        (500, 1000, 2000, 4000, 8000, 16000), "numbers of words of the simulation"
    )
    column_words: tuple[int, ...] = setting(
        (100_000, 300_000, 1_000_000), "numbers of words to hash to columns"
    )
    examples: tuple[str, ...] = setting(
        ("1000000000:10000000:1000000:2", "4000:500:30:2"), "examples by formula, V:n:B:k"
    )
    pairs: int = setting(2000, "expected number of colliding pairs in each row of the table")
    max_words: int = setting(8_000_000, "maximum number of words to hash in each row")
    min_trials: int = setting(
        50, "minimum number of trials in each row, 2 or more; a twentieth of it for columns"
    )


_QUICK = CollisionsSettings(
    tables=("500:30:2",),
    words=(500, 1000),
    column_words=(20_000,),
    pairs=20,
    max_words=50_000,
    min_trials=10,
)


def _run(settings: CollisionsSettings, run: Run) -> Iterator[Result]:
    steps = _steps(settings)
    for number, step in enumerate(steps):
        run.progress(number, len(steps))
        if number >= len(run.previous):
            run.log(", ".join(str(value) for value in step.values()))
            yield _run_step(step, settings, run.seed)
    run.progress(len(steps), len(steps))


def _steps(settings: CollisionsSettings) -> list[Result]:
    """Return the part, variant, table sizes and number of words of each result."""
    simulated: list[Result] = [
        {"part": "hash embedding", "variant": variant, "tables": tables, "n_words": n_words}
        for tables, variant, n_words in product(settings.tables, _VARIANTS, settings.words)
    ]
    columns: list[Result] = [
        {"part": "columns", "n_words": n_words} for n_words in settings.column_words
    ]
    examples: list[Result] = [
        {"part": "formulas", "tables": tables, "n_words": n_words}
        for n_words, tables in map(_parse_example, settings.examples)
    ]
    steps = simulated + columns + examples
    for step in steps:
        if step["n_words"] < 2:
            raise ValueError(
                "The number of words must be at least 2, so that any can collide, got "
                f"{step['n_words']}."
            )
        if "tables" in step:
            parse_sizes(step["tables"])
    return steps


def _parse_example(text: str) -> tuple[int, str]:
    n_words, _, tables = text.partition(":")
    if not n_words.strip().isdecimal():
        raise ValueError(f"Examples must be given as V:n:B:k, such as 4000:500:30:2, got {text!r}.")
    return int(n_words), tables


def _run_step(step: Result, settings: CollisionsSettings, seed: int) -> Result:
    if step["part"] == "hash embedding":
        return step | _simulate(step, settings, seed)
    if step["part"] == "columns":
        return step | _hash_to_columns(step, settings, seed)
    return step | _evaluate_formulas(step)


def _simulate(step: Result, settings: CollisionsSettings, seed: int) -> Result:
    start = perf_counter()
    variant = step["variant"]
    n_words = step["n_words"]
    sizes = parse_sizes(step["tables"])
    chances = {kind: pair_probability(variant, kind, sizes) for kind in _KINDS}
    n_trials = _trials_needed(
        n_words, chances["embedding"], settings.pairs, settings.max_words, settings.min_trials
    )
    # The seed of a row depends on the row alone: its counts do not change with the other rows.
    sequence = np.random.SeedSequence((seed, _VARIANTS.index(variant), n_words, *sizes))
    generator = np.random.default_rng(sequence)
    trials: dict[str, list[tuple[int, int]]] = {kind: [] for kind in _KINDS}
    for _ in range(n_trials):
        words = np.asarray(generator.choice(N_COLUMNS, n_words, replace=False, shuffle=False))
        constants = seeded_constants(sizes, int(generator.integers(2**63)))
        for kind, ids in ids_by_constants(variant, sizes, words, constants).items():
            trials[kind].append(count_collisions(ids))
    shared = {kind: _sums(trials[kind], chances[kind]) for kind in _KINDS}
    return {"n_trials": n_trials, "shared": shared, "seconds": round(perf_counter() - start, 3)}


def _hash_to_columns(step: Result, settings: CollisionsSettings, seed: int) -> Result:
    start = perf_counter()
    n_words, chance = step["n_words"], 1 / N_COLUMNS
    # Fewer trials: hashing strings takes longer than hashing integers.
    least = settings.min_trials // 20
    n_trials = _trials_needed(n_words, chance, settings.pairs // 4, settings.max_words // 2, least)
    generator = np.random.default_rng(np.random.SeedSequence((seed, n_words)))
    vectorizer = HashingNgramVectorizer(n_features=N_COLUMNS, norm=None)
    trials = []
    for _ in range(n_trials):
        words: set[str] = set()  # hexadecimal numbers of sixteen digits
        while len(words) < n_words:
            values = generator.integers(2**64, size=n_words - len(words), dtype=np.uint64)
            words |= {f"{value:016x}" for value in values}
        trials.append(
            count_collisions(vectorizer.transform(sorted(words)).indices.astype(np.int64))
        )
    shared = {"column": _sums(trials, chance)}
    return {"n_trials": n_trials, "shared": shared, "seconds": round(perf_counter() - start, 3)}


def _trials_needed(n_words: int, chance: float, pairs: int, max_words: int, least: int) -> int:
    """Return the number of trials after which so many pairs are expected, within limits."""
    return max(min(ceil(pairs / expected_pairs(n_words, chance)), max_words // n_words), least, 2)


def _sums(trials: list[tuple[int, int]], chance: float) -> Result:
    """Return sums over the trials, which can be added over seeds."""
    pairs, words = zip(*trials, strict=True)
    return {
        "chance": chance,
        "n_trials": len(trials),
        "pairs": sum(pairs),
        "squared_pairs": sum(count**2 for count in pairs),
        "sharing_words": sum(words),
        "squared_sharing_words": sum(count**2 for count in words),
    }


def _evaluate_formulas(step: Result) -> Result:
    n_words, sizes = step["n_words"], parse_sizes(step["tables"])
    chances = {
        f"{variant}, {kind}": pair_probability(variant, kind, sizes)
        for variant in _VARIANTS
        for kind in _KINDS
    }
    chances["column"] = 1 / N_COLUMNS
    return {
        "chances": chances,
        "expected_pairs": {name: expected_pairs(n_words, q) for name, q in chances.items()},
        "expected_sharing": {name: sharing_probability(n_words, q) for name, q in chances.items()},
        "reference_bounds": {
            variant: reference_bound(variant, n_words, sizes) for variant in _VARIANTS
        },
    }


def _n_results(settings: CollisionsSettings) -> int:
    return len(_steps(settings))


COLLISIONS = Recipe(
    name="collisions",
    summary=(
        "Colliding words of hash embeddings, counted with this package's hash functions and by "
        "formula"
    ),
    description=_DESCRIPTION,
    settings=CollisionsSettings(),
    quick=_QUICK,
    run=_run,
    n_results=_n_results,
    report=report_collisions,
    plot=plot_collisions,
    packages=("sklearn-hashnlp", "numpy", "torch"),
)
