"""Functions that numba lacks: huge pages, prefetching, vectorizable exp and log1p, blocked dot products."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, compiled, inlined

# numpy asks Linux for huge pages for large arrays, and numba does not: new memory would have a page fault every 4 KB.
_LARGE = 2**22  # bytes of the smallest array, as in numpy
_PAGE_MASK, _HUGE_PAGES = np.uint64(2**12 - 1), np.int32(14)  # MADV_HUGEPAGE
_madvise = types.ExternalFunction("madvise", types.int32(types.uintp, types.uintp, types.int32))

if sys.platform == "linux":

    @compiled
    def in_huge_pages(array: NDArray[Any]) -> NDArray[Any]:
        """Request huge pages for a new array, if it is large, and return it."""
        if array.nbytes >= _LARGE:
            address = np.uint64(array.ctypes.data)
            start = (address + _PAGE_MASK) & ~_PAGE_MASK
            _madvise(start, np.uint64(array.nbytes) - (start - address), _HUGE_PAGES)
        return array

else:

    @compiled
    def in_huge_pages(array: NDArray[Any]) -> NDArray[Any]:
        """Return the array."""
        return array


_CACHE_LINE = 64  # bytes
_READ, _ALL_CACHES, _DATA = 0, 3, 1  # arguments of LLVM's prefetch


@intrinsic  # type: ignore[untyped-decorator]  # numba has no types
def prefetch_row(_typing_context: Any, table: Any, row: Any) -> Any:  # noqa: ARG001 - numba passes all of them
    """Prefetch ``table[row]`` into the caches, so that memory is read while other rows are in use."""

    # One instruction for numba, as a function that is inlined takes longer to compile.
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        width = builder.extract_value(array.shape, 1)
        first = builder.gep(array.data, [builder.mul(arguments[1], width)])
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        hint = builder.module.declare_intrinsic(
            "llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        )

        def prefetch(column: Any) -> None:
            address = builder.bitcast(builder.gep(first, [column]), byte)
            builder.call(hint, [address, number(_READ), number(_ALL_CACHES), number(_DATA)])

        zero, one = width.type(0), width.type(1)
        values_per_line = max(_CACHE_LINE // context.get_abi_sizeof(array.data.type.pointee), 1)
        with cgutils.for_range_slice(builder, zero, width, width.type(values_per_line), width.type) as (column, _):
            prefetch(column)
        with builder.if_then(builder.icmp_signed(">", width, one)):  # it may end in another line than it starts in
            prefetch(builder.sub(width, one))
        return context.get_dummy_value()

    return types.void(table, types.intp), generate


# exp and log1p as plain arithmetic, so that a loop over them uses vector instructions: a call of the C library for each
# number would cost more than the dot product before it. Both compute in double precision, right to about its last bit.
_MIN_ARGUMENT = -708.0  # exp of a smaller one is subnormal
_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01  # its low bits are zero: a product with a small integer is exact
_LN2_LOW = 1.90821492927058770002e-10
_BIAS, _SHIFT = 1023, 52  # of the exponent of a double


@intrinsic  # type: ignore[untyped-decorator]  # numba has no types
def _power_of_two(_typing_context: Any, _exponent: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(64)
        bits = builder.shl(builder.add(arguments[0], wide(_BIAS)), wide(_SHIFT))
        return builder.bitcast(bits, ir.DoubleType())

    return types.float64(types.int64), generate


@inlined
def exp_of_negative(x: Number) -> Number:
    """Return e**x for x <= 0: e**x = 2**n e**r with |r| <= ln(2) / 2, by the Taylor series of e**r."""
    value = _MIN_ARGUMENT if x < _MIN_ARGUMENT else x * 1.0
    n = int(value * _LOG2_E - 0.5)  # truncation toward zero rounds to the nearest integer here
    r = (value - n * _LN2_HIGH) - n * _LN2_LOW
    series = 1 / 479001600 + r * (1 / 6227020800)
    series = 1 / 3628800 + r * (1 / 39916800 + r * series)
    series = 1 / 40320 + r * (1 / 362880 + r * series)
    series = 1 / 720 + r * (1 / 5040 + r * series)
    series = 1 / 24 + r * (1 / 120 + r * series)
    series = 0.5 + r * (1 / 6 + r * series)
    return (1.0 + r * (1.0 + r * series)) * _power_of_two(n)


@inlined
def log1p_of_unit(x: Number) -> Number:
    """Return log(1 + x) for 0 <= x <= 1: 2 artanh(s) with s = x / (2 + x) <= 1/3, by its Taylor series."""
    s = x / (2.0 + x)
    q = s * s
    series = 1 / 29 + q * (1 / 31 + q * (1 / 33))
    series = 1 / 25 + q * (1 / 27 + q * series)
    series = 1 / 21 + q * (1 / 23 + q * series)
    series = 1 / 17 + q * (1 / 19 + q * series)
    series = 1 / 13 + q * (1 / 15 + q * series)
    series = 1 / 9 + q * (1 / 11 + q * series)
    series = 1 / 5 + q * (1 / 7 + q * series)
    return 2.0 * s * (1.0 + q * (1 / 3 + q * series))


# Several dot products at once use each number that is loaded more than once. Use them in `vectorized` kernels.


@inlined
def dot(u: NDArray[Any], v: NDArray[Any], sums: NDArray[Any]) -> Number:
    """Return the dot product of two vectors, computed in the dtype of ``sums``, which is not read."""
    kind = sums.dtype.type
    total = kind(0)
    for column in range(len(u)):
        total += kind(u[column]) * v[column]
    return total


@inlined
def dot_4(
    u: NDArray[Any], v_0: NDArray[Any], v_1: NDArray[Any], v_2: NDArray[Any], v_3: NDArray[Any], sums: NDArray[Any]
) -> Number:
    """Return the dot products of a vector with four others, as a tuple."""
    kind = sums.dtype.type
    s_0 = s_1 = s_2 = s_3 = kind(0)
    for column in range(len(u)):
        value = kind(u[column])
        s_0 += value * v_0[column]
        s_1 += value * v_1[column]
        s_2 += value * v_2[column]
        s_3 += value * v_3[column]
    return s_0, s_1, s_2, s_3


@inlined
def dot_16(
    u_0: NDArray[Any],
    u_1: NDArray[Any],
    u_2: NDArray[Any],
    u_3: NDArray[Any],
    v_0: NDArray[Any],
    v_1: NDArray[Any],
    v_2: NDArray[Any],
    v_3: NDArray[Any],
    sums: NDArray[Any],
) -> Number:
    """Return the dot products of four vectors with four others, as a tuple of four numbers for each u."""
    kind = sums.dtype.type
    s_00 = s_01 = s_02 = s_03 = s_10 = s_11 = s_12 = s_13 = kind(0)
    s_20 = s_21 = s_22 = s_23 = s_30 = s_31 = s_32 = s_33 = kind(0)
    for column in range(len(u_0)):
        a_0, a_1, a_2, a_3 = kind(u_0[column]), kind(u_1[column]), kind(u_2[column]), kind(u_3[column])
        b_0, b_1, b_2, b_3 = v_0[column], v_1[column], v_2[column], v_3[column]
        s_00 += a_0 * b_0
        s_01 += a_0 * b_1
        s_02 += a_0 * b_2
        s_03 += a_0 * b_3
        s_10 += a_1 * b_0
        s_11 += a_1 * b_1
        s_12 += a_1 * b_2
        s_13 += a_1 * b_3
        s_20 += a_2 * b_0
        s_21 += a_2 * b_1
        s_22 += a_2 * b_2
        s_23 += a_2 * b_3
        s_30 += a_3 * b_0
        s_31 += a_3 * b_1
        s_32 += a_3 * b_2
        s_33 += a_3 * b_3
    return (s_00, s_01, s_02, s_03), (s_10, s_11, s_12, s_13), (s_20, s_21, s_22, s_23), (s_30, s_31, s_32, s_33)


@inlined
def add_scaled_8(total: NDArray[Any], scales: Number, vectors: Number) -> Number:
    """Add eight vectors, each times its scale, to ``total`` in place; ``scales`` and ``vectors`` are tuples."""
    d_0, d_1, d_2, d_3, d_4, d_5, d_6, d_7 = scales
    v_0, v_1, v_2, v_3, v_4, v_5, v_6, v_7 = vectors
    for column in range(len(total)):
        total[column] += (
            d_0 * v_0[column]
            + d_1 * v_1[column]
            + d_2 * v_2[column]
            + d_3 * v_3[column]
            + d_4 * v_4[column]
            + d_5 * v_5[column]
            + d_6 * v_6[column]
            + d_7 * v_7[column]
        )
    return None


@inlined
def add_scaled_4(total: NDArray[Any], scales: Number, vectors: Number) -> Number:
    """Add four vectors, each times its scale, to ``total`` in place; ``scales`` and ``vectors`` are tuples."""
    d_0, d_1, d_2, d_3 = scales
    v_0, v_1, v_2, v_3 = vectors
    for column in range(len(total)):
        total[column] += d_0 * v_0[column] + d_1 * v_1[column] + d_2 * v_2[column] + d_3 * v_3[column]
    return None


@inlined
def add_scaled(total: NDArray[Any], scale: Number, vector: NDArray[Any]) -> Number:
    """Add a vector times a scale to ``total`` in place."""
    for column in range(len(total)):
        total[column] += scale * vector[column]
    return None
