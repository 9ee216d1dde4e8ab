"""A graph of ONNX operators that is written one operator after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_MAX_BYTES = 2**31 - 2**24  # of a file; the operators take the rest


class OnnxGraph:
    """Operators, inputs and constants by their names; :meth:`add` returns the name of the result."""

    def __init__(self) -> None:
        from onnx import helper, numpy_helper

        self._helper, self._numpy_helper = helper, numpy_helper
        self._nodes: list[Any] = []
        self._inputs: list[Any] = []
        self._constants: dict[str, Any] = {}
        self._constant_names: dict[tuple[Any, ...], str] = {}

    def input(self, name: str, dtype: DTypeLike, shape: Sequence[int | str]) -> str:
        """Add an input."""
        kind = self._helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self._inputs.append(self._helper.make_tensor_value_info(name, kind, list(shape)))
        return name

    def constant(self, value: Any) -> str:
        """Return the name of a constant; lists of integers are int64. Equal small ones are stored once."""
        array = np.asarray(value)
        key = (array.dtype.str, array.shape, array.tobytes()) if array.size < 100 else (id(value), len(self._constants))
        if key not in self._constant_names:
            name = f"constant_{len(self._constants)}"
            self._constants[name] = self._numpy_helper.from_array(
                np.ascontiguousarray(array).reshape(array.shape), name
            )
            self._constant_names[key] = name
        return self._constant_names[key]

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add an operator; return the name of its output."""
        name = f"{operator.lower()}_{len(self._nodes)}"
        self._nodes.append(self._helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def size(self, vector: str) -> str:
        """Return the length of a vector, as a vector of one number."""
        return self.add("Shape", vector)

    def filled(self, length: str, value: Any) -> str:
        """Return a vector of equal numbers."""
        return self.add("ConstantOfShape", length, value=self._numpy_helper.from_array(np.asarray(value).reshape(1)))

    def add_rows(self, values: str, owners: str, n_rows: str) -> str:
        """Add up the rows of a matrix that have the same owner: (n_rows, width)."""
        width = self.add("Slice", self.add("Shape", values), self.constant([1]), self.constant([2]))
        shape = self.add("Concat", n_rows, width, axis=0)
        where = self.add("Unsqueeze", owners, self.constant([1]))
        return self.add("ScatterND", self.filled(shape, np.float32(0)), where, values, reduction="add")

    def find(self, sorted_numbers: NDArray[np.int64], numbers: str) -> str:
        """Return the index of each number among sorted ones, or their length where it is not among them."""
        n = len(sorted_numbers)
        n_steps = n.bit_length()
        keys = np.full(2**n_steps, np.iinfo(np.int64).max)
        keys[:n] = sorted_numbers
        table = self.constant(keys)
        at = self.times(numbers, 0)
        for step in reversed(range(n_steps)):  # binary search
            candidate = self.add("Gather", table, self.plus(at, 2**step - 1), axis=0)
            is_less = self.add("Cast", self.add("Less", candidate, numbers), to=7)  # int64
            at = self.add("Add", at, self.times(is_less, 2**step))
        found = self.add("Equal", self.add("Gather", table, at, axis=0), numbers)
        return self.add("Where", found, at, self.constant(np.int64(n)))

    def times(self, numbers: str, factor: int) -> str:
        """Return integers times a constant."""
        return self.add("Mul", numbers, self.constant(np.int64(factor)))

    def plus(self, numbers: str, term: int) -> str:
        """Return integers plus a constant."""
        return self.add("Add", numbers, self.constant(np.int64(term)))

    def shifted(self, numbers: str, n_bits: int) -> str:
        """Return integers from zero on, without their last bits."""
        return self.add("Div", numbers, self.constant(np.int64(2**n_bits)))

    def modulo(self, numbers: str, divisor: int) -> str:
        """Return the remainder."""
        return self.add("Mod", numbers, self.constant(np.int64(divisor)))

    def xor_shifted(self, numbers: str, n_bits: int) -> str:
        """Return ``x ^ (x >> n_bits)``."""
        return self.add("BitwiseXor", numbers, self.shifted(numbers, n_bits))

    def times_modulo(self, numbers: str, factor: int) -> str:
        """Return 32-bit integers times a 32-bit constant modulo 2**32, by products below 2**48."""
        upper, lower = divmod(factor, 2**16)
        high = self.times(self.modulo(self.times(numbers, upper), 2**16), 2**16)
        return self.modulo(self.add("Add", high, self.times(numbers, lower)), 2**32)

    def serialize(
        self,
        outputs: Mapping[str, str],
        *,
        n_columns: int,
        metadata: Mapping[str, str],
        opset: int,
        ir_version: int,
    ) -> bytes:
        """Return the bytes of the model, the same for the same graph; the outputs are matrices."""
        from onnx import TensorProto, checker

        n_bytes = sum(len(constant.raw_data) for constant in self._constants.values())
        if n_bytes > _MAX_BYTES:
            raise ValueError(
                f"export_onnx: the tables take {n_bytes:,} bytes, and an ONNX model has at most 2**31. Train with a "
                "smaller n_buckets, n_embeddings or embedding_dim, or save the model with save_model."
            )
        helper = self._helper
        for name, inner in outputs.items():
            self._nodes.append(helper.make_node("Identity", [inner], [name]))
        results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n_rows", n_columns]) for name in outputs]
        graph = helper.make_graph(
            self._nodes, "classifier", self._inputs, results, initializer=list(self._constants.values())
        )
        model = helper.make_model(
            graph, producer_name="sklearn-hashnlp", opset_imports=[helper.make_opsetid("", opset)]
        )
        model.ir_version = ir_version
        helper.set_model_props(model, dict(metadata))
        checker.check_model(model)
        return bytes(model.SerializeToString(deterministic=True))
