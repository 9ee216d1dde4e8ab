"""Pipelines of hash-embedding experiments: preprocessing, n-grams, the reference's classifier."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Memory
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from skorch.callbacks import Callback

from benchmarks.recipes.hash_embedding_settings import HashEmbeddingSettings, NetworkSettings
from sklearn_hashnlp.classifiers import EmbeddingTables, HashEmbeddingClassifier
from sklearn_hashnlp.text import FrequentNgramVectorizer, HashingNgramVectorizer
from sklearn_hashnlp.training import EarlyStopping, Schedule

_PUNCTUATION_TO_SPACE = str.maketrans(dict.fromkeys(string.punctuation, " "))
# Words between white space; in the reference without single characters.
_TOKEN_PATTERNS = {"reference": r"\S\S+", "paper": r"\S+"}
N_FEATURES = 2**31 - 1

OnProgress = Callable[[float], None]


class FitProgress(Callback):  # type: ignore[misc]  # skorch has no types
    """Report the share of training done, as if no later epoch were better than the best so far."""

    def __init__(
        self,
        report: Callable[[float], None],
        max_epochs: int,
        patience: int,
        monitor: str = "valid_acc",
    ) -> None:
        self.report = report
        self.max_epochs = max_epochs
        self.patience = patience
        self.monitor = monitor

    def on_train_begin(self, _net: Any, **_: Any) -> None:
        """Report that nothing is done."""
        self.report(0.0)

    def on_epoch_end(self, net: Any, **_: Any) -> None:
        """Report the share."""
        epochs, last = len(net.history), self.max_epochs
        if self.patience and self.monitor in net.history[-1]:
            scores = net.history[:, self.monitor]
            best = min(scores) if self.monitor == "valid_loss" else max(scores)
            last = min(last, scores.index(best) + 1 + self.patience)
        self.report(min(1.0, epochs / last))


def replace_punctuation(texts: Sequence[str]) -> list[str]:
    """Replace ASCII punctuation by spaces, as the reference does before splitting texts."""
    return [text.translate(_PUNCTUATION_TO_SPACE) for text in texts]


def first_columns(X: Any, n: int) -> Any:
    """Return the first columns of a matrix: the most frequent n-grams of a sorted dictionary."""
    return X[:, :n]


def make_ngram_counter(settings: NetworkSettings, n_features: int = N_FEATURES) -> Pipeline:
    """Make the transformer of texts to n-gram counts."""
    common: dict[str, Any] = {
        "token_pattern": _TOKEN_PATTERNS[settings.preprocessing],
        "lowercase": settings.preprocessing == "reference",
        "ngram_range": tuple(settings.ngram_range),
        "dtype": np.float32,
        "n_jobs": -1,
    }
    if settings.dictionary:
        max_features = max(
            getattr(settings, "n_embeddings_grid", ()), default=settings.n_embeddings
        )
        vectorizer: Any = FrequentNgramVectorizer(max_features=max_features, **common)
    else:
        vectorizer = HashingNgramVectorizer(
            n_features=n_features, alternate_sign=False, norm=None, **common
        )
    return Pipeline([("words", FunctionTransformer(replace_punctuation)), ("counts", vectorizer)])


def make_network(
    settings: HashEmbeddingSettings, seed: int, on_progress: OnProgress | None = None
) -> Pipeline:
    """Make the classifier of n-gram counts."""
    classifier = ("classifier", make_classifier(settings, seed, on_progress))
    if not settings.dictionary:
        return Pipeline([classifier])
    cut = FunctionTransformer(
        first_columns, kw_args={"n": settings.n_embeddings}, accept_sparse=True
    )
    return Pipeline([("cut", cut), classifier])


def make_pipeline(
    settings: HashEmbeddingSettings, seed: int, folder: Path, on_progress: OnProgress | None = None
) -> Pipeline:
    """Make the pipeline from texts to labels for a grid search; a folder caches the counts."""
    steps = [
        ("ngrams", make_ngram_counter(settings)),
        ("network", make_network(settings, seed, on_progress)),
    ]
    return Pipeline(steps, memory=Memory(folder / "ngrams", verbose=0))


def make_classifier(
    settings: HashEmbeddingSettings, seed: int, on_progress: OnProgress | None = None
) -> HashEmbeddingClassifier:
    """Make the classifier of an experiment, with the training of the reference."""
    patience, plateau = settings.n_iter_no_change, settings.plateau_patience
    progress = (
        None
        if on_progress is None
        else FitProgress(on_progress, settings.max_epochs, patience, settings.monitor)
    )
    return HashEmbeddingClassifier(
        variant=settings.variant,
        n_buckets=settings.n_buckets,
        n_hashes=settings.n_hashes,
        n_embeddings=settings.n_embeddings,
        embedding_dim=settings.embedding_dim,
        aggregation=settings.aggregation,
        embedding=EmbeddingTables(
            append_weight=settings.append_weight,
            hash_rows=not settings.dictionary,
            importance_init="zeros",
        ),
        schedule=Schedule(
            plateau=(plateau, settings.plateau_factor) if plateau else None,
            shuffle=settings.shuffle,
        ),
        early_stopping=EarlyStopping(
            settings.monitor,
            patience=patience or None,
            validation_fraction=settings.validation_fraction,
            restore_best=settings.restore_best,
        ),
        normalize=None,
        hidden_layer_sizes=tuple(settings.hidden_layer_sizes),
        ngram_dropout=list(settings.ngram_dropout) or None,
        optimizer="adam",
        learning_rate=settings.learning_rate,
        max_epochs=settings.max_epochs,
        batch_size=settings.batch_size,
        device=settings.device,
        callbacks=None if progress is None else [progress],
        random_state=seed,
    )
