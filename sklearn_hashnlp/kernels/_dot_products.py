"""Scalar products and sums of vectors, many at once: the innermost loops of a small matrix product.

A number that is loaded is used more than once. They belong into kernels that are ``vectorized``.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from sklearn_hashnlp.kernels._compile import Number, inlined


@inlined
def dot(u: NDArray[Any], v: NDArray[Any]) -> Number:
    """Multiply a vector by another."""
    total = u.dtype.type(0)
    for column in range(len(u)):
        total += u[column] * v[column]
    return total


@inlined
def dot_4(u: NDArray[Any], v_0: NDArray[Any], v_1: NDArray[Any], v_2: NDArray[Any], v_3: NDArray[Any]) -> Number:
    """Multiply a vector by four others; the result is a tuple of four numbers."""
    s_0 = s_1 = s_2 = s_3 = u.dtype.type(0)
    for column in range(len(u)):
        value = u[column]
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
) -> Number:
    """Multiply each of four vectors by each of four others; the result is four tuples of four numbers, one a u."""
    s_00 = s_01 = s_02 = s_03 = s_10 = s_11 = s_12 = s_13 = u_0.dtype.type(0)
    s_20 = s_21 = s_22 = s_23 = s_30 = s_31 = s_32 = s_33 = u_0.dtype.type(0)
    for column in range(len(u_0)):
        a_0, a_1, a_2, a_3 = u_0[column], u_1[column], u_2[column], u_3[column]
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
    """Add eight vectors, each times its scale, to ``total`` in place; both are tuples of eight."""
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
    """Add four vectors, each times its scale, to ``total`` in place; both are tuples of four."""
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
