"""Ask for a row of a table before it is needed, so that memory answers while other rows are being used."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from sklearn_hashnlp.kernels._compile import Number, inlined

_LINE = 64  # bytes that memory gives at once
_READ, _KEEP, _DATA = 0, 3, 1  # arguments of LLVM's prefetch: not for writing; in all caches; not instructions


@intrinsic  # type: ignore[untyped-decorator]  # numba has no types
def _prefetch(_typing_context: Any, table: Any, _place: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        address = builder.gep(array.data, [arguments[1]])
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        hint = builder.module.declare_intrinsic(
            "llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        )
        builder.call(hint, [builder.bitcast(address, byte), number(_READ), number(_KEEP), number(_DATA)])
        return context.get_dummy_value()

    return types.void(table, types.intp), generate


@intrinsic  # type: ignore[untyped-decorator]  # numba has no types
def _values_in_line(_typing_context: Any, table: Any) -> Any:
    def generate(context: Any, _builder: Any, signature: Any, _arguments: Any) -> Any:
        size = context.get_abi_sizeof(context.get_data_type(signature.args[0].dtype))
        return context.get_constant(types.intp, max(_LINE // size, 1))  # `table.itemsize` is no constant: a division

    return types.intp(table), generate


@inlined
def prefetch_row(
    table: Any,  # (n_rows, n_columns)
    row: Number,
) -> None:
    """Start to load ``table[row]`` into the caches: a hint, no more."""
    width = table.shape[1]
    for column in range(0, width, _values_in_line(table)):
        _prefetch(table, row * width + column)
    if width > 1:  # a row may end in a line that it does not begin in
        _prefetch(table, row * width + width - 1)
