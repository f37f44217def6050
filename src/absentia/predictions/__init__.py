"""Answers for incomplete rows: predictions, their uncertainty, and regions with a guarantee."""

from absentia.machines.uncertainty.parts import Uncertainty
from absentia.predictions.any_uncertainty import predict_uncertainty
from absentia.predictions.conformal_classifier import ConformalClassifier
from absentia.predictions.conformal_regressor import ConformalRegressor
from absentia.predictions.marginal_classifier import MarginalClassifier
from absentia.predictions.marginal_regressor import MarginalRegressor
from absentia.predictions.prediction_regions import PredictionIntervals, PredictionSets

__all__ = [
    "ConformalClassifier",
    "ConformalRegressor",
    "MarginalClassifier",
    "MarginalRegressor",
    "PredictionIntervals",
    "PredictionSets",
    "Uncertainty",
    "predict_uncertainty",
]
