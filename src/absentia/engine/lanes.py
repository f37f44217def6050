"""Eight doubles as one value, for loops that do the same small factorisation eight times at once.

Numba vectorises a long loop over contiguous memory, but not eight factorisations side by side: it
cannot keep eight accumulators in registers. ``vec8`` is LLVM's own vector of eight doubles, made
known to Numba as a value: two registers of AVX2, one of AVX-512, four of SSE or NEON.

Loads, stores and gathers take flat arrays and places *in entries of the array*. Nothing is
bounds-checked, and no place counts from the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic as _intrinsic
from numba.extending import models, register_model

from absentia.engine.compiling import compiled

if TYPE_CHECKING:
    from llvmlite.ir import IRBuilder as Builder
    from llvmlite.ir import Value
    from numba.core.base import BaseContext as Context
    from numba.core.datamodel import DataModelManager
    from numba.core.typing import Signature
    from numba.core.typing.context import BaseContext as TypingContext

    Values = Sequence[Value]
    #: Result of an intrinsic: its signature, and the function that writes its code.
    Typed = tuple[Signature, Callable[[Context, Builder, Signature, Values], Value]]

LANES = 8

# Untyped on purpose: compiled callers pass other arguments than Numba's compiler does.
intrinsic: Any = _intrinsic

VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_integers = ir.VectorType(ir.IntType(64), LANES)


class _Vec8(types.Type):
    def __init__(self) -> None:
        super().__init__(name="vec8")


vec8 = _Vec8()


@register_model(_Vec8)
class _Vec8Model(models.PrimitiveModel):
    def __init__(self, dmm: DataModelManager, fe_type: types.Type) -> None:
        super().__init__(dmm, fe_type, VECTOR)


def _elementwise(n_arguments: int, operation: Callable[..., Any]) -> Any:
    """Return an intrinsic of one to four vectors, from ``operation(builder, *vectors)``."""

    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Value:
        return operation(builder, *args)

    typed = vec8(*[vec8] * n_arguments), codegen
    # Numba reads the number of arguments from the definition.
    definitions: tuple[Callable[..., Typed], ...] = (
        lambda typingctx, a: typed,
        lambda typingctx, a, b: typed,
        lambda typingctx, a, b, c: typed,
        lambda typingctx, a, b, c, d: typed,
    )
    return intrinsic(definitions[n_arguments - 1])


def _on_arrays(result: types.Type, arguments: Sequence[types.Type], operation: Any) -> Typed:
    """Return an intrinsic of arrays and places, from ``operation(builder, *args)``.

    The operation receives the pointer to the first entry in the place of an array.
    """

    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Value:
        given = [
            context.make_array(kind)(context, builder, value).data
            if isinstance(kind, types.Array)
            else value
            for kind, value in zip(signature.args, args, strict=True)
        ]
        found = operation(builder, *given)
        return context.get_dummy_value() if result is types.void else found

    return result(*arguments), codegen


def _call(builder: Builder, name: str, args: Values) -> Value:
    function_type = ir.FunctionType(VECTOR, [VECTOR] * len(args))
    function = cgutils.get_or_insert_function(builder.module, function_type, name)
    return builder.call(function, args)


def _entry(builder: Builder, data: Value, place: Value) -> Value:
    return builder.load(builder.gep(data, [place]))


def _lane_pointer(builder: Builder, data: Value, place: Value) -> Value:
    return builder.bitcast(builder.gep(data, [place]), ir.PointerType(VECTOR))


def _repeated(builder: Builder, value: Value) -> Value:
    undefined = ir.Constant(VECTOR, ir.Undefined)
    single = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
    first = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(single, undefined, first)


def _repeated_integer(value: int) -> Value:
    return ir.Constant(_integers, [value] * LANES)


def _gathered(builder: Builder, entry: Callable[[Value], Value]) -> Value:
    """Return the vector of ``entry(lane)``.

    Eight loads, not the processor's gather: on Zen 4 that takes a third longer.
    """
    vector = ir.Constant(VECTOR, ir.Undefined)
    for number in range(LANES):
        lane = ir.Constant(ir.IntType(32), number)
        vector = builder.insert_element(vector, entry(lane), lane)
    return vector


add8 = _elementwise(2, lambda builder, a, b: builder.fadd(a, b))
subtract8 = _elementwise(2, lambda builder, a, b: builder.fsub(a, b))
multiply8 = _elementwise(2, lambda builder, a, b: builder.fmul(a, b))
divide8 = _elementwise(2, lambda builder, a, b: builder.fdiv(a, b))
negate8 = _elementwise(1, lambda builder, a: builder.fneg(a))
#: ``a * b + c`` with a single rounding.
multiply_add8 = _elementwise(
    3, lambda builder, *args: _call(builder, f"llvm.fma.v{LANES}f64", args)
)
square_root8 = _elementwise(
    1, lambda builder, *args: _call(builder, f"llvm.sqrt.v{LANES}f64", args)
)
minimum8 = _elementwise(2, lambda b, *args: b.select(b.fcmp_ordered("<", *args), *args))
maximum8 = _elementwise(2, lambda b, *args: b.select(b.fcmp_ordered(">", *args), *args))
#: ``c`` where ``a >= b``, elsewhere ``d``.
where_at_least8 = _elementwise(
    4, lambda b, *args: b.select(b.fcmp_ordered(">=", *args[:2]), *args[2:])
)


def _exponent(builder: Builder, a: Value) -> Value:
    bits = builder.bitcast(a, _integers)
    exponents = builder.sub(builder.lshr(bits, _repeated_integer(52)), _repeated_integer(1023))
    return builder.sitofp(exponents, VECTOR)


def _mantissa(builder: Builder, a: Value) -> Value:
    fraction = builder.and_(builder.bitcast(a, _integers), _repeated_integer(2**52 - 1))
    return builder.bitcast(builder.or_(fraction, _repeated_integer(1023 << 52)), VECTOR)


def _power_of_two(builder: Builder, shifted: Value) -> Value:
    biased = builder.add(builder.bitcast(shifted, _integers), _repeated_integer(1023))
    return builder.bitcast(builder.shl(biased, _repeated_integer(52)), VECTOR)


#: ``e`` with ``a = mantissa8(a) * 2^e``, for positive normal numbers.
exponent8 = _elementwise(1, _exponent)
#: Positive normal numbers with their exponent set to zero: in [1, 2).
mantissa8 = _elementwise(1, _mantissa)
#: ``2^k`` from the double ``k + 1.5 * 2^52``, whose low bits are the integer ``k``.
_power_of_two8 = _elementwise(1, _power_of_two)


@intrinsic
def splat8(typingctx: TypingContext, value: types.Type) -> Typed:
    """Return eight copies of a double."""
    return _on_arrays(vec8, [types.float64], _repeated)


@intrinsic
def load8(typingctx: TypingContext, array: types.Array, place: types.Type) -> Typed:
    """Return the eight doubles at ``array[place:]``."""

    def load(builder: Builder, data: Value, place: Value) -> Value:
        return builder.load(_lane_pointer(builder, data, place), align=8)

    return _on_arrays(vec8, [array, types.intp], load)


@intrinsic
def store8(
    typingctx: TypingContext, array: types.Array, place: types.Type, value: types.Type
) -> Typed:
    """Write eight doubles to ``array[place:]``."""

    def store(builder: Builder, data: Value, place: Value, value: Value) -> None:
        builder.store(value, _lane_pointer(builder, data, place), align=8)

    return _on_arrays(types.void, [array, types.intp, vec8], store)


@intrinsic
def repeat8(typingctx: TypingContext, array: types.Array, place: types.Type) -> Typed:
    """Return eight copies of ``array[place]``."""

    def repeat(builder: Builder, data: Value, place: Value) -> Value:
        return _repeated(builder, _entry(builder, data, place))

    return _on_arrays(vec8, [array, types.intp], repeat)


@intrinsic
def gather8(
    typingctx: TypingContext, array: types.Array, place: types.Type, step: types.Type
) -> Typed:
    """Return the eight doubles ``array[place], array[place + step], ...``."""

    def gather(builder: Builder, data: Value, place: Value, step: Value) -> Value:
        def entry(lane: Value) -> Value:
            distance = builder.mul(builder.sext(lane, step.type), step)
            return _entry(builder, data, builder.add(place, distance))

        return _gathered(builder, entry)

    return _on_arrays(vec8, [array, types.intp, types.intp], gather)


@intrinsic
def gather_rows8(
    typingctx: TypingContext,
    array: types.Array,
    starts: types.Type,
    places: types.Array,
    first: types.Type,
) -> Typed:
    """Return ``array[starts[lane] + places[first + lane]]``, with a start to each lane.

    The starts are those of :func:`eight_integers`, which a loop over places keeps in registers.
    """

    def gather(builder: Builder, data: Value, starts: Value, places: Value, first: Value) -> Value:
        places = builder.gep(places, [first])

        def entry(lane: Value) -> Value:
            row = builder.gep(data, [builder.extract_value(starts, lane.constant)])
            return _entry(builder, row, _entry(builder, places, lane))

        return _gathered(builder, entry)

    eight = types.UniTuple(types.intp, LANES)
    return _on_arrays(vec8, [array, eight, places, types.intp], gather)


@intrinsic
def gather_behind8(
    typingctx: TypingContext,
    array: types.Array,
    starts: types.Array,
    places: types.Array,
    first: types.Type,
) -> Typed:
    """Return ``array[starts[lane] + LANES * places[first + lane]]`` for each lane."""

    def gather(builder: Builder, data: Value, starts: Value, places: Value, first: Value) -> Value:
        places = builder.gep(places, [first])

        def entry(lane: Value) -> Value:
            start = builder.gep(data, [_entry(builder, starts, lane)])
            place = _entry(builder, places, lane)
            return _entry(builder, start, builder.mul(place, ir.Constant(place.type, LANES)))

        return _gathered(builder, entry)

    return _on_arrays(vec8, [array, starts, places, types.intp], gather)


@intrinsic
def integer_at(typingctx: TypingContext, array: types.Array, place: types.Type) -> Typed:
    """Return ``array[place]`` of signed integers."""

    def read(builder: Builder, data: Value, place: Value) -> Value:
        value = _entry(builder, data, place)
        return value if value.type.width == 64 else builder.sext(value, ir.IntType(64))

    return _on_arrays(types.intp, [array, types.intp], read)


@compiled(inline="always")
def eight_integers(array, place):
    """Return ``array[place]`` to ``array[place + 7]`` of signed integers, as values."""
    return (
        integer_at(array, place),
        integer_at(array, place + 1),
        integer_at(array, place + 2),
        integer_at(array, place + 3),
        integer_at(array, place + 4),
        integer_at(array, place + 5),
        integer_at(array, place + 6),
        integer_at(array, place + 7),
    )


@intrinsic
def word_at(typingctx: TypingContext, array: types.Array, place: types.Type) -> Typed:
    """Return ``array[place]`` of unsigned 64-bit integers."""
    return _on_arrays(types.uint64, [array, types.intp], _entry)


@intrinsic
def count_ones(typingctx: TypingContext, word: types.Type) -> Typed:
    """Return the number of set bits of an unsigned 64-bit integer."""
    return _on_arrays(types.intp, [types.uint64], lambda builder, word: builder.ctpop(word))


@compiled(inline="always")
def exp8(x):
    """Return ``exp`` of each lane for ``x <= 700``; zero below -708, where results are subnormal.

    ``x = k log 2 + r`` with ``|r| <= log(2) / 2``; the Taylor polynomial of degree 13 leaves a
    relative error below 1e-17 of its own, so that what remains is rounding.
    """
    shift = splat8(6755399441055744.0)  # 1.5 * 2^52: adding it rounds to an integer
    shifted = multiply_add8(x, splat8(1.4426950408889634), shift)
    k = subtract8(shifted, shift)
    r = multiply_add8(k, splat8(-0.693147180369123816490), x)
    r = multiply_add8(k, splat8(-1.90821492927058770002e-10), r)
    p = splat8(1.0 / 6227020800.0)
    p = multiply_add8(p, r, splat8(1.0 / 479001600.0))
    p = multiply_add8(p, r, splat8(1.0 / 39916800.0))
    p = multiply_add8(p, r, splat8(1.0 / 3628800.0))
    p = multiply_add8(p, r, splat8(1.0 / 362880.0))
    p = multiply_add8(p, r, splat8(1.0 / 40320.0))
    p = multiply_add8(p, r, splat8(1.0 / 5040.0))
    p = multiply_add8(p, r, splat8(1.0 / 720.0))
    p = multiply_add8(p, r, splat8(1.0 / 120.0))
    p = multiply_add8(p, r, splat8(1.0 / 24.0))
    p = multiply_add8(p, r, splat8(1.0 / 6.0))
    p = multiply_add8(p, r, splat8(0.5))
    p = multiply_add8(p, r, splat8(1.0))
    p = multiply_add8(p, r, splat8(1.0))
    value = multiply8(p, _power_of_two8(shifted))
    return where_at_least8(x, splat8(-708.0), value, splat8(0.0))


@compiled(inline="always")
def store_block(array, place, step, block):
    """Write two rows of two neighbouring columns, which are ``step`` apart, column by column."""
    m00, m10, m01, m11 = block
    store8(array, place, m00)
    store8(array, place + LANES, m10)
    store8(array, place + step, m01)
    store8(array, place + step + LANES, m11)


@compiled(inline="always")
def add_outer(block, rows, row, row_step, columns, column, column_step):
    """Add the outer product of two entries of ``rows`` and two of ``columns`` to a block."""
    m00, m10, m01, m11 = block
    a0 = load8(rows, row)
    a1 = load8(rows, row + row_step)
    b0 = load8(columns, column)
    b1 = load8(columns, column + column_step)
    return (
        multiply_add8(a0, b0, m00),
        multiply_add8(a1, b0, m10),
        multiply_add8(a0, b1, m01),
        multiply_add8(a1, b1, m11),
    )


@compiled(inline="always")
def no_products():
    """Return five sums of zero, as many as there are registers for."""
    return splat8(0.0), splat8(0.0), splat8(0.0), splat8(0.0), splat8(0.0)


@compiled(inline="always")
def add_products(sums, matrix, place, step, lanes):
    """Add the products of five entries of a matrix, ``step`` apart, with eight lanes."""
    t0, t1, t2, t3, t4 = sums
    return (
        multiply_add8(repeat8(matrix, place), lanes, t0),
        multiply_add8(repeat8(matrix, place + step), lanes, t1),
        multiply_add8(repeat8(matrix, place + 2 * step), lanes, t2),
        multiply_add8(repeat8(matrix, place + 3 * step), lanes, t3),
        multiply_add8(repeat8(matrix, place + 4 * step), lanes, t4),
    )


@compiled()
def aligned_empty(size):
    """Return uninitialised doubles that start on a cache line, so that no load straddles two.

    Where a vector of eight is one register, each load and store would straddle two otherwise:
    measured, eliminations take a quarter less time.
    """
    raw = np.empty(size + LANES)
    start = (-(raw.ctypes.data // 8)) % LANES
    return raw[start : start + size]
