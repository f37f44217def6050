"""Random frequencies whose waves average to a kernel.

The RBF kernel is the average of ``cos(w'(x - y))`` over Gaussian ``w``: the theorem of Bochner,
used by Rahimi and Recht (2007) for random features. Frequencies that are orthogonal to one another
(Yu et al., 2016) have the same distribution one by one, and less variance together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike

from absentia.kernels.mask import checked_weight
from absentia.kernels.metric import metric_root
from absentia.parameters import MANY
from absentia.tables import FloatArray


def gaussian_frequencies(
    shape: tuple[int, int],
    gamma: float | FloatArray,
    metric: FloatArray | None,
    orthogonal: bool,
    rng: RandomState,
) -> FloatArray:
    """Draw frequencies ``w ~ N(0, 2 gamma M)``, one per column; shape (d, n_frequencies).

    Then ``E[cos(w'(x - y))] = exp(-gamma (x - y)' M (x - y))``. Orthogonal ones come in groups of
    ``d``: the directions from the QR factorisation of a Gaussian matrix (signs put right, so that
    they are uniform), the lengths those of independent Gaussian vectors.
    """
    d, n_frequencies = shape
    if orthogonal:
        n_groups = -(-n_frequencies // d)
        directions = np.concatenate([_rotation(d, rng) for _ in range(n_groups)], axis=1)
        lengths = np.sqrt(rng.chisquare(d, size=n_groups * d))
        standard = (directions * lengths)[:, :n_frequencies]
    else:
        standard = rng.standard_normal((d, n_frequencies))
    if metric is not None:
        standard = metric_root(metric).T @ standard
    return np.sqrt(2 * np.reshape(gamma, (-1, 1))) * standard


def frequencies_for(n_components: Any) -> int:
    """Return how many frequencies make this many features: a cosine and a sine per frequency."""
    MANY.check("n_components", n_components)
    return -(-int(n_components) // 2)


def fold_last_pair(waves: FloatArray, phase: float) -> FloatArray:
    """Make an odd number of features: one of the last frequency, instead of its pair.

    ``sqrt(2) cos(w'x + b)`` with a random phase ``b`` has the same average as the pair ``cos(w'x)``
    and ``sin(w'x)``, only more variance. ``waves`` holds the cosines, then the sines; the last
    column goes.
    """
    last = waves.shape[1] // 2 - 1
    folded = waves[:, :-1].copy()
    folded[:, last] = np.sqrt(2) * (np.cos(phase) * waves[:, last] - np.sin(phase) * waves[:, -1])
    return folded


def mask_frequencies(
    n_frequencies: int, weight: ArrayLike, n_features: int, rng: RandomState
) -> FloatArray:
    """Draw frequencies for the kernel of masks, one per column, shape (d, n_frequencies).

    For masks ``m``, ``n`` of zeros and ones the kernel is ``exp(-sum_j weights[j] [m_j != n_j])``.
    Let ``v_j = +-arccos(exp(-weights[j]))`` with a fair sign. Then, since the signs are independent
    and the sine is odd, ``E[cos(v'(m - n))]`` is the product of ``cos(v_j)`` over the columns in
    which the masks differ, which is the kernel. Of all symmetric distributions with that average
    this one has the smallest second moment ``E[cos(v'(m - n))^2]``, because it makes
    ``E[cos(2 v_j)] = 2 E[cos(v_j)^2] - 1`` as small as Jensen allows; a Gaussian ``v``, which would
    serve as well, has more.
    """
    angles = np.broadcast_to(np.arccos(np.exp(-checked_weight(weight, n_features))), n_features)
    signs = rng.choice([-1.0, 1.0], size=(n_features, n_frequencies))
    return angles[:, None] * signs


def category_signs(
    n_frequencies: int,
    n_categories: int,
    weight: float,
    rng: RandomState,
    similarity: FloatArray | None = None,
) -> FloatArray:
    """Draw signs for the kernel of one column of categories, (n_categories, n_frequencies).

    With probability ``exp(-weight)`` all categories of a frequency have the sign 1, and otherwise
    each has a fair sign of its own. Then ``E[s(x) s(y)]`` is 1 for equal categories and
    ``exp(-weight)`` for others, which is the kernel. With a similarity ``S`` of categories it is
    ``R s`` that each category has, for a root ``R R' = S``: ``E[(R s)(R s)'] = S``.
    """
    signs = rng.choice([-1.0, 1.0], size=(n_categories, n_frequencies))
    if similarity is not None:
        eigenvalues, vectors = np.linalg.eigh(similarity)
        signs = (vectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ signs
    signs[:, rng.uniform(size=n_frequencies) < np.exp(-weight)] = 1.0
    return signs


def _rotation(d: int, rng: RandomState) -> FloatArray:
    Q, R = np.linalg.qr(rng.standard_normal((d, d)))
    rotation: FloatArray = Q * np.sign(np.diagonal(R))
    return rotation
