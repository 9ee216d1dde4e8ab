"""The recipe ``fewer-parameters``: hash embeddings against standard ones, as this package trains them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn_hashnlp.experiments._recipe import Recipe, Result, Run
from sklearn_hashnlp.experiments._settings import setting
from sklearn_hashnlp.experiments._table import Table
from sklearn_hashnlp.experiments.recipes._hash_embedding_report import compare_sizes, set_and_rows
from sklearn_hashnlp.experiments.recipes._hash_embedding_settings import HashEmbeddingSettings

_DESCRIPTION = """\
The claim of Svenstrup, Hansen and Winther (2017), that hash embeddings of 40 million parameters are as good as standard
ones of 200 million, tested on this package's own way to train: make_text_classifier with everything at its default but
the sizes, which are the paper's, n = 10^7, B = 10^6, k = 2 and d = 20. Hash embeddings have importance that starts at
the inverse document frequency; a standard table has none, which is part of what is compared. hash-embed-nodict and
std-embed-nodict are the source's training instead.

Run it with --seeds 5. A few seconds a seed for 36,000 short texts on an idle core."""


@dataclass(frozen=True)
class FewerParametersSettings:
    """What can be changed about the experiment; the metadata of each field say what it is."""

    dataset: str = setting("ag", "ag, amazon, amazon-polarity, dbpedia, sogou, yahoo, yelp, yelp-polarity or a folder")
    data: str = setting("", "folder in which the set is looked for; empty: that of HASHNLP_DATA", place=True)
    features: str = setting("words", "words, words+characters or characters")
    n_embeddings: int = setting(10**7, "rows of the importance and of the standard table")
    n_buckets: int = setting(10**6, "vectors in the pool of hash embeddings")
    embedding_dim: int = setting(20, "length of a vector")
    n_train: int = setting(0, "training rows, drawn by the seed; 0: all")
    n_test: int = setting(0, "test rows, the same for every seed; 0: all")
    device: str = setting("cpu", "cpu, cuda or auto", place=True)


_VARIANTS = {"hash": "improved", "standard": "standard"}


def _n_results(_settings: FewerParametersSettings) -> int:
    return len(_VARIANTS)


def _run(settings: FewerParametersSettings, run: Run) -> Iterator[Result]:
    from sklearn_hashnlp.experiments.recipes._hash_embedding_trial import read_texts

    names = ("dataset", "data", "n_train", "n_test")
    texts = read_texts(HashEmbeddingSettings(**{name: getattr(settings, name) for name in names}), run.seed)
    for place, (name, variant) in enumerate(_VARIANTS.items()):
        run.move(place, len(_VARIANTS))
        if place < len(run.known):
            continue
        run.tell(f"{settings.dataset}: {name}")
        yield {"part": "test", "embedding": name, **_train_and_test(settings, variant, texts, run.seed)}
    run.move(len(_VARIANTS), len(_VARIANTS))


def _train_and_test(settings: FewerParametersSettings, variant: str, texts: Any, seed: int) -> Result:
    import time

    from sklearn_hashnlp.classifiers import make_text_classifier

    model = make_text_classifier(
        features=settings.features,
        n_embeddings=settings.n_embeddings,
        n_buckets=settings.n_buckets,
        n_hashes=2,
        embedding_dim=settings.embedding_dim,
        device=settings.device,
        random_state=seed,
    ).set_params(classifier__variant=variant)
    started = time.perf_counter()
    model.fit(texts.train_texts, texts.train_labels)
    between = time.perf_counter()
    accuracy = float(model.score(texts.test_texts, texts.test_labels))
    return {
        "accuracy": accuracy,
        "device": str(model[-1].net_.device),
        "n_parameters": int(model[-1].n_parameters_),
        "n_train": len(texts.train_texts),
        "n_test": len(texts.test_texts),
        "n_classes": len(model.classes_),
        "fit_seconds": between - started,
        "test_seconds": time.perf_counter() - between,
    }


def _report(results: Sequence[Result]) -> list[Table]:
    import json

    found: dict[tuple[str, str], dict[int, dict[str, Result]]] = defaultdict(lambda: defaultdict(dict))
    for result in results:
        key = _name(result), json.dumps(result["settings"], sort_keys=True)
        found[key][result["seed"]][result["embedding"]] = result
    sets = [
        (name, {seed: (one["hash"], one["standard"]) for seed, one in seeds.items() if len(one) == len(_VARIANTS)})
        for (name, _), seeds in found.items()
    ]
    return compare_sizes("Hash embeddings against standard ones, by this package's own training", sets)


def _name(result: Result) -> str:
    features = result["settings"]["features"]
    return set_and_rows(result) + ("" if features == "words" else f", {features}")


FEWER_PARAMETERS = Recipe(
    name="fewer-parameters",
    summary="Hash embeddings of 40 million parameters against standard ones of 200 million, as this package trains",
    description=_DESCRIPTION,
    settings=FewerParametersSettings(),
    quick=FewerParametersSettings(n_embeddings=2000, n_buckets=200, n_train=300, n_test=100),
    run=_run,
    n_results=_n_results,
    report=_report,
    packages=("sklearn-hashnlp", "numpy", "scikit-learn", "torch"),
)
