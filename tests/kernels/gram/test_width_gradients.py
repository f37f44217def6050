"""Sums over pairs of derivatives by the widths of columns, against one pair at a time."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.examples import FAMILIES, example, rows_of
from oracles import widths as oracles

C = np.array([0.7, 2.0, 0.3])
CATEGORY_WEIGHTS = np.array([0.8, 0.3])
# Central differences with steps of 1e-5: an error of 1e-10 from the step, 1e-11 from rounding.
DIFFERENCES = {"rtol": 1e-6, "atol": 1e-8}


def with_categories(mixture, rng):
    """Give each component of an oracle's mixture two columns of categories."""
    return [(*part, [rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(2))]) for part in mixture]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_closed_forms_agree_with_differences(family):
    rows = rows_of(example(family))[:4]
    for p in rows:
        for q in rows:
            np.testing.assert_allclose(
                oracles.log_expected_rbf_by_widths(p.mixture, q.mixture, C),
                oracles.by_differences(
                    lambda c, p=p, q=q: oracles.expected_rbf(p.mixture, q.mixture, c), C
                ),
                **DIFFERENCES,
            )
            np.testing.assert_allclose(
                oracles.log_genrbf_by_widths(p.mixture, q.mixture, C),
                oracles.by_differences(
                    lambda c, p=p, q=q: oracles.genrbf(p.mixture, q.mixture, c), C
                ),
                **DIFFERENCES,
            )


@pytest.mark.parametrize("family", FAMILIES)
def test_with_categories_and_masks_too(family):
    rng = np.random.default_rng(1)
    p, q = (with_categories(row.mixture, rng) for row in rows_of(example(family))[2:4])
    weights = CATEGORY_WEIGHTS
    for kernel, by_widths, by_weights in (
        (
            oracles.expected_rbf,
            oracles.log_expected_rbf_by_widths,
            oracles.log_expected_rbf_by_category_weights,
        ),
        (
            oracles.genrbf,
            oracles.log_genrbf_by_widths,
            oracles.log_genrbf_by_category_weights,
        ),
    ):
        np.testing.assert_allclose(
            by_widths(p, q, C, weights),
            oracles.by_differences(lambda c, k=kernel: k(p, q, c, weights), C),
            **DIFFERENCES,
        )
        np.testing.assert_allclose(
            by_weights(p, q, C, weights),
            oracles.by_differences(lambda w, k=kernel: k(p, q, C, w), weights),
            **DIFFERENCES,
        )
    missing, other = [True, False, True], [False, False, True]
    np.testing.assert_allclose(
        oracles.log_mask_kernel_by_weights(missing, other, C),
        oracles.by_differences(lambda w: oracles.mask_kernel(missing, other, w), C),
        **DIFFERENCES,
    )
