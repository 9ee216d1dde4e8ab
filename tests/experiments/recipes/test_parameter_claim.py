"""The paper's claim over seeds."""

from __future__ import annotations

from typing import Any

from sklearn_hashnlp.experiments.recipes._parameter_claim import HASH, STANDARD, claim_table


def result(recipe: str, dataset: str, seed: int, accuracy: float, **changes: Any) -> dict[str, Any]:
    settings = {"dataset": dataset, "variant": "standard" if recipe == STANDARD else "improved", "max_epochs": 300}
    size = 200_000_084 if recipe == STANDARD else 40_000_092
    measured = {"part": "test", "accuracy": accuracy, "n_train": 1000, "n_parameters": size}
    return {"recipe": recipe, "seed": seed, "settings": settings | changes, **measured}


def test_seeds_are_paired_and_sets_corrected() -> None:
    results = [result(HASH, "ag", seed, 0.90 + seed / 1000) for seed in (4, 3, 2, 1, 0)]
    results += [result(STANDARD, "ag", seed, 0.89 + seed / 1000) for seed in range(5)]
    results += [result(HASH, "mine", seed, 0.8) for seed in range(3)]
    results += [result(STANDARD, "mine", seed, accuracy) for seed, accuracy in enumerate((0.81, 0.79, 0.5))]
    (table,) = claim_table(results)
    ag, mine = table.rows
    assert ag == [
        "AG's News, 1,000 rows",
        "5",
        "90.20 ± 0.16 (40 M)",
        "89.20 ± 0.16 (200 M)",
        "+1.00",
        "+1.00 to +1.00",
        "0.062",
        "0.125",
    ]
    assert mine[:2] == ["mine, 1,000 rows", "3"]
    assert mine[4] == "+10.00"


def test_what_cannot_be_paired_is_left_out() -> None:
    assert claim_table([]) == []
    alone = [result(HASH, "ag", seed, 0.9) for seed in range(3)]
    assert claim_table([*alone, result(STANDARD, "ag", 7, 0.9), result(STANDARD, "ag", 0, 0.9)]) == []
    others = [result(STANDARD, "ag", seed, 0.9, max_epochs=2) for seed in range(3)]
    assert claim_table([*alone, *others]) == []
    tried = [result(STANDARD, "ag", seed, 0.9) | {"part": "choice"} for seed in range(3)]
    assert claim_table([*alone, *tried]) == []


def test_the_first_twenty_of_more_seeds_are_tested() -> None:
    results = [result(name, "ag", seed, 0.9 if seed < 20 else 0.1) for name in (HASH, STANDARD) for seed in range(23)]
    (table,) = claim_table(results)
    assert table.rows[0][1:3] == ["20", "90.00 ± 0.00 (40 M)"]
