"""Exponentials and logarithms as plain arithmetic, so that a loop over them uses vector instructions.

Both are in double precision, whatever the table's, and right to about its last bit. A call of the C library for each
number would cost more than the scalar product that the number is the result of.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from sklearn_hashnlp.kernels._compile import Number, inlined

_LOWEST = -708.0  # whose exponential is the smallest that double precision has in full
_PER_LN2 = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01  # its low bits are zero: a multiple by a small whole number is exact
_LN2_LOW = 1.90821492927058770002e-10
_BIAS, _SHIFT = 1023, 52  # of the exponent in a double


@intrinsic  # type: ignore[untyped-decorator]  # numba has no types
def _power_of_two(_typing_context: Any, _exponent: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(64)
        bits = builder.shl(builder.add(arguments[0], wide(_BIAS)), wide(_SHIFT))
        return builder.bitcast(bits, ir.DoubleType())

    return types.float64(types.int64), generate


@inlined
def exp_of_negative(x: Number) -> Number:
    """Return e**x for x <= 0: e**x = 2**n e**r, n whole and |r| <= ln(2) / 2, and the Taylor series of e**r."""
    value = _LOWEST if x < _LOWEST else x * 1.0
    n = int(value * _PER_LN2 - 0.5)  # cut off towards zero: the nearest whole number, as the value is not positive
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
    """Return log(1 + x) for 0 <= x <= 1: 2 artanh(s) with s = x / (2 + x) <= 1/3, and its Taylor series."""
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
