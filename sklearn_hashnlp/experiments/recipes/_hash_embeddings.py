"""The six experiments of the hash-embedding paper, as recipes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sklearn_hashnlp.experiments._recipe import Recipe, Result, Run, part_of
from sklearn_hashnlp.experiments.recipes._hash_embedding_report import plot, report
from sklearn_hashnlp.experiments.recipes._hash_embedding_settings import SETTINGS, HashEmbeddingSettings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sklearn_hashnlp.experiments.recipes._hash_embedding_trial import CountedTexts


_SUMMARIES = {
    "custom": "Hash embeddings on a text set, with any options of the source's",
    "std-embed-dict": "Standard embeddings of the n most frequent n-grams, n chosen by cross-validation",
    "hash-embed-dict": "Hash embeddings of a million frequent n-grams, B chosen by cross-validation",
    "hash-embed-nodict": "Hash embeddings of hashed n-grams: 40 million parameters and no dictionary",
    "std-embed-nodict": "Standard embeddings of hashed n-grams: 200 million parameters and no dictionary",
    "ensemble-hash-embed-dict": "Ten networks on hash embeddings of a million frequent n-grams, which vote",
}

_NO_DICTIONARY = """\
Words and pairs of words are hashed to 2**31 - 1 columns, each of which has a vector of 20 numbers; a softmax reads
their sum."""
_DICTIONARY = """\
The most frequent n-grams of 1 to 9 words have vectors of 200 numbers; three hidden layers of 1000, batch-normalised
and rectified, and a softmax read their sum. The n-grams are counted once for each set of training rows."""
_SOURCE = """\
After Svenstrup, Hansen and Winther (2017), Hash embeddings for efficient word representations, section 5 and table 2,
as repeated by https://github.com/YannDubs/Hash-Embeddings, whose options these settings are. Texts lose punctuation,
capitals and single characters. In training a text keeps 4 to 99 of its n-grams at random; Adam, 0.001; training stops
when ten epochs were no better on 5 % of the rows, which also halve the step size after four; the best epoch counts.

What differs: n-grams are hashed by MurmurHash3; an n-gram that occurs twice in a text is dropped or kept as one;
importance and the standard table start at zero, where the source draws both, with standard deviations of 0.0005 and
0.05; Adam is row-wise, with one second moment a row. With a dictionary the source keeps apostrophes, and its ensemble
has standard embeddings by a slip; here neither does.

Sets are looked for in the folder that --set data=FOLDER names, or the variable HASHNLP_DATA: train.csv and test.csv in
a folder of their own, with the authors' three columns or with a first line "label,text"."""
_A_RUN = "Half a minute for 36,000 short texts on an idle core."
_A_NETWORK = "Two to six minutes a network for 36,000 short texts on one core"
_TIMES = {
    "custom": _A_RUN,
    "hash-embed-nodict": _A_RUN,
    "std-embed-nodict": _A_RUN,
    "std-embed-dict": f"{_A_NETWORK}, and 19 networks: six values in three folds, and the last.\n"
    "--set folds=1 and fewer --set n_embeddings_tried=... shorten it.",
    "hash-embed-dict": f"{_A_NETWORK}, and 16 networks: five values in three folds, and the last.\n"
    "--set folds=1 and fewer --set n_buckets_tried=... shorten it.",
    "ensemble-hash-embed-dict": f"{_A_NETWORK}, and ten networks.",
}
_QUICK: dict[str, Any] = {"n_train": 300, "n_test": 100, "max_epochs": 2}


def _values(settings: HashEmbeddingSettings) -> list[tuple[str, int]]:
    """List what is to be tried: pairs of a parameter and a value."""
    return [("n_embeddings", value) for value in settings.n_embeddings_tried] + [
        ("n_buckets", value) for value in settings.n_buckets_tried
    ]


def _n_results(settings: HashEmbeddingSettings) -> int:
    voters = settings.members if settings.members > 1 else 0
    return len(_values(settings)) + voters + 1


def _run(settings: HashEmbeddingSettings, run: Run) -> Iterator[Result]:
    from sklearn_hashnlp.experiments.recipes._hash_embedding_trial import (
        count_texts,
        read_texts,
        train_and_test,
        try_value,
    )

    _check(settings)
    texts = read_texts(settings, run.seed)
    results = list(run.known)
    n_results, values = _n_results(settings), _values(settings)
    for parameter, value in values[len(results) :]:
        run.tell(f"{settings.dataset}: trying {parameter} {value:,}")
        moved = part_of(run, len(results), n_results, n_fits=settings.folds)
        results.append(try_value(settings, parameter, value, texts, run.seed, run.folder, moved))
        yield results[-1]
    chosen = _best(results[: len(values)])
    settings = replace(settings, **chosen)
    counted = count_texts(settings, texts)
    if settings.members > 1:
        yield from _vote(settings, run, counted, results[len(values) :], chosen)
    else:
        moved = part_of(run, n_results - 1, n_results)
        yield {"part": "test", "chosen": chosen, **train_and_test(settings, counted, run.seed, moved)[0]}


def _check(settings: HashEmbeddingSettings) -> None:
    from sklearn_hashnlp._sklearn import validate_parameter_constraints
    from sklearn_hashnlp.experiments.recipes._hash_embedding_pipeline import make_classifier

    if settings.n_embeddings_tried and not settings.dictionary:
        raise ValueError(
            "n_embeddings_tried are sizes of a dictionary, and there is none: set dictionary=yes or leave it empty."
        )
    if settings.n_embeddings_tried and settings.n_buckets_tried:
        raise ValueError("n_embeddings_tried and n_buckets_tried exclude each other: leave one of them empty.")
    if settings.folds < 1 or settings.members < 1:
        raise ValueError(f"folds and members must be at least 1, got {settings.folds} and {settings.members}.")
    if settings.n_train < 0 or settings.n_test < 0:
        raise ValueError(
            f"n_train and n_test must be numbers of rows, or 0 for all, got {settings.n_train} and {settings.n_test}."
        )
    if len(settings.ngram_range) != 2:
        raise ValueError(
            "ngram_range must be two numbers, the words of the shortest and of the longest n-gram, got "
            f"{settings.ngram_range}: write 1,2 for words and pairs of words."
        )
    classifier = make_classifier(settings, 0)  # what it would refuse is refused before anything is counted
    validate_parameter_constraints(
        classifier._parameter_constraints, classifier.get_params(deep=False), type(classifier).__name__
    )


def _best(tried: list[Result]) -> dict[str, Any]:
    if not tried:
        return {}
    best = max(tried, key=lambda result: result["accuracy"])
    return {best["parameter"]: best["value"]}


def _vote(
    settings: HashEmbeddingSettings, run: Run, counted: CountedTexts, known: list[Result], chosen: dict[str, Any]
) -> Iterator[Result]:
    """Train the members that are not there yet, and let all of them vote."""
    import numpy as np

    from sklearn_hashnlp.experiments.recipes._hash_embedding_trial import accuracy_of

    trained = list(known)
    votes: list[NDArray[np.float64]] = []
    for member in range(settings.members):
        path = run.folder / f"member-{member}.npy"
        if member < len(known) and path.exists():
            votes.append(np.load(path))
            continue
        result, probabilities = _train_member(settings, run, counted, member, path)
        votes.append(probabilities)
        if member >= len(known):
            trained.append(result)
            yield result
    seconds = counted.train_seconds + sum(result["fit_seconds"] for result in trained)
    same, added = ("n_train", "n_test", "n_classes"), ("n_parameters", "epochs", "fit_seconds", "test_seconds")
    # No more of the members than this: those from before also hold where they come from, their step above all.
    yield {
        "part": "test",
        "chosen": chosen,
        "members": settings.members,
        "accuracy": accuracy_of(np.unique(counted.train_labels), np.mean(votes, axis=0), counted.test_labels),
        **{name: trained[0][name] for name in same},
        **{name: sum(result[name] for result in trained) for name in added},
        "count_seconds": counted.train_seconds,
        "seconds_a_row": seconds / trained[0]["n_train"],
    }


def _train_member(
    settings: HashEmbeddingSettings, run: Run, counted: CountedTexts, member: int, path: Any
) -> tuple[Result, NDArray[np.float64]]:
    import numpy as np

    from sklearn_hashnlp.experiments.recipes._hash_embedding_trial import train_and_test

    run.tell(f"{settings.dataset}: member {member + 1} of {settings.members}")
    n_results = _n_results(settings)
    moved = part_of(run, n_results - 1 - settings.members + member, n_results)
    result, probabilities = train_and_test(settings, counted, settings.members * run.seed + member, moved)
    unfinished = path.with_suffix(".unfinished.npy")
    np.save(unfinished, probabilities)
    unfinished.replace(path)  # before its line is written, so that whoever knows the line finds the file whole
    return {"part": "member", "member": member, **result}, probabilities


def _recipe(name: str) -> Recipe:
    settings = SETTINGS[name]
    quick = dict(_QUICK)
    if settings.dictionary:
        quick |= {"n_embeddings": 2000, "embedding_dim": 8, "hidden_layer_sizes": (8, 8), "folds": 1}
        quick |= {"members": 2} if settings.members > 1 else {}
        quick |= {"n_embeddings_tried": (500, 2000)} if settings.n_embeddings_tried else {}
        quick |= {"n_buckets_tried": (50, 500)} if settings.n_buckets_tried else {}
    what = _DICTIONARY if settings.dictionary else _NO_DICTIONARY
    return Recipe(
        name=name,
        summary=_SUMMARIES[name],
        description=f"{what}\n{_SOURCE}\n\n{_TIMES[name]}",
        settings=settings,
        quick=replace(settings, **quick),
        run=_run,
        n_results=_n_results,
        report=report,
        plot=plot,
        packages=("sklearn-hashnlp", "numpy", "scikit-learn", "torch"),
    )


HASH_EMBEDDING_RECIPES = tuple(_recipe(name) for name in SETTINGS)
