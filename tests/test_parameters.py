"""Parameters at their extremes: one sentence that names the parameter, and no hang."""

from __future__ import annotations

import numpy as np
import pytest

from absentia import (
    SVC,
    SVCCV,
    SVR,
    ConjugateGradientRidge,
    ExpectedPolynomial,
    FourierFeatures,
    GaussianDensity,
    GaussianProcessRegressor,
    KernelKMeans,
    KernelRidge,
    LabelSpreading,
    LargeScaleRidge,
    LargeScaleSVC,
    LogisticRegression,
    MixtureDensity,
    Nystroem,
    OneClassSVM,
    RobustSVC,
)
from absentia.amputation import mcar
from absentia.kernels import gram_blocks
from absentia.parameters import (
    BOUNDS,
    COUNT,
    FRACTION,
    GAMMA,
    NOT_NEGATIVE,
    POSITIVE,
    SHARE,
    THREADS,
    words,
)

HUGE = 10**400
NO_NUMBERS = [HUGE, -HUGE, np.inf, -np.inf, np.nan, True, np.True_, "two", None, [1.0], 1j]
NO_COUNTS = [*NO_NUMBERS, 2**63, 2**31, 10**5000, 1.0, 0, -1]

X = np.random.default_rng(0).normal(size=(24, 3))
X[::3, 1] = np.nan
y = np.arange(24) % 2


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: str(value)[:12])
@pytest.mark.parametrize("rule", [POSITIVE, NOT_NEGATIVE, FRACTION, SHARE, GAMMA])
def test_what_is_no_finite_number_is_refused_in_one_sentence(rule, value):
    with pytest.raises(ValueError, match=r"^C must be a .*, found .*\.$") as caught:
        rule.check("C", value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("value", NO_COUNTS, ids=lambda value: str(type(value)))
def test_what_is_no_count_is_refused(value):
    with pytest.raises(
        ValueError, match=r"^n must be an integer from 1 to 2147483647, found .*\.$"
    ):
        COUNT.check("n", value)


def test_edges_of_the_rules():
    for rule, inside, outside in (
        (POSITIVE, (5e-324, 1e308, np.float32(2), 3), (0, -1)),
        (NOT_NEGATIVE, (0, 0.0), (-1e-300,)),
        (FRACTION, (0.5,), (0, 1)),
        (SHARE, (0, 1, 0.5), (1 + 1e-12,)),
        (COUNT, (1, np.int8(3), 2**31 - 1), (0,)),
        (BOUNDS, ((1, 1), [1e-3, 2], np.array([1.0, 2.0])), ((2, 1), (0, 1), (1,), 3, (1, HUGE))),
        (THREADS, (None, 1, -1, -HUGE, 4096), (0, "two", True, 1.0, 4097, HUGE)),
        (words("a", None), ("a", None), ("b", 1, np.array(["a", "b"]))),
    ):
        for value in inside:
            rule.check("p", value)
        for value in outside:
            with pytest.raises(ValueError, match=r"^p must be "):
                rule.check("p", value)


MACHINES = [
    (SVC(C=HUGE), "C"),
    (SVC(C=True), "C"),
    (SVC(gamma=1e308), "gamma"),
    (SVC(gamma=True), "gamma"),
    (SVC(n_jobs="two"), "n_jobs"),
    (SVC(n_jobs=HUGE), "n_jobs"),
    (SVC(max_iter=2**63), "max_iter"),
    (SVC(cache_size=np.inf), "cache_size"),
    (SVR(epsilon=HUGE), "epsilon"),
    (OneClassSVM(nu=True), "nu"),
    (SVCCV(Cs=(1.0, HUGE), gammas=(1.0,)), "C"),
    (SVCCV(gammas=True), "gammas"),
    (SVCCV(gammas=2**63), "gammas"),
    (SVCCV(n_jobs="two"), "n_jobs"),
    (KernelRidge(alpha=HUGE), "alpha"),
    (KernelRidge(alpha=np.inf), "alpha"),
    (ConjugateGradientRidge(cache_size=np.nan), "cache_size"),
    (ConjugateGradientRidge(max_iter=True), "max_iter"),
    (LogisticRegression(C=np.inf), "C"),
    (LogisticRegression(max_iter=10**5000), "max_iter"),
    (RobustSVC(tau=HUGE), "tau"),
    (RobustSVC(tau="cv", taus=(0.1, np.nan)), "taus"),
    (GaussianProcessRegressor(noise=True), "noise"),
    (GaussianProcessRegressor(gamma_bounds=(1, HUGE)), "gamma_bounds"),
    (KernelKMeans(n_clusters=True), "n_clusters"),
    (LabelSpreading(alpha=HUGE), "alpha"),
    (LargeScaleSVC(n_jobs="two"), "n_jobs"),
    (LargeScaleRidge(alpha=HUGE), "alpha"),
    (LargeScaleRidge(n_components=True), "n_components"),
    (LargeScaleRidge(gamma=1e308), "gamma"),
    (GaussianDensity(max_iter=True), "max_iter"),
    (GaussianDensity(tol=HUGE), "tol"),
    (GaussianDensity(shrinkage=True), "shrinkage"),
    (GaussianDensity(n_jobs="two"), "n_jobs"),
    (MixtureDensity(n_components=True), "n_components"),
    (MixtureDensity(n_components=2**63), "n_components"),
    (MixtureDensity(n_init=HUGE), "n_init"),
    (FourierFeatures(n_components=True), "n_components"),
    (FourierFeatures(n_components=HUGE), "n_components"),
    (FourierFeatures(gamma=1e308), "gamma"),
    (FourierFeatures(n_jobs="two"), "n_jobs"),
    (Nystroem(gamma=1e308), "gamma"),
    (Nystroem(n_components=2**63), "n_components"),
    (Nystroem(n_jobs=True), "n_jobs"),
]


@pytest.mark.parametrize(
    ("estimator", "name"), MACHINES, ids=[f"{type(m).__name__}-{n}" for m, n in MACHINES]
)
def test_estimators_say_which_parameter_is_wrong_and_stay_as_they_were(estimator, name):
    before = set(vars(estimator))
    with pytest.raises((ValueError, TypeError), match=rf"'?\b{name}\b.* must be"):
        estimator.fit(X, y)
    assert set(vars(estimator)) == before


def test_functions_refuse_extremes_as_well():
    beliefs = GaussianDensity().fit(X).condition(X)
    for value in (True, HUGE, 0, "many"):
        with pytest.raises(ValueError, match="block_rows must be an integer"):
            gram_blocks(ExpectedPolynomial(), beliefs, block_rows=value)
    with pytest.raises(ValueError, match="coef0 must be a finite number"):
        ExpectedPolynomial(coef0=HUGE)(beliefs)
    with pytest.raises(ValueError, match="n_jobs must be None or an integer"):
        ExpectedPolynomial()(beliefs, n_jobs="two")
    for rate in (HUGE, True, np.nan):
        with pytest.raises(ValueError, match="rate must be a number from 0 to 1"):
            mcar(np.nan_to_num(X), rate)
