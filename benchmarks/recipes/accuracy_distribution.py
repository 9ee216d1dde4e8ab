"""The recipe ``accuracy-distribution``: an ablation of hash embeddings over seeds."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from benchmarks.recipes.comparison import comparison_tables, group_results
from benchmarks.recipes.hash_embedding_settings import SETTINGS, DataSettings, HashEmbeddingSettings
from benchmarks.runner.recipe import Recipe, Result, Run, fit_progress
from benchmarks.runner.settings import STDLIB, setting
from benchmarks.runner.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


_DESCRIPTION = """\
An ablation: eight embeddings of n-grams are trained on the same rows with the same seed: improved
hash embeddings (sum, importance appended), the paper's, and the improved ones without appended
importance, with medians and with concatenation; the standard table of the reference implementation
(n rows), and a standard table and a dictionary with the same number of parameters as the hash
embeddings. Training accuracy is measured under n-gram dropout, as in the reference, test accuracy
on whole texts. Run it with --seeds 10: differences of both are tested by the exact permutation test
over seeds (sign flips), corrected for multiple comparisons by Holm's method.

Reference: https://github.com/YannDubs/Hash-Embeddings, section "Personal improvements"; its script
bin/accuracy_distribution.sh divides n and B by 5; all other settings are taken from
hash-embed-nodict. Its standard embeddings have n rows, five times the parameters; embeddings with
the same number of parameters are added here.

About three minutes per seed for 36,000 short texts on one core."""

_BASELINE = "improved"  # the others are compared with it


@dataclass(frozen=True)
class AccuracyDistributionSettings(DataSettings):
    """Settings of the experiment; the metadata of each field describe it."""

    preprocessing: Literal["reference", "paper"] = setting(
        "reference", "as in the reference or in the paper"
    )
    n_embeddings: int = setting(2 * 10**6, "rows of the importance table; n")
    n_buckets: int = setting(2 * 10**5, "component vectors; B")
    embedding_dim: int = setting(20, "embedding dimension; d")
    max_epochs: int = setting(300, "maximum number of epochs")


def _embeddings(settings: AccuracyDistributionSettings) -> dict[str, HashEmbeddingSettings]:
    """Return the settings of each embedding, by its name."""
    common = {name: getattr(settings, name) for name in settings.__dataclass_fields__}
    improved = replace(SETTINGS["hash-embed-nodict"], **common)
    n_parameters = (
        improved.n_embeddings * improved.n_hashes + improved.n_buckets * improved.embedding_dim
    )
    equal = n_parameters // improved.embedding_dim
    return {
        _BASELINE: improved,
        "paper": replace(improved, variant="paper"),
        "improved, importance not appended": replace(improved, append_weight=False),
        "improved, median": replace(improved, aggregation="median"),
        "improved, concatenated": replace(improved, aggregation="concat"),
        "standard, n rows": replace(improved, variant="standard"),
        "standard, as many parameters": replace(improved, variant="standard", n_embeddings=equal),
        "dictionary, as many parameters": replace(
            improved, variant="standard", n_embeddings=equal, dictionary=True
        ),
    }


def _n_results(settings: AccuracyDistributionSettings) -> int:
    return len(_embeddings(settings))


def _run(settings: AccuracyDistributionSettings, run: Run) -> Iterator[Result]:
    from benchmarks.recipes.hash_embedding_trial import count_texts, read_texts, train_and_test

    embeddings = _embeddings(settings)
    texts = read_texts(settings, run.seed)
    counted = {}
    for index, (name, embedding) in enumerate(embeddings.items()):
        if index < len(run.previous):
            continue
        run.log(f"{settings.dataset}: {name}")
        if embedding.dictionary not in counted:
            counted[embedding.dictionary] = count_texts(embedding, texts)
        on_progress = fit_progress(run, index, len(embeddings))
        result, _ = train_and_test(embedding, counted[embedding.dictionary], run.seed, on_progress)
        yield {"part": "test", "embedding": name, **result}


def _report(results: Sequence[Result]) -> list[Table]:
    groups = group_results(results, AccuracyDistributionSettings())
    return [table for title, group in groups.items() for table in comparison_tables(title, group)]


def _plot(results: Sequence[Result], figure: Figure) -> None:
    found = group_results(results, AccuracyDistributionSettings())
    # a distribution needs several seeds
    several = {title: group for title, group in found.items() if max(map(len, group.values())) > 1}
    groups = several or found
    figure.set_size_inches(9, sum(2 + 0.4 * len(group) for group in groups.values()))
    subfigures = figure.subfigures(len(groups), 1, squeeze=False)[:, 0]
    for subfigure, (title, group) in zip(subfigures, groups.items(), strict=True):
        draw_accuracies(subfigure, group)
        subfigure.suptitle(textwrap.fill(title, 90))


def draw_accuracies(figure: Figure | SubFigure, group: Mapping[str, Sequence[Result]]) -> None:
    """Draw training and test accuracies side by side: a box per embedding, a point per seed."""
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    axes: Sequence[Axes] = figure.subplots(1, 2, sharey=True)
    halves = (
        ("train_accuracy", "training (under n-gram dropout)", "#4c72b0"),
        ("accuracy", "test", "#dd8452"),
    )
    for ax, (metric, title, color) in zip(axes, halves, strict=True):
        for row, results in enumerate(group.values()):
            _draw_row(ax, row, [result[metric] for result in results], color)
        # Boxes have sticky edges: without a margin, a point at the edge of the only box would be
        # cut.
        ax.use_sticky_edges = False
        ax.autoscale_view()
        ax.set_title(title)
        ax.set_xlabel("accuracy")
        ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
        ax.xaxis.set_major_formatter(PercentFormatter(1.0))
        ax.grid(axis="x", alpha=0.3)
    axes[0].set_yticks(range(len(group)), list(group))
    axes[0].invert_yaxis()


def _draw_row(ax: Axes, row: int, points: Sequence[float], color: str) -> None:
    """Draw quartiles, median, extreme values and all points, by seed from top to bottom."""
    import numpy as np

    # Not by `boxplot`: its parameter for horizontal boxes was renamed between versions of
    # matplotlib.
    minimum, low, median, high, maximum = np.quantile(points, (0, 0.25, 0.5, 0.75, 1))
    ax.barh(row, high - low, left=low, height=0.5, facecolor="none", edgecolor="0.6")
    ax.hlines([row, row], [minimum, high], [low, maximum], color="0.6")
    ax.vlines(median, row - 0.25, row + 0.25, color=color, linewidth=2)
    heights = row + np.linspace(-0.18, 0.18, len(points)) if len(points) > 1 else [row]
    ax.plot(points, heights, linestyle="", marker="o", markersize=4, alpha=0.7, color=color)


ACCURACY_DISTRIBUTION = Recipe(
    name="accuracy-distribution",
    summary=(
        "Ablation of hash embeddings over seeds: variants, aggregations, equal numbers of "
        "parameters"
    ),
    description=_DESCRIPTION,
    settings=AccuracyDistributionSettings(),
    quick=AccuracyDistributionSettings(
        dataset=STDLIB, n_embeddings=2000, n_buckets=200, max_epochs=2, n_train=500, n_test=100
    ),
    run=_run,
    n_results=_n_results,
    report=_report,
    plot=_plot,
    packages=("sklearn-hashnlp", "numpy", "scikit-learn", "torch"),
)
