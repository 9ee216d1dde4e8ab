"""The recipe ``accuracy-distribution``: an ablation of hash embeddings over seeds."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from benchmarks.recipes.hash_embedding_report import TITLES
from benchmarks.recipes.hash_embedding_settings import SETTINGS, HashEmbeddingSettings
from benchmarks.runner.recipe import Recipe, Result, Run, fit_progress
from benchmarks.runner.settings import format_changes, setting
from benchmarks.runner.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_DESCRIPTION = """\
An ablation: eight embeddings of n-grams are trained on the same rows with the same seed: improved hash embeddings (sum,
importance appended), the paper's, and the improved ones without appended importance, with medians and with
concatenation; the standard table of the reference implementation (n rows), and a standard table and a dictionary with
as many parameters as the hash embeddings. Training accuracy is measured under n-gram dropout, as in the reference, test
accuracy on whole texts. Run it with --seeds 10: differences are tested by the exact permutation test over seeds (sign
flips), corrected for multiple comparisons by Holm's method.

Reference: https://github.com/YannDubs/Hash-Embeddings, section "Personal improvements", whose script
bin/accuracy_distribution.sh divides n and B by 5; all other settings are those of hash-embed-nodict. Its standard
embeddings have n rows, five times the parameters; those with as many parameters are added here.

About three minutes per seed for 36,000 short texts on one core."""

_BASELINE = "improved"  # the others are compared with it


@dataclass(frozen=True)
class AccuracyDistributionSettings:
    """Settings of the experiment; the metadata of each field describe it."""

    dataset: str = setting("ag", "ag, amazon, amazon-polarity, dbpedia, sogou, yahoo, yelp, yelp-polarity or a folder")
    data: str = setting("", "folder of the datasets; empty: the one that HASHNLP_DATA names", recorded=False)
    n_embeddings: int = setting(2 * 10**6, "rows of the importance table; n")
    n_buckets: int = setting(2 * 10**5, "component vectors; B")
    embedding_dim: int = setting(20, "embedding dimension; d")
    max_epochs: int = setting(300, "maximum number of epochs")
    n_train: int = setting(0, "training rows, sampled by the seed; 0: all")
    n_test: int = setting(0, "test rows, the same for every seed; 0: all")
    device: str = setting("cpu", "cpu, cuda or auto", recorded=False)


def _embeddings(settings: AccuracyDistributionSettings) -> dict[str, HashEmbeddingSettings]:
    """Return the settings of each embedding, by its name."""
    common = {name: getattr(settings, name) for name in settings.__dataclass_fields__}
    improved = replace(SETTINGS["hash-embed-nodict"], **common)
    n_parameters = improved.n_embeddings * improved.n_hashes + improved.n_buckets * improved.embedding_dim
    equal = n_parameters // improved.embedding_dim
    return {
        _BASELINE: improved,
        "paper": replace(improved, variant="paper"),
        "improved, importance not appended": replace(improved, append_weight=False),
        "improved, median": replace(improved, aggregation="median"),
        "improved, concatenated": replace(improved, aggregation="concat"),
        "standard, n rows": replace(improved, variant="standard"),
        "standard, as many parameters": replace(improved, variant="standard", n_embeddings=equal),
        "dictionary, as many parameters": replace(improved, variant="standard", n_embeddings=equal, dictionary=True),
    }


def _n_results(settings: AccuracyDistributionSettings) -> int:
    return len(_embeddings(settings))


def _run(settings: AccuracyDistributionSettings, run: Run) -> Iterator[Result]:
    from benchmarks.recipes.hash_embedding_trial import count_texts, read_texts, train_and_test

    embeddings = _embeddings(settings)
    texts = read_texts(embeddings[_BASELINE], run.seed)
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
    groups = _groups(results)
    return [table for name, group in groups.items() for table in (_means(name, group), _tests(name, group))]


def _groups(results: Sequence[Result]) -> dict[str, dict[str, list[Result]]]:
    """Group results by dataset, rows and settings, and by embedding; sort each group by seed."""
    groups: dict[str, dict[str, list[Result]]] = defaultdict(lambda: defaultdict(list))
    for result in sorted(results, key=lambda result: result["seed"]):
        dataset = result["settings"]["dataset"]
        changes = format_changes(result["settings"], AccuracyDistributionSettings())
        name = f"{TITLES.get(dataset, dataset)}, {result['n_train']:,} rows{', ' if changes else ''}{changes}"
        groups[name][result["embedding"]].append(result)
    return groups


def _means(name: str, group: dict[str, list[Result]]) -> Table:
    import statistics

    rows = []
    for embedding, results in group.items():
        cells = [embedding, f"{results[0]['n_parameters'] / 1e6:.1f}", str(len(results))]
        for metric in ("train_accuracy", "accuracy"):
            values = [100 * result[metric] for result in results]
            deviation = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
            cells.append(f"{statistics.mean(values):.2f}{deviation}")
        rows.append(cells)
    header = ["embedding", "million parameters", "seeds", "training, %", "test, %"]
    notes = ["Mean ± standard deviation over seeds. Training accuracy is measured under n-gram dropout."]
    return Table(f"Accuracy distribution: {name}", header, rows, notes)


def _tests(name: str, group: dict[str, list[Result]]) -> Table:
    from benchmarks.runner.statistics import MAX_PAIRS, compare_paired

    header = ["improved vs.", "difference, points", "95 % CI", "p", "p (Holm)"]
    title = f"Test accuracy of improved hash embeddings vs. the others: {name}"
    in_all = set.intersection(*({result["seed"] for result in results} for results in group.values()))
    seeds = sorted(in_all)[:MAX_PAIRS]
    if len(seeds) < 2 or _BASELINE not in group:
        return Table(title, header, [], ["A test needs at least two seeds of all embeddings: run it with --seeds 10."])
    accuracies = {
        embedding: [100 * result["accuracy"] for result in results if result["seed"] in seeds]
        for embedding, results in group.items()
    }
    pairs = [(_BASELINE, embedding) for embedding in accuracies if embedding != _BASELINE]
    rows = [
        [
            comparison.second,
            f"{comparison.difference:+.2f}",
            f"{comparison.low:+.2f} to {comparison.high:+.2f}",
            f"{comparison.p_value:.3f}",
            f"{comparison.corrected_p_value:.3f}",
        ]
        for comparison in compare_paired(accuracies, pairs=pairs)
    ]
    notes = [
        f"Paired over {len(seeds)} seeds: Student's confidence interval of the mean difference; p of the exact "
        "permutation test (sign flips), corrected for these comparisons by Holm's method."
    ]
    return Table(title, header, rows, notes)


def _plot(results: Sequence[Result], figure: Figure) -> None:
    from benchmarks.recipes.accuracy_distribution_display import AccuracyDistributionDisplay

    groups = _groups(results)
    figure.set_size_inches(9, sum(2 + 0.4 * len(group) for group in groups.values()))
    subfigures = figure.subfigures(len(groups), 1, squeeze=False)[:, 0]
    for subfigure, (name, group) in zip(subfigures, groups.items(), strict=True):
        accuracies = {
            embedding: ([result["train_accuracy"] for result in results], [result["accuracy"] for result in results])
            for embedding, results in group.items()
        }
        AccuracyDistributionDisplay(accuracies).plot(figure=subfigure)
        subfigure.suptitle(textwrap.fill(name, 90))


ACCURACY_DISTRIBUTION = Recipe(
    name="accuracy-distribution",
    summary="Ablation of hash embeddings over seeds: variants, aggregations, equal numbers of parameters",
    description=_DESCRIPTION,
    settings=AccuracyDistributionSettings(),
    quick=AccuracyDistributionSettings(n_embeddings=2000, n_buckets=200, max_epochs=2, n_train=300, n_test=100),
    run=_run,
    n_results=_n_results,
    report=_report,
    plot=_plot,
    packages=("sklearn-hashnlp", "numpy", "scikit-learn", "torch"),
)
