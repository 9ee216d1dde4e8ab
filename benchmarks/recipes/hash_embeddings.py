"""The six experiments of the hash-embedding paper, as recipes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from benchmarks.recipes.hash_embedding_report import plot, report
from benchmarks.recipes.hash_embedding_settings import SETTINGS, HashEmbeddingSettings
from benchmarks.runner.recipe import Recipe, Result, Run, fit_progress
from benchmarks.runner.settings import STDLIB

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from benchmarks.recipes.hash_embedding_trial import CountedTexts


_SUMMARIES = {
    "custom": "Hash embeddings on a text dataset, with any settings of the reference",
    "std-embed-dict": (
        "Standard embeddings of the n most frequent n-grams, n chosen by cross-validation"
    ),
    "hash-embed-dict": (
        "Hash embeddings of a million frequent n-grams, B chosen by cross-validation"
    ),
    "hash-embed-nodict": (
        "Hash embeddings of hashed n-grams: 40 million parameters and no dictionary"
    ),
    "std-embed-nodict": (
        "Standard embeddings of hashed n-grams: 200 million parameters and no dictionary"
    ),
    "ensemble-hash-embed-dict": (
        "Ensemble of ten networks on hash embeddings of a million frequent n-grams"
    ),
}

_NO_DICTIONARY = """\
Unigrams and bigrams of words are hashed to 2**31 - 1 columns, each of which has an embedding of
dimension 20; a softmax layer reads the sum of the embeddings."""
_DICTIONARY = """\
The most frequent n-grams of 1 to 9 words have embeddings of dimension 200; three hidden layers of
1000 units, with batch normalization and ReLU, and a softmax layer read their sum. The n-grams of
the same rows are counted only once."""
_REFERENCE = """\
After Svenstrup, Hansen and Winther (2017), Hash embeddings for efficient word representations,
section 5 and table 2, and the reference implementation https://github.com/YannDubs/Hash-Embeddings;
these settings are its options. Texts are lowercased, without punctuation and single characters.
N-gram dropout keeps 4 to 99 random n-grams of a text in training. Adam with learning rate 0.001,
halved after four epochs without improvement on 5 % of the rows; early stopping after ten; the
weights of the best epoch are restored.

Differences: n-grams are hashed by MurmurHash3; an n-gram that occurs twice in a text is dropped or
kept as one; importance and the standard table are initialized with zeros instead of normal values
(standard deviations 0.0005 and 0.05); Adam is row-wise, with one second moment per row. With a
dictionary the reference keeps apostrophes, and its ensemble has standard embeddings by mistake;
this recipe does neither.

A dataset is a folder with train.csv and test.csv, with the authors' three columns or with the
header "label,text". It is searched in the folder that --set data=FOLDER or the environment variable
HASHNLP_DATA names."""
_A_RUN = "Half a minute for 36,000 short texts on one core."
_A_NETWORK = "Two to six minutes per network for 36,000 short texts on one core"
_TIMES = {
    "custom": _A_RUN,
    "hash-embed-nodict": _A_RUN,
    "std-embed-nodict": _A_RUN,
    "std-embed-dict": (
        f"{_A_NETWORK}, and 19 networks: six values in three folds, and the final one.\n"
        "--set folds=1 and fewer --set n_embeddings_grid=... shorten it."
    ),
    "hash-embed-dict": (
        f"{_A_NETWORK}, and 16 networks: five values in three folds, and the final one.\n"
        "--set folds=1 and fewer --set n_buckets_grid=... shorten it."
    ),
    "ensemble-hash-embed-dict": f"{_A_NETWORK}, and ten networks.",
}
_QUICK: dict[str, Any] = {"dataset": STDLIB, "n_train": 500, "n_test": 100, "max_epochs": 2}


def _grid(settings: HashEmbeddingSettings) -> list[tuple[str, int]]:
    """Return the parameter and value of each point of the grid search."""
    return [("n_embeddings", value) for value in settings.n_embeddings_grid] + [
        ("n_buckets", value) for value in settings.n_buckets_grid
    ]


def _n_results(settings: HashEmbeddingSettings) -> int:
    n_members = settings.members if settings.members > 1 else 0
    return len(_grid(settings)) + n_members + 1


def _run(settings: HashEmbeddingSettings, run: Run) -> Iterator[Result]:
    from benchmarks.recipes.hash_embedding_trial import (
        count_texts,
        cross_validate_value,
        read_texts,
        train_and_test,
    )

    _check(settings)
    texts = read_texts(settings, run.seed)
    results = list(run.previous)
    n_results, grid = _n_results(settings), _grid(settings)
    for parameter, value in grid[len(results) :]:
        run.log(f"{settings.dataset}: cross-validating {parameter} {value:,}")
        on_progress = fit_progress(run, len(results), n_results, n_fits=settings.folds)
        results.append(
            cross_validate_value(
                settings, parameter, value, texts, run.seed, run.folder, on_progress
            )
        )
        yield results[-1]
    chosen = _best(results[: len(grid)])
    settings = replace(settings, **chosen)
    counted = count_texts(settings, texts)
    if settings.members > 1:
        yield from _run_ensemble(settings, run, counted, results[len(grid) :], chosen)
    else:
        on_progress = fit_progress(run, n_results - 1, n_results)
        yield {
            "part": "test",
            "chosen": chosen,
            **train_and_test(settings, counted, run.seed, on_progress)[0],
        }


def _check(settings: HashEmbeddingSettings) -> None:
    from benchmarks.recipes.hash_embedding_pipeline import make_classifier
    from sklearn_hashnlp._sklearn import validate_parameter_constraints

    if settings.n_embeddings_grid and not settings.dictionary:
        raise ValueError(
            "n_embeddings_grid holds sizes of a dictionary, but dictionary=no: set "
            "dictionary=yes, or leave it empty."
        )
    if settings.n_embeddings_grid and settings.n_buckets_grid:
        raise ValueError(
            "n_embeddings_grid and n_buckets_grid cannot both be given: leave one of them empty."
        )
    if settings.folds < 1 or settings.members < 1:
        raise ValueError(
            f"folds and members must be at least 1, got {settings.folds} and {settings.members}."
        )
    if settings.n_train < 0 or settings.n_test < 0:
        raise ValueError(
            f"n_train and n_test must be at least 0 (0: all rows), got {settings.n_train} and "
            f"{settings.n_test}."
        )
    if len(settings.ngram_range) != 2:
        raise ValueError(
            "ngram_range must be two integers, the words of the shortest and of the longest "
            f"n-gram, got {settings.ngram_range}: write 1,2 for unigrams and bigrams."
        )
    classifier = make_classifier(settings, 0)  # invalid parameters must fail before texts are read
    validate_parameter_constraints(
        classifier._parameter_constraints,
        classifier.get_params(deep=False),
        type(classifier).__name__,
    )


def _best(results: list[Result]) -> dict[str, Any]:
    if not results:
        return {}
    best = max(results, key=lambda result: result["accuracy"])
    return {best["parameter"]: best["value"]}


def _run_ensemble(
    settings: HashEmbeddingSettings,
    run: Run,
    counted: CountedTexts,
    previous: list[Result],
    chosen: dict[str, Any],
) -> Iterator[Result]:
    """Train the members that are still missing, and average the probabilities of all."""
    import numpy as np

    from benchmarks.recipes.hash_embedding_trial import accuracy_of

    trained = list(previous)
    probabilities: list[NDArray[np.float64]] = []
    for member in range(settings.members):
        path = run.folder / f"member-{member}.npy"
        if member < len(previous) and path.exists():
            probabilities.append(np.load(path))
            continue
        result, member_probabilities = _train_member(settings, run, counted, member, path)
        probabilities.append(member_probabilities)
        if member >= len(previous):
            trained.append(result)
            yield result
    seconds = counted.train_seconds + sum(result["fit_seconds"] for result in trained)
    shared, summed = (
        ("n_train", "n_test", "n_classes"),
        ("n_parameters", "epochs", "fit_seconds", "test_seconds"),
    )
    # Only these keys: previous results also hold their provenance, such as their step.
    yield {
        "part": "test",
        "chosen": chosen,
        "members": settings.members,
        "accuracy": accuracy_of(
            np.unique(counted.train_labels), np.mean(probabilities, axis=0), counted.test_labels
        ),
        **{name: trained[0][name] for name in shared},
        **{name: sum(result[name] for result in trained) for name in summed},
        "count_seconds": counted.train_seconds,
        "seconds_per_row": seconds / trained[0]["n_train"],
    }


def _train_member(
    settings: HashEmbeddingSettings, run: Run, counted: CountedTexts, member: int, path: Any
) -> tuple[Result, NDArray[np.float64]]:
    import numpy as np

    from benchmarks.recipes.hash_embedding_trial import train_and_test

    run.log(f"{settings.dataset}: member {member + 1} of {settings.members}")
    n_results = _n_results(settings)
    on_progress = fit_progress(run, n_results - 1 - settings.members + member, n_results)
    result, probabilities = train_and_test(
        settings, counted, settings.members * run.seed + member, on_progress
    )
    unfinished = path.with_suffix(".unfinished.npy")
    np.save(unfinished, probabilities)
    # Renamed before the result is written, so that a run that resumes after it finds the whole
    # file.
    unfinished.replace(path)
    return {"part": "member", "member": member, **result}, probabilities


def _recipe(name: str) -> Recipe:
    settings = SETTINGS[name]
    quick = dict(_QUICK)
    if settings.dictionary:
        quick |= {
            "n_embeddings": 2000,
            "embedding_dim": 8,
            "hidden_layer_sizes": (8, 8),
            "folds": 1,
        }
        quick |= {"members": 2} if settings.members > 1 else {}
        quick |= {"n_embeddings_grid": (500, 2000)} if settings.n_embeddings_grid else {}
        quick |= {"n_buckets_grid": (50, 500)} if settings.n_buckets_grid else {}
    features = _DICTIONARY if settings.dictionary else _NO_DICTIONARY
    return Recipe(
        name=name,
        summary=_SUMMARIES[name],
        description=f"{features}\n{_REFERENCE}\n\n{_TIMES[name]}",
        settings=settings,
        quick=replace(settings, **quick),
        run=_run,
        n_results=_n_results,
        report=report,
        plot=plot,
        packages=("sklearn-hashnlp", "numpy", "scikit-learn", "torch"),
    )


HASH_EMBEDDING_RECIPES = tuple(_recipe(name) for name in SETTINGS)
