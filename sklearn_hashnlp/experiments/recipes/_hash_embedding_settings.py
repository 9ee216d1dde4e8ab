"""The options of the hash-embedding experiments, and the six sets of values that have names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn_hashnlp.experiments._settings import setting

CHOSEN_SIZES = (10_000, 25_000, 50_000, 300_000, 500_000, 1_000_000)  # of the dictionary, for standard embeddings
CHOSEN_BUCKETS = (500, 10_000, 50_000, 100_000, 150_000)  # of the pool, for hash embeddings with a dictionary


@dataclass(frozen=True)
class HashEmbeddingSettings:
    """What can be changed about an experiment; the metadata of each field say what it is."""

    dataset: str = setting("ag", "ag, amazon, amazon-polarity, dbpedia, sogou, yahoo, yelp, yelp-polarity or a folder")
    data: str = setting("", "folder in which the set is looked for; empty: that of HASHNLP_DATA", place=True)
    dictionary: bool = setting(False, "count n-grams of a dictionary, not hashed ones")
    variant: str = setting("improved", "improved, paper or standard embeddings")
    ngram_range: tuple[int, ...] = setting((1, 2), "words of the shortest and of the longest n-gram")
    ngram_dropout: tuple[int, ...] = setting((4, 99), "n-grams a row keeps in training, at least and at most; or none")
    n_embeddings: int = setting(10**7, "rows of the importance, or of the standard table; n-grams of the dictionary")
    n_buckets: int = setting(10**6, "vectors in the pool; standard embeddings have none")
    embedding_dim: int = setting(20, "length of a vector")
    n_hashes: int = setting(2, "vectors of the pool that make up an n-gram's")
    aggregation: str = setting("sum", "how they are joined: sum, concat or median")
    append_weight: bool = setting(True, "whether importance is a part of a row's vector")
    hidden_layer_sizes: tuple[int, ...] = setting((), "hidden layers, batch-normalised and rectified")
    members: int = setting(1, "networks that differ in their seeds and vote with their probabilities")
    n_embeddings_tried: tuple[int, ...] = setting((), "sizes of the dictionary to choose from, by GridSearchCV")
    n_buckets_tried: tuple[int, ...] = setting((), "sizes of the pool to choose from, by GridSearchCV")
    folds: int = setting(3, "of that choice's cross-validation; 1: a tenth of the rows is held out once")
    max_epochs: int = setting(300, "epochs at most")
    batch_size: int = setting(64, "rows of a training step")
    learning_rate: float = setting(0.001, "step size of Adam")
    shuffle: bool = setting(True, "an order of its own for each epoch")
    validation_fraction: float = setting(0.05, "share of the training rows by which training is stopped")
    monitor: str = setting("valid_acc", "what is better there: valid_acc or valid_loss")
    n_iter_no_change: int = setting(10, "epochs without a better one after which training stops; 0: it never does")
    plateau_patience: int = setting(4, "epochs without a better one after which the step size falls; 0: it never does")
    plateau_factor: float = setting(0.5, "what it is multiplied by then")
    restore_best: bool = setting(True, "end with the best epoch's weights")
    n_train: int = setting(0, "training rows, drawn by the seed; 0: all")
    n_test: int = setting(0, "test rows, the same for every seed; 0: all")
    device: str = setting("cpu", "cpu, cuda or auto", place=True)


def without_dictionary(variant: str) -> HashEmbeddingSettings:
    """Return the settings of the experiments without a dictionary."""
    return HashEmbeddingSettings(variant=variant)


def with_dictionary(variant: str, **changes: Any) -> HashEmbeddingSettings:
    """Return the settings of the experiments with a dictionary and three hidden layers."""
    return HashEmbeddingSettings(
        dictionary=True,
        variant=variant,
        ngram_range=(1, 9),
        n_embeddings=10**6,
        embedding_dim=200,
        hidden_layer_sizes=(1000, 1000, 1000),
        **changes,
    )


SETTINGS = {
    "custom": HashEmbeddingSettings(),
    "std-embed-dict": with_dictionary("standard", n_embeddings_tried=CHOSEN_SIZES),
    "hash-embed-dict": with_dictionary("improved", n_buckets_tried=CHOSEN_BUCKETS),
    "hash-embed-nodict": without_dictionary("improved"),
    "std-embed-nodict": without_dictionary("standard"),
    "ensemble-hash-embed-dict": with_dictionary("improved", n_buckets=50_000, members=10),
}
