"""The recipe ``compare-embeddings``: embeddings of n-grams, one's own among them, trained alike."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from benchmarks.recipes.hash_embedding_report import TITLES
from benchmarks.runner.recipe import Recipe, Result, Run, fit_progress
from benchmarks.runner.settings import format_changes, setting
from benchmarks.runner.table import Table

if TYPE_CHECKING:
    from benchmarks.recipes.embedding_training import Rows

_DESCRIPTION = """\
Compares embeddings of hashed word n-grams, one of your own among them, as layers of the same network: the sum of the
vectors of the n-grams of a text, weighted by their counts, whose l2 norm is 1, and a softmax layer; Adam, early
stopping on a part of the training rows; the same rows, batches and seeds for all. Test rows are read once for each
embedding.

--set embeddings=hash,standard,my_module:MyEmbedding names them; the first is the one that the others are compared with.
my_module.py is in the current folder or installed. MyEmbedding is called with num_embeddings and embedding_dim, as
torch.nn.Embedding is, and returns a torch module; this gets a tensor of n ids between 0 and num_embeddings, excluded,
and returns n vectors, of embedding_dim or any other number of columns. With sparse gradients, as in
torch.nn.Embedding(..., sparse=True), a step updates only the rows of its batch. "hash" are the hash embeddings of this
package with a tenth as many component vectors as rows, "standard" is a table with a row for each column of the hashed
n-grams. Run it with --seeds 5 or more: differences are tested by the exact permutation test over seeds (sign flips),
corrected by Holm's method.

About half a minute per seed and embedding for 36,000 short texts on one core."""


@dataclass(frozen=True)
class CompareEmbeddingsSettings:
    """Settings of the experiment; the metadata of each field describe it."""

    dataset: str = setting("ag", "ag, amazon, amazon-polarity, dbpedia, sogou, yahoo, yelp, yelp-polarity or a folder")
    data: str = setting("", "folder of the datasets; empty: the one that HASHNLP_DATA names", recorded=False)
    embeddings: tuple[str, ...] = setting(("hash", "standard"), "hash, standard or MODULE:NAME of your own")
    ngram_range: tuple[int, ...] = setting((1, 2), "words of the shortest and of the longest n-gram")
    n_features: int = setting(2**20, "columns of the hashed n-grams: num_embeddings of an embedding")
    embedding_dim: int = setting(20, "embedding_dim of an embedding")
    max_epochs: int = setting(20, "maximum number of epochs")
    batch_size: int = setting(64, "batch size")
    learning_rate: float = setting(0.003, "learning rate of Adam")
    validation_fraction: float = setting(0.05, "fraction of the training rows for early stopping")
    n_iter_no_change: int = setting(3, "epochs without improvement before training stops")
    n_train: int = setting(0, "training rows, sampled by the seed; 0: all")
    n_test: int = setting(0, "test rows, the same for every seed; 0: all")
    device: Literal["cpu", "cuda"] = setting("cpu", "cpu or cuda", recorded=False)


def _n_results(settings: CompareEmbeddingsSettings) -> int:
    return len(settings.embeddings)


def _run(settings: CompareEmbeddingsSettings, run: Run) -> Iterator[Result]:
    import numpy as np
    from sklearn.model_selection import train_test_split

    from benchmarks.recipes.embedding_training import Rows, find_embedding
    from benchmarks.recipes.hash_embedding_settings import HashEmbeddingSettings
    from benchmarks.recipes.hash_embedding_trial import read_texts
    from sklearn_hashnlp.text import HashingNgramVectorizer

    if not settings.embeddings or len(set(settings.embeddings)) < len(settings.embeddings):
        raise ValueError(f"embeddings must be one or more different names, got {','.join(settings.embeddings)!r}.")
    if len(settings.ngram_range) != 2:
        raise ValueError(f"ngram_range must be two numbers, such as 1,2, got {settings.ngram_range}.")
    for name in settings.embeddings:  # before the texts are read
        find_embedding(name)
    names = ("dataset", "data", "n_train", "n_test")
    texts = read_texts(HashEmbeddingSettings(**{name: getattr(settings, name) for name in names}), run.seed)
    vectorizer = HashingNgramVectorizer(
        n_features=settings.n_features,
        ngram_range=(settings.ngram_range[0], settings.ngram_range[1]),
        alternate_sign=False,
        norm="l2",
        dtype=np.float32,
    )
    classes, labels = np.unique(texts.train_labels, return_inverse=True)
    rows = Rows(vectorizer.transform(texts.train_texts), labels.astype(np.int64))
    n_valid = max(round(settings.validation_fraction * len(labels)), 1)
    train_rows, valid_rows = train_test_split(np.arange(len(labels)), test_size=n_valid, random_state=run.seed)
    known = np.isin(texts.test_labels, classes)
    if not known.all():
        raise ValueError(f"Test labels without training rows: {sorted(set(texts.test_labels[~known]))}.")
    test = Rows(vectorizer.transform(texts.test_texts), np.searchsorted(classes, texts.test_labels))
    for index, name in enumerate(settings.embeddings):
        if index < len(run.previous):
            continue
        result = _train_and_test(settings, name, run, index, rows.select(train_rows), rows.select(valid_rows), test)
        yield {"part": "test", "embedding": name, "n_train": len(labels), "n_test": len(test.labels), **result}


def _train_and_test(
    settings: CompareEmbeddingsSettings, name: str, run: Run, index: int, rows: Rows, valid: Rows, test: Rows
) -> Result:
    import numpy as np

    from benchmarks.recipes.embedding_training import EarlyStop, accuracy_of, make_network, train
    from sklearn_hashnlp.training._torch_scope import plain_torch, torch_seed

    progress = fit_progress(run, index, len(settings.embeddings))
    progress(0.0)

    def on_epoch(epoch: int, accuracy: float) -> None:
        run.log(f"{settings.dataset}, {name}: epoch {epoch}, validation accuracy {100 * accuracy:.2f} %")
        progress(epoch / settings.max_epochs)

    with plain_torch(settings.device), torch_seed(run.seed, settings.device):
        n_classes = int(max(rows.labels.max(), valid.labels.max(), test.labels.max())) + 1
        network = make_network(name, settings.n_features, settings.embedding_dim, n_classes)
        figures = train(
            network,
            rows,
            valid,
            stop=EarlyStop(settings.max_epochs, settings.n_iter_no_change),
            batch_size=settings.batch_size,
            learning_rate=settings.learning_rate,
            device=settings.device,
            random_state=np.random.RandomState(run.seed),
            on_epoch=on_epoch,
        )
        accuracy = accuracy_of(network, test, settings.device)
    n_parameters = sum(parameter.numel() for parameter in network.embedding.parameters())
    return {"accuracy": accuracy, "n_parameters": n_parameters, "device": settings.device, **figures}


def _report(results: Sequence[Result]) -> list[Table]:
    groups: dict[str, dict[str, list[Result]]] = defaultdict(lambda: defaultdict(list))
    for result in sorted(results, key=lambda result: result["seed"]):
        dataset = result["settings"]["dataset"]
        settings = {key: value for key, value in result["settings"].items() if key != "embeddings"}
        changes = format_changes(settings, CompareEmbeddingsSettings())
        title = f"{TITLES.get(dataset, dataset)}, {result['n_train']:,} rows{', ' if changes else ''}{changes}"
        groups[title][result["embedding"]].append(result)
    return [table for title, group in groups.items() for table in (_means(title, group), *_tests(title, group))]


def _means(title: str, group: dict[str, list[Result]]) -> Table:
    rows = []
    for embedding, results in group.items():
        accuracies = [100 * result["accuracy"] for result in results]
        deviation = f" ± {statistics.stdev(accuracies):.2f}" if len(accuracies) > 1 else ""
        rows.append(
            [
                embedding,
                f"{results[0]['n_parameters']:,}",
                str(len(results)),
                f"{statistics.mean(accuracies):.2f}{deviation}",
                f"{statistics.mean(result['epochs'] for result in results):.0f}",
                f"{statistics.median(result['fit_seconds'] for result in results):.1f}",
            ]
        )
    header = ["embedding", "parameters", "seeds", "test accuracy, %", "epochs", "seconds"]
    notes = ["Mean ± standard deviation over seeds; the median of the seconds."]
    return Table(f"Embeddings: {title}", header, rows, notes)


def _tests(title: str, group: dict[str, list[Result]]) -> list[Table]:
    from benchmarks.runner.statistics import MAX_PAIRS, compare_paired

    by_seed = {
        name: {result["seed"]: 100 * result["accuracy"] for result in results} for name, results in group.items()
    }
    seeds = sorted(set.intersection(*(set(accuracies) for accuracies in by_seed.values())))[:MAX_PAIRS]
    if len(seeds) < 2 or len(by_seed) < 2:
        return []
    first, *others = by_seed
    compared = compare_paired(
        {name: [accuracies[seed] for seed in seeds] for name, accuracies in by_seed.items()},
        pairs=[(other, first) for other in others],
    )
    rows = [
        [
            one.first,
            f"{one.difference:+.2f}",
            f"{one.low:+.2f} to {one.high:+.2f}",
            f"{one.p_value:.3f}",
            f"{one.corrected_p_value:.3f}",
        ]
        for one in compared
    ]
    header = [f"compared with {first}", "difference, points", "95 % CI", "p", "p (Holm)"]
    notes = [
        f"Test accuracy, paired over {len(seeds)} seeds: Student's confidence interval of the mean difference; p of "
        "the exact permutation test (sign flips), corrected for these comparisons by Holm's method."
    ]
    return [Table(f"Embeddings compared with {first}: {title}", header, rows, notes)]


COMPARE_EMBEDDINGS = Recipe(
    name="compare-embeddings",
    summary="Embeddings of n-grams in the same network, among them one of your own",
    description=_DESCRIPTION,
    settings=CompareEmbeddingsSettings(),
    quick=CompareEmbeddingsSettings(n_features=2**12, embedding_dim=4, max_epochs=2, n_train=300, n_test=100),
    run=_run,
    n_results=_n_results,
    report=_report,
    packages=("sklearn-hashnlp", "numpy", "scikit-learn", "torch"),
)
