"""Pictures of experiments in which everything can be read."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest
from matplotlib.figure import Figure

from benchmarks.commands.registry import RECIPES
from benchmarks.commands.report import make_plots
from benchmarks.recipes.accuracy_distribution import draw_accuracies
from tests.plotting.readable import assert_readable


def quick_results(recipes: list[str], names: list[str]) -> list[dict[str, Any]]:
    """Return results as of ``python -m benchmarks run --quick``."""
    return [
        {
            "recipe": recipe,
            "seed": seed,
            "step": 0,
            "part": "test",
            "accuracy": 0.8 + seed / 100,
            "n_train": 300,
            "settings": asdict(RECIPES[recipe].quick) | {"dataset": name},
        }
        for recipe in recipes
        for name in names
        for seed in (0, 1)
    ]


@pytest.mark.parametrize(
    "recipes", [["custom"], ["hash-embed-nodict", "std-embed-dict", "hash-embed-dict", "ensemble-hash-embed-dict"]]
)
def test_labels_of_quick_experiments_do_not_overlap_and_the_legend_is_no_data(recipes: list[str]) -> None:
    [(_, draw)] = make_plots(quick_results(recipes, ["ag", "imdb"]))
    figure = Figure(layout="constrained")
    draw(figure)
    assert_readable(figure)
    [legend] = figure.legends
    box = legend.get_window_extent()
    assert legend.get_frame_on()
    assert not any(box.overlaps(ax.get_tightbbox()) for ax in figure.axes)


def test_one_seed_of_an_accuracy_is_inside_its_axes() -> None:
    points = {"hash": {"train_accuracy": 0.9, "accuracy": 0.8}, "standard": {"train_accuracy": 0.95, "accuracy": 0.7}}
    figure = Figure(layout="constrained")
    draw_accuracies(figure, {name: [values] for name, values in points.items()})
    assert_readable(figure)
    for ax, metric in zip(figure.axes, ("train_accuracy", "accuracy"), strict=True):
        low, high = ax.get_xlim()
        assert low < min(values[metric] for values in points.values())
        assert max(values[metric] for values in points.values()) < high
