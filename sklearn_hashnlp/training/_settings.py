"""Training settings, made of an estimator's parameters, and its seeds."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state


@dataclass(frozen=True)
class TrainingSettings:
    """How a net is trained."""

    # Cross-entropy, binary cross-entropy or squared hinge loss of one class against all others, or cross-entropy along
    # the paths of a tree
    loss: str
    optimizer: str  # row-wise AdaGrad or row-wise Adam
    learning_rate: float  # step size; by AdaGrad, a head with hidden layers takes a tenth of it
    schedule: str  # whether the step size falls linearly, to 0 after the last planned step
    # Whether to end with the mean of the weights over the last quarter of the planned steps. Not done where there are
    # validation rows, by which the kept weights are chosen
    average: bool
    max_epochs: int  # passes over the rows
    # Seconds after which training ends: after the batch in which they are over, the first at the earliest
    max_time: float | None
    batch_size: int  # rows a step
    shuffle: bool  # whether each pass has an order of its own
    dropout: tuple[int, int] | None  # each row keeps a random number of its columns, between these two inclusive
    monitor: str  # decides which epoch is better: for stopping, kept weights and the plateau alike
    patience: int | None  # epochs without a better one after which training stops; None is never
    # Epochs without a better one after which the step size is multiplied by the factor
    lr_plateau: tuple[int, float] | None
    restore_best: bool  # whether to end with the weights of the best epoch
    checkpoint_dir: str | None  # folder that the weights of the best epoch are written to; None keeps them in memory
    # 0 is silent, 1 prints a line an epoch, 2 shows progress within an epoch as well, 3 also what is set up
    verbose: int
    callbacks: tuple[Any, ...]  # more skorch callbacks, their classes, or pairs of a name and one
    seed: int  # of order and dropout


_SEEDS = 2**31 - 1
_DIM_WITH_HIDDEN_LAYERS = 20
_EPOCHS_WITH_EARLY_STOPPING = 20
_MANY_ROWS = 20_000  # from there on a second pass gains nothing
_POOL_STD = 0.1  # the source's
_PARAMETER_OF = {  # those that are called otherwise in a net
    "num_embeddings": "n_embeddings",
    "num_buckets": "n_buckets",
    "num_hashes": "n_hashes",
    "hidden_sizes": "hidden_layer_sizes",
    "pool_std": "importance_init",
}


class Seeds(NamedTuple):
    """What is drawn from ``random_state`` for one training."""

    hash: int
    module: int
    order: int
    split: int

    def of_order(self, n_epochs: int) -> int:
        """Return a seed for order and dropout."""
        return int(np.random.SeedSequence((self.order, n_epochs)).generate_state(1)[0])


def draw_seeds(random_state: int | np.random.RandomState | None) -> Seeds:
    """Draw all seeds of one training."""
    generator = check_random_state(random_state)
    return Seeds(*(int(generator.randint(_SEEDS)) for _ in Seeds._fields))


def architecture(estimator: Any, n_classes: int, hash_seed: int) -> dict[str, Any]:
    """Say what a net is made of."""
    return {
        "num_embeddings": int(estimator.n_embeddings),
        "num_buckets": int(estimator.n_buckets),
        "embedding_dim": _embedding_dim(estimator, n_classes),
        "num_hashes": int(estimator.n_hashes),
        "variant": estimator.variant,
        "aggregation": estimator.aggregation,
        "append_weight": bool(estimator.append_weight),
        "hash_rows": bool(estimator.hash_rows),
        "normalize": estimator.normalize,
        "importance_init": 1.0 if estimator.importance_init == "ones" else 0.0,
        "pool_std": _POOL_STD if estimator.importance_init == "zeros" and estimator.variant != "standard" else 0.0,
        "hash_seed": hash_seed,
        "hidden_sizes": [int(size) for size in estimator.hidden_layer_sizes],
        "num_classes": n_classes,
    }


def check_unchanged(estimator: Any, wanted: dict[str, Any], made_of: dict[str, Any], device: str) -> None:
    """Check that training can go on with a net that is there."""
    for name, value in wanted.items():
        if made_of[name] != value:
            parameter = _PARAMETER_OF.get(name, name)
            raise ValueError(
                f"{type(estimator).__name__} cannot go on with its trained net, which was made with another "
                f"{parameter!r} than {getattr(estimator, parameter)!r}. Set it back, or call fit with warm_start=False "
                "to start anew."
            )
    if estimator.device not in ("auto", device):
        raise ValueError(
            f"{type(estimator).__name__}(device={estimator.device!r}) cannot go on with its trained net, which is on "
            f"{device!r}. Set device={device!r}, or call fit with warm_start=False to start anew."
        )


def training_plan(estimator: Any, n_rows: int, seed: int) -> TrainingSettings:
    """Say how ``fit`` trains a bag of hash embeddings."""
    return make_plan(estimator, n_rows, seed, max_epochs=_max_epochs(estimator, n_rows), dropout=_dropout(estimator))


def make_plan(
    estimator: Any, n_rows: int, seed: int, *, max_epochs: int, dropout: tuple[int, int] | None = None
) -> TrainingSettings:
    """Say how ``fit`` trains, by the parameters that all classifiers have."""
    patience, plateau = estimator.n_iter_no_change, estimator.lr_plateau
    folder = estimator.checkpoint_dir
    return TrainingSettings(
        loss=estimator.loss,
        optimizer=estimator.optimizer,
        learning_rate=float(estimator.learning_rate),
        schedule=estimator.learning_rate_schedule,
        average=bool(estimator.average),
        max_epochs=max_epochs,
        max_time=None if estimator.max_time is None else float(estimator.max_time),
        batch_size=_batch_size(estimator, n_rows),
        shuffle=bool(estimator.shuffle),
        dropout=dropout,
        monitor=estimator.monitor,
        patience=None if patience is None else int(patience),
        lr_plateau=None if plateau is None else (int(plateau[0]), float(plateau[1])),
        restore_best=bool(estimator.restore_best),
        checkpoint_dir=None if folder is None else os.fspath(folder),
        verbose=int(estimator.verbose),
        callbacks=tuple(estimator.callbacks or ()),
        seed=seed,
    )


def streaming_plan(estimator: Any, seed: int) -> TrainingSettings:
    """Say how ``partial_fit`` trains a bag of hash embeddings."""
    return single_pass(training_plan(estimator, 1, seed))


def single_pass(plan: TrainingSettings) -> TrainingSettings:
    """Change a plan to that of ``partial_fit``: once over the rows, and every call alike."""
    return replace(plan, schedule="constant", average=False, max_epochs=1, max_time=None)


def _embedding_dim(estimator: Any, n_classes: int) -> int:
    if estimator.embedding_dim != "auto":
        return int(estimator.embedding_dim)
    if estimator.hidden_layer_sizes:
        return _DIM_WITH_HIDDEN_LAYERS
    wanted = min(n_classes, max(32, math.isqrt(n_classes)))
    return int(np.clip(-(-wanted // 4) * 4, 4, 128))


def _batch_size(estimator: Any, n_rows: int) -> int:
    if estimator.batch_size != "auto":
        return int(estimator.batch_size)
    return int(2 ** np.clip(np.round(np.log2(n_rows / 128)), 5, 8))


def _max_epochs(estimator: Any, n_rows: int) -> int:
    if estimator.max_epochs != "auto":
        return int(estimator.max_epochs)
    if estimator.early_stopping:
        return _EPOCHS_WITH_EARLY_STOPPING
    return 2 if n_rows < _MANY_ROWS else 1


def _dropout(estimator: Any) -> tuple[int, int] | None:
    pair = estimator.ngram_dropout
    return None if pair is None else (int(pair[0]), int(pair[1]))
