"""All densities as scikit-learn estimators, and the contract that they share."""

from __future__ import annotations

from sklearn.utils.estimator_checks import parametrize_with_checks

from absentia import GaussianDensity, LowRankDensity, MixedDensity, MixtureDensity
from densities.contract import DensityContract


class TestGaussianDensity(DensityContract):
    def make(self, **params):
        return GaussianDensity(**params)


class TestLowRankDensity(DensityContract):
    bad_parameters = (
        ("n_factors", 0),
        ("n_factors", "bic"),
        ("max_factors", 0),
        ("n_components", 0),
        ("pooling", -1),
    )

    def make(self, **params):
        return LowRankDensity(**{"random_state": 0, **params})


class TestMixtureOfLowRank(DensityContract):
    def make(self, **params):
        return LowRankDensity(**{"n_factors": 1, "n_components": 2, "random_state": 0, **params})


class TestMixtureDensity(DensityContract):
    bad_parameters = (
        ("n_components", 0),
        ("n_components", "aic"),
        ("max_components", 0),
        ("n_init", 0),
        ("init", "corners"),
        ("pooling", -1),
        ("pooling", "some"),
    )

    def make(self, **params):
        return MixtureDensity(**{"n_init": 2, "random_state": 0, **params})


class TestMixtureOfThree(DensityContract):
    """A fixed number of components, where every row has shares of several."""

    def make(self, **params):
        return MixtureDensity(**{"n_components": 3, "n_init": 2, "random_state": 0, **params})


class TestMixedDensity(DensityContract):
    """On numbers alone; :mod:`densities.test_mixed` has categories."""

    bad_parameters = (("n_components", 0), ("smoothing", -1.0), ("pooling", "some"))

    def make(self, **params):
        return MixedDensity(**{"n_components": 2, "n_init": 2, "random_state": 0, **params})


class TestNormalScores(DensityContract):
    """A density of scores; :mod:`densities.test_scored_rows` has the formulas."""

    bad_parameters = (("margins", "uniform"), ("margins", 1))
    test_beliefs_and_scores_are_those_of_the_fitted_mixture_row_by_row = None
    test_draws_have_the_moments_of_the_density = None

    def make(self, **params):
        return GaussianDensity(**{"margins": "normal-scores", **params})


STARTS = {
    "check_sample_weight_equivalence_on_dense_data": (
        "the starts are rows drawn at random, and rows that are repeated and shuffled are "
        "drawn in another order than rows with weights"
    )
}
EXPECTED_FAILURES = {"MixtureDensity": STARTS, "MixedDensity": STARTS}


@parametrize_with_checks(
    [
        GaussianDensity(),
        GaussianDensity(margins="normal-scores"),
        LowRankDensity(1),
        MixtureDensity(n_init=2, random_state=0),
        # Arrays of the checks are numbers; densities.test_mixed and the contract have categories.
        MixedDensity(n_components=2, n_init=2, random_state=0),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES.get(type(estimator).__name__, {}),
    xfail_strict=True,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
