"""Parameters of HashEmbeddingClassifier: values of "auto", checks, the architecture of the net."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

import numpy as np

from sklearn_hashnlp._constraints import is_integer
from sklearn_hashnlp._sklearn import MAX_INTEGER, level_of_user
from sklearn_hashnlp.classifiers._losses import LossName, SquaredHingeLoss
from sklearn_hashnlp.classifiers.hash_embedding._embedding_tables import EmbeddingTables
from sklearn_hashnlp.classifiers.hash_embedding._sparse_rows import SparseRows
from sklearn_hashnlp.training._fit_task import is_report
from sklearn_hashnlp.training._settings import Decay, check_training_parameters

SolverName: TypeAlias = Literal["dual", "sgd"]
SolverChoice: TypeAlias = Literal["auto", "dual", "sgd"]

# With more rows, cross-entropy of few classes is as accurate.
_FEW_ROWS, _FEW_ROWS_OF_TWO_CLASSES = 20_000, 30_000
MAX_DUAL_ROWS = 200_000  # more take much memory
_MAX_CLASSES = 256
_MANY_CLASSES = (16, 100)  # of many rows; more take much memory
# share of rows with another label than most equal rows: probabilities matter then
_CONTRADICTIONS = 0.02
_OFF: Mapping[str, Any] = {  # parameters of stochastic gradients, with their defaults
    "warm_start": False,
    "early_stopping": False,
    "ngram_dropout": None,
    "schedule": "auto",
    "max_epochs": "auto",
    "batch_size": "auto",
    "optimizer": "adagrad",
    "learning_rate": 0.2,
}
_POOL_STD = 0.1  # as in the reference implementation
_DIM_WITH_HIDDEN_LAYERS = 20
_LARGEST_DIM = 32  # up to 1024 classes
_MOST_EPOCHS, _MOST_STEPS = 100, 500
# Epochs with early stopping of many rows, and with a learning rate that decays over all epochs
_PLANNED_EPOCHS = 20
_BATCH_ON_A_GPU = 1024  # 2,048 are less accurate on validation rows
_MANY_ROWS_OF_ONE_EPOCH = 20_000  # with more, a second epoch does not improve the accuracy


def check_parameters(estimator: Any) -> None:
    """Check what the declared constraints cannot express."""
    name, pair = type(estimator).__name__, estimator.ngram_dropout
    check_training_parameters(estimator)
    if estimator.hidden_layer_sizes and estimator.batch_size == 1:
        raise ValueError(
            f"The 'batch_size' parameter of {name} must be at least 2 with 'hidden_layer_sizes', "
            "whose batch normalization compares the rows of a batch. Got "
            f"{estimator.batch_size!r} instead."
        )
    is_pair = pair is None or (len(pair) == 2 and all(map(is_integer, pair)))
    if not is_pair or (pair is not None and not 1 <= pair[0] <= pair[1] <= MAX_INTEGER):
        raise ValueError(
            f"The 'ngram_dropout' parameter of {name} must be None or (fewest, most), two "
            f"integers with 1 <= fewest <= most <= {MAX_INTEGER}. Got {pair!r} instead."
        )


def net_architecture(
    estimator: Any, n_classes: int, hash_seed: int, *, largest_dim: int = _LARGEST_DIM
) -> dict[str, Any]:
    """Return the arguments of the net's module."""
    tables: EmbeddingTables = estimator.embedding or EmbeddingTables()
    starts_at_zero = tables.importance_init == "zeros" and estimator.variant != "standard"
    hidden_sizes = [int(size) for size in estimator.hidden_layer_sizes]
    n_rows = estimator.n_embeddings if tables.hash_rows else estimator.n_features_in_
    return {
        "hash_rows": bool(tables.hash_rows),
        "num_embeddings": int(n_rows),
        "num_buckets": int(estimator.n_buckets),
        "embedding_dim": resolve_embedding_dim(
            estimator.embedding_dim,
            n_classes,
            hidden_layers=bool(hidden_sizes),
            largest=largest_dim,
        ),
        "num_hashes": int(estimator.n_hashes),
        "variant": estimator.variant,
        "aggregation": estimator.aggregation,
        "append_weight": bool(tables.append_weight),
        "normalize": estimator.normalize,
        "importance_init": 1.0 if tables.importance_init == "ones" else 0.0,
        "pool_std": _POOL_STD if starts_at_zero else 0.0,
        "hash_seed": hash_seed,
        "hidden_sizes": hidden_sizes,
        "num_classes": n_classes,
    }


def automatic_loss(rows: SparseRows | None, n_classes: int, *, multilabel: bool) -> LossName:
    """Return the loss for ``loss="auto"``; ``rows`` is None for a stream."""
    if rows is None:
        return "ova" if multilabel else "softmax"
    loss = loss_of_few_rows(n_classes, multilabel=multilabel)
    if loss != "hinge" or len(rows) < (_FEW_ROWS_OF_TWO_CLASSES if n_classes == 2 else _FEW_ROWS):
        return loss
    is_dual = len(rows) <= MAX_DUAL_ROWS and _MANY_CLASSES[0] <= n_classes <= _MANY_CLASSES[1]
    return "hinge" if is_dual and contradictory_share(rows) <= _CONTRADICTIONS else "softmax"


def adds_log_odds(parameters: Mapping[str, Any], loss: LossName, n_rows: int) -> bool:
    """Return whether log-odds of naive Bayes are added to the result of stochastic gradients."""
    is_sum = parameters["aggregation"] == "sum" or parameters["variant"] == "standard"
    is_linear = is_sum and not parameters["hidden_layer_sizes"] and parameters["normalize"] == "l2"
    has_share = (
        parameters["loss"] == "auto" and loss in ("softmax", "hinge") and n_rows <= MAX_DUAL_ROWS
    )
    return (
        has_share and is_linear and bool((parameters["embedding"] or EmbeddingTables()).train_pool)
    )


def loss_of_few_rows(n_classes: int, *, multilabel: bool) -> LossName:
    """Return the loss for ``loss="auto"`` of few rows."""
    return "ova" if multilabel else "hinge" if n_classes <= _MAX_CLASSES else "softmax"


def contradictory_share(rows: SparseRows) -> float:
    """Return the share of rows whose label is not the most frequent one of all equal rows."""
    # Sums of hashes of the values tell rows apart; differences of cumulated sums wrap around.
    hashes = (rows.indices.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    hashes ^= hashes >> np.uint64(29)
    hashes *= rows.data.astype(np.float32).view(np.uint32).astype(np.uint64) | np.uint64(1)
    sums = np.concatenate(([np.uint64(0)], np.cumsum(hashes)))[rows.indptr]
    _, group = np.unique(sums[1:] - sums[:-1], return_inverse=True)
    n_labels = int(rows.targets.max()) + 1
    pairs, counts = np.unique(group * n_labels + rows.targets, return_counts=True)
    most = np.maximum.reduceat(counts, np.flatnonzero(np.diff(pairs // n_labels, prepend=-1)))
    return 1 - float(most.sum()) / len(rows)


def choose_solver(
    parameters: Mapping[str, Any],
    loss: LossName,
    n_rows: int,
    n_classes: int,
    device: str,
    *,
    caller: str,
) -> SolverName:
    """Return the solver of a first fit; raise an error if ``"dual"`` is set and unsupported."""
    wanted = parameters["solver"]
    if wanted == "sgd":
        return "sgd"
    obstacle = next(_obstacles(parameters, loss, n_classes, device), None)
    if wanted == "dual" and obstacle is not None:
        name, reason = obstacle
        raise ValueError(
            f"{caller}(solver='dual') does not work with {name}={parameters[name]!r}: {reason}. "
            f"Change {name!r}, or set solver='auto' or 'sgd'."
        )
    is_small = n_rows <= MAX_DUAL_ROWS and n_classes <= _MAX_CLASSES
    return "dual" if obstacle is None and (wanted == "dual" or is_small) else "sgd"


def warn_of_printers(callbacks: list[Any] | None, caller: str) -> None:
    """Warn that callbacks that print epochs are ignored."""
    if not _only_show(callbacks, printers=False):
        warnings.warn(
            f"{caller} ignores callbacks that print epochs: its solver is dual coordinate "
            "descent. Set solver='sgd' to train by epochs of stochastic gradients.",
            stacklevel=level_of_user(),
        )


def _obstacles(
    parameters: Mapping[str, Any], loss: LossName, n_classes: int, device: str
) -> Iterator[tuple[str, str]]:
    """Yield the parameters that dual coordinate descent does not support, with the reason."""
    if loss != SquaredHingeLoss.name:
        yield (
            "loss",
            f"it minimizes the squared hinge loss, and the loss of these rows is {loss!r}, not "
            "'hinge'",
        )
    is_table = parameters["variant"] == "standard"
    if parameters["hidden_layer_sizes"]:
        yield "hidden_layer_sizes", "it trains a linear model"
    if not is_table and parameters["aggregation"] == "median":
        yield "aggregation", "a median is not linear in the pool"
    tables: EmbeddingTables = parameters["embedding"] or EmbeddingTables()
    if not is_table and tables.importance_init == "zeros":
        yield "embedding", "it does not train importance weights, which would stay zero"
    if not (tables.train_pool and tables.train_importance):
        yield "embedding", "it does not train by stochastic gradients, which freeze tables"
    if parameters["normalize"] is None:
        yield "normalize", "it needs normalized rows"
    if parameters["embedding_dim"] != "auto" and parameters["embedding_dim"] < n_classes:
        yield "embedding_dim", f"it needs a dimension for each of {n_classes} classes"
    if device != "cpu":
        yield "device", "it runs on the CPU"
    for name, value in _OFF.items():
        if parameters[name] != value:
            yield name, "it does not train by stochastic gradients"
    if not _only_show(parameters["callbacks"]):
        yield "callbacks", "it calls none but those that show progress"


def _only_show(callbacks: list[Any] | None, *, printers: bool = True) -> bool:
    callbacks = callbacks or []
    if all(map(is_report, callbacks)):
        return True
    from sklearn_hashnlp.training._callbacks import only_show  # imports torch, as the callbacks did

    return only_show(callbacks, printers=printers)


def resolve_embedding_dim(
    value: int | Literal["auto"],
    n_classes: int,
    *,
    hidden_layers: bool = False,
    largest: int = _LARGEST_DIM,
) -> int:
    """Return the dimension; "auto" is a multiple of 4 that depends on the number of classes."""
    if value != "auto":
        return int(value)
    if hidden_layers:
        return _DIM_WITH_HIDDEN_LAYERS
    wanted = min(n_classes, max(largest, math.isqrt(n_classes)))
    return int(np.clip(-(-wanted // 4) * 4, 4, max(128, -(-largest // 4) * 4)))


def resolve_epochs(
    value: int | Literal["auto"],
    n_rows: int,
    *,
    early_stopping: bool,
    batch_size: int,
    decay: Decay = "constant",
) -> int:
    """Return the largest number of epochs of stochastic gradients, larger for few rows."""
    if value != "auto":
        return int(value)
    if decay != "constant" or not trains_to_convergence(value, n_rows):
        return _PLANNED_EPOCHS if early_stopping or n_rows < _MANY_ROWS_OF_ONE_EPOCH else 1
    return max(_MOST_EPOCHS, _MOST_STEPS * min(batch_size, n_rows) // n_rows)


def trains_to_convergence(
    max_epochs: int | Literal["auto"], n_rows: int, decay: Decay = "constant"
) -> bool:
    """Return whether stochastic gradients take small steps until the training loss converges."""
    return bool(max_epochs == "auto" and n_rows < _MANY_ROWS_OF_ONE_EPOCH and decay == "constant")


def resolve_batch_size(value: int | Literal["auto"], n_rows: int, device: str = "cpu") -> int:
    """Return the number of rows per batch; on a GPU a step takes as long for a row as for 1,024."""
    if value != "auto":
        return int(value)
    if device != "cpu" and n_rows >= _MANY_ROWS_OF_ONE_EPOCH:
        return _BATCH_ON_A_GPU
    return int(2 ** np.clip(np.round(np.log2(n_rows / 128)), 5, 8))
