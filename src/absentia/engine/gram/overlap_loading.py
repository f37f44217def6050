"""Overlaps of eight pairs put into lanes, straight from the matrices of the rows.

For ``overlap_tiles.py``. Each lane is a pair with an overlap of its own, so that entries have to be
collected one by one; what is listed once per pair is where they are. A smaller overlap is padded
behind its end by places that hold zeros, which changes no bit of it.
"""

from __future__ import annotations

import numpy as np

from absentia.engine.compiling import compiled
from absentia.engine.lanes import (
    LANES,
    count_ones,
    gather_at8,
    gather_sum8,
    integer_at,
    lowest_one,
    put_integer,
    store8,
    word_at,
)

__all__ = ["list_overlaps", "load_overlaps", "overlap_sizes"]


@compiled(error_model="numpy")
def overlap_sizes(words, group, other_words, other_groups, first, count, sizes):
    """Write how many columns one row misses in common with each of some others."""
    for t in range(count):
        other_group = other_groups[first + t]
        size = 0
        for w in range(words.shape[1]):
            size += count_ones(words[group, w] & other_words[other_group, w])
        sizes[t] = size


@compiled(error_model="numpy")
def list_overlaps(
    words,
    ranks,
    starts,
    sizes,
    groups,
    products,
    width,
    other_words,
    other_ranks,
    other_starts,
    other_sizes,
    other_groups,
    other_products,
    other_width,
    overlaps,
    padded,
    lists,
):
    """Write where the entries of eight pairs of patterns are on the columns that both miss.

    Parameters
    ----------
    words, ranks
        The masks as bits, and where a missing column stands in the list of them.
    starts, sizes
        Where the matrix ``F`` of a pattern begins, and how many columns it has.
    groups : int array of eight
        Which patterns they are.
    products, width : int array of eight, int
        Where the products ``F d`` with the other row begin, and how far apart they are.
    other_words, other_ranks, other_starts, other_sizes, other_groups, other_products, other_width
        The same of the other rows.
    overlaps : int array of eight
        How many columns both miss.
    padded : int
        Groups behind the end of an overlap, up to this, point at the beginning of the arrays,
        where zeros are.
    lists : flat int array of ``6 * padded`` groups of lanes
        Becomes where a row of ``F`` begins, where in each row the column stands, where ``F d`` is,
        and the same of the other rows.
    """
    d = ranks.shape[1]
    n_words = words.shape[1]
    section = padded * LANES
    for lane in range(LANES):
        g = integer_at(groups, lane)
        h = integer_at(other_groups, lane)
        own = g * n_words
        other = h * n_words
        rank = g * d
        other_rank = h * d
        start = integer_at(starts, g)
        other_start = integer_at(other_starts, h)
        size = integer_at(sizes, g)
        other_size = integer_at(other_sizes, h)
        product = integer_at(products, lane)
        other_product = integer_at(other_products, lane)
        last = lane + LANES * integer_at(overlaps, lane)
        common = word_at(words, own) & word_at(other_words, other)
        for r in range(lane, last, LANES):
            while common == np.uint64(0):
                own += 1
                other += 1
                rank += 64
                other_rank += 64
                common = word_at(words, own) & word_at(other_words, other)
            bit = lowest_one(common)
            common &= common - np.uint64(1)
            place = integer_at(ranks, rank + bit)
            put_integer(lists, r, start + place * size)
            put_integer(lists, section + r, place)
            put_integer(lists, 2 * section + r, product + place * width)
            place = integer_at(other_ranks, other_rank + bit)
            put_integer(lists, 3 * section + r, other_start + place * other_size)
            put_integer(lists, 4 * section + r, place)
            put_integer(lists, 5 * section + r, other_product + place * other_width)
        for part in range(6):
            for r in range(part * section + last, (part + 1) * section, LANES):
                put_integer(lists, r, 0)


@compiled(error_model="numpy")
def load_overlaps(F, products, lists, first, size, both, matrix, vector):
    """Put eight overlaps into lanes: entry ``(r, c)`` at group ``c * size + r``, and ``F d``.

    The lower triangle, or both; ``lists`` are those of :func:`list_overlaps`, from entry ``first``.
    """
    section = size * LANES
    for r in range(0, section, LANES):
        for c in range(0, r + 1, LANES):
            entry = gather_sum8(F, lists, first + r, lists, first + section + c)
            store8(matrix, c * size + r, entry)
            if both:
                store8(matrix, r * size + c, entry)
        store8(vector, r, gather_at8(products, lists, first + 2 * section + r))
