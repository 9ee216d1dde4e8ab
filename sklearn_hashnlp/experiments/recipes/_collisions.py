"""The recipe ``collisions``: how many words share an embedding, counted and by formula."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from time import perf_counter

from sklearn_hashnlp.experiments._recipe import Recipe, Result, Run
from sklearn_hashnlp.experiments._settings import setting
from sklearn_hashnlp.experiments.recipes._collision_report import plot_collisions, report_collisions
from sklearn_hashnlp.inspection._collision_statistics import (
    Counted,
    Sizes,
    expected_pairs,
    pair_chance,
    pair_dispersion,
    sharing_chance,
    source_bound,
    summarize,
)

_DESCRIPTION = """\
Two words that share everything that a hash embedding holds for them cannot be told apart. V different words have
V (V - 1) / 2 q such pairs on average, where q = 1 / (n B^k) for the improved variant, whose h and u_1 .. u_k all hash
the word, and q = 1 / n for the paper's, whose components follow D1. Their components alone collide with
q = 1 / n + (1 - 1 / n) / B^k there. After Y. Dubois's Hash-Embeddings
(https://github.com/YannDubs/Hash-Embeddings), section "Decreasing number of collisions for free".

hash embedding: words, as columns, go through the package's own hash functions, the seed of which is another in each
trial, at sizes where pairs can be counted; no table is made. Counted are words that share the importance row and the
components in order (what is trained for them, so all of the embedding with any aggregation), the row and the components
in any order (the same sum as long as a word's importance weights are equal, as before training), and the components.
columns: different strings that the vectorizer puts into one of 2**31 - 1 columns, which no hash embedding can undo.
formulas: the source's own example, a thousand million words, and one that can be counted; beside them the source's
formulas, which are upper bounds.

Other than in the source: it prints probabilities by its formulas and counts nothing. About half a minute on one
core."""


@dataclass(frozen=True)
class CollisionsSettings:
    """What can be changed about the experiment; the metadata of each field say what it is."""

    tables: tuple[str, ...] = setting(
        ("500:30:2", "1000:10:4", "2000:1000:1", "2000:100:2"), "sizes n:B:k of tables to count in"
    )
    words: tuple[int, ...] = setting((500, 1000, 2000, 4000, 8000, 16000), "numbers of words to count among")
    column_words: tuple[int, ...] = setting((100_000, 300_000, 1_000_000), "numbers of words to put into columns")
    examples: tuple[str, ...] = setting(
        ("1000000000:10000000:1000000:2", "4000:500:30:2"), "V:n:B:k of examples by formula"
    )
    pairs: int = setting(2000, "colliding pairs to wait for in each row, on average")
    max_words: int = setting(8_000_000, "words to hash in each row at most, whatever the pairs")
    min_trials: int = setting(50, "trials of each row at least, two or more; a twentieth of that with columns")


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
        run.move(number, len(steps))
        if number >= len(run.known):
            run.tell(", ".join(str(value) for value in step.values()))
            yield _take(step, settings, run.seed)
    run.move(len(steps), len(steps))


def _steps(settings: CollisionsSettings) -> list[Result]:
    """Lay out what is to be done: what each result says of itself."""
    counted: list[Result] = [
        {"part": "hash embedding", "variant": variant, "tables": tables, "n_words": n_words}
        for tables, variant, n_words in product(settings.tables, ("improved", "paper"), settings.words)
    ]
    columns: list[Result] = [{"part": "columns", "n_words": n_words} for n_words in settings.column_words]
    examples: list[Result] = [
        {"part": "formulas", "tables": tables, "n_words": n_words}
        for n_words, tables in map(_parse_example, settings.examples)
    ]
    steps = counted + columns + examples
    for step in steps:
        if step["n_words"] < 2:
            raise ValueError(f"Numbers of words must be at least 2 for any to collide, got {step['n_words']}.")
        if "tables" in step:
            Sizes.parse(step["tables"])
    return steps


def _parse_example(text: str) -> tuple[int, str]:
    n_words, _, tables = text.partition(":")
    if not n_words.strip().isdecimal():
        raise ValueError(f"Examples must be given as V:n:B:k, such as 4000:500:30:2, got {text!r}.")
    return int(n_words), tables


def _take(step: Result, settings: CollisionsSettings, seed: int) -> Result:
    if step["part"] == "hash embedding":
        return step | _count_embeddings(step, settings, seed)
    if step["part"] == "columns":
        return step | _count_columns(step, settings, seed)
    return step | _give_formulas(step)


def _count_embeddings(step: Result, settings: CollisionsSettings, seed: int) -> Result:
    import numpy as np

    from sklearn_hashnlp.inspection._collision_counts import SHARED, count_embeddings, plan_trials

    start = perf_counter()
    variant, n_words, sizes = step["variant"], step["n_words"], Sizes.parse(step["tables"])
    n_trials = plan_trials(
        n_words,
        expected_pairs(n_words, pair_chance(variant, "embedding", sizes)),
        pairs=settings.pairs,
        max_words=settings.max_words,
        least=settings.min_trials,
    )
    # A row's own numbers seed it: it comes out the same whatever other rows there are.
    sequence = np.random.SeedSequence((seed, tuple(SHARED).index(variant), n_words, *sizes))
    shared = {
        what: _shared(
            counted, n_words, pair_chance(variant, what, sizes), pair_dispersion(variant, what, n_words, sizes)
        )
        for what, counted in count_embeddings(variant, sizes, n_words, n_trials, sequence).items()
    }
    return {"n_trials": n_trials, "shared": shared, "seconds": round(perf_counter() - start, 3)}


def _count_columns(step: Result, settings: CollisionsSettings, seed: int) -> Result:
    import numpy as np

    from sklearn_hashnlp.inspection._collision_counts import N_COLUMNS, count_columns, plan_trials

    start = perf_counter()
    n_words = step["n_words"]
    # Strings take longer than numbers.
    n_trials = plan_trials(
        n_words,
        expected_pairs(n_words, 1 / N_COLUMNS),
        pairs=settings.pairs // 4,
        max_words=settings.max_words // 2,
        least=settings.min_trials // 20,
    )
    counted = count_columns(n_words, n_trials, np.random.SeedSequence((seed, n_words)))
    shared = {"column": _shared(counted, n_words, 1 / N_COLUMNS, 1.0)}
    return {"n_trials": n_trials, "shared": shared, "seconds": round(perf_counter() - start, 3)}


def _shared(counted: Counted, n_words: int, chance: float, dispersion: float) -> Result:
    """Return the sums, which results of other seeds can be added to, and what they come to."""
    summary = summarize(counted, n_words=n_words, chance=chance, expected_dispersion=dispersion)
    return {"chance": chance, **counted._asdict(), **summary._asdict()}


def _give_formulas(step: Result) -> Result:
    from sklearn_hashnlp.inspection._collision_counts import N_COLUMNS, SHARED

    n_words, sizes = step["n_words"], Sizes.parse(step["tables"])
    column = 1 / N_COLUMNS
    chances = {
        f"{variant}, {what}": pair_chance(variant, what, sizes) for variant in SHARED for what in SHARED[variant]
    }
    chances["column"] = column
    for variant in SHARED:
        chances[f"{variant}, column or embedding"] = column + (1 - column) * chances[f"{variant}, embedding"]
    return {
        "chances": chances,
        "expected_pairs": {name: expected_pairs(n_words, chance) for name, chance in chances.items()},
        "expected_sharing": {name: sharing_chance(n_words, chance) for name, chance in chances.items()},
        "source_bounds": {variant: source_bound(variant, n_words, sizes) for variant in SHARED},
    }


def _n_results(settings: CollisionsSettings) -> int:
    return len(_steps(settings))


COLLISIONS = Recipe(
    name="collisions",
    summary="Words that share an embedding, counted with this package's hash functions and by formula",
    description=_DESCRIPTION,
    settings=CollisionsSettings(),
    quick=_QUICK,
    run=_run,
    n_results=_n_results,
    report=report_collisions,
    plot=plot_collisions,
    packages=("sklearn-hashnlp", "numpy", "numba", "torch"),
)
