"""Settings of the experiments on hash embeddings, and their values in the six named experiments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.runner.settings import setting

# Data sets of the paper's table 2
DATASETS = ("ag", "amazon", "dbpedia", "yahoo", "yelp", "amazon-polarity", "yelp-polarity")
N_EMBEDDINGS_GRID = (10_000, 25_000, 50_000, 300_000, 500_000, 1_000_000)  # of standard embeddings
N_BUCKETS_GRID = (500, 10_000, 50_000, 100_000, 150_000)  # of hash embeddings with a dictionary


@dataclass(frozen=True)
class DataSettings:
    """Settings of the texts."""

    dataset: str = setting(
        "ag",
        "ag, amazon, amazon-polarity, dbpedia, sogou, yahoo, yelp, yelp-polarity, a folder or a "
        "CSV file",
    )
    data: str = setting(
        "", "folder of the datasets; empty: the one that HASHNLP_DATA names", recorded=False
    )
    n_train: int = setting(0, "training rows, sampled by the seed; 0: all")
    n_test: int = setting(0, "test rows, the same for every seed; 0: all")
    device: Literal["cpu", "cuda", "auto"] = setting("cpu", "cpu, cuda or auto", recorded=False)


@dataclass(frozen=True)
class NetworkSettings(DataSettings):
    """Settings of n-grams, of the network above their embeddings, and of its training."""

    preprocessing: Literal["reference", "paper"] = setting(
        "reference",
        "reference: lowercase, without punctuation and single characters; paper: without "
        "punctuation",
    )
    dictionary: bool = setting(False, "count the n-grams of a dictionary instead of hashed n-grams")
    ngram_range: tuple[int, ...] = setting(
        (1, 2), "words of the shortest and of the longest n-gram"
    )
    ngram_dropout: tuple[int, ...] = setting(
        (4, 99), "minimum and maximum n-grams that training keeps of a row; or none"
    )
    n_embeddings: int = setting(
        10**7, "rows of the importance or standard table; n-grams of the dictionary; n"
    )
    embedding_dim: int = setting(20, "embedding dimension; d")
    hidden_layer_sizes: tuple[int, ...] = setting(
        (), "sizes of hidden layers, with batch normalization and ReLU"
    )
    members: int = setting(1, "networks of an ensemble, which averages their probabilities")
    max_epochs: int = setting(300, "maximum number of epochs")
    batch_size: int = setting(64, "batch size")
    learning_rate: float = setting(0.001, "learning rate of Adam")
    validation_fraction: float = setting(0.05, "fraction of the training rows for early stopping")
    n_iter_no_change: int = setting(
        10, "epochs without improvement before training stops; 0: no early stopping"
    )


@dataclass(frozen=True)
class HashEmbeddingSettings(NetworkSettings):
    """Settings of the experiments of the paper."""

    variant: Literal["improved", "paper", "standard"] = setting(
        "improved", "improved, paper or standard embeddings"
    )
    n_buckets: int = setting(10**6, "component vectors; standard embeddings have none; B")
    n_hashes: int = setting(2, "component vectors per n-gram; k")
    aggregation: Literal["sum", "concat", "median"] = setting(
        "sum", "aggregation of the component vectors: sum, concat or median"
    )
    append_weight: bool = setting(True, "append the importance weights to the embedding")
    n_embeddings_grid: tuple[int, ...] = setting((), "sizes of the dictionary for GridSearchCV")
    n_buckets_grid: tuple[int, ...] = setting((), "numbers of component vectors for GridSearchCV")
    folds: int = setting(
        3, "cross-validation folds of the grid search; 1: one validation set of a tenth of the rows"
    )
    shuffle: bool = setting(True, "shuffle the rows in each epoch")
    monitor: Literal["valid_acc", "valid_loss"] = setting(
        "valid_acc", "metric for early stopping: valid_acc or valid_loss"
    )
    plateau_patience: int = setting(
        4, "epochs without improvement before the learning rate is reduced; 0: never"
    )
    plateau_factor: float = setting(0.5, "factor by which the learning rate is reduced")
    restore_best: bool = setting(True, "restore the weights of the best epoch")


def with_dictionary(
    variant: Literal["improved", "standard"], **changes: Any
) -> HashEmbeddingSettings:
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
    "std-embed-dict": with_dictionary("standard", n_embeddings_grid=N_EMBEDDINGS_GRID),
    "hash-embed-dict": with_dictionary("improved", n_buckets_grid=N_BUCKETS_GRID),
    "hash-embed-nodict": HashEmbeddingSettings(),
    "std-embed-nodict": HashEmbeddingSettings(variant="standard"),
    "ensemble-hash-embed-dict": with_dictionary("improved", n_buckets=50_000, members=10),
}
