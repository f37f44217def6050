"""Estimators for which a missing value is a value like any other."""

from __future__ import annotations

from sklearn.base import BaseEstimator
from sklearn.utils import Tags

__all__ = ["TakesMissing"]


class TakesMissing(BaseEstimator):
    """Base of estimators that take NaN, whatever their parameters are."""

    def __sklearn_tags__(self) -> Tags:
        """Declare to scikit-learn that NaN is accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
