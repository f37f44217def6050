"""The compiled third cumulant against the same sum written out."""

from __future__ import annotations

import numpy as np
import pytest

from absentia.engine.sums import third_cumulants


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_it_is_the_product_of_four(share):
    rng = np.random.default_rng(0)
    n, m, d = 7, 5, 6
    roots = rng.normal(size=(4, d, d)) * (rng.uniform(size=(4, d, 1)) < share)
    covariances = roots @ roots.transpose(0, 2, 1)
    row_of, column_of = rng.integers(4, size=n), rng.integers(4, size=m)
    a, b = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    expected = np.einsum(
        "iu,juv,ivw,jw->ij", a, covariances[column_of], covariances[row_of], b, optimize=True
    )
    certain = np.diagonal(covariances, axis1=1, axis2=2) == 0
    members = np.argsort(certain, axis=1, kind="stable")
    blocks = covariances[np.arange(4)[:, None, None], members[:, :, None], members[:, None]]
    uncertain = blocks, members, np.count_nonzero(~certain, axis=1)
    values = third_cumulants(*uncertain, row_of, a, *uncertain, column_of, b)
    np.testing.assert_allclose(values, expected, rtol=1e-10, atol=1e-12)
