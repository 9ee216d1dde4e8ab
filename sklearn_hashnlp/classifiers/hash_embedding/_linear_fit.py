"""LinearFit: the arrays of a linear HashEmbeddingClassifier, and the state needed to resume training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.classifiers._losses import Loss, loss_from_values, loss_to_values
from sklearn_hashnlp.kernels.embeddings._tables import TableSpec
from sklearn_hashnlp.kernels.linear._linear_model import LinearModel
from sklearn_hashnlp.persistence._tables import check_stored, pack_table, unpack_table
from sklearn_hashnlp.training._optimizer_state import OptimizerState, Packed, pack_step_sizes, unpack_step_sizes

_POOL, _IMPORTANCE, _NUMBERS = "bag.pool", "bag.importance", "bag._extra_state"
_WEIGHT, _BIAS = "head.0.weight", "head.0.bias"
_TABLES = (_POOL, _IMPORTANCE)


@dataclass
class LinearFit:
    """A linear model with its loss; a net is made from it when training continues."""

    architecture: dict[str, Any]  # of the net
    model: LinearModel
    loss: Loss
    rows_per_step: int | None = None
    optimizer: OptimizerState | None = None
    training_state: Packed | None = None  # of a model that was saved with one

    @property
    def has_training_state(self) -> bool:
        """Whether training can be resumed with the same results."""
        return self.training_state is not None or (
            self.optimizer is not None and self.optimizer.learning_rates is not None
        )

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each parameter, by its name in the net."""
        return _shapes_of(self.model.spec, self.architecture["num_classes"])

    def to_state(self) -> Packed:
        """Return architecture, device and loss as JSON values, and the weights as arrays, in the format of a net."""
        model, values = self.model, {"architecture": self.architecture, "device": "cpu"}
        arrays = pack_table(_POOL, model.pool, 0.0)
        if model.importance is not None:
            arrays |= pack_table(_IMPORTANCE, model.importance, self.architecture["importance_init"])
        numbers = np.array(model.spec.to_numbers(), dtype=np.int64)
        arrays |= {_NUMBERS: numbers, _WEIGHT: model.weight.copy(), _BIAS: model.bias.copy()}
        return values | {"probabilities": loss_to_values(self.loss)}, arrays

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Load the result of ``to_state``, checked before memory is allocated."""
        architecture = values["architecture"]
        spec = spec_of(architecture)
        spec.check_state(arrays[_NUMBERS].tolist())
        n_classes, shapes = architecture["num_classes"], _shapes_of(spec, architecture["num_classes"])
        for name, shape in shapes.items():
            check_stored(name, arrays, shape)
        model = LinearModel.zeros(spec, n_classes, architecture["importance_init"])
        unpack_table(_POOL, arrays, model.pool)
        if model.importance is not None:
            unpack_table(_IMPORTANCE, arrays, model.importance)
        unpack_table(_WEIGHT, arrays, model.weight)
        unpack_table(_BIAS, arrays, model.bias)
        return cls(architecture, model, loss_from_values(values["probabilities"]))

    def to_step_sizes(self) -> Packed:
        """Return rounded step sizes for further training."""
        return pack_step_sizes(self.optimizer, self.rows_per_step, self.shapes, _TABLES)

    def load_step_sizes(self, values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Load the result of :meth:`to_step_sizes`."""
        self.optimizer, self.rows_per_step = unpack_step_sizes(values, arrays, self.shapes)

    def to_training_state(self) -> Packed:
        """Return the exact state of the optimizer."""
        if self.training_state is not None:
            return self.training_state
        assert self.optimizer is not None
        return self.optimizer.to_training_state(_TABLES)

    def load_training_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Load the result of :meth:`to_training_state`."""
        OptimizerState.from_training_state(self.shapes, values, arrays)  # checks it
        self.training_state = values, arrays


def spec_of(architecture: Mapping[str, Any]) -> TableSpec:
    """Return the table specification of the arguments of a module."""
    names = ("num_embeddings", "num_buckets", "embedding_dim", "num_hashes", "variant", "aggregation", "append_weight")
    named = {name: architecture[name] for name in (*names, "hash_rows", "normalize") if name in architecture}
    return TableSpec(**named, seed=architecture["hash_seed"])


def is_linear(architecture: Mapping[str, Any], arrays: Mapping[str, Any], device: str) -> bool:
    """Return whether a saved net is a linear model on the CPU."""
    is_median = architecture["aggregation"] == "median" and architecture["variant"] != "standard"
    has_tree = any(name.startswith("tree.") for name in arrays)
    return device == "cpu" and not (architecture["hidden_sizes"] or is_median or has_tree)


def _shapes_of(spec: TableSpec, n_classes: int) -> dict[str, tuple[int, ...]]:
    tables = {_POOL: spec.pool_shape} | ({_IMPORTANCE: spec.importance_shape} if spec.has_importance else {})
    return tables | {_WEIGHT: (n_classes, spec.output_dim), _BIAS: (n_classes,)}
