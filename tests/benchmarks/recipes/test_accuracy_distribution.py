"""The recipe ``accuracy-distribution``: embeddings, report and plot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.recipes.accuracy_distribution import ACCURACY_DISTRIBUTION, _embeddings
from benchmarks.runner import run_recipe
from benchmarks.runner.settings import change_settings, settings_as_json

from ...labelled_words import write_text_set

# The recipes hold validation rows out, for which some of the data here are too small.
pytestmark = pytest.mark.filterwarnings("ignore:early_stopping has no effect:UserWarning")

TIMES = {"fit_seconds", "test_seconds", "count_seconds", "seconds_per_row"}


def measured(
    embedding: str, seed: int, accuracy: float, *changes: str, n_train: int = 1000
) -> dict[str, Any]:
    settings = settings_as_json(change_settings(ACCURACY_DISTRIBUTION.settings, changes))
    provenance = {
        "recipe": "accuracy-distribution",
        "seed": seed,
        "settings": settings,
        "part": "test",
    }
    values = {
        "accuracy": accuracy,
        "train_accuracy": (1 + accuracy) / 2,
        "n_train": n_train,
        "n_parameters": 8_000_084,
    }
    values |= {"epochs": 30, "fit_seconds": 12.0}
    return provenance | {"embedding": embedding} | values


def test_embeddings_differ_in_the_settings_that_their_names_say() -> None:
    embeddings = {
        name: vars(settings)
        for name, settings in _embeddings(ACCURACY_DISTRIBUTION.settings).items()
    }
    differing = {
        name: {
            key: value for key, value in settings.items() if value != embeddings["improved"][key]
        }
        for name, settings in embeddings.items()
    }
    rows = 2 * 200_000 // 2 + 200_000  # n k / d + B
    assert rows * 20 == 2_000_000 * 2 + 200_000 * 20
    assert differing == {
        "improved": {},
        "paper": {"variant": "paper"},
        "improved, importance not appended": {"append_weight": False},
        "improved, median": {"aggregation": "median"},
        "improved, concatenated": {"aggregation": "concat"},
        "standard, n rows": {"variant": "standard"},
        "standard, as many parameters": {"variant": "standard", "n_embeddings": rows},
        "dictionary, as many parameters": {
            "variant": "standard",
            "n_embeddings": rows,
            "dictionary": True,
        },
    }


def test_a_run_resumes_after_an_embedding(tmp_path: Path) -> None:
    write_text_set(tmp_path / "words")
    settings = replace(
        ACCURACY_DISTRIBUTION.quick, dataset="words", data=str(tmp_path), max_epochs=1
    )
    whole = list(run_recipe(ACCURACY_DISTRIBUTION, settings=settings, seed=3))
    rest = list(run_recipe(ACCURACY_DISTRIBUTION, settings=settings, seed=3, previous=whole[:4]))
    assert [
        {key: value for key, value in result.items() if key not in TIMES} for result in rest
    ] == [{key: value for key, value in result.items() if key not in TIMES} for result in whole[4:]]


def test_differences_are_paired_by_seed() -> None:
    improved = [0.90, 0.91, 0.92, 0.93]
    results = [measured("improved", seed, accuracy) for seed, accuracy in enumerate(improved, 1)]
    results += [
        measured("paper", seed, accuracy - 0.01) for seed, accuracy in enumerate(improved, 1)
    ][::-1]
    results += [measured("improved, median", seed, improved[4 - seed]) for seed in range(1, 5)]
    results += [measured("improved", 0, 0.1)]  # of a run that is unfinished
    means, test, training = ACCURACY_DISTRIBUTION.report(results)
    assert [row[:3] for row in means.rows] == [
        ["improved", "8", "5"],
        ["paper", "8", "4"],
        ["improved, median", "8", "4"],
    ]
    assert means.rows[1][3:5] == ["95.25 ± 0.65", "90.50 ± 1.29"]
    assert [list(row) for row in test.rows] == [
        ["paper", "+1.00", "+1.00 to +1.00", "0.125", "0.250"],
        ["improved, median", "+0.00", "-4.11 to +4.11", "1.000", "1.000"],
    ]
    assert test.notes[0].startswith("Paired over 4 seeds")
    assert (test.header[0], training.rows[0][1]) == ("improved vs.", "+0.50")
    assert training.title == "Training accuracy, differences: AG's News, 1,000 rows"
