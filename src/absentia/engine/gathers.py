"""Lanes filled from scattered places of an array, and single integers, without bounds checks.

What :mod:`absentia.engine.lanes` loads lies side by side in memory; here every lane has a place of
its own. Arrays are flat, places are in entries of the array, and none counts from the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llvmlite import ir
from numba import types

from absentia.engine.lanes import LANES, VECTOR, intrinsic, vec8

if TYPE_CHECKING:
    from llvmlite.ir import Value
    from numba.core.base import BaseContext as Context
    from numba.core.typing import Signature
    from numba.core.typing.context import BaseContext as TypingContext

    from absentia.engine.lanes import Builder, Typed, Values

__all__: list[str] = []


@intrinsic
def gather8(
    typingctx: TypingContext, array: types.Array, offset: types.Type, step: types.Type
) -> Typed:
    """Return the eight doubles ``array[offset], array[offset + step], ...``."""

    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Value:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        vector = ir.Constant(VECTOR, ir.Undefined)
        offset = args[1]
        for lane in range(LANES):
            value = builder.load(builder.gep(data, [offset]))
            vector = builder.insert_element(vector, value, ir.Constant(ir.IntType(32), lane))
            offset = builder.add(offset, args[2])
        return vector

    return vec8(array, types.intp, types.intp), codegen


@intrinsic
def gather_at8(
    typingctx: TypingContext, array: types.Array, places: types.Array, offset: types.Type
) -> Typed:
    """Return ``array[places[offset + lane]]`` for each lane; no place counts from the end."""

    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Value:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        places = context.make_array(signature.args[1])(context, builder, args[1]).data
        places = builder.gep(places, [args[2]])
        vector = ir.Constant(VECTOR, ir.Undefined)
        for number in range(LANES):
            lane = ir.Constant(ir.IntType(32), number)
            place = builder.load(builder.gep(places, [lane]))
            vector = builder.insert_element(vector, builder.load(builder.gep(data, [place])), lane)
        return vector

    return vec8(array, places, types.intp), codegen


@intrinsic
def gather_sum8(
    typingctx: TypingContext,
    array: types.Array,
    rows: types.Array,
    row: types.Type,
    places: types.Array,
    place: types.Type,
) -> Typed:
    """Return ``array[rows[row + lane] + places[place + lane]]`` for each lane.

    Eight loads, not the processor's gather: on Zen 4 that takes a third longer.
    """

    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Value:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        rows = context.make_array(signature.args[1])(context, builder, args[1]).data
        places = context.make_array(signature.args[3])(context, builder, args[3]).data
        rows, places = builder.gep(rows, [args[2]]), builder.gep(places, [args[4]])
        vector = ir.Constant(VECTOR, ir.Undefined)
        for number in range(LANES):
            lane = ir.Constant(ir.IntType(32), number)
            start = builder.load(builder.gep(rows, [lane]))
            offset = builder.add(start, builder.load(builder.gep(places, [lane])))
            vector = builder.insert_element(vector, builder.load(builder.gep(data, [offset])), lane)
        return vector

    return vec8(array, rows, types.intp, places, types.intp), codegen


@intrinsic
def gather_rows8(
    typingctx: TypingContext,
    array: types.Array,
    start0: types.Type,
    start1: types.Type,
    start2: types.Type,
    start3: types.Type,
    start4: types.Type,
    start5: types.Type,
    start6: types.Type,
    start7: types.Type,
    places: types.Array,
    offset: types.Type,
) -> Typed:
    """Return ``array[start + places[offset + lane]]``, with a start to each lane.

    Eight loads, not the processor's gather: on Zen 4 that takes a third longer. The starts are
    values, so that a loop over places keeps them in registers.
    """

    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Value:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        places = context.make_array(signature.args[LANES + 1])(context, builder, args[LANES + 1])
        first = builder.gep(places.data, [args[LANES + 2]])
        vector = ir.Constant(VECTOR, ir.Undefined)
        for number in range(LANES):
            lane = ir.Constant(ir.IntType(32), number)
            row = builder.gep(data, [args[1 + number]])
            place = builder.load(builder.gep(first, [lane]))
            vector = builder.insert_element(vector, builder.load(builder.gep(row, [place])), lane)
        return vector

    return vec8(array, *[types.intp] * LANES, places, types.intp), codegen


@intrinsic
def gather_behind8(
    typingctx: TypingContext,
    array: types.Array,
    starts: types.Array,
    places: types.Array,
    offset: types.Type,
) -> Typed:
    """Return ``array[starts[lane] + LANES * places[offset + lane]]`` for each lane."""

    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Value:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        starts = context.make_array(signature.args[1])(context, builder, args[1]).data
        places = context.make_array(signature.args[2])(context, builder, args[2]).data
        places = builder.gep(places, [args[3]])
        vector = ir.Constant(VECTOR, ir.Undefined)
        for number in range(LANES):
            lane = ir.Constant(ir.IntType(32), number)
            start = builder.gep(data, [builder.load(builder.gep(starts, [lane]))])
            place = builder.load(builder.gep(places, [lane]))
            groups = builder.mul(place, ir.Constant(place.type, LANES))
            value = builder.load(builder.gep(start, [groups]))
            vector = builder.insert_element(vector, value, lane)
        return vector

    return vec8(array, starts, places, types.intp), codegen


@intrinsic
def integer_at(typingctx: TypingContext, array: types.Array, offset: types.Type) -> Typed:
    """Return ``array[offset]`` of signed integers, an offset that does not count from the end."""

    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Value:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        value = builder.load(builder.gep(data, [args[1]]))
        return value if value.type.width == 64 else builder.sext(value, ir.IntType(64))

    return types.intp(array, types.intp), codegen


@intrinsic
def word_at(typingctx: TypingContext, array: types.Array, offset: types.Type) -> Typed:
    """Return ``array[offset]`` of unsigned 64-bit integers, as :func:`integer_at` does."""

    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Value:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.load(builder.gep(data, [args[1]]))

    return types.uint64(array, types.intp), codegen


@intrinsic
def put_integer(
    typingctx: TypingContext, array: types.Array, offset: types.Type, value: types.Type
) -> Typed:
    """Write ``array[offset]`` of 64-bit integers, an offset that does not count from the end."""

    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Value:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        builder.store(args[2], builder.gep(data, [args[1]]))
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp), codegen
