"""The six experiments of the hash-embedding paper, on a tiny dataset."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.commands.registry import RECIPES, get_recipe
from benchmarks.recipes.hash_embedding_trial import count_texts, read_texts, train_and_test
from benchmarks.recipes.hash_embeddings import HASH_EMBEDDING_RECIPES
from benchmarks.runner import run_recipe
from benchmarks.runner.settings import change_settings

from ...labelled_words import write_text_set

# The recipes hold validation rows out, for which some of the data here are too small.
pytestmark = pytest.mark.filterwarnings("ignore:early_stopping has no effect:UserWarning")

NAMES = [
    "custom",
    "std-embed-dict",
    "hash-embed-dict",
    "hash-embed-nodict",
    "std-embed-nodict",
    "ensemble-hash-embed-dict",
]
TIMES = {"fit_seconds", "test_seconds", "count_seconds", "seconds_per_row", "seconds"}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sets")
    write_text_set(folder / "words")
    return folder


def tiny(name: str, data: Path, **changes: Any) -> Any:
    """Return tiny settings with enough epochs and validation rows to learn something."""
    dictionary = {"n_embeddings": 400, "hidden_layer_sizes": (32,)} if "-dict" in name else {}
    common = {
        "dataset": "words",
        "data": str(data),
        "learning_rate": 0.01,
        "validation_fraction": 0.1,
    }
    common |= {"max_epochs": 16}
    return replace(get_recipe(name).quick, **common | dictionary | changes)


def without_times(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in result.items() if key not in TIMES} for result in results]


def test_the_six_have_the_names_of_the_reference() -> None:
    assert [recipe.name for recipe in HASH_EMBEDDING_RECIPES] == NAMES
    assert [name for name in RECIPES if name in NAMES] == NAMES
    assert len({(recipe.report, recipe.plot) for recipe in HASH_EMBEDDING_RECIPES}) == 1


# From the README and the command line of the reference, whose ranges exclude their ends.
COMMON = """
    dataset=ag variant=improved n_hashes=2 aggregation=sum append_weight=yes max_epochs=300
    batch_size=64 learning_rate=0.001 shuffle=yes validation_fraction=0.05 monitor=valid_acc
    n_iter_no_change=10 plateau_patience=4 plateau_factor=0.5 restore_best=yes ngram_dropout=4,99
    n_train=0 n_test=0 members=1
    n_embeddings_grid= n_buckets_grid=
"""
NODICT = """
    dictionary=no ngram_range=1,2 embedding_dim=20 n_embeddings=10000000 n_buckets=1000000
    hidden_layer_sizes=
"""
DICT = (
    "dictionary=yes ngram_range=1,9 embedding_dim=200 n_embeddings=1000000 "
    "hidden_layer_sizes=1000,1000,1000"
)
REFERENCE = {
    "custom": NODICT,
    "hash-embed-nodict": NODICT,
    "std-embed-nodict": f"{NODICT} variant=standard",
    "std-embed-dict": (
        f"{DICT} variant=standard n_embeddings_grid=10000,25000,50000,300000,500000,1000000"
    ),
    "hash-embed-dict": f"{DICT} n_buckets_grid=500,10000,50000,100000,150000",
    "ensemble-hash-embed-dict": f"{DICT} n_buckets=50000 members=10",
}


def test_the_settings_equal_the_reference() -> None:
    for name, changes in REFERENCE.items():
        settings = get_recipe(name).settings
        assert change_settings(settings, f"{COMMON} {changes}".split()) == settings, name


# The others are these with another embedding.
QUICK = ["custom", "hash-embed-nodict", "ensemble-hash-embed-dict"]
EACH = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in NAMES]


@pytest.mark.parametrize("name", EACH)
def test_each_runs_and_resumes_after_any_result(name: str, data: Path, tmp_path: Path) -> None:
    recipe, settings = get_recipe(name), tiny(name, data)
    whole = list(run_recipe(recipe, settings=settings, seed=4))
    assert len(whole) == recipe.n_results(settings) == (3 if "-dict" in name else 1)
    assert [result["step"] for result in whole] == list(range(len(whole)))
    assert json.loads(json.dumps(whole)) == whole
    first_part = "member" if "ensemble" in name else "choice"
    assert [result["part"] for result in whole] == [first_part] * (len(whole) - 1) + ["test"]
    assert whole[-1]["accuracy"] > 0.6
    for n_previous in range(1, len(whole)):
        previous = json.loads(json.dumps(whole[:n_previous]))  # as they are read from a file
        folder = tmp_path / str(n_previous)
        folder.mkdir()
        rest = list(run_recipe(recipe, settings=settings, seed=4, previous=previous, folder=folder))
        assert without_times(rest) == without_times(whole[n_previous:])


def test_the_best_value_is_chosen_and_used(data: Path) -> None:
    for name, parameter in (("hash-embed-dict", "n_buckets"), ("std-embed-dict", "n_embeddings")):
        recipe = get_recipe(name)
        settings = tiny(
            name,
            data,
            max_epochs=8,
            append_weight=False,
            folds=2,
            **{f"{parameter}_grid": (1, 200, 3)},
        )
        *grid, test = run_recipe(recipe, settings=settings)
        assert [(result["parameter"], result["value"]) for result in grid] == [
            (parameter, n) for n in (1, 200, 3)
        ]
        assert grid[1]["accuracy"] > 0.05 + max(grid[0]["accuracy"], grid[2]["accuracy"])
        assert test["chosen"] == {parameter: 200}
        plain = replace(settings, **{f"{parameter}_grid": (), parameter: 200})
        (alone,) = run_recipe(recipe, settings=plain)
        assert alone["chosen"] == {}
        same = ("accuracy", "train_accuracy", "valid_accuracy", "n_parameters", "epochs")
        assert {key: alone[key] for key in same} == {key: test[key] for key in same}

    # Previous results decide; of equal accuracies the first is chosen.
    previous = [result | {"accuracy": 0.9 if result["value"] != 1 else 0.1} for result in grid]
    assert next(run_recipe(recipe, settings=settings, previous=previous))["chosen"] == {
        "n_embeddings": 200
    }
    previous = [result | {"accuracy": -result["value"]} for result in grid]
    assert next(run_recipe(recipe, settings=settings, previous=previous))["chosen"] == {
        "n_embeddings": 1
    }


def test_members_differ_and_are_averaged(data: Path, tmp_path: Path) -> None:
    recipe = get_recipe("ensemble-hash-embed-dict")
    settings = tiny(recipe.name, data, members=3, max_epochs=4)
    *members, test = run_recipe(recipe, settings=settings, seed=5, folder=tmp_path)
    probabilities = [np.load(tmp_path / f"member-{number}.npy") for number in range(3)]
    assert not np.array_equal(probabilities[0], probabilities[1])
    assert not np.array_equal(probabilities[1], probabilities[2])

    # Each has its own seed, which no member of another run has.
    texts = read_texts(settings, 5)
    counted = count_texts(settings, texts)
    for number, saved in enumerate(probabilities):
        result, expected = train_and_test(settings, counted, 3 * 5 + number)
        assert np.array_equal(expected, saved)
        assert result["accuracy"] == members[number]["accuracy"]
    classes = np.unique(texts.train_labels)
    assert test["accuracy"] == np.mean(
        classes[sum(probabilities).argmax(axis=1)] == texts.test_labels
    )
    for name in ("n_parameters", "epochs", "fit_seconds", "test_seconds"):
        assert test[name] == pytest.approx(sum(member[name] for member in members))
    assert test["seconds_per_row"] * 240 == pytest.approx(
        test["fit_seconds"] + test["count_seconds"]
    )
    assert (test["members"], test["n_train"], test["n_test"], test["n_classes"]) == (3, 240, 60, 3)


def test_saved_members_are_not_trained_again(data: Path, tmp_path: Path) -> None:
    recipe = get_recipe("ensemble-hash-embed-dict")
    settings = tiny(recipe.name, data, members=3, max_epochs=4)
    whole = list(run_recipe(recipe, settings=settings, folder=tmp_path))
    lines: list[str] = []
    rest = list(
        run_recipe(recipe, settings=settings, folder=tmp_path, previous=whole[:2], log=lines.append)
    )
    assert without_times(rest) == without_times(whole[2:])
    assert lines == ["words: member 3 of 3"]
    lines.clear()
    (tmp_path / "member-1.npy").unlink()
    (test,) = run_recipe(
        recipe, settings=settings, folder=tmp_path, previous=whole[:3], log=lines.append
    )
    assert without_times([test]) == without_times(whole[3:])
    assert lines == ["words: member 2 of 3"]

    # Probabilities of a member without a result are ignored.
    np.save(tmp_path / "member-2.npy", np.full((60, 3), [0.0, 0.0, 1000.0]))
    rest = list(run_recipe(recipe, settings=settings, folder=tmp_path, previous=whole[:2]))
    assert without_times(rest) == without_times(whole[2:])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"n_embeddings_grid": (5,)},
            "n_embeddings_grid holds sizes of a dictionary, but dictionary=no",
        ),
        (
            {"dictionary": True, "n_embeddings_grid": (5,), "n_buckets_grid": (5,)},
            "cannot both be given",
        ),
        ({"folds": 0}, "folds and members must be at least 1, got 0 and 1"),
        ({"n_train": -5}, r"n_train and n_test must be at least 0 \(0: all rows\), got -5 and 100"),
        ({"ngram_range": (2,)}, r"ngram_range must be two integers.* got \(2,\)"),
        ({"ngram_dropout": (9, 4)}, "ngram_dropout.*1 <= fewest <= most"),
        ({"variant": "best", "dataset": "nowhere"}, "'variant' parameter"),  # before a text is read
    ],
)
def test_invalid_settings_are_refused(data: Path, changes: dict[str, Any], message: str) -> None:
    settings = replace(
        get_recipe("custom").quick, **{"dataset": "words", "data": str(data)} | changes
    )
    with pytest.raises(ValueError, match=message):
        list(run_recipe(get_recipe("custom"), settings=settings))
