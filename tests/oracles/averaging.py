"""Averages of members, written out: walks down one tree, and weights by brute force."""

from __future__ import annotations

import itertools

import numpy as np


def reached_leaf(row, feature, threshold, left, right, missing_left, node=0):
    """Follow one row down a tree that is given as lists."""
    while left[node] != -1:
        x = row[feature[node]]
        goes_left = missing_left[node] if np.isnan(x) else x <= threshold[node]
        node = left[node] if goes_left else right[node]
    return node


def best_weights_on_a_grid(loss, n_members, steps):
    """Return the weights of sum one, multiples of 1/steps, with the smallest loss."""
    counts = itertools.product(range(steps + 1), repeat=n_members)
    candidates = [np.array(c) / steps for c in counts if sum(c) == steps]
    return min(candidates, key=loss)


def average(weights, answers, i, k):
    """Return output k of row i; answers (n_members, n_samples, n_outputs)."""
    return sum(w * own[i, k] for w, own in zip(weights, answers, strict=True))


def mixture_log_loss(weights, answers, y):
    """Log loss of averaged probabilities."""
    return float(np.mean([-np.log(average(weights, answers, i, c)) for i, c in enumerate(y)]))


def squared_error(weights, answers, y):
    """Mean squared error of averaged numbers."""
    return float(np.mean([(average(weights, answers, i, 0) - c) ** 2 for i, c in enumerate(y)]))


def shrunk_log_loss(weights, answers, y):
    """Log loss of all rows, and of one row per member that only this member answers."""
    if min(weights) <= 0:
        return float("inf")
    return len(y) * mixture_log_loss(weights, answers, y) - sum(np.log(w) for w in weights)


def shrunk_squared_error(weights, answers, y):
    """Squared errors, and the squared distance to equal weights in units of the best error."""
    n_members = len(weights)
    best = min(squared_error(one, answers, y) for one in np.eye(n_members))
    distance = sum((w - 1 / n_members) ** 2 for w in weights)
    return len(y) * squared_error(weights, answers, y) + n_members * best * distance


def tempered_log_loss(temperature, probabilities, y):
    """Sum of the log losses after a temperature, and how far its logarithm is from zero."""
    total = 5.0 * np.log(temperature) ** 2
    for row, c in zip(probabilities, y, strict=True):
        powers = [p ** (1 / temperature) for p in row]
        total -= np.log(powers[c] / sum(powers))
    return float(total)
