"""Overlaps of eight pairs put into lanes, straight from the matrices of the rows.

For ``overlap_tiles.py``. Each lane is a pair with an overlap of its own, so that entries have to be
collected one by one; what is listed once per pair is where they are. A smaller overlap is padded
behind its end, by ones on the diagonal of ``A`` and zeros elsewhere, which changes no bit of it.
"""

from __future__ import annotations

import numpy as np

from absentia.engine.compiling import compiled
from absentia.engine.lanes import (
    LANES,
    count_ones,
    gather_behind8,
    gather_rows8,
    integer_at,
    load8,
    put_integer,
    splat8,
    store8,
    where_at_least8,
    word_at,
)

__all__ = ["list_overlaps", "load_overlaps", "overlap_sizes"]


@compiled(error_model="numpy", makes_arrays=False)
def overlap_sizes(words, group, other_words, other_groups, first, count, sizes):
    """Write how many columns one row misses in common with each of some others."""
    for t in range(count):
        other_group = other_groups[first + t]
        size = 0
        for w in range(words.shape[1]):
            size += count_ones(words[group, w] & other_words[other_group, w])
        sizes[t] = size


@compiled(error_model="numpy", makes_arrays=False)
def list_overlaps(
    words,
    starts,
    sizes,
    groups,
    other_words,
    other_starts,
    other_sizes,
    other_groups,
    overlaps,
    padded,
    lists,
):
    """Write where the entries of eight pairs of patterns are on the columns that both miss.

    Parameters
    ----------
    words : the masks as bits
    starts, sizes
        Where the matrix ``F`` of a pattern begins, and how many columns it has.
    groups : int array of eight
        Which patterns they are.
    other_words, other_starts, other_sizes, other_groups
        The same of the other rows.
    overlaps : int array of eight
        How many columns both miss.
    padded : int
        Lists are filled up to this with zeros.
    lists : flat int array of ``4 * padded`` groups of lanes
        Becomes where a row of ``F`` begins and where in each row the column stands, and the same
        of the other rows.
    """
    n_words = words.shape[1]
    section = padded * LANES
    for lane in range(LANES):
        g = integer_at(groups, lane)
        h = integer_at(other_groups, lane)
        own = g * n_words
        other = h * n_words
        start = integer_at(starts, g)
        other_start = integer_at(other_starts, h)
        size = integer_at(sizes, g)
        other_size = integer_at(other_sizes, h)
        last = lane + LANES * integer_at(overlaps, lane)
        # A column stands behind as many as there are bits before its own.
        before = 0
        other_before = 0
        word = word_at(words, own)
        other_word = word_at(other_words, other)
        common = word & other_word
        for r in range(lane, last, LANES):
            while common == np.uint64(0):
                before += count_ones(word)
                other_before += count_ones(other_word)
                own += 1
                other += 1
                word = word_at(words, own)
                other_word = word_at(other_words, other)
                common = word & other_word
            below = (common - np.uint64(1)) & ~common
            common &= common - np.uint64(1)
            place = before + count_ones(word & below)
            put_integer(lists, r, start + place * size)
            put_integer(lists, section + r, place)
            place = other_before + count_ones(other_word & below)
            put_integer(lists, 2 * section + r, other_start + place * other_size)
            put_integer(lists, 3 * section + r, place)
        for r in range(last, section, LANES):
            put_integer(lists, r, 0)
            put_integer(lists, section + r, 0)
            put_integer(lists, 2 * section + r, 0)
            put_integer(lists, 3 * section + r, 0)


@compiled(error_model="numpy", makes_arrays=False)
def load_overlaps(F, products, starts, lists, first, size, counts, diagonal, matrix, vector):
    """Put eight overlaps into lanes: entry ``(r, c)`` at group ``c * size + r``, and ``F d``.

    Parameters
    ----------
    F : flat array of the matrices
    products, starts : flat lanes, int array of eight
        ``F d``, and where the product of each pair begins; its numbers are ``LANES`` apart.
    lists, first : those of :func:`list_overlaps`, from entry ``first`` on
    size : int
    counts : array of eight
        How many columns each overlap has; behind them are zeros.
    diagonal : float
        What stands on the diagonal behind the end: one for ``A``, of which the lower triangle is
        written, zero for ``B``, of which both are.
    """
    section = size * LANES
    both = diagonal == 0.0
    behind = splat8(diagonal)
    zero = splat8(0.0)
    have = load8(counts, 0)
    needed = 1.0
    for r in range(0, section, LANES):
        need = splat8(needed)
        # Held in registers: behind a store the compiler would read them from the list again.
        row = first + r
        p0 = integer_at(lists, row)
        p1 = integer_at(lists, row + 1)
        p2 = integer_at(lists, row + 2)
        p3 = integer_at(lists, row + 3)
        p4 = integer_at(lists, row + 4)
        p5 = integer_at(lists, row + 5)
        p6 = integer_at(lists, row + 6)
        p7 = integer_at(lists, row + 7)
        places = first + section
        for c in range(0, r, LANES):
            entry = gather_rows8(F, p0, p1, p2, p3, p4, p5, p6, p7, lists, places + c)
            entry = where_at_least8(have, need, entry, zero)
            store8(matrix, c * size + r, entry)
            if both:
                store8(matrix, r * size + c, entry)
        entry = gather_rows8(F, p0, p1, p2, p3, p4, p5, p6, p7, lists, places + r)
        store8(matrix, r * size + r, where_at_least8(have, need, entry, behind))
        entry = gather_behind8(products, starts, lists, places + r)
        store8(vector, r, where_at_least8(have, need, entry, zero))
        needed += 1.0
