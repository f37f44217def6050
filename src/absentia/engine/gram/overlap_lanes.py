"""Two rows on the columns that both miss: a determinant and a quadratic form, eight pairs at once.

``A`` and ``B`` are positive semidefinite with eigenvalues below one, of the size of what both rows
miss. From ``A = W inv(D) W'`` (``W`` lower triangular with the diagonal ``D``) follows::

    S = D - W'BW                      positive definite, because I - root(A)' B root(A) is
    det(I - AB) = det S / det D
    a'b + (b - Ba)' inv(I - AB) (a - Ab) = z' inv(D) z - c' inv(S) c
    z = D inv(W) a,   c = z - W'b

``inv(A)`` is never formed, so that columns which nearly determine each other cost few digits.
Pivots of columns that hardly vary are raised to a least one, which changes ``A`` by no more. Each
lane is a pair with an overlap of its own, whose entries are collected one by one. A smaller overlap
is padded behind its end, by ones on the diagonal of ``A`` and zeros elsewhere, which changes no bit
of it.
"""

from __future__ import annotations

import numpy as np

from absentia.engine.compiling import compiled
from absentia.engine.lanes import (
    LANES,
    add_outer,
    count_ones,
    divide8,
    eight_integers,
    gather_behind8,
    gather_rows8,
    integer_at,
    load8,
    multiply8,
    multiply_add8,
    negate8,
    splat8,
    store8,
    store_block,
    subtract8,
    where_at_least8,
    word_at,
)


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
def list_overlaps(rows, groups, columns, other_groups, overlaps, padded, lists):
    """Write where the entries of eight pairs of patterns are on the columns that both miss.

    ``groups`` and ``other_groups`` are the patterns of the pairs, of two OverlapSides, and
    ``overlaps`` how many columns both miss. ``lists`` has four sections of ``padded`` groups of
    lanes, filled up with zeros: where a row of ``F`` begins and the position of the column in each
    row, and the same of the columns.
    """
    words, starts, sizes = rows.words, rows.starts, rows.sizes
    other_words, other_starts, other_sizes = columns.words, columns.starts, columns.sizes
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
        # A column's position is the number of set bits before it.
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
            lists[r] = start + place * size
            lists[section + r] = place
            place = other_before + count_ones(other_word & below)
            lists[2 * section + r] = other_start + place * other_size
            lists[3 * section + r] = place
        for r in range(last, section, LANES):
            lists[r] = 0
            lists[section + r] = 0
            lists[2 * section + r] = 0
            lists[3 * section + r] = 0


@compiled(error_model="numpy", makes_arrays=False)
def load_overlaps(F, products, starts, lists, first, size, counts, diagonal, matrix, vector):
    """Put eight overlaps into lanes: entry ``(r, c)`` at group ``r * size + c``, and ``F d``.

    ``products`` is ``F d``, whose numbers for a pair begin at its entry of ``starts`` and are
    ``LANES`` apart; ``lists`` are those of :func:`list_overlaps`, from entry ``first`` on. Behind
    the ``counts`` columns of an overlap are zeros, and ``diagonal``: one for ``A``, of which the
    lower triangle is written, zero for ``B``, of which both are.
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
        starts_of_rows = eight_integers(lists, first + r)
        places = first + section
        for c in range(0, r, LANES):
            entry = gather_rows8(F, starts_of_rows, lists, places + c)
            entry = where_at_least8(have, need, entry, zero)
            store8(matrix, r * size + c, entry)
            if both:
                store8(matrix, c * size + r, entry)
        entry = gather_rows8(F, starts_of_rows, lists, places + r)
        store8(matrix, r * size + r, where_at_least8(have, need, entry, behind))
        entry = gather_behind8(products, starts, lists, places + r)
        store8(vector, r, where_at_least8(have, need, entry, zero))
        needed += 1.0


@compiled(error_model="numpy", makes_arrays=False)
def overlap_matrix(work, pivots, other, size, product, vector, right_side):
    """Replace ``B`` (``other``, both triangles) by ``D - W'BW``, and ``-inv(D) z`` by ``z - W'b``.

    ``work``, ``pivots`` and ``vector`` are those of :func:`~absentia.engine.elimination.factor`:
    ``W`` below its diagonal, and ``-1 / D``. ``size`` is even; of ``D - W'BW`` the lower triangle
    is written, in blocks of two by two. ``right_side`` is ``-b``, ``product`` is scratch.
    """
    zero = splat8(0.0)
    step = size * LANES
    for c in range(size):
        pivot = divide8(splat8(-1.0), load8(pivots, c * LANES))
        store8(pivots, c * LANES, pivot)
        store8(vector, c * LANES, negate8(multiply8(pivot, load8(vector, c * LANES))))
        store8(work, c * (step + LANES), pivot)
        if c % 2:
            store8(work, c * (step + LANES) - LANES, zero)
    for c in range(0, size, 2):
        left = c * step
        for r in range(c, size, 2):
            block = zero, zero, zero, zero
            for k in range(c * LANES, step, LANES):
                block = add_outer(block, other, r * step + k, step, work, left + k, step)
            store_block(product, left + r * LANES, step, block)
    for c in range(0, size, 2):
        left = c * step
        right = left + step
        z0 = load8(vector, c * LANES)
        z1 = load8(vector, (c + 1) * LANES)
        for k in range(c, size):
            b = load8(right_side, k * LANES)
            z0 = multiply_add8(load8(work, left + k * LANES), b, z0)
            z1 = multiply_add8(load8(work, right + k * LANES), b, z1)
        store8(vector, c * LANES, z0)
        store8(vector, (c + 1) * LANES, z1)
        for r in range(c, size, 2):
            block = zero, zero, zero, zero
            for k in range(r * LANES, step, LANES):
                block = add_outer(block, work, r * step + k, step, product, left + k, step)
            m00, m10, m01, m11 = block
            if r == c:
                m00 = subtract8(m00, load8(pivots, c * LANES))
                m11 = subtract8(m11, load8(pivots, (c + 1) * LANES))
            block = negate8(m00), negate8(m01), negate8(m10), negate8(m11)
            store_block(other, r * step + c * LANES, step, block)
