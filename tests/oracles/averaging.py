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
