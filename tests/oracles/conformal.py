"""Conformal prediction with missing values, one row and one calibration row at a time."""

from __future__ import annotations

import math

import numpy as np


def comparable_rows(masks, mask, method, subsample):
    """Return the calibration rows that count for a test row that misses ``mask``."""
    excess = [int(sum(a and not b for a, b in zip(m, mask, strict=True))) for m in masks]
    if method == "exact":
        return [k for k, e in enumerate(excess) if e == 0]
    if method == "nested*":
        for most in range(len(mask) + 1):
            kept = [k for k, e in enumerate(excess) if e <= most]
            if len(kept) >= subsample:
                return kept
    return list(range(len(masks)))


def _hidden(row, mask):
    return np.where(mask, np.nan, row)[None]


def interval(predict, calibration, targets, row, method, coverage, subsample):
    """Return the interval of one row; ``predict`` maps rows to (lower, upper, unit) of each."""
    masks = np.isnan(calibration)
    mask = np.isnan(row)
    kept = comparable_rows(masks, mask, method, subsample)
    lows, highs = [], []
    for k in kept:
        own, test = calibration[k][None], row[None]
        if method != "split":
            union = masks[k] | mask
            own, test = _hidden(calibration[k], union), _hidden(row, union)
        low, high, unit = predict(own)[0]
        score = max(low - targets[k], targets[k] - high) / unit
        low, high, unit = predict(test)[0]
        lows.append(low - score * unit)
        highs.append(high + score * unit)
    rank = math.ceil(coverage * (len(kept) + 1) - 1e-9)
    if rank > len(kept):
        return -math.inf, math.inf
    low, high = sorted(lows, reverse=True)[rank - 1], sorted(highs)[rank - 1]
    return (low, high) if low <= high else ((low + high) / 2,) * 2  # an empty interval: its middle


def label_set(scores, calibration, targets, row, method, coverage, subsample):
    """Return which classes are in the set of one row; ``scores`` maps rows to scores of classes."""
    masks = np.isnan(calibration)
    mask = np.isnan(row)
    kept = comparable_rows(masks, mask, method, subsample)
    n_classes = scores(row[None]).shape[1]
    worse = [0] * n_classes
    for k in kept:
        own, test = calibration[k][None], row[None]
        if method != "split":
            union = masks[k] | mask
            own, test = _hidden(calibration[k], union), _hidden(row, union)
        mine = scores(own)[0][targets[k]]
        for c, value in enumerate(scores(test)[0]):
            worse[c] += mine < value
    return [count < coverage * (len(kept) + 1) - 1e-9 for count in worse]


def mask_probability(coefficients, inputs, mask):
    """Return ``prod_j P(M_j | x, M_1 ... M_(j - 1))`` of one complete row, column by column."""
    probability = 1.0
    for j, missing in enumerate(mask):
        intercept, slopes = coefficients[j][0], coefficients[j][1 : 1 + len(inputs)]
        before = coefficients[j][1 + len(inputs) :]
        logit = intercept + sum(a * x for a, x in zip(slopes, inputs, strict=True))
        logit += sum(before[i] for i in range(j) if mask[i])
        chance = 1 / (1 + math.exp(-logit))
        probability *= chance if missing else 1 - chance
    return probability


def draw_weights(probability, draws, origin, masks, mask):
    """Return ``P(mask | x)`` of each draw times its share ``P(M | x)`` among those of its row."""
    own = [probability(x, masks[k]) for x, k in zip(draws, origin, strict=True)]
    total = [sum(p for p, k in zip(own, origin, strict=True) if k == row) for row in origin]
    return [probability(x, mask) * p / t for x, p, t in zip(draws, own, total, strict=True)]


def weighted_interval(predict, draws, targets, weights, row, own, coverage):
    """Return the interval of one row from masked and weighted draws of calibration rows."""
    mask, pairs = np.isnan(row), []
    for x, y, weight in zip(draws, targets, weights, strict=True):
        low, high, unit = predict(_hidden(x, mask))[0]
        pairs.append((max(low - y, y - high) / unit, weight))
    reached, needed = 0.0, coverage * (sum(weights) + own) - 1e-9
    low, high, unit = predict(row[None])[0]
    for score, weight in sorted(pairs):
        reached += weight
        if reached >= needed:
            return low - score * unit, high + score * unit
    return -math.inf, math.inf


def weighted_set(scores, draws, targets, weights, row, own, coverage):
    """Return which classes are in the set of one row, from weighted draws."""
    mask = np.isnan(row)
    needed = coverage * (sum(weights) + own) - 1e-9
    found = []
    for value in scores(row[None])[0]:
        worse = 0.0
        for x, y, weight in zip(draws, targets, weights, strict=True):
            worse += weight * (scores(_hidden(x, mask))[0][y] < value)
        found.append(worse < needed or needed > sum(weights))
    return found
