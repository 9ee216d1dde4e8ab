"""The recipe ``accuracy-distribution``: what each part of a hash embedding is worth, seed by seed."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sklearn_hashnlp.experiments._recipe import Recipe, Result, Run, part_of
from sklearn_hashnlp.experiments._settings import changes_as_text, setting
from sklearn_hashnlp.experiments._table import Table
from sklearn_hashnlp.experiments.recipes._hash_embedding_report import TITLES
from sklearn_hashnlp.experiments.recipes._hash_embedding_settings import SETTINGS, HashEmbeddingSettings

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_DESCRIPTION = """\
Eight ways to embed n-grams are trained on the same rows with the same seed: improved hash embeddings (sum, importance
appended), the paper's, and the improved ones without appended importance, with medians and with concatenation; the
standard table that the source compares with (n rows), and a standard table and a dictionary with as many parameters as
the hash embeddings. Training accuracy is measured under n-gram dropout, as the source does, test accuracy on whole
texts. Run it with --seeds 10: differences are tested over the seeds, by all flips of their signs, and corrected for
their number by Holm's method.

After https://github.com/YannDubs/Hash-Embeddings, section "Personal improvements", whose script
bin/accuracy_distribution.sh divides n and B by 5; all else is as in hash-embed-nodict. Its standard embeddings have
n rows there, five times the parameters; those of as many parameters are this recipe's.

About three minutes a seed for 36,000 short texts on one core."""

_REFERENCE = "improved"  # what the others are compared with


@dataclass(frozen=True)
class AccuracyDistributionSettings:
    """What can be changed about the experiment; the metadata of each field say what it is."""

    dataset: str = setting("ag", "ag, amazon, amazon-polarity, dbpedia, sogou, yahoo, yelp, yelp-polarity or a folder")
    data: str = setting("", "folder in which the set is looked for; empty: that of HASHNLP_DATA", place=True)
    n_embeddings: int = setting(2 * 10**6, "rows of the importance; n")
    n_buckets: int = setting(2 * 10**5, "vectors in the pool; B")
    embedding_dim: int = setting(20, "length of a vector")
    max_epochs: int = setting(300, "epochs at most")
    n_train: int = setting(0, "training rows, drawn by the seed; 0: all")
    n_test: int = setting(0, "test rows, the same for every seed; 0: all")
    device: str = setting("cpu", "cpu, cuda or auto", place=True)


def _ways(settings: AccuracyDistributionSettings) -> dict[str, HashEmbeddingSettings]:
    """Return the settings of each way to embed, by its name."""
    common = {name: getattr(settings, name) for name in settings.__dataclass_fields__}
    improved = replace(SETTINGS["hash-embed-nodict"], **common)
    n_parameters = improved.n_embeddings * improved.n_hashes + improved.n_buckets * improved.embedding_dim
    equal = n_parameters // improved.embedding_dim
    return {
        _REFERENCE: improved,
        "paper": replace(improved, variant="paper"),
        "improved, importance not appended": replace(improved, append_weight=False),
        "improved, median": replace(improved, aggregation="median"),
        "improved, concatenated": replace(improved, aggregation="concat"),
        "standard, n rows": replace(improved, variant="standard"),
        "standard, as many parameters": replace(improved, variant="standard", n_embeddings=equal),
        "dictionary, as many parameters": replace(improved, variant="standard", n_embeddings=equal, dictionary=True),
    }


def _n_results(settings: AccuracyDistributionSettings) -> int:
    return len(_ways(settings))


def _run(settings: AccuracyDistributionSettings, run: Run) -> Iterator[Result]:
    from sklearn_hashnlp.experiments.recipes._hash_embedding_trial import count_texts, read_texts, train_and_test

    ways = _ways(settings)
    texts = read_texts(ways[_REFERENCE], run.seed)
    counted = {}
    for place, (name, way) in enumerate(ways.items()):
        if place < len(run.known):
            continue
        run.tell(f"{settings.dataset}: {name}")
        if way.dictionary not in counted:
            counted[way.dictionary] = count_texts(way, texts)
        moved = part_of(run, place, len(ways))
        result, _ = train_and_test(way, counted[way.dictionary], run.seed, moved)
        yield {"part": "test", "embedding": name, **result}


def _report(results: Sequence[Result]) -> list[Table]:
    groups = _groups(results)
    return [table for name, found in groups.items() for table in (_means(name, found), _tests(name, found))]


def _groups(results: Sequence[Result]) -> dict[str, dict[str, list[Result]]]:
    """Sort results by set, rows and settings, and by way; a way's in the order of their seeds."""
    groups: dict[str, dict[str, list[Result]]] = defaultdict(lambda: defaultdict(list))
    for result in sorted(results, key=lambda result: result["seed"]):
        dataset = result["settings"]["dataset"]
        changes = changes_as_text(result["settings"], AccuracyDistributionSettings())
        name = f"{TITLES.get(dataset, dataset)}, {result['n_train']:,} rows{', ' if changes else ''}{changes}"
        groups[name][result["embedding"]].append(result)
    return groups


def _means(name: str, found: dict[str, list[Result]]) -> Table:
    import statistics

    rows = []
    for way, results in found.items():
        cells = [way, f"{results[0]['n_parameters'] / 1e6:.1f}", str(len(results))]
        for measure in ("train_accuracy", "accuracy"):
            values = [100 * result[measure] for result in results]
            spread = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
            cells.append(f"{statistics.mean(values):.2f}{spread}")
        rows.append(cells)
    header = ["embedding", "million parameters", "seeds", "training, %", "test, %"]
    notes = ["Mean and standard deviation over the seeds. Training accuracy is measured under n-gram dropout."]
    return Table(f"Accuracy distribution: {name}", header, rows, notes)


def _tests(name: str, found: dict[str, list[Result]]) -> Table:
    from sklearn_hashnlp.experiments._statistics import MOST_PAIRS, compare_paired

    header = ["improved against", "difference, points", "95 % interval", "p", "p, corrected"]
    title = f"Test accuracy of improved hash embeddings against the others: {name}"
    of_all = set.intersection(*({result["seed"] for result in results} for results in found.values()))
    common = sorted(of_all)[:MOST_PAIRS]
    if len(common) < 2 or _REFERENCE not in found:
        return Table(title, header, [], ["At least two seeds of all of them are wanted: run it with --seeds 10."])
    measured = {
        way: [100 * result["accuracy"] for result in results if result["seed"] in common]
        for way, results in found.items()
    }
    compared = compare_paired(measured, pairs=[(_REFERENCE, way) for way in measured if way != _REFERENCE])
    rows = [
        [
            one.second,
            f"{one.difference:+.2f}",
            f"{one.low:+.2f} to {one.high:+.2f}",
            f"{one.p_value:.3f}",
            f"{one.corrected_p_value:.3f}",
        ]
        for one in compared
    ]
    notes = [
        f"Over {len(common)} seeds, paired: Student's interval of the mean difference; p by all flips of the "
        "differences' signs, corrected for these comparisons by Holm's method."
    ]
    return Table(title, header, rows, notes)


def _plot(results: Sequence[Result], figure: Figure) -> None:
    from sklearn_hashnlp.plotting import AccuracyDistributionDisplay

    groups = _groups(results)
    figure.set_size_inches(9, sum(2 + 0.4 * len(found) for found in groups.values()))
    for part, (name, found) in zip(figure.subfigures(len(groups), 1, squeeze=False)[:, 0], groups.items(), strict=True):
        accuracies = {
            way: ([result["train_accuracy"] for result in results], [result["accuracy"] for result in results])
            for way, results in found.items()
        }
        AccuracyDistributionDisplay(accuracies).plot(figure=part)
        part.suptitle(textwrap.fill(name, 90))


ACCURACY_DISTRIBUTION = Recipe(
    name="accuracy-distribution",
    summary="What each part of a hash embedding is worth, over seeds: variants, aggregations, equal parameters",
    description=_DESCRIPTION,
    settings=AccuracyDistributionSettings(),
    quick=AccuracyDistributionSettings(n_embeddings=2000, n_buckets=200, max_epochs=2, n_train=300, n_test=100),
    run=_run,
    n_results=_n_results,
    report=_report,
    plot=_plot,
    packages=("sklearn-hashnlp", "numpy", "scikit-learn", "torch"),
)
