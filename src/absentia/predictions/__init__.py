"""Answers for incomplete rows: predictions, their uncertainty, and regions with a guarantee."""

from absentia.machines.uncertainty import Uncertainty
from absentia.predictions.calibration import PredictionIntervals, PredictionSets
from absentia.predictions.conformal import ConformalClassifier, ConformalRegressor
from absentia.predictions.explanations import Explanation
from absentia.predictions.marginal import MarginalClassifier, MarginalRegressor, predict_uncertainty
from absentia.predictions.pooling import PooledEstimates, pool, pooled
from absentia.predictions.shapley import explain

__all__ = [
    "ConformalClassifier",
    "ConformalRegressor",
    "Explanation",
    "MarginalClassifier",
    "MarginalRegressor",
    "PooledEstimates",
    "PredictionIntervals",
    "PredictionSets",
    "Uncertainty",
    "explain",
    "pool",
    "pooled",
    "predict_uncertainty",
]
