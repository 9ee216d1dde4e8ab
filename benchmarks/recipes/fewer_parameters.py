"""The recipe ``fewer-parameters``: hash and standard embeddings with the package's defaults."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal

from benchmarks.recipes.comparison import dataset_and_rows
from benchmarks.recipes.hash_embedding_report import compare_sizes
from benchmarks.recipes.hash_embedding_settings import DataSettings
from benchmarks.runner.recipe import Recipe, Result, Run
from benchmarks.runner.settings import STDLIB, setting
from benchmarks.runner.table import Table

_DESCRIPTION = """\
Svenstrup, Hansen and Winther (2017) claim that hash embeddings with 40 million parameters are as
accurate as standard embeddings with 200 million. Here the claim is tested with make_text_classifier
and its default parameters, except for the sizes, which are the paper's: n = 10^7, B = 10^6, k = 2
and d = 20. The importance weights of hash embeddings are initialized with the inverse document
frequency; standard embeddings have none, which is part of the comparison. hash-embed-nodict and
std-embed-nodict compare both with the training of the reference implementation,
https://github.com/YannDubs/Hash-Embeddings.

Run it with --seeds 5. A few seconds per seed for 36,000 short texts on one core."""


@dataclass(frozen=True)
class FewerParametersSettings(DataSettings):
    """Settings of the experiment; the metadata of each field describe it."""

    features: Literal["words", "words+characters", "characters"] = setting(
        "words", "words, words+characters or characters"
    )
    n_embeddings: int = setting(10**7, "rows of the importance and of the standard table; n")
    n_buckets: int = setting(10**6, "component vectors of hash embeddings; B")
    embedding_dim: int = setting(20, "embedding dimension; d")


_VARIANTS = {"hash": "improved", "standard": "standard"}


def _n_results(_settings: FewerParametersSettings) -> int:
    return len(_VARIANTS)


def _run(settings: FewerParametersSettings, run: Run) -> Iterator[Result]:
    from benchmarks.recipes.hash_embedding_trial import read_texts

    texts = read_texts(settings, run.seed)
    for index, (name, variant) in enumerate(_VARIANTS.items()):
        run.progress(index, len(_VARIANTS))
        if index < len(run.previous):
            continue
        run.log(f"{settings.dataset}: {name}")
        yield {
            "part": "test",
            "embedding": name,
            **_train_and_test(settings, variant, texts, run.seed),
        }
    run.progress(len(_VARIANTS), len(_VARIANTS))


def _train_and_test(
    settings: FewerParametersSettings, variant: str, texts: Any, seed: int
) -> Result:

    from sklearn_hashnlp.classifiers import make_text_classifier

    model = make_text_classifier(
        features=settings.features,
        n_embeddings=settings.n_embeddings,
        n_buckets=settings.n_buckets,
        n_hashes=2,
        embedding_dim=settings.embedding_dim,
        loss="softmax",  # by gradients, for any number of rows
        device=settings.device,
        random_state=seed,
    ).set_params(classifier__variant=variant)
    started = perf_counter()
    model.fit(texts.train_texts, texts.train_labels)
    trained = perf_counter()
    accuracy = float(model.score(texts.test_texts, texts.test_labels))
    return {
        "accuracy": accuracy,
        "device": str(model[-1].net_.device),
        "n_parameters": int(model[-1].n_parameters_),
        "n_train": len(texts.train_texts),
        "n_test": len(texts.test_texts),
        "n_classes": len(model.classes_),
        "fit_seconds": trained - started,
        "test_seconds": perf_counter() - trained,
    }


def _report(results: Sequence[Result]) -> list[Table]:
    import json

    groups: dict[tuple[str, str], dict[int, dict[str, Result]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for result in results:
        key = _title(result), json.dumps(result["settings"], sort_keys=True)
        groups[key][result["seed"]][result["embedding"]] = result
    pairs = [
        (
            name,
            {
                seed: (pair["hash"], pair["standard"])
                for seed, pair in seeds.items()
                if len(pair) == len(_VARIANTS)
            },
        )
        for (name, _), seeds in groups.items()
    ]
    return compare_sizes(
        "Hash embeddings vs. standard embeddings, with the defaults of this package", pairs
    )


def _title(result: Result) -> str:
    features = result["settings"]["features"]
    return dataset_and_rows(result) + ("" if features == "words" else f", {features}")


FEWER_PARAMETERS = Recipe(
    name="fewer-parameters",
    summary=(
        "Hash embeddings with 40 million parameters vs. standard embeddings with 200 million, "
        "default training"
    ),
    description=_DESCRIPTION,
    settings=FewerParametersSettings(),
    quick=FewerParametersSettings(
        dataset=STDLIB, n_embeddings=2000, n_buckets=200, n_train=500, n_test=100
    ),
    run=_run,
    n_results=_n_results,
    report=_report,
    packages=("sklearn-hashnlp", "numpy", "scikit-learn", "torch"),
)
