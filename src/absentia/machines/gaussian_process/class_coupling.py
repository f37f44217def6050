"""One probability for each of several classes, from processes that separate one from the rest.

Each process gives ``P_k``, the probability of class ``k`` against all others; together they need
not sum to one. They are combined as

    ``p_k = P_k / (1 - P_k)^s / sum_j P_j / (1 - P_j)^s``,  ``0 <= s <= 1``.

With ``s = 0`` they are divided by their sum. That is right where they sum to one already, as they
do where classes overlap and rows are many: each process then knows its class's share. With
``s = 1`` each class counts with its odds, as if the processes were independent witnesses. That is
right where every process is in doubt by itself (few rows, many columns or many missing values, so
that averages over wide posteriors draw each ``P_k`` towards one half), but all agree on which class
it is: what one process says against the other classes counts as well. Which of the two a table is
cannot be seen from the ``P_k`` of a row, so that ``s`` is learned, from how probable each training
label is by the processes that have not seen it.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_expit, softmax

from absentia.machines.gaussian_process.sigmoid_moments import log_average_sigmoid
from absentia.tables import FloatArray, IntArray

__all__ = ["coupled_probabilities", "coupled_when_known", "fitted_rest_exponent"]


def coupled_probabilities(
    means: FloatArray, variances: FloatArray, rest_exponent: float
) -> FloatArray:
    """Return the probabilities of classes whose one-against-rest log-odds are Gaussian.

    Parameters
    ----------
    means, variances : ndarray of shape (n_samples, n_classes)
    rest_exponent : float
        The exponent ``s`` of the probability of the rest.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> from absentia.machines.gaussian_process.class_coupling import coupled_probabilities
    >>> log_odds, known = np.log([[4.0, 1 / 9, 1 / 9]]), np.zeros((1, 3))
    >>> coupled_probabilities(log_odds, known, 0.0).round(3)
    array([[0.8, 0.1, 0.1]])
    >>> coupled_probabilities(log_odds, known, 1.0).round(3)
    array([[0.947, 0.026, 0.026]])
    """
    log_class, rest_gain = _log_scores(means, variances)
    probabilities: FloatArray = softmax(log_class + rest_exponent * rest_gain, axis=1)
    return probabilities


def coupled_when_known(f: FloatArray, rest_exponent: float) -> FloatArray:
    """Return the probabilities of classes along the last axis where their log-odds are known.

    The same combination: ``log P - s log(1 - P) = (1 - s) log P + s f`` for ``P`` the sigmoid of
    ``f``, which is the softmax of the log-odds at ``s = 1``.
    """
    scores = (1.0 - rest_exponent) * log_expit(f) + rest_exponent * f
    probabilities: FloatArray = softmax(scores, axis=-1)
    return probabilities


def fitted_rest_exponent(means: FloatArray, variances: FloatArray, labels: IntArray) -> float:
    """Return the exponent in [0, 1] under which rows are most probable that were left out.

    The log loss of a softmax of scores that are linear in ``s`` is convex in ``s``, so that its
    minimum is where its slope ``sum_i sum_k p_ik g_ik - g_iy`` with ``g = -log(1 - P)`` changes
    its sign, or at an end.

    Parameters
    ----------
    means, variances : ndarray of shape (n_samples, n_classes)
        Of the log-odds of each training row, by processes that have not seen its label.
    labels : ndarray of int, shape (n_samples,)
    """
    log_class, rest_gain = _log_scores(means, variances)
    of_label = np.take_along_axis(rest_gain, labels[:, None], axis=1)[:, 0]

    def slope(exponent: float) -> float:
        p = softmax(log_class + exponent * rest_gain, axis=1)
        return float(((p * rest_gain).sum(axis=1) - of_label).mean())

    if slope(0.0) >= 0.0:
        return 0.0
    if slope(1.0) <= 0.0:
        return 1.0
    return float(brentq(slope, 0.0, 1.0))


def _log_scores(means: FloatArray, variances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return ``log P`` and ``-log(1 - P)``.

    Both are integrals of their own: a class that is nearly certain leaves the rest less than the
    distance of ``P`` from one can say.
    """
    return log_average_sigmoid(means, variances), -log_average_sigmoid(-means, variances)
