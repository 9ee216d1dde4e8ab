"""What the parameters of the classifiers may be, as scikit-learn declares it."""

from __future__ import annotations

from numbers import Integral, Real
from os import PathLike
from typing import Any, Final

from sklearn_hashnlp._sklearn import Interval, StrOptions
from sklearn_hashnlp.estimators._class_tree import CLASS_TREES
from sklearn_hashnlp.trees import SoftmaxTree

_OF_ALL: Final[dict[str, list[Any]]] = {
    "hidden_layer_sizes": [tuple, list],
    "class_weight": [dict, StrOptions({"balanced"}), None],
    "optimizer": [StrOptions({"adagrad", "adam"})],
    "learning_rate": [Interval(Real, 0, None, closed="neither")],
    "learning_rate_schedule": [StrOptions({"constant", "linear"})],
    "average": ["boolean"],
    "max_epochs": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    "max_time": [Interval(Real, 0, None, closed="neither"), None],
    "batch_size": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    "shuffle": ["boolean"],
    "early_stopping": ["boolean"],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "monitor": [StrOptions({"valid_acc", "valid_loss"})],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
    "lr_plateau": [tuple, list, None],
    "restore_best": ["boolean"],
    "checkpoint_dir": [str, PathLike, None],
    "warm_start": ["boolean"],
    "device": [StrOptions({"cpu", "cuda", "auto"})],
    "callbacks": [list, None],
    "random_state": ["random_state"],
    "verbose": [Interval(Integral, 0, 3, closed="both")],
}

OF_HASH_EMBEDDINGS: Final[dict[str, list[Any]]] = _OF_ALL | {
    "variant": [StrOptions({"improved", "paper", "standard"})],
    "n_buckets": [Interval(Integral, 1, 2**31 - 1, closed="both")],
    "n_hashes": [Interval(Integral, 1, 64, closed="both")],
    "n_embeddings": [Interval(Integral, 1, 2**31 - 1, closed="both")],
    "embedding_dim": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    "aggregation": [StrOptions({"sum", "concat", "median"})],
    "append_weight": ["boolean"],
    "hash_rows": ["boolean"],
    "importance_init": [StrOptions({"idf", "ones", "zeros"})],
    "train_pool": ["boolean"],
    "train_importance": ["boolean"],
    "normalize": [StrOptions({"l1", "l2"}), None],
    "ngram_dropout": [tuple, list, None],
    "loss": [StrOptions({"softmax", "ova", "hinge", "hsigmoid"})],
    "tree": [StrOptions(set(CLASS_TREES)), SoftmaxTree],
}
"""Those of HashEmbeddingClassifier. What they must be together, :func:`check_parameters` tells."""

OF_DENSE_LAYERS: Final[dict[str, list[Any]]] = _OF_ALL | {
    "packed": ["boolean"],
    "batch_size": [Interval(Integral, 1, None, closed="left")],
    "dropout": [Interval(Real, 0, 1, closed="left")],
    "input_dropout": [Interval(Real, 0, 1, closed="left")],
    "loss": [StrOptions({"softmax", "ova"})],
}
"""Those of SGNNClassifier."""
