"""Vector instructions that a compiler does not find by itself: weighted sums of rows of bytes, lookups by bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from sklearn_hashnlp.kernels._hashes import FMIX_1, FMIX_2

LANES = 32
"""Number of bytes in a vector."""

MAX_WEIGHT = (2**15 - 1) // 127
"""The largest sum of weights that, times the largest byte, fits into 16 bits."""

_BYTE, _SHORT, _INT = ir.IntType(8), ir.IntType(16), ir.IntType(32)
_HALF = LANES // 2
_N_WORDS = LANES // 4
_BYTES, _SHORTS, _INTS = ir.VectorType(_BYTE, LANES), ir.VectorType(_SHORT, _HALF), ir.VectorType(_INT, _N_WORDS)
# The bytes of two vectors in turn: the first eight of both halves of each, or the last. That is one instruction; with
# whole halves it would be several.
_FIRST_EIGHTS = [half + place // 2 + LANES * (place % 2) for half in (0, _HALF) for place in range(_HALF)]
_LAST_EIGHTS = [lane + 8 for lane in _FIRST_EIGHTS]


def _row_adder(n_vectors: int) -> Any:
    """Make a function that adds weighted rows of a table, ``n_vectors`` vectors of their columns, in registers."""

    @intrinsic  # type: ignore[untyped-decorator]  # numba has no types
    def add_rows(
        _typing_context: Any,
        table: Any,  # int8 (n_rows, width)
        _column: Any,  # the first one
        rows: Any,  # int32 (n,)
        weights: Any,  # uint8 (n,): with a sum over the range of at most MAX_WEIGHT
        _begin: Any,  # of the range of rows and weights
        _end: Any,  # begin plus an even number, at least two
        sums: Any,  # int16
        _first: Any,  # flat index of the sum of column 0
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            table, rows, weights, sums = (
                context.make_array(signature.args[i])(context, builder, arguments[i]) for i in (0, 2, 3, 6)
            )
            column, begin, end, first = (arguments[i] for i in (1, 4, 5, 7))
            add = _add_pair if _has(context, "avx2") else _add_pair_plainly
            width = builder.extract_value(table.shape, 1)

            def add_two(position: Any, totals: list[Any]) -> list[Any]:
                starts = []
                for place in range(2):
                    row = builder.load(builder.gep(rows.data, [builder.add(position, position.type(place))]))
                    start = builder.add(builder.mul(builder.zext(row, width.type), width), column)
                    starts.append(builder.gep(table.data, [start]))
                return add(builder, starts, builder.gep(weights.data, [position]), totals)

            totals = _loop_over_pairs(builder, begin, end, 2 * n_vectors, add_two)
            if _has(context, "avx2"):
                totals = _in_order(builder, totals)
            for number, total in enumerate(totals):
                start = builder.add(builder.add(first, column), column.type(_HALF * number))
                _store(builder, total, builder.gep(sums.data, [start]))
            return context.get_dummy_value()

        index = types.intp
        return types.void(table, index, rows, weights, index, index, sums, index), generate

    return add_rows


def _loop_over_pairs(
    builder: Any, begin: Any, end: Any, n_totals: int, add_two: Callable[[Any, list[Any]], list[Any]]
) -> list[Any]:
    """Build a loop from ``begin`` to ``end`` by steps of two that carries vectors of totals, at first 0."""
    before, loop, after = builder.block, builder.append_basic_block("pair"), builder.append_basic_block("added")
    builder.branch(loop)
    builder.position_at_end(loop)
    position = builder.phi(begin.type)
    totals = [builder.phi(_SHORTS) for _ in range(n_totals)]
    new_totals = add_two(position, totals)
    new_position = builder.add(position, position.type(2))
    for total, new_total in zip(totals, new_totals, strict=True):
        total.add_incoming(ir.Constant(_SHORTS, [0] * _HALF), before)
        total.add_incoming(new_total, loop)
    position.add_incoming(begin, before)
    position.add_incoming(new_position, loop)
    builder.cbranch(builder.icmp_signed("<", new_position, end), loop, after)
    builder.position_at_end(after)
    return new_totals


def _add_pair(builder: Any, rows: Sequence[Any], weights: Any, totals: Sequence[Any]) -> list[Any]:
    """Add two rows times their weights with AVX2; the order of the columns is that of two rows in turn."""
    factors = builder.bitcast(_shorts_of(builder, _load(builder, weights, _SHORT)), _BYTES)
    new_totals = []
    for number, total in enumerate(totals):
        first, second = (_load(builder, builder.gep(row, [_INT(LANES * (number // 2))]), _BYTES) for row in rows)
        bytes_in_turn = _shuffle(builder, first, second, _LAST_EIGHTS if number % 2 else _FIRST_EIGHTS)
        # Products of unsigned and signed bytes, and the sums of neighbors.
        products = _call(builder, "llvm.x86.avx2.pmadd.ub.sw", _SHORTS, factors, bytes_in_turn)
        new_totals.append(builder.add(total, products))
    return new_totals


def _in_order(builder: Any, totals: list[Any]) -> list[Any]:
    """Return the totals of :func:`_add_pair` in the order of the columns."""
    eight = list(range(8))
    firsts, lasts = (
        eight + [_HALF + lane for lane in eight],
        [8 + lane for lane in eight] + [_HALF + 8 + lane for lane in eight],
    )
    return [
        _shuffle(builder, totals[number & -2], totals[number | 1], lasts if number % 2 else firsts)
        for number in range(len(totals))
    ]


def _add_pair_plainly(builder: Any, rows: Sequence[Any], weights: Any, totals: Sequence[Any]) -> list[Any]:
    """Add two rows times their weights by instructions that every processor has."""
    totals = list(totals)
    for place, row in enumerate(rows):
        weight = builder.load(builder.gep(weights, [_INT(place)]))
        factors = _shorts_of(builder, builder.zext(weight, _SHORT))
        for number, total in enumerate(totals):
            values = _load(builder, builder.gep(row, [_INT(_HALF * number)]), ir.VectorType(_BYTE, _HALF))
            totals[number] = builder.add(total, builder.mul(builder.sext(values, _SHORTS), factors))
    return totals


add_rows = _row_adder(1)
"""Add weighted rows in one vector of columns: see :func:`_row_adder`."""

add_rows_in_5 = _row_adder(5)
"""Add weighted rows in five vectors of columns; with more, the sums would leave the registers."""


def byte_writer(values: Sequence[int]) -> Any:
    """Make a function that looks up random bytes in a table of 256 values, of which value 255 - i is minus value i."""

    @intrinsic  # type: ignore[untyped-decorator]  # numba has no types
    def write(
        _typing_context: Any,
        _state: Any,  # uint32
        _step: Any,  # uint32
        _first: Any,  # number of the first of eight words; word w is fmix32(state + w * step), its lowest byte is first
        pairs: Any,  # uint16 (2**16,): two values by two bytes, for processors without a suitable instruction
        out: Any,  # int8 (n_rows, width)
        _row: Any,
        _column: Any,  # the first of 32
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pairs, out = (context.make_array(signature.args[i])(context, builder, arguments[i]) for i in (3, 4))
            state, step, first, _, _, row, column = arguments
            start = builder.add(builder.mul(row, builder.extract_value(out.shape, 1)), column)
            state, step, first = (
                _copies_of(builder, word, _INTS) for word in (state, step, builder.trunc(first, _INT))
            )
            numbers = builder.add(first, ir.Constant(_INTS, list(range(_N_WORDS))))
            words = builder.add(state, builder.mul(numbers, step))
            words = _mix(builder, words)
            if _has(context, "avx2"):
                found = _look_up_vector(context, builder, builder.bitcast(words, _BYTES), values)
            else:
                shorts, found = builder.bitcast(words, _SHORTS), ir.Constant(_SHORTS, ir.Undefined)
                for lane in map(_INT, range(_HALF)):
                    two = builder.zext(builder.extract_element(shorts, lane), row.type)
                    found = builder.insert_element(found, builder.load(builder.gep(pairs.data, [two])), lane)
            _store(builder, found, builder.gep(out.data, [start]))
            return context.get_dummy_value()

        index = types.intp
        return types.void(types.uint32, types.uint32, index, pairs, out, index, index), generate

    return write


def _mix(builder: Any, words: Any) -> Any:
    """Mix the bits of each word: fmix32."""
    for shift, factor in ((16, FMIX_1), (13, FMIX_2), (16, 1)):
        words = builder.xor(words, builder.lshr(words, ir.Constant(_INTS, [shift] * _N_WORDS)))
        words = builder.mul(words, ir.Constant(_INTS, [int(factor)] * _N_WORDS))
    return words


def _look_up_vector(context: Any, builder: Any, number: Any, values: Sequence[int]) -> Any:
    """Look up a vector of bytes: the upper half of the values, and its negative for a byte below 128."""
    upper = [int(value) for value in values[128:]]
    is_lower = builder.sext(builder.icmp_signed(">=", number, _bytes_of(0)), _BYTES)  # those below 128: -1, else 0
    place = builder.and_(builder.xor(number, is_lower), _bytes_of(127))
    find = _look_up_in_one if _has(context, "avx512vbmi") else _look_up_in_eight
    return builder.sub(builder.xor(find(builder, place, upper), is_lower), is_lower)


def _look_up_in_one(builder: Any, place: Any, values: Sequence[int]) -> Any:
    """Look up bytes in 128 values with AVX-512 VBMI, whose vectors are twice as long: half of them is not used."""
    twice = ir.VectorType(_BYTE, 2 * LANES)
    kind = ir.FunctionType(twice, [twice] * 3)
    permute = builder.module.declare_intrinsic("llvm.x86.avx512.vpermi2var.qi.512", (), kind)
    wide = _shuffle(builder, place, ir.Constant(_BYTES, ir.Undefined), list(range(2 * LANES)))
    low, high = (ir.Constant(twice, list(values[start : start + 2 * LANES])) for start in (0, 2 * LANES))
    return _shuffle(builder, builder.call(permute, [low, wide, high]), wide, list(range(LANES)))


def _look_up_in_eight(builder: Any, place: Any, values: Sequence[int]) -> Any:
    """Look up bytes in 128 values with AVX2, which has an instruction for tables of 16."""
    # Its result is 0 if the highest bit of a byte is set; otherwise the four lowest bits count. So if 16 k is
    # subtracted from a byte of 0 ... 127, table k has a say where the byte is at least 16 k: each table is the
    # difference from the one before it.
    tables = [[0] * 16] + [list(values[start : start + 16]) for start in range(0, 128, 16)]
    found = _bytes_of(0)
    for before, table in pairwise(tables):
        difference = ir.Constant(_BYTES, 2 * [one ^ other for one, other in zip(before, table, strict=True)])
        found = builder.xor(found, _call(builder, "llvm.x86.avx2.pshuf.b", _BYTES, difference, place))
        place = builder.sub(place, _bytes_of(16))
    return found


@intrinsic  # type: ignore[untyped-decorator]  # numba has no types
def write_signs(
    _typing_context: Any,
    _word: Any,  # uint32
    out: Any,  # int8 (n_rows, width)
    _row: Any,
    _column: Any,  # the first of 32
) -> Any:
    """Write 1 for each bit of a word that is set, from the lowest, and -1 for the others."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        out = context.make_array(signature.args[1])(context, builder, arguments[1])
        word, _, row, column = arguments
        start = builder.add(builder.mul(row, builder.extract_value(out.shape, 1)), column)
        bits = builder.bitcast(word, ir.VectorType(ir.IntType(1), LANES))
        signs = builder.select(bits, _bytes_of(1), _bytes_of(-1))
        _store(builder, signs, builder.gep(out.data, [start]))
        return context.get_dummy_value()

    return types.void(types.uint32, out, types.intp, types.intp), generate


def _has(context: Any, feature: str) -> bool:
    return f"+{feature}" in context.codegen().magic_tuple()[2].split(",")


def _load(builder: Any, address: Any, kind: Any) -> Any:
    return builder.load(builder.bitcast(address, kind.as_pointer()), align=1)


def _store(builder: Any, value: Any, address: Any) -> None:
    builder.store(value, builder.bitcast(address, value.type.as_pointer()), align=1)


def _bytes_of(value: int) -> Any:
    return ir.Constant(_BYTES, [value] * LANES)


def _shorts_of(builder: Any, value: Any) -> Any:
    return _copies_of(builder, value, _SHORTS)


def _copies_of(builder: Any, value: Any, kind: Any) -> Any:
    nothing = ir.Constant(kind, ir.Undefined)
    return _shuffle(builder, builder.insert_element(nothing, value, _INT(0)), nothing, [0] * kind.count)


def _shuffle(builder: Any, first: Any, second: Any, lanes: list[int]) -> Any:
    return builder.shuffle_vector(first, second, ir.Constant(ir.VectorType(_INT, len(lanes)), lanes))


def _call(builder: Any, name: str, result: Any, first: Any, second: Any) -> Any:
    kind = ir.FunctionType(result, [_BYTES, _BYTES])
    return builder.call(builder.module.declare_intrinsic(name, (), kind), [first, second])
