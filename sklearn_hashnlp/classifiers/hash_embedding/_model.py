"""HashEmbeddingModel: the learned arrays and numbers of a HashEmbeddingClassifier, without torch.

Predictions, explanations, exports and saved models are functions of it. A net is made from it where
training continues, and returns it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from typing import Any, Final, NamedTuple, Self

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray

from sklearn_hashnlp._posix import usable_cores
from sklearn_hashnlp._threads import is_worker, map_blocks
from sklearn_hashnlp.classifiers._calibration import Calibration
from sklearn_hashnlp.classifiers._losses import Loss, loss_from_values, loss_to_values
from sklearn_hashnlp.classifiers.hash_embedding._sparse_rows import MAX_COLUMNS, SparseRows
from sklearn_hashnlp.kernels.embeddings._tables import TableSpec, lazy_table
from sklearn_hashnlp.kernels.linear._linear_model import LinearModel, score_bags
from sklearn_hashnlp.persistence._tables import (
    TABLE_VALUES,
    check_shape,
    check_stored,
    pack_table,
    unpack_table,
)
from sklearn_hashnlp.training._optimizer_state import (
    OptimizerState,
    Packed,
    pack_step_sizes,
    unpack_step_sizes,
)
from sklearn_hashnlp.trees import SoftmaxTree

POOL, IMPORTANCE = "bag.pool", "bag.importance"
_TABLES = (POOL, IMPORTANCE)
_TREE, _EXTRA = "tree.", "._extra_state"
_NUMBERS = f"bag{_EXTRA}"
_FREQUENCIES = "document_frequencies"
STATISTICS: Final = ("running_mean", "running_var", "num_batches_tracked")  # of batch normalization
_SPEC = (
    "num_embeddings",
    "num_buckets",
    "embedding_dim",
    "num_hashes",
    "variant",
    "aggregation",
    "append_weight",
)
DIVERGENCE = (
    "The training diverged: the loss or a score is infinite or not a number. Set a smaller "
    "learning_rate, and scale X down if its rows are not normalized."
)
_MIN_VALUES = 2**15  # per thread: fewer take less time than starting it
_MAX_BLOCK_ROWS = 1024  # per thread at once


@dataclass
class HashEmbeddingModel:
    """The tables and layers of a network over sparse rows, its loss, and its training state."""

    architecture: dict[str, Any]  # arguments of the network
    weights: dict[str, NDArray[Any]]  # by their names in the network
    loss: Loss
    calibration: Calibration
    tree: SoftmaxTree | None = None  # of a hierarchical softmax
    device: str = "cpu"  # where it was trained
    rows_per_step: int | None = None
    optimizer: OptimizerState | None = None
    # document frequencies of the rows of the importance table
    frequencies: NDArray[np.int32] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields, without what is computed of them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def of_linear(
        cls,
        architecture: dict[str, Any],
        linear: LinearModel,
        loss: Loss,
        calibration: Calibration,
        **state: Any,
    ) -> Self:
        """Return the model of a linear one, without copying its arrays."""
        weights = {POOL: linear.pool} | (
            {} if linear.importance is None else {IMPORTANCE: linear.importance}
        )
        weights |= {"head.0.weight": linear.weight, "head.0.bias": linear.bias}
        return cls(architecture, weights, loss, calibration, **state)

    @cached_property
    def spec(self) -> TableSpec:
        """The specification of the tables."""
        return spec_of(self.architecture)

    @property
    def last_layer(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The weights and the bias of the last layer, or of the tree's nodes."""
        name = self.last_layer_name
        return self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]

    @property
    def last_layer_name(self) -> str:
        """The name of the last layer in the network."""
        return _last_layer(self.architecture)

    @property
    def has_linear_head(self) -> bool:
        """Whether there are neither hidden layers nor a tree."""
        return not self.architecture["hidden_sizes"] and self.tree is None

    @cached_property
    def linear(self) -> LinearModel | None:
        """The arrays of a linear model, which kernels score; None for other models."""
        weight, bias = self.last_layer
        return (
            self.bag._replace(weight=weight, bias=bias)
            if self.bag is not None and self.has_linear_head
            else None
        )

    @cached_property
    def calibrated(self) -> LinearModel | None:
        """The linear model with scores that are moved towards those of the class shares."""
        prior = self.loss.prior_scores(self.calibration.class_counts)
        if self.linear is None or prior is None:
            return self.linear
        return self.linear._replace(prior=prior, half=self.calibration.half, base=self.base)

    @property
    def bag(self) -> LinearModel | None:
        """The tables above a layer without outputs; None for a median, which kernels lack."""
        return (
            None if self.spec.aggregation == "median" and self.spec.has_importance else self._sums
        )

    @cached_property
    def _sums(self) -> LinearModel:
        return bag_of(self.spec, self.weights[POOL], self.weights.get(IMPORTANCE))

    @cached_property
    def base(self) -> float:
        """The squared length of what all training rows have."""
        return base_of(self._sums, self.calibration)

    def lengths(self, rows: SparseRows) -> NDArray[np.float64]:  # (n_rows,)
        """Return row lengths before normalization, without parts common to all training rows."""
        return score_rows(self.tables, rows).lengths

    @property
    def tables(self) -> LinearModel:
        """The tables above a layer without outputs, to compute lengths; of a median, the sums."""
        return self._sums._replace(base=self.base)

    @property
    def n_parameters(self) -> int:
        """The number of all trained numbers."""
        return sum(
            array.size for name, array in self.weights.items() if not name.endswith(STATISTICS)
        )

    @property
    def has_training_state(self) -> bool:
        """Whether training can continue as if the model had never been saved."""
        return self.optimizer is not None and self.optimizer.learning_rates is not None

    def to_state(self) -> Packed:
        """Return architecture, device and loss as JSON values, and trained rows and weights."""
        initial = {POOL: 0.0, IMPORTANCE: self.architecture["importance_init"]}
        arrays: dict[str, NDArray[Any]] = {}
        for name, array in self.weights.items():
            arrays |= (
                pack_table(name, array, initial[name]) if name in initial else {name: array.copy()}
            )
        arrays[_NUMBERS] = np.array(self.spec.to_numbers(), dtype=np.int64)
        if self.tree is not None:
            arrays[f"{_last_layer(self.architecture)}{_EXTRA}"] = np.array([self.tree.digest, 0])
            arrays |= {f"{_TREE}{name}": array for name, array in self.tree.to_arrays().items()}
        calibration, own = self.calibration.to_state()
        values = {
            "architecture": self.architecture,
            "device": self.device,
            "probabilities": loss_to_values(self.loss),
        }
        return values | calibration, arrays | own

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Load results of :meth:`to_state` and :meth:`to_step_sizes`, checked before allocation."""
        architecture, spec = values["architecture"], spec_of(values["architecture"])
        spec.check_state(arrays[_NUMBERS].tolist())
        stored = {
            name.removeprefix(_TREE): array
            for name, array in arrays.items()
            if name.startswith(_TREE)
        }
        tree = SoftmaxTree.from_arrays(stored) if stored else None
        if tree is not None and tree.n_classes != architecture["num_classes"]:
            raise ValueError(
                f"The tree must have {architecture['num_classes']} classes, got {tree.n_classes}."
            )
        if tree is not None and arrays[f"{_last_layer(architecture)}{_EXTRA}"][0] != tree.digest:
            raise ValueError("The weights of the tree's nodes were trained with another tree.")
        shapes = _shapes_of(architecture, spec, tree)
        for name, shape in shapes.items():
            check_stored(name, arrays, shape)
        weights = {
            name: _restored(name, shape, architecture, arrays) for name, shape in shapes.items()
        }
        loss = loss_from_values(values["probabilities"])
        n_columns = MAX_COLUMNS if spec.hash_rows else spec.num_embeddings
        calibration = Calibration.from_state(values, arrays, architecture["num_classes"], n_columns)
        model = cls(architecture, weights, loss, calibration, tree, values["device"])
        model.optimizer, model.rows_per_step = unpack_step_sizes(values, arrays, model._shapes)
        return model

    def to_step_sizes(self) -> Packed:
        """Return rounded step sizes for further training."""
        return pack_step_sizes(self.optimizer, self.rows_per_step, self._shapes, _TABLES)

    def to_training_state(self) -> Packed:
        """Return the exact state of the optimizer, and the document frequencies."""
        assert self.optimizer is not None
        values, arrays = self.optimizer.to_training_state(_TABLES)
        return values, arrays | (
            {} if self.frequencies is None else pack_table(_FREQUENCIES, self.frequencies, 0)
        )

    def load_training_state(
        self, values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> None:
        """Load the result of :meth:`to_training_state`."""
        self.optimizer = OptimizerState.from_training_state(self._shapes, values, arrays)
        if f"{_FREQUENCIES}{TABLE_VALUES}" in arrays:
            self.frequencies = np.zeros(self.spec.num_embeddings, dtype=np.int32)
            unpack_table(_FREQUENCIES, arrays, self.frequencies)

    @property
    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {
            name: array.shape
            for name, array in self.weights.items()
            if not name.endswith(STATISTICS)
        }


def spec_of(architecture: Mapping[str, Any]) -> TableSpec:
    """Return the table specification of the arguments of a network."""
    named = {
        name: architecture[name]
        for name in (*_SPEC, "hash_rows", "normalize")
        if name in architecture
    }
    return TableSpec(**named, seed=architecture["hash_seed"])


def bag_of(
    spec: TableSpec, pool: NDArray[np.float32], importance: NDArray[np.float32] | None
) -> LinearModel:
    """Return the tables above a layer without outputs; of a median's the sums, for lengths only."""
    nothing = np.empty((0, spec.output_dim), dtype=np.float32)
    spec = spec if spec.aggregation != "median" else replace(spec, aggregation="sum")
    return LinearModel(spec, pool, importance, nothing, nothing[:, 0])


def base_of(model: LinearModel, calibration: Calibration) -> float:
    """Return the squared length of what all training rows have."""
    if len(calibration.common_columns) == 0:
        return 0.0
    common = SparseRows.of_one(calibration.common_columns, calibration.common_values)
    return float(score_rows(model, common).lengths[0] ** 2)


def _last_layer(architecture: Mapping[str, Any]) -> str:
    return f"head.{3 * len(architecture['hidden_sizes'])}"


def _shapes_of(
    architecture: Mapping[str, Any], spec: TableSpec, tree: SoftmaxTree | None
) -> dict[str, tuple[int, ...]]:
    """Return the shapes of weights: tables, hidden layers with batch normalization, last layer."""
    shapes: dict[str, tuple[int, ...]] = {POOL: spec.pool_shape}
    shapes |= {IMPORTANCE: spec.importance_shape} if spec.has_importance else {}
    width, layer = spec.output_dim, 0
    for size in architecture["hidden_sizes"]:
        shapes |= {f"head.{layer}.weight": (size, width), f"head.{layer}.bias": (size,)}
        shapes |= {
            f"head.{layer + 1}.{name}": (size,) for name in ("weight", "bias", *STATISTICS[:2])
        }
        shapes[f"head.{layer + 1}.{STATISTICS[2]}"] = ()
        width, layer = size, layer + 3
    n_scores = architecture["num_classes"] if tree is None else tree.n_scores
    return shapes | {f"head.{layer}.weight": (n_scores, width), f"head.{layer}.bias": (n_scores,)}


def _restored(
    name: str,
    shape: tuple[int, ...],
    architecture: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
) -> NDArray[Any]:
    """Return a weight from its array, or a table from its trained rows."""
    if name in _TABLES:
        table = lazy_table(shape)
        if name == IMPORTANCE and architecture["importance_init"]:
            table[:] = architecture["importance_init"]
        unpack_table(name, arrays, table)
        return table
    check_shape(name, arrays[name], shape)
    dtype = np.dtype(np.int64 if name.endswith(STATISTICS[2]) else np.float32)
    if arrays[name].dtype.kind != dtype.kind:
        raise ValueError(
            f"The array {name!r} is of {arrays[name].dtype}, and the model has {dtype}."
        )
    return np.array(arrays[name], dtype=dtype, order="C")


class ScoredRows(NamedTuple):
    """The scores and labels of rows."""

    scores: NDArray[np.float64]  # (n_rows, n_classes), or (0, n_classes)
    labels: NDArray[np.int64]  # (n_rows,): index of the largest score
    finite: bool  # whether all scores are
    lengths: NDArray[np.float64]  # (n_rows,): see :func:`score_bags`


def score_rows(model: LinearModel, rows: SparseRows, *, with_scores: bool = True) -> ScoredRows:
    """Score rows, bit for bit as torch's modules."""
    n_rows, n_classes = len(rows.indptr) - 1, len(model.bias)
    scores = np.empty((n_rows if with_scores else 0, n_classes))
    labels, lengths = np.empty(n_rows, dtype=np.int64), np.empty(n_rows)
    data = rows.data.astype(np.float32, copy=False)
    scorer, finite = model.scorer(), []

    def score(block: slice) -> None:
        finite.append(
            score_bags(scorer, rows.indices, rows.indptr, data, block, scores, labels, lengths)
        )

    map_row_blocks(score, n_rows, len(data))
    return ScoredRows(scores, labels, all(finite), lengths)


def embed_rows(
    model: LinearModel, rows: SparseRows
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return the vectors of rows, as the input of the layer, and the lengths of the rows."""
    width = model.spec.output_dim  # the scores of a layer that returns its input
    nothing = np.zeros(width, dtype=np.float32)
    identity = model._replace(weight=np.eye(width, dtype=np.float32), bias=nothing)
    scored = score_rows(identity, rows)
    return scored.scores.astype(np.float32), scored.lengths


def map_row_blocks(work: Callable[[slice], None], n_rows: int, n_values: int) -> None:
    """Call a function for blocks of rows, on all processors if there are enough values."""
    is_small = n_values < 2 * _MIN_VALUES or is_worker()
    n_threads = 1 if is_small else min(_n_processors(), n_values // _MIN_VALUES)
    if n_threads == 1:
        work(slice(0, n_rows))
    else:
        map_blocks(work, n_rows, n_threads, max_rows=_MAX_BLOCK_ROWS)


def _n_processors() -> int:
    return min(_n_processors_of_process(), usable_cores())


@cache
def _n_processors_of_process() -> int:
    return int(cpu_count())  # slow: it reads the limits of containers
