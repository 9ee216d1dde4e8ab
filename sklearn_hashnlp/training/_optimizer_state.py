"""An optimizer's state as arrays, exact to resume or rounded to step sizes; without torch."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Self, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels.embeddings._tables import lazy_table
from sklearn_hashnlp.persistence._tables import TABLE_VALUES, pack_table, unpack_table

OptimizerName: TypeAlias = Literal["adagrad", "adam", "sgd"]
Packed: TypeAlias = tuple[dict[str, Any], dict[str, NDArray[Any]]]
Shapes: TypeAlias = Mapping[str, tuple[int, ...]]  # shape of each parameter by name

_NAMES: Final = get_args(OptimizerName)
# Accumulators of the row-wise optimizers; Adam restarts its mean at zero.
_ACCUMULATORS = ("sum", "square", "step", "steps")
_STEP_SIZES = "step_sizes."  # prefix of their arrays in a model
_ONE = 128  # code of 1; codes are in steps of a factor sqrt(2), and 0 is 0


@dataclass
class OptimizerState:
    """The accumulated state of each parameter."""

    optimizer: str
    eps: list[float | None]  # one per parameter group
    parameters: dict[str, dict[str, Any]]  # arrays and numbers, by the name of a parameter
    learning_rates: list[float] | None = None  # one per parameter group; None for step sizes

    def to_training_state(self, tables: Container[str]) -> Packed:
        """Return JSON values and arrays, with the trained rows of tables only."""
        arrays: dict[str, NDArray[Any]] = {}
        for name, key, value in self.items():
            is_table = isinstance(value, np.ndarray) and name in tables
            full_name = f"{name}.{key}"
            arrays |= (
                pack_table(full_name, value, 0.0) if is_table else {full_name: np.array(value)}
            )
        return {
            "optimizer": self.optimizer,
            "learning_rates": self.learning_rates,
            "eps": self.eps,
        }, arrays

    @classmethod
    def from_training_state(
        cls, shapes: Shapes, values: Mapping[str, Any], arrays: Mapping[str, Any]
    ) -> Self:
        """Read the result of :meth:`to_training_state`."""
        optimizer, parameters = _checked(values["optimizer"]), unpack_parameters(shapes, arrays)
        return cls(optimizer, list(values["eps"]), parameters, list(values["learning_rates"]))

    def items(self) -> Iterator[tuple[str, str, Any]]:
        """Iterate over the name of a parameter, the key of a part of its state, and that part."""
        return (
            (name, key, value)
            for name, state in self.parameters.items()
            for key, value in state.items()
        )


def pack_step_sizes(
    state: OptimizerState | None, rows_per_step: int | None, shapes: Shapes, tables: Container[str]
) -> Packed:
    """Return the accumulators as eight-bit codes, one per column for matrices of dense layers."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, key, value in [] if state is None or state.optimizer not in _NAMES else state.items():
        if key not in _ACCUMULATORS:
            continue
        value = np.asarray(value, dtype=np.float32)
        if name not in tables and value.ndim > 1 and value.shape == shapes[name]:
            value = value.mean(axis=0, keepdims=True)
        full_name, codes = f"{_STEP_SIZES}{name}.{key}", _encode(value)
        arrays |= pack_table(full_name, codes, 0) if name in tables else {full_name: codes}
    values = (
        {"optimizer": state.optimizer, "eps": state.eps} if state is not None and arrays else {}
    )
    return {"step_sizes": values | {"rows_per_step": rows_per_step}}, arrays


def unpack_step_sizes(
    values: Mapping[str, Any], arrays: Mapping[str, Any], shapes: Shapes
) -> tuple[OptimizerState | None, int | None]:
    """Reverse :func:`pack_step_sizes`; converted or untrained models have no state."""
    values = values["step_sizes"]
    if "optimizer" not in values:
        return None, values["rows_per_step"]
    parameters: dict[str, dict[str, Any]] = {}
    for name, shape in shapes.items():
        full_name = f"{_STEP_SIZES}{name}"
        keys = _keys_of(full_name, arrays) & set(_ACCUMULATORS)
        state: dict[str, Any] = {key: _decoded(f"{full_name}.{key}", arrays, shape) for key in keys}
        if "step" in state:
            state |= {"mean": lazy_table(shape), "step": round(float(state["step"]))}
        if state:
            parameters[name] = state
    eps: list[float | None] = [float(eps) for eps in values["eps"]]
    return OptimizerState(_checked(values["optimizer"]), eps, parameters), values["rows_per_step"]


def _checked(optimizer: Any) -> str:
    if optimizer not in _NAMES:
        raise ValueError(f"The optimizer must be one of {_NAMES}, got {optimizer!r}.")
    return str(optimizer)


def unpack_parameters(shapes: Shapes, arrays: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the state of each parameter from packed arrays."""
    states = {
        name: {
            key: _accumulator(f"{name}.{key}", arrays, shape)
            for key in sorted(_keys_of(name, arrays))
        }
        for name, shape in shapes.items()
    }
    return {name: state for name, state in states.items() if state}


def _keys_of(name: str, arrays: Mapping[str, Any]) -> set[str]:
    return {key[len(name) + 1 :].partition(".")[0] for key in arrays if key.startswith(f"{name}.")}


def _accumulator(name: str, arrays: Mapping[str, Any], shape: tuple[int, ...]) -> Any:
    if f"{name}{TABLE_VALUES}" in arrays:
        columns = arrays[f"{name}{TABLE_VALUES}"].shape[1:]
        # Accumulators of elements have two axes, whatever the axes of a parameter.
        if columns not in ((), (math.prod(shape[1:]),), shape[1:]):
            raise ValueError(
                f"The array '{name}{TABLE_VALUES}' must have rows of one number or of as many as "
                "the parameter's."
            )
        table = lazy_table((shape[0], *columns))
        unpack_table(name, arrays, table)
        return table
    array = arrays[name]
    if array.shape == ():  # a step count: a number in row-wise optimizers, a tensor in torch's
        return np.array(array) if array.dtype == np.float32 else array.item()
    # The weights of a tree, with sparse gradients, may have a number per row; its biases have rows
    # of one number.
    shapes = [shape, shape[:1], (*shape[:1], 1)]
    if array.shape not in shapes:
        raise ValueError(f"The array {name!r} must have shape {shapes[0]}, it has {array.shape}.")
    return np.array(array)


def _decoded(name: str, arrays: Mapping[str, Any], shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Return one accumulator from its codes."""
    stored = arrays.get(name)
    if stored is not None and stored.dtype != np.uint8:
        raise ValueError(f"The array {name!r} must be of uint8, it is of {stored.dtype}.")
    if stored is not None and stored.shape != shape[:1]:
        if stored.shape != () and (len(shape) < 2 or stored.shape != (1, *shape[1:])):
            raise ValueError(
                f"The array {name!r} must have a code for each row or column, it has "
                f"{stored.shape}."
            )
        values = _decode(stored)
        return values if not values.ndim else np.broadcast_to(values, shape).copy()
    codes = np.zeros(shape[0], dtype=np.uint8)
    unpack_table(name, arrays, codes)
    rows = np.flatnonzero(codes)
    table = lazy_table(shape[:1])
    table[rows] = _decode(codes[rows])
    return table


def _encode(values: NDArray[np.float32]) -> NDArray[np.uint8]:
    positive = values > 0
    logarithms = 2 * np.log2(values, where=positive, out=np.zeros_like(values))
    return np.where(positive, np.clip(np.rint(logarithms) + _ONE, 1, 255), 0).astype(np.uint8)


def _decode(codes: NDArray[np.uint8]) -> NDArray[np.float32]:
    return np.where(codes > 0, np.exp2((codes.astype(np.float32) - _ONE) / 2), 0).astype(np.float32)
