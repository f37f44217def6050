"""Similarity of patterns."""

from __future__ import annotations

import numpy as np
import pytest

from absentia import MaskKernel
from kernels.contract import IgnoresTranslation, KernelContract
from kernels.examples import example
from oracles import kernels as oracles

WEIGHTS = np.array([0.0, 0.3, 2.0])


class TestMaskKernel(IgnoresTranslation, KernelContract):
    def make(self):
        return MaskKernel(0.7)

    def oracle(self, p, q):
        return oracles.mask_similarity(p.missing, q.missing, 0.7)


def test_each_column_can_have_its_own_weight():
    P = example("gaussian")
    masks = P.patterns.mask
    expected = [[oracles.mask_similarity(a, b, WEIGHTS) for b in masks] for a in masks]
    np.testing.assert_allclose(MaskKernel(WEIGHTS)(P), expected, rtol=1e-14)
    np.testing.assert_array_equal(MaskKernel(list(WEIGHTS))(P), MaskKernel(WEIGHTS)(P))


def test_no_weight_is_no_kernel():
    np.testing.assert_array_equal(MaskKernel(0)(example("gaussian")), np.ones((16, 16)))


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf, [1.0, 2.0], [1.0, -1.0, 0.0]])
def test_weights_that_make_no_sense_are_refused(weight):
    with pytest.raises(ValueError, match=r"weight \(mask_weight in a machine\) must be"):
        MaskKernel(weight)(example("gaussian"))
