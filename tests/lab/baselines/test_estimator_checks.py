"""scikit-learn's own checks, and why a few of them do not apply."""

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.svm import SVC, SVR
from sklearn.utils.estimator_checks import parametrize_with_checks

from lab.baselines import (
    ChainedEquationsImputer,
    EncodedLabelsClassifier,
    GeometricMarginSVC,
    IncompleteCaseKNNImputer,
    KarmaSVC,
    KarmaSVR,
    KMeansImputer,
    MissForestImputer,
    MultipleImputationClassifier,
    MultipleImputationRegressor,
    SampledImputer,
    SVRImputer,
)

ESTIMATORS = [
    ChainedEquationsImputer(2, max_iter=2, random_state=0),
    EncodedLabelsClassifier(HistGradientBoostingClassifier(max_iter=5)),
    GeometricMarginSVC(),
    IncompleteCaseKNNImputer(),
    KMeansImputer(random_state=0),
    KarmaSVC(tol=1e-10),  # with 1e-3 weights and repetitions differ by what the solver leaves
    KarmaSVR(tol=1e-10),
    MissForestImputer(n_estimators=3, max_iter=2, random_state=0),
    MultipleImputationClassifier(SVC(), n_draws=2, random_state=0),
    MultipleImputationRegressor(SVR(), n_draws=2, random_state=0),
    SVRImputer(),
    SampledImputer("gaussian", random_state=0),
]


def expected_failures(estimator):
    if isinstance(estimator, MissForestImputer):
        return {"check_transformer_n_iter": "the check's table has no holes, so there is no round"}
    return {}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_estimator_checks(estimator, check):
    check(estimator)
