"""The hash-embedding paper's claim, tested over seeds: as good with a fifth of the parameters."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Sequence

from sklearn_hashnlp.experiments._published_hash_embeddings import TITLES
from sklearn_hashnlp.experiments._recipe import Result
from sklearn_hashnlp.experiments._table import Table

HASH, STANDARD = "hash-embed-nodict", "std-embed-nodict"


def claim_table(results: Sequence[Result]) -> list[Table]:
    """Compare hash embeddings with standard ones of five times the parameters, seed by seed.

    Parameters
    ----------
    results : sequence of dict
        Of any experiments; tests of both kinds without a dictionary, of the same set, rows, settings and seed, make a
        pair.

    Returns
    -------
    list of Table
        One table, or none where no set has two pairs.
    """
    from sklearn_hashnlp.experiments._paired_test import MOST_PAIRS, compare_paired, holm_correction

    measured: dict[tuple[str, int, str], dict[str, dict[int, Result]]] = defaultdict(lambda: defaultdict(dict))
    for result in results:
        if result["part"] == "test" and result["recipe"] in (HASH, STANDARD):
            settings = {name: value for name, value in result["settings"].items() if name not in ("dataset", "variant")}
            key = result["settings"]["dataset"], result["n_train"], json.dumps(settings, sort_keys=True)
            measured[key][result["recipe"]][result["seed"]] = result
    rows, p_values = [], []
    for (dataset, n_train, _), found in measured.items():
        common = sorted(found[HASH].keys() & found[STANDARD].keys())[:MOST_PAIRS]
        if len(common) < 2:
            continue
        accuracies = {name: [100 * found[name][seed]["accuracy"] for seed in common] for name in (HASH, STANDARD)}
        (compared,) = compare_paired(accuracies)
        p_values.append(compared.p_value)
        rows.append(
            [
                f"{TITLES.get(dataset, dataset)}, {n_train:,} rows",
                str(len(common)),
                *(
                    f"{statistics.mean(values):.2f} ± {statistics.stdev(values):.2f}"
                    f" ({found[name][common[0]]['n_parameters'] / 1e6:.0f} M)"
                    for name, values in accuracies.items()
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
        "method. With five seeds p cannot be less than 0.062."
    ]
    return [Table("Hash embeddings against standard ones of five times the parameters", header, rows, notes)]
