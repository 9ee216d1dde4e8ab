"""The recipe ``collisions``: colliding words of hash embeddings, counted and by formula."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from benchmarks.recipes.collision_report import plot_collisions, report_collisions
from benchmarks.runner.recipe import Recipe, Result, Run
from benchmarks.runner.settings import setting
from sklearn_hashnlp._clock import clock
from sklearn_hashnlp.inspection._collision_statistics import (
    CollisionCounts,
    TableSizes,
    expected_pairs,
    pair_dispersion,
    pair_probability,
    reference_bound,
    sharing_probability,
    summarize,
)

_DESCRIPTION = """\
Two words collide if a hash embedding has the same parameters for both: then no classifier can distinguish them. Of V
distinct words, V (V - 1) / 2 q pairs are expected to collide. q = 1 / (n B^k) in the improved variant: the hash
functions h and u_1 .. u_k all hash the word. q = 1 / n in the paper's variant: components are chosen by the
hash D1 of the word. Its components alone collide with q = 1 / n + (1 - 1 / n) / B^k. The reference is Y. Dubois's
Hash-Embeddings (https://github.com/YannDubs/Hash-Embeddings), section "Decreasing number of collisions for free".

hash embedding: a simulation with the hash functions of this package, with another seed in each trial, at sizes where
pairs can be counted; no table is allocated. Counted are words that share the importance row and the components in order
(all trained parameters), the row and the components in any order (the same sum as long as the importance weights of a
word are equal, as before training), and the components.
columns: distinct strings that the vectorizer hashes to the same of 2**31 - 1 columns, which no hash embedding can undo.
formulas: the example of the reference, a billion words, and one that can be counted; both with the formulas of the
reference, which are upper bounds.

Differences: the reference prints probabilities by its formulas, and counts nothing. About half a minute on one core."""


@dataclass(frozen=True)
class CollisionsSettings:
    """Settings of the experiment; the metadata of each field describe it."""

    tables: tuple[str, ...] = setting(
        ("500:30:2", "1000:10:4", "2000:1000:1", "2000:100:2"), "table sizes n:B:k of the simulation"
    )
    words: tuple[int, ...] = setting((500, 1000, 2000, 4000, 8000, 16000), "numbers of words of the simulation")
    column_words: tuple[int, ...] = setting((100_000, 300_000, 1_000_000), "numbers of words to hash to columns")
    examples: tuple[str, ...] = setting(
        ("1000000000:10000000:1000000:2", "4000:500:30:2"), "examples by formula, V:n:B:k"
    )
    pairs: int = setting(2000, "expected number of colliding pairs in each row of the table")
    max_words: int = setting(8_000_000, "maximum number of words to hash in each row")
    min_trials: int = setting(50, "minimum number of trials in each row, 2 or more; a twentieth of it for columns")


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
        for tables, variant, n_words in product(settings.tables, ("improved", "paper"), settings.words)
    ]
    columns: list[Result] = [{"part": "columns", "n_words": n_words} for n_words in settings.column_words]
    examples: list[Result] = [
        {"part": "formulas", "tables": tables, "n_words": n_words}
        for n_words, tables in map(_parse_example, settings.examples)
    ]
    steps = simulated + columns + examples
    for step in steps:
        if step["n_words"] < 2:
            raise ValueError(f"The number of words must be at least 2, so that any can collide, got {step['n_words']}.")
        if "tables" in step:
            TableSizes.parse(step["tables"])
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
    import numpy as np

    from sklearn_hashnlp.inspection._collision_counts import KINDS, count_in_embedding, trials_needed

    start = clock()
    variant, n_words, sizes = step["variant"], step["n_words"], TableSizes.parse(step["tables"])
    n_trials = trials_needed(
        n_words,
        expected_pairs(n_words, pair_probability(variant, "embedding", sizes)),
        pairs=settings.pairs,
        max_words=settings.max_words,
        min_trials=settings.min_trials,
    )
    # The seed of a row depends on the row alone: its counts do not change with the other rows.
    sequence = np.random.SeedSequence((seed, tuple(KINDS).index(variant), n_words, *sizes))
    shared = {
        kind: _summary(
            counts, n_words, pair_probability(variant, kind, sizes), pair_dispersion(variant, kind, n_words, sizes)
        )
        for kind, counts in count_in_embedding(variant, sizes, n_words, n_trials, sequence).items()
    }
    return {"n_trials": n_trials, "shared": shared, "seconds": round(clock() - start, 3)}


def _hash_to_columns(step: Result, settings: CollisionsSettings, seed: int) -> Result:
    import numpy as np

    from sklearn_hashnlp.inspection._collision_counts import N_COLUMNS, count_in_columns, trials_needed

    start = clock()
    n_words = step["n_words"]
    # Fewer trials: hashing strings takes longer than hashing integers.
    n_trials = trials_needed(
        n_words,
        expected_pairs(n_words, 1 / N_COLUMNS),
        pairs=settings.pairs // 4,
        max_words=settings.max_words // 2,
        min_trials=settings.min_trials // 20,
    )
    counts = count_in_columns(n_words, n_trials, np.random.SeedSequence((seed, n_words)))
    shared = {"column": _summary(counts, n_words, 1 / N_COLUMNS, 1.0)}
    return {"n_trials": n_trials, "shared": shared, "seconds": round(clock() - start, 3)}


def _summary(counts: CollisionCounts, n_words: int, probability: float, dispersion: float) -> Result:
    """Return the counts, which can be added over seeds, and their summary."""
    summary = summarize(counts, n_words=n_words, probability=probability, expected_dispersion=dispersion)
    return {"chance": probability, **counts._asdict(), **summary._asdict()}


def _evaluate_formulas(step: Result) -> Result:
    from sklearn_hashnlp.inspection._collision_counts import KINDS, N_COLUMNS

    n_words, sizes = step["n_words"], TableSizes.parse(step["tables"])
    column = 1 / N_COLUMNS
    probabilities = {
        f"{variant}, {kind}": pair_probability(variant, kind, sizes) for variant in KINDS for kind in KINDS[variant]
    }
    probabilities["column"] = column
    for variant in KINDS:
        embedding = probabilities[f"{variant}, embedding"]
        probabilities[f"{variant}, column or embedding"] = column + (1 - column) * embedding
    return {
        "chances": probabilities,
        "expected_pairs": {name: expected_pairs(n_words, q) for name, q in probabilities.items()},
        "expected_sharing": {name: sharing_probability(n_words, q) for name, q in probabilities.items()},
        "reference_bounds": {variant: reference_bound(variant, n_words, sizes) for variant in KINDS},
    }


def _n_results(settings: CollisionsSettings) -> int:
    return len(_steps(settings))


COLLISIONS = Recipe(
    name="collisions",
    summary="Colliding words of hash embeddings, counted with this package's hash functions and by formula",
    description=_DESCRIPTION,
    settings=CollisionsSettings(),
    quick=_QUICK,
    run=_run,
    n_results=_n_results,
    report=report_collisions,
    plot=plot_collisions,
    packages=("sklearn-hashnlp", "numpy", "numba", "torch"),
)
