"""What the parameters of the language model may be, as scikit-learn declares it."""

from __future__ import annotations

from numbers import Integral, Real
from os import PathLike
from typing import Any, Final

from sklearn_hashnlp._sklearn import Interval, StrOptions
from sklearn_hashnlp.language._trees import TREES
from sklearn_hashnlp.trees import SoftmaxTree

OF_LANGUAGE_MODELS: Final[dict[str, list[Any]]] = {
    "order": [Interval(Integral, 2, None, closed="left")],
    "embedding_dim": [Interval(Integral, 1, None, closed="left")],
    "hidden_size": [Interval(Integral, 1, None, closed="left")],
    "output": [StrOptions({"hsigmoid", "softmax", "adaptive"})],
    "tree": [StrOptions(set(TREES)), SoftmaxTree],
    "direct_connections": ["boolean", StrOptions({"hashed"})],
    "n_direct": [Interval(Integral, 1, 2**31 - 1, closed="both")],
    "activation": [StrOptions({"tanh", "sigmoid"})],
    "dropout": [Interval(Real, 0, 1, closed="left")],
    "embedding_dropout": [Interval(Real, 0, 1, closed="left")],
    "init": [StrOptions({"default", "uniform", "reference"})],
    "embedding": [StrOptions({"table", "hash", "sgnn"})],
    "n_embeddings": [Interval(Integral, 1, 2**31 - 1, closed="both")],
    "n_buckets": [Interval(Integral, 1, 2**31 - 1, closed="both")],
    "n_projections": [Interval(Integral, 1, None, closed="left")],
    "n_bits": [Interval(Integral, 1, None, closed="left")],
    "vocabulary": [dict, None],
    "max_vocabulary": [Interval(Integral, 1, None, closed="left"), None],
    "min_count": [Interval(Integral, 1, None, closed="left")],
    "padding": [StrOptions({"full", "reference"})],
    "optimizer": [StrOptions({"adagrad", "adam"})],
    "learning_rate": [Interval(Real, 0, None, closed="neither")],
    "bias_learning_rate": [Interval(Real, 0, None, closed="neither")],
    "direct_learning_rate": [Interval(Real, 0, None, closed="neither")],
    "learning_rate_schedule": [StrOptions({"constant", "linear"})],
    "lr_plateau": [tuple, list, None],
    "max_epochs": [Interval(Integral, 1, None, closed="left")],
    "max_time": [Interval(Real, 0, None, closed="neither"), None],
    "batch_size": [Interval(Integral, 1, None, closed="left")],
    "shuffle": ["boolean"],
    "early_stopping": ["boolean"],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
    "log_every": [Interval(Integral, 1, None, closed="left"), None],
    "checkpoint_dir": [str, PathLike, None],
    "keep": [StrOptions({"best", "last", "all"})],
    "resume": ["boolean"],
    "warm_start": ["boolean"],
    "device": [StrOptions({"cpu", "cuda", "auto"})],
    "callbacks": [list, None],
    "random_state": ["random_state"],
    "verbose": [Interval(Integral, 0, 3, closed="both")],
}
"""What they must be together, :func:`check_language_parameters` tells."""
