"""Rows as distributions: the density of the data conditioned on what was observed of a row."""

from absentia.beliefs.beliefs import Beliefs
from absentia.beliefs.priors.covariances import (
    ConditionalCovariances,
    CovarianceTable,
    ExplicitCovariances,
)
from absentia.beliefs.priors.low_rank_prior import LowRankPrior
from absentia.beliefs.priors.prior import Prior

__all__ = [
    "Beliefs",
    "ConditionalCovariances",
    "CovarianceTable",
    "ExplicitCovariances",
    "LowRankPrior",
    "Prior",
]
