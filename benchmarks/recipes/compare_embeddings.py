"""The recipe ``compare-embeddings``: embeddings and classifiers, also one's own, trained alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from benchmarks.recipes.comparison import comparison_tables, group_results
from benchmarks.recipes.hash_embedding_settings import NetworkSettings
from benchmarks.runner.load_recipe import load_object
from benchmarks.runner.recipe import Recipe, Result, Run, fit_progress
from benchmarks.runner.settings import STDLIB, setting
from benchmarks.runner.table import Table

if TYPE_CHECKING:
    from benchmarks.recipes.hash_embedding_trial import CountedTexts

_DESCRIPTION = """\
Compares embeddings of word n-grams, one of your own among them, as layers of the same network: the
sum of the vectors of the n-grams of a text, hidden layers if there are any, and a softmax layer;
Adam, early stopping on a part of the training rows; the same rows, batches and seeds for all. Test
rows are read once for each embedding.

--set embeddings=hash,standard,my_module:MyEmbedding names them; the others are compared with the
first. my_module.py is in the current folder or installed. MyEmbedding is called with num_embeddings
and embedding_dim, as torch.nn.Embedding is, and returns a torch module; this gets a tensor of n ids
between 0 and num_embeddings, excluded, and returns n vectors, of embedding_dim or any other number
of columns. With sparse gradients, as in torch.nn.Embedding(..., sparse=True), a step updates only
the rows of its batch. "hash" are the hash embeddings of this package with a tenth as many component
vectors as rows, "standard" is a table with a row for each column of the n-grams.

--classifier my_module:MyClassifier adds a classifier of your own: it is called without arguments,
and its fit and predict get the same n-gram counts, a sparse matrix, as scikit-learn's classifiers
do. Its random_state, if any, is set to the seed.

--set dictionary=yes counts the n_embeddings most frequent n-grams in place of hashed ones;
ngram_dropout, hidden_layer_sizes and members (an ensemble) are the settings of the experiments on
hash embeddings. Run it with --seeds 5 or more: differences are tested by the exact permutation test
over seeds (sign flips), corrected by Holm's method.

About half a minute per seed and embedding for 36,000 short texts on one core."""


@dataclass(frozen=True)
class CompareEmbeddingsSettings(NetworkSettings):
    """Settings of the experiment; the metadata of each field describe it."""

    embeddings: tuple[str, ...] = setting(
        ("hash", "standard"), "hash, standard or MODULE:NAME of your own"
    )
    classifiers: tuple[str, ...] = setting((), "MODULE:NAME of classifiers of your own")
    n_embeddings: int = setting(2**20, "columns of the n-grams: num_embeddings of an embedding")
    max_epochs: int = setting(20, "maximum number of epochs")
    learning_rate: float = setting(0.003, "learning rate of Adam")
    n_iter_no_change: int = setting(3, "epochs without improvement before training stops")


def _n_results(settings: CompareEmbeddingsSettings) -> int:
    return len(settings.embeddings) + len(settings.classifiers)


def _run(settings: CompareEmbeddingsSettings, run: Run) -> Iterator[Result]:
    from benchmarks.recipes.embedding_training import find_embedding, train_embedding
    from benchmarks.recipes.hash_embedding_trial import count_texts, read_texts

    names = (*settings.embeddings, *settings.classifiers)
    if not settings.embeddings or len(set(names)) < len(names):
        raise ValueError(
            f"embeddings and classifiers must be different names, got {','.join(names)!r}."
        )
    if len(settings.ngram_range) != 2:
        raise ValueError(
            f"ngram_range must be two numbers, such as 1,2, got {settings.ngram_range}."
        )
    for name in settings.embeddings:  # before the texts are read
        find_embedding(name)
    for name in settings.classifiers:
        _find_classifier(name)
    texts = read_texts(settings, run.seed)
    counted = count_texts(settings, texts, n_features=settings.n_embeddings)
    for index, name in enumerate(names[len(run.previous) :], len(run.previous)):
        run.log(f"{settings.dataset}: {name}")
        if name in settings.classifiers:
            result = _train_classifier(name, counted, run.seed)
        else:
            result = train_embedding(
                name, settings, counted, run, fit_progress(run, index, len(names))
            )
        sizes = {"n_train": len(counted.train_labels), "n_test": len(counted.test_labels)}
        yield {"part": "test", "embedding": name, **sizes, **result}


def _find_classifier(name: str) -> Callable[[], Any]:
    """Return the class or function that ``MODULE:NAME`` names."""
    found = load_object(name)
    if not callable(found):
        raise TypeError(
            f"The classifier {name} must be a class or function that is called without arguments "
            "and returns an object with fit and predict, as scikit-learn's classifiers; it is "
            f"{found!r}."
        )
    return found  # type: ignore[no-any-return]  # of the user's module


def _train_classifier(name: str, counted: CountedTexts, seed: int) -> Result:
    """Train a classifier and test it; accuracies are of whole texts."""
    import numpy as np

    classifier = _find_classifier(name)()
    if not all(callable(getattr(classifier, method, None)) for method in ("fit", "predict")):
        raise TypeError(
            f"The classifier {name} must return an object with fit and predict, not {classifier!r}."
        )
    if "random_state" in getattr(classifier, "get_params", dict)():
        classifier.set_params(random_state=seed)
    started = perf_counter()
    classifier.fit(counted.train, counted.train_labels)
    seconds = perf_counter() - started
    return {
        "accuracy": float(np.mean(classifier.predict(counted.test) == counted.test_labels)),
        "train_accuracy": float(np.mean(classifier.predict(counted.train) == counted.train_labels)),
        "n_parameters": None,
        "epochs": None,
        "fit_seconds": seconds,
    }


def _report(results: Sequence[Result]) -> list[Table]:
    groups = group_results(results, CompareEmbeddingsSettings(), ("embeddings", "classifiers"))
    return [table for title, group in groups.items() for table in comparison_tables(title, group)]


COMPARE_EMBEDDINGS = Recipe(
    name="compare-embeddings",
    summary="Embeddings and classifiers of n-grams, among them one of your own, on the same rows",
    description=_DESCRIPTION,
    settings=CompareEmbeddingsSettings(),
    quick=CompareEmbeddingsSettings(
        dataset=STDLIB, n_embeddings=2**12, embedding_dim=4, max_epochs=2, n_train=500, n_test=100
    ),
    run=_run,
    n_results=_n_results,
    report=_report,
    packages=("sklearn-hashnlp", "numpy", "scikit-learn", "torch"),
)
