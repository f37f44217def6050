"""``sklearn.impute`` with absentia's imputer behind the names of the others."""

from typing import Any

from sklearn.impute import *  # noqa: F403
from sklearn.impute import MissingIndicator as MissingIndicator

from absentia import DensityImputer

# Parameters of scikit-learn's algorithms, for which a density has others.
_OF_CHAINED_EQUATIONS = (
    "estimator", "fill_value", "imputation_order", "initial_strategy", "max_iter",
    "n_nearest_features", "tol", "verbose",
)  # fmt: skip


def IterativeImputer(*, sample_posterior: bool = False, **params: Any) -> DensityImputer:
    """Return a density imputer with those of the parameters that it shares."""
    kept = {name: value for name, value in params.items() if name not in _OF_CHAINED_EQUATIONS}
    return DensityImputer(strategy="draw" if sample_posterior else "mean", **kept)


SimpleImputer = KNNImputer = DensityImputer
