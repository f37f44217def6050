"""The variance of the kernel of two incomplete rows."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from absentia.beliefs import Beliefs
from absentia.engine.threads import bounded_slices
from absentia.kernels.base import DIAGONAL, Diagonal, Kernel, with_params
from absentia.kernels.belief_moments import (
    BeliefMoments,
    inner_product_variance,
    paired_inner_product_variance,
    uncertain_columns,
)
from absentia.kernels.gram.tiles import assembled
from absentia.kernels.metric import metric_root
from absentia.kernels.polynomial import ExpectedLinear
from absentia.kernels.rbf import ExpectedRBF
from absentia.tables import BoolArray, FloatArray, IntArray

# Share of the squared kernel below which a variance that comes out of a subtraction is doubtful.
_SMALL = 1e-3


def kernel_variance(
    kernel: Kernel,
    P: Beliefs,
    Q: Beliefs | None = None,
    *,
    diagonal: Diagonal = "same",
    n_jobs: int | None = None,
) -> FloatArray:
    """Return the variance of the kernel of two rows over what they could have been.

    The expected kernel says how alike two rows are on average; this says how sure that is. For
    independent rows with means ``a``, ``b`` and covariances ``A``, ``B``:

    - :class:`ExpectedLinear`: ``var(x'y) = tr(AB) + a'Ba + b'Ab``, Eq. (6) of [Anderson2011]_,
      for mixtures through their overall moments, which is exact; ``a`` and ``b`` are counted from
      the centre of the kernel, where it has one;
    - :class:`ExpectedRBF`: ``E[k with 2 gamma] - E[k]²``, since the square of an RBF is an RBF of
      twice the gamma: Eq. (7) of [Anderson2011]_ with its factor corrected, also for mixtures.

    Between complete rows it is zero. Where the variance is small beside the square of the kernel
    (narrow beliefs, or a small gamma) it is computed without subtraction, so that it has about
    ten digits at any gamma, at the cost of an eigendecomposition for each pair of patterns.

    Parameters
    ----------
    kernel : ExpectedLinear or ExpectedRBF
        Others have no closed form here. The unscaled RBF is not an expectation, so it has no
        variance.
    P : Beliefs of n rows
    Q : Beliefs of m rows, optional
    diagonal : {"same", "independent"}, default="same"
        Without ``Q``, what the diagonal is: the variance of a row's kernel with itself, or with
        an independent draw. With itself the RBF is always 1, of variance 0; the inner product has
        ``2 tr(AA) + 4 a'Aa``, the second case of Eq. (6). (The paper has no such case for the
        RBF: its Eq. (7) on the diagonal is ``"independent"``.)
    n_jobs : int, optional
        Threads, as in calling a kernel.

    Returns
    -------
    ndarray of shape (n, m), or (n, n)
        Never negative.

    Examples
    --------
    >>> from absentia import Beliefs, ExpectedLinear, kernel_variance
    >>> P = Beliefs.from_moments([[1.0], [2.0], [0.0]], [[0.0], [0.5], [0.0]])
    >>> kernel_variance(ExpectedLinear(), P)
    array([[0. , 0.5, 0. ],
           [0.5, 8.5, 0. ],
           [0. , 0. , 0. ]])
    """
    resolved = _resolved(kernel, P, Q, diagonal)
    if isinstance(resolved, ExpectedLinear):
        V = _linear(P, Q, resolved.centre, n_jobs)
    else:
        V = with_params(resolved, gamma=2 * resolved.gamma)(P, Q, n_jobs=n_jobs)
        K = resolved(P, Q, n_jobs=n_jobs)
        K *= K
        V -= K
        _mend_small(V, K, resolved, P, Q)
    if Q is None:
        np.fill_diagonal(V, kernel_variance_diag(resolved, P, diagonal=diagonal))
    return V


def kernel_variance_diag(kernel: Kernel, P: Beliefs, *, diagonal: Diagonal = "same") -> FloatArray:
    """Return the diagonal of ``kernel_variance(kernel, P)`` without the rest of it, shape (n,).

    Parameters
    ----------
    kernel : ExpectedLinear or ExpectedRBF
    P : Beliefs of n rows
    diagonal : {"same", "independent"}, default="same"
        The variance of a row's kernel with itself, or with an independent draw of the row.

    Examples
    --------
    >>> from absentia import Beliefs, ExpectedLinear
    >>> from absentia.kernels import kernel_variance_diag
    >>> P = Beliefs.from_moments([[1.0], [2.0], [0.0]], [[0.0], [0.5], [0.0]])
    >>> kernel_variance_diag(ExpectedLinear(), P, diagonal="independent")
    array([0.  , 4.25, 0.  ])
    """
    resolved = _resolved(kernel, P, None, diagonal)
    if isinstance(resolved, ExpectedLinear):
        centre: Any = resolved.centre
        if diagonal == "same":
            return _linear_same(P, centre)
        x = BeliefMoments(P, columns=uncertain_columns(P), centre=centre)
        return paired_inner_product_variance(x, x)
    if diagonal == "same":
        return np.zeros(len(P))
    apart = with_params(resolved, diagonal="independent")
    second = with_params(apart, gamma=2 * resolved.gamma).diag(P)
    squares = apart.diag(P) ** 2
    variances = second - squares
    doubtful = np.flatnonzero(variances < _SMALL * squares)
    variances[doubtful] = _rbf_variances(P, P, doubtful, doubtful, _root(resolved, P))
    variances[_certain_rows(P)] = 0.0
    return variances


def _mend_small(
    V: FloatArray, K_squared: FloatArray, kernel: ExpectedRBF, P: Beliefs, Q: Beliefs | None
) -> None:
    """Recompute variances that lost their digits to cancellation; zero between complete rows."""
    doubtful = _SMALL * K_squared > V
    others = P if Q is None else Q
    sure, sure_others = _certain_rows(P), _certain_rows(others)
    pairs = np.ix_(np.flatnonzero(sure), np.flatnonzero(sure_others))
    V[pairs], doubtful[pairs] = 0.0, False
    rows, columns = np.nonzero(np.tril(doubtful, -1) if Q is None else doubtful)
    V[rows, columns] = _rbf_variances(P, others, rows, columns, _root(kernel, P))
    if Q is None:
        V[columns, rows] = V[rows, columns]


def _root(kernel: ExpectedRBF, P: Beliefs) -> FloatArray:
    """Return ``R`` with ``R'R = 2 gamma M``."""
    root = np.eye(P.n_features) if isinstance(kernel.metric, str) else metric_root(kernel.metric)
    # One gamma per column multiplies the columns of the root.
    return np.sqrt(2 * np.asarray(kernel.gamma, dtype=np.float64)) * root


def _resolved(kernel: Kernel, P: Beliefs, Q: Beliefs | None, diagonal: Diagonal) -> Any:
    """Return an expected linear or RBF kernel with its parameters resolved; refuse any other."""
    if isinstance(kernel, ExpectedRBF) and not kernel.scaled:
        raise ValueError(
            f"{kernel!r} is not the mean of a kernel of random rows, so it has no variance; use "
            "ExpectedRBF with scaled=True."
        )
    if not isinstance(kernel, ExpectedLinear | ExpectedRBF):
        raise TypeError(
            "The variance of a kernel is known for ExpectedLinear and ExpectedRBF, found "
            f"{kernel!r}."
        )
    DIAGONAL.check("diagonal", diagonal)
    resolved = kernel._checked(P, Q)
    P.require_numbers("kernel_variance")
    return resolved


def _linear(P: Beliefs, Q: Beliefs | None, centre: Any, n_jobs: int | None) -> FloatArray:
    R = P if Q is None else Q
    columns = uncertain_columns(P, R)
    x = BeliefMoments(P, columns=columns, centre=centre)
    y = x if Q is None else BeliefMoments(Q, columns=columns, centre=centre)
    return assembled(
        lambda rows, others: inner_product_variance(x, y, rows, others),
        (len(P), len(R)),
        symmetric=Q is None,
        tile_rows=x.tile_rows,
        n_jobs=n_jobs,
    )


def _linear_same(P: Beliefs, centre: Any) -> FloatArray:
    """Return ``var(x'x)``: within the components, and between them."""
    means, variances = np.empty((2, len(P), P.n_components))
    for c in range(P.n_components):
        x = BeliefMoments(P, component=c, centre=centre)
        means[:, c] = np.einsum("ij,ij->i", x.means, x.means) + x.traces()
        # var(x'x) = 2 tr(AA) + 4 a'Aa, and for two independent draws half of each.
        variances[:, c] = 2 * paired_inner_product_variance(x, x)
    weights = P.weights()
    means -= np.einsum("ic,ic->i", weights, means)[:, None]
    return np.einsum("ic,ic->i", weights, variances + means**2)


def _certain_rows(P: Beliefs) -> BoolArray:
    """Return which rows are points, shape (n,)."""
    certain: BoolArray = P.covariances.is_zero()[P.group_of_row]
    return certain & (P.means == P.means[:, :1]).all(axis=(1, 2))


def _rbf_variances(
    P: Beliefs, Q: Beliefs, rows: IntArray, columns: IntArray, root: FloatArray
) -> FloatArray:
    """Return the variance of ``exp(-|R(x - y)|^2 / 2)`` of pairs of rows, shape (n_pairs,).

    For two Gaussians let ``l`` be the eigenvalues of ``R (A + B) R'`` and ``e`` the difference of
    the means times ``R`` in their basis. With ``k`` the mean, that of the square is::

        log k = -1/2 sum log(1 + l) - 1/2 sum e^2 / (1 + l)
        log(k2 / k^2) = 1/2 sum log(1 + l^2 / (1 + 2l)) + sum e^2 l / ((1 + l)(1 + 2l))

    so that the variance ``k^2 (k2 / k^2 - 1)`` has all its digits however small it is. Mixtures
    add the variance of the means of their pairs of components. ``root`` is ``R``.
    """
    out = np.empty(len(rows))
    terms = P.n_components * Q.n_components
    for part in bounded_slices(len(rows), P.n_features**2 + 2 * terms):
        out[part] = _of_pairs(P, Q, rows[part], columns[part], root)
    return out


def _of_pairs(P: Beliefs, Q: Beliefs, i: IntArray, j: IntArray, root: FloatArray) -> FloatArray:
    # The eigenvalues of a pair of rows are those of their pair of groups.
    n_groups = Q.covariances.n_groups
    groups, pair = np.unique(P.group_of_row[i] * n_groups + Q.group_of_row[j], return_inverse=True)
    A, B = P.covariances.dense(groups // n_groups), Q.covariances.dense(groups % n_groups)
    weights_P, weights_Q = P.weights()[i], Q.weights()[j]
    weights, excesses = [], []  # of the components; the mean of each less one
    variance = np.zeros(len(i))
    for a, b in product(range(P.n_components), range(Q.n_components)):
        values, basis = np.linalg.eigh(root @ (A[:, a] + B[:, b]) @ root.T)
        spread = np.maximum(values, 0.0)[pair]
        differences = (P.means[i, a] - Q.means[j, b]) @ root.T
        squares = np.einsum("pk,pkl->pl", differences, basis[pair]) ** 2
        log_mean = -0.5 * (np.log1p(spread) + squares / (1 + spread)).sum(axis=1)
        log_ratio = 0.5 * np.log1p(spread**2 / (1 + 2 * spread))
        log_ratio += squares * spread / ((1 + spread) * (1 + 2 * spread))
        weight = weights_P[:, a] * weights_Q[:, b]
        variance += weight * np.exp(2 * log_mean) * np.expm1(log_ratio.sum(axis=1))
        weights.append(weight)
        excesses.append(np.expm1(log_mean))
    excess = np.array(excesses) - np.average(excesses, axis=0, weights=weights)
    return variance + np.einsum("cp,cp->p", weights, excess**2)
