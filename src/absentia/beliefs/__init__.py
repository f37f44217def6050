"""Rows as distributions: the density of the data conditioned on what was observed of a row."""

from absentia.beliefs.beliefs import Beliefs
from absentia.beliefs.covariances import CovarianceTable
from absentia.beliefs.low_rank_prior import LowRankPrior
from absentia.beliefs.prior import Prior

__all__ = ["Beliefs", "CovarianceTable", "LowRankPrior", "Prior"]
