"""scikit-learn's own checks of estimators, on models averaged over what is missing."""

from __future__ import annotations

from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

from absentia import GaussianDensity, MarginalClassifier, MarginalRegressor

#: A few EM steps do for checks of interfaces; what EM finds is tested with the densities.
QUICK = GaussianDensity(max_iter=3, tol=1e3)


@parametrize_with_checks(
    [
        MarginalClassifier(LogisticRegression(), density=QUICK, n_draws=4),
        MarginalRegressor(Ridge(), density=QUICK, n_draws=4),
    ]
)
def test_scikit_learn_finds_nothing_amiss(estimator, check):
    check(estimator)
