"""Ask for a row of a table before it is needed, so that memory answers while other rows are being used."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from sklearn_hashnlp.kernels._compile import Number, inlined

_READ, _KEEP, _DATA = 0, 3, 1  # arguments of LLVM's prefetch: not for writing; in all caches; not instructions


@intrinsic  # type: ignore[untyped-decorator]
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


@inlined
def prefetch_row(table: Any, row: Number) -> None:
    """Start to load ``table[row]`` into the caches: a hint, no more.

    Parameters
    ----------
    table : ndarray of shape (n_rows, n_columns)
        Contiguous.
    row : int
        Which.
    """
    width = table.shape[1]
    line = 64 // table.itemsize  # a load brings in a cache line
    for column in range(0, width, line):
        _prefetch(table, row * width + column)
    _prefetch(table, row * width + width - 1)
