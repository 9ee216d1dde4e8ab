"""The recipe ``accuracy-distribution``: embeddings, report and plot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from benchmarks.commands.registry import get_recipe
from benchmarks.recipes.accuracy_distribution import ACCURACY_DISTRIBUTION, _embeddings, draw_accuracies
from benchmarks.recipes.hash_embedding_settings import SETTINGS
from benchmarks.recipes.hash_embedding_trial import count_texts, read_texts, train_and_test
from benchmarks.runner import run_recipe
from benchmarks.runner.settings import change_settings, settings_as_json

from ...labelled_words import write_text_set

# The recipes hold validation rows out, for which some of the data here are too small.
pytestmark = pytest.mark.filterwarnings("ignore:HashEmbeddingClassifier. early_stopping has no effect:UserWarning")

EMBEDDINGS = [
    "improved",
    "paper",
    "improved, importance not appended",
    "improved, median",
    "improved, concatenated",
    "standard, n rows",
    "standard, as many parameters",
    "dictionary, as many parameters",
]
TIMES = {"fit_seconds", "test_seconds", "count_seconds", "seconds_per_row"}


def measured(embedding: str, seed: int, accuracy: float, *changes: str, n_train: int = 1000) -> dict[str, Any]:
    settings = settings_as_json(change_settings(ACCURACY_DISTRIBUTION.settings, changes))
    provenance = {"recipe": "accuracy-distribution", "seed": seed, "settings": settings, "part": "test"}
    values = {"accuracy": accuracy, "train_accuracy": (1 + accuracy) / 2, "n_train": n_train, "n_parameters": 8_000_084}
    values |= {"epochs": 30, "fit_seconds": 12.0}
    return provenance | {"embedding": embedding} | values


def test_the_sizes_are_a_fifth_of_the_paper_s() -> None:
    settings = get_recipe("accuracy-distribution").settings
    whole = SETTINGS["hash-embed-nodict"]
    assert (
        (5 * settings.n_embeddings, 5 * settings.n_buckets) == (whole.n_embeddings, whole.n_buckets) == (10**7, 10**6)
    )
    embeddings = _embeddings(settings)
    assert list(embeddings) == EMBEDDINGS
    assert embeddings["improved"] == replace(whole, n_embeddings=2_000_000, n_buckets=200_000)


def test_embeddings_differ_in_the_settings_that_their_names_say() -> None:
    embeddings = {name: vars(settings) for name, settings in _embeddings(ACCURACY_DISTRIBUTION.settings).items()}
    differing = {
        name: {key: value for key, value in settings.items() if value != embeddings["improved"][key]}
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
        "dictionary, as many parameters": {"variant": "standard", "n_embeddings": rows, "dictionary": True},
    }


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("sets")
    write_text_set(folder / "words")
    return replace(ACCURACY_DISTRIBUTION.quick, dataset="words", data=str(folder), max_epochs=4)


@pytest.fixture(scope="module")
def whole(settings: Any) -> list[dict[str, Any]]:
    return list(run_recipe(ACCURACY_DISTRIBUTION, settings=settings, seed=3))


def test_all_embeddings_have_the_same_rows_and_seed(settings: Any, whole: list[dict[str, Any]]) -> None:
    assert [result["embedding"] for result in whole] == EMBEDDINGS
    assert len(whole) == ACCURACY_DISTRIBUTION.n_results(settings)
    for result, embedding in zip(whole, _embeddings(settings).values(), strict=True):
        expected = train_and_test(embedding, count_texts(embedding, read_texts(embedding, 3)), 3)[0]
        assert {key: result[key] for key in expected.keys() - TIMES} == {
            key: expected[key] for key in expected.keys() - TIMES
        }
    assert len({(result["n_train"], result["n_test"]) for result in whole}) == 1


def test_numbers_of_parameters_are_equal(settings: Any, whole: list[dict[str, Any]]) -> None:
    sizes = {result["embedding"]: result["n_parameters"] for result in whole}
    # The heads differ by the appended importance, 2 for each of 3 classes; and a table has whole rows of 20.
    for name in ("standard, as many parameters", "dictionary, as many parameters"):
        assert abs(sizes[name] - sizes["improved"]) <= 2 * 3 + 20
    assert sizes["paper"] == sizes["improved"] == 2000 * 2 + 200 * 20 + (20 + 2 + 1) * 3
    assert sizes["standard, n rows"] == 2000 * 20 + (20 + 1) * 3


@pytest.mark.parametrize("n_previous", [1, 4, 7])
def test_a_run_resumes_after_any_embedding(settings: Any, whole: list[dict[str, Any]], n_previous: int) -> None:
    rest = list(run_recipe(ACCURACY_DISTRIBUTION, settings=settings, seed=3, previous=whole[:n_previous]))
    assert [{key: value for key, value in result.items() if key not in TIMES} for result in rest] == [
        {key: value for key, value in result.items() if key not in TIMES} for result in whole[n_previous:]
    ]


def test_one_seed_has_means_and_no_test() -> None:
    [means] = ACCURACY_DISTRIBUTION.report([measured(name, 0, 0.9) for name in EMBEDDINGS])
    assert means.title == "Accuracy: AG's News, 1,000 rows"
    assert [list(row) for row in means.rows] == [
        [name, "8", "1", "95.00", "90.00", "30", "12.0"] for name in EMBEDDINGS
    ]


def test_differences_of_both_accuracies_are_those_of_the_same_seeds() -> None:
    improved = [0.90, 0.91, 0.92, 0.93]
    results = [measured("improved", seed, accuracy) for seed, accuracy in enumerate(improved, 1)]
    results += [measured("paper", seed, accuracy - 0.01) for seed, accuracy in enumerate(improved, 1)][::-1]
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


def test_runs_that_share_no_finished_seed_are_not_compared() -> None:
    results = [measured("improved", seed, 0.9) for seed in (0, 1)] + [measured("paper", seed, 0.9) for seed in (1, 2)]
    assert len(ACCURACY_DISTRIBUTION.report(results)) == 1
    assert len(ACCURACY_DISTRIBUTION.report([measured("paper", seed, 0.9) for seed in range(3)])) == 1


def test_datasets_and_settings_have_tables_of_their_own() -> None:
    names = EMBEDDINGS[:2]
    results = [measured(name, seed, 0.9) for name in names for seed in range(2)]
    results += [measured(name, seed, 0.8, "dataset=imdb") for name in names for seed in range(2)]
    results += [measured(name, seed, 0.5, "n_buckets=7", "max_epochs=2") for name in names for seed in range(2)]
    results += [measured(name, 0, 0.6, n_train=50) for name in names]
    tables = ACCURACY_DISTRIBUTION.report(results)
    means = {table.title.partition(": ")[2]: table.rows[0][4] for table in tables if "differences" not in table.title}
    assert means == {
        "AG's News, 1,000 rows": "90.00 ± 0.00",
        "imdb, 1,000 rows": "80.00 ± 0.00",
        "AG's News, 1,000 rows, n_buckets=7, max_epochs=2": "50.00 ± 0.00",
        "AG's News, 50 rows": "60.00",
    }
    assert [len(table.rows) for table in tables] == [2, 1, 1, 2, 1, 1, 2, 1, 1, 2]


def test_the_first_twenty_of_more_seeds_are_tested() -> None:
    results = [
        measured(name, seed, 0.9 if seed < 20 else 0.1 * (name == "paper"))
        for name in EMBEDDINGS[:2]
        for seed in range(23)
    ]
    means, tests, _ = ACCURACY_DISTRIBUTION.report(results)
    assert means.rows[0][2] == "23"
    assert tests.rows[0][1:] == ["+0.00", "+0.00 to +0.00", "1.000", "1.000"]
    assert tests.notes[0].startswith("Paired over 20 seeds")


def test_each_dataset_is_drawn_with_one_point_per_seed(tmp_path: Path) -> None:
    results = [measured(name, seed, 0.9 + seed / 100) for name in EMBEDDINGS for seed in (2, 0, 1)]
    results += [measured(name, 0, 0.7, "dataset=imdb", "max_epochs=2") for name in EMBEDDINGS[:3]]
    figure = Figure(layout="constrained")
    assert ACCURACY_DISTRIBUTION.plot is not None
    ACCURACY_DISTRIBUTION.plot(results, figure)
    titles = [subfigure.get_suptitle() for subfigure in figure.subfigs]
    assert titles == ["AG's News, 1,000 rows", "imdb, 1,000 rows, max_epochs=2"]
    (train, test), (_, other) = (subfigure.axes for subfigure in figure.subfigs)
    assert [label.get_text() for label in train.get_yticklabels()] == EMBEDDINGS
    assert [line.get_xdata().tolist() for line in test.lines] == [[0.9, 0.91, 0.92]] * 8
    assert [line.get_xdata().round(4).tolist() for line in train.lines] == [[0.95, 0.955, 0.96]] * 8
    assert [line.get_xdata().tolist() for line in other.lines] == [[0.7]] * 3
    figure.savefig(tmp_path / "picture.png", dpi=40)


def test_each_seed_is_a_point_and_each_embedding_a_box() -> None:
    values = {"improved": [0.93, 0.94, 0.95, 0.97], "paper": [0.92], "standard": [0.99, 0.97]}
    group = {name: [measured(name, seed, one) for seed, one in enumerate(ones)] for name, ones in values.items()}
    figure = Figure()
    draw_accuracies(figure, group)
    ax = figure.axes[1]
    for row, line in enumerate(ax.lines):
        heights = np.asarray(line.get_ydata(), dtype=float)
        assert len(set(heights)) == len(heights)
        assert np.abs(heights - row).max() < 0.25
    boxes = [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in ax.patches]  # type: ignore[attr-defined]
    np.testing.assert_allclose(boxes, [np.quantile(ones, (0.25, 0.75)) for ones in values.values()])
    figure.canvas.draw()
    bottom, top = ax.get_ylim()
    assert bottom > top, "the first embedding is on top"
