"""From strings to labels as the hash-embedding experiments go: the source's words, n-grams, and a classifier."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Memory
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_hashnlp.classifiers import HashEmbeddingClassifier
from sklearn_hashnlp.experiments.recipes._hash_embedding_settings import HashEmbeddingSettings
from sklearn_hashnlp.text import FrequentNgramVectorizer, HashingNgramVectorizer
from sklearn_hashnlp.training._callbacks import FitProgress

_BLANK_FOR_EACH = str.maketrans(dict.fromkeys(string.punctuation, " "))
_WORDS = r"\S\S+"  # what stands between blanks, but for single characters
_COLUMNS = 2**31 - 1

Moved = Callable[[float], None]


def drop_punctuation(texts: Sequence[str]) -> list[str]:
    """Write a blank for each punctuation mark of ASCII, as the source does before it splits texts at blanks."""
    return [text.translate(_BLANK_FOR_EACH) for text in texts]


def first_columns(X: Any, n: int) -> Any:
    """Keep the first columns of a matrix: of a dictionary in order of frequency, the most frequent n-grams."""
    return X[:, :n]


def make_ngrams(settings: HashEmbeddingSettings) -> Pipeline:
    """Make what counts the n-grams of texts."""
    common: dict[str, Any] = {
        "token_pattern": _WORDS,
        "ngram_range": tuple(settings.ngram_range),
        "dtype": np.float32,
        "n_jobs": -1,
    }
    if settings.dictionary:
        most = max(settings.n_embeddings_tried, default=settings.n_embeddings)
        counter: Any = FrequentNgramVectorizer(max_features=most, **common)
    else:
        counter = HashingNgramVectorizer(n_features=_COLUMNS, alternate_sign=False, norm=None, **common)
    return Pipeline([("words", FunctionTransformer(drop_punctuation)), ("counts", counter)])


def make_network(settings: HashEmbeddingSettings, seed: int, moved: Moved | None = None) -> Pipeline:
    """Make what learns from n-grams."""
    classifier = ("classifier", make_classifier(settings, seed, moved))
    if not settings.dictionary:
        return Pipeline([classifier])
    cut = FunctionTransformer(first_columns, kw_args={"n": settings.n_embeddings}, accept_sparse=True)
    return Pipeline([("cut", cut), classifier])


def make_pipeline(settings: HashEmbeddingSettings, seed: int, folder: Path, moved: Moved | None = None) -> Pipeline:
    """Make the whole way from texts to labels, for a search over the network's parameters."""
    steps = [("ngrams", make_ngrams(settings)), ("network", make_network(settings, seed, moved))]
    return Pipeline(steps, memory=Memory(folder / "ngrams", verbose=0))


def make_classifier(settings: HashEmbeddingSettings, seed: int, moved: Moved | None = None) -> HashEmbeddingClassifier:
    """Make the network of an experiment, with the source's training."""
    patience, plateau = settings.n_iter_no_change, settings.plateau_patience
    return HashEmbeddingClassifier(
        variant=settings.variant,
        n_buckets=settings.n_buckets,
        n_hashes=settings.n_hashes,
        n_embeddings=settings.n_embeddings,
        embedding_dim=settings.embedding_dim,
        aggregation=settings.aggregation,
        append_weight=settings.append_weight,
        hash_rows=not settings.dictionary,  # a dictionary's numbers are rows already
        importance_init="zeros",
        normalize=None,
        hidden_layer_sizes=tuple(settings.hidden_layer_sizes),
        ngram_dropout=list(settings.ngram_dropout) or None,
        optimizer="adam",
        learning_rate=settings.learning_rate,
        average=False,
        max_epochs=settings.max_epochs,
        batch_size=settings.batch_size,
        shuffle=settings.shuffle,
        early_stopping=True,
        validation_fraction=settings.validation_fraction,
        monitor=settings.monitor,
        n_iter_no_change=patience or None,
        lr_plateau=(plateau, settings.plateau_factor) if plateau else None,
        restore_best=settings.restore_best,
        device=settings.device,
        callbacks=None if moved is None else [FitProgress(moved, settings.max_epochs, patience, settings.monitor)],
        random_state=seed,
    )
