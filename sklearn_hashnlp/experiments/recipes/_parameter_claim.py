"""The hash-embedding paper's claim, tested over seeds: as good with a fifth of the parameters."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from sklearn_hashnlp.experiments._recipe import Result
from sklearn_hashnlp.experiments._table import Table
from sklearn_hashnlp.experiments.recipes._published_hash_embeddings import TITLES

HASH, STANDARD = "hash-embed-nodict", "std-embed-nodict"


def claim_table(results: Sequence[Result]) -> list[Table]:
    """Compare hash embeddings with standard ones of five times the parameters, in the source's experiments."""
    tests: dict[tuple[str, str], dict[str, dict[int, Result]]] = defaultdict(lambda: {HASH: {}, STANDARD: {}})
    for result in results:
        if result["part"] == "test" and result["recipe"] in (HASH, STANDARD):
            settings = {name: value for name, value in result["settings"].items() if name != "variant"}
            key = set_and_rows(result), json.dumps(settings, sort_keys=True)
            tests[key][result["recipe"]][result["seed"]] = result
    pairs = [
        (name, {seed: (found[HASH][seed], found[STANDARD][seed]) for seed in found[HASH] if seed in found[STANDARD]})
        for (name, _), found in tests.items()
    ]
    return compare_sizes("Hash embeddings against standard ones of five times the parameters", pairs)


def set_and_rows(result: Result) -> str:
    """Name the set of a result and the number of its training rows."""
    dataset = result["settings"]["dataset"]
    return f"{TITLES.get(dataset, dataset)}, {result['n_train']:,} rows"


def compare_sizes(title: str, sets: Iterable[tuple[str, Mapping[int, tuple[Result, Result]]]]) -> list[Table]:
    """Compare hash embeddings with standard ones, seed by seed."""
    from sklearn_hashnlp.experiments._statistics import MOST_PAIRS, compare_paired, holm_correction

    rows, p_values, n_seeds = [], [], 0
    for name, pairs in sets:
        if len(pairs) < 2:
            continue
        both = list(zip(*(pairs[seed] for seed in sorted(pairs)[:MOST_PAIRS]), strict=True))
        accuracies = [[100 * result["accuracy"] for result in results] for results in both]
        (compared,) = compare_paired(dict(zip((HASH, STANDARD), accuracies, strict=True)))
        p_values.append(compared.p_value)
        n_seeds = max(n_seeds, len(both[0]))
        rows.append(
            [
                name,
                str(len(both[0])),
                *(
                    f"{statistics.mean(values):.2f} ± {statistics.stdev(values):.2f}"
                    f" ({results[0]['n_parameters'] / 1e6:.0f} M)"
                    for values, results in zip(accuracies, both, strict=True)
                ),
                f"{compared.difference:+.2f}",
                f"{compared.low:+.2f} to {compared.high:+.2f}",
                f"{compared.p_value:.3f}",
            ]
        )
    if not rows:
        return []
    rows = [[*row, f"{corrected:.3f}"] for row, corrected in zip(rows, holm_correction(p_values), strict=True)]
    header = ["set", "seeds", "hash, %", "standard, %", "difference", "95 % interval", "p", "p, corrected"]
    notes = [
        "Test accuracy, mean and standard deviation over the seeds, and the million parameters; the difference seed by "
        "seed with Student's interval, p by all flips of the differences' signs, corrected for the sets by Holm's "
        f"method. With {n_seeds} seeds p cannot be less than {2 ** (1 - n_seeds):.2g}."
    ]
    return [Table(title, header, rows, notes)]
