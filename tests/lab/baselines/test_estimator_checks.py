"""scikit-learn's own checks."""

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from lab.baselines import (
    EncodedLabelsClassifier,
    GeometricMarginSVC,
    IncompleteCaseKNNImputer,
    KarmaSVC,
    MultipleImputationClassifier,
    SampledImputer,
)

#: One of each base class: imputers, imputers that draw, and classifiers of every make.
ESTIMATORS = [
    EncodedLabelsClassifier(HistGradientBoostingClassifier(max_iter=5)),
    GeometricMarginSVC(),
    IncompleteCaseKNNImputer(),
    KarmaSVC(tol=1e-10),  # with 1e-3 weights and repetitions differ by what the solver leaves
    MultipleImputationClassifier(SVC(), n_draws=2, random_state=0),
    SampledImputer("gaussian", random_state=0),
]


@parametrize_with_checks(ESTIMATORS)
def test_estimator_checks(estimator, check):
    check(estimator)
