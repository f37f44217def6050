"""scikit-learn's own checks of estimators, on the automatic machines."""

from __future__ import annotations

from sklearn.utils.estimator_checks import parametrize_with_checks

from absentia import AutoClassifier, AutoRegressor, GaussianDensity

#: A few EM steps and two folds do for checks of interfaces.
QUICK = {
    "members": ("beliefs",),
    "density": GaussianDensity(max_iter=3, tol=1e3),
    "n_splits": 2,
    "n_repeats": 1,
    "hidden": (0.5,),
    "random_state": 0,
}


@parametrize_with_checks(
    [AutoClassifier(**QUICK), AutoRegressor(**QUICK | {"hidden": ()})],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": (
            "a row and its copy may be in different folds, so that members are judged otherwise"
        )
    },
)
def test_scikit_learn_finds_nothing_amiss(estimator, check):
    check(estimator)
