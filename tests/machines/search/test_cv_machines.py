"""Model selection on shared matrices, against GridSearchCV over the plain machines."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn.kernel_ridge
import sklearn.svm
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, GroupKFold

from absentia import (
    SVC,
    SVCCV,
    SVR,
    SVRCV,
    ExpectedDistanceRBF,
    ExpectedPolynomial,
    ExpectedRBF,
    GammaRBF,
    GaussianDensity,
    GenRBF,
    KernelRidge,
    KernelRidgeCV,
    LogisticRegression,
    LogisticRegressionCV,
    MixedDensity,
    RobustSVC,
)
from absentia.machines.search.gram_search import log_loss_score
from machines.contract import MachineContract, table, targets_of
from oracles.logistic import linear_scores

GAMMAS = (0.1, 0.5)
SAME = ("mean_test_score", "std_test_score", "rank_test_score", "split0_test_score")


class TestSVCCV(MachineContract):
    has_gamma = False

    def make(self, **params):
        return SVCCV(**{"Cs": (2.0,), "gammas": (0.4,), "cv": 2, **params})

    def oracle(self, K, y, K_new):
        return sklearn.svm.SVC(kernel="precomputed", C=2.0).fit(K, y).decision_function(K_new)


class TestSVRCV(MachineContract):
    has_gamma = False
    targets = "numbers"

    def make(self, **params):
        return SVRCV(**{"Cs": (2.0,), "gammas": (0.4,), "cv": 2, **params})

    def oracle(self, K, y, K_new):
        return sklearn.svm.SVR(kernel="precomputed", C=2.0).fit(K, y).predict(K_new)


class TestLogisticRegressionCV(MachineContract):
    has_gamma = False

    def make(self, **params):
        fixed = {"Cs": (2.0,), "gammas": (0.4,), "cv": 2, "tol": 1e-12}
        return LogisticRegressionCV(**{**fixed, **params})

    def oracle(self, K, y, K_new):
        return linear_scores(K, y, K_new, C=2.0)


class TestKernelRidgeCV(MachineContract):
    has_gamma = False
    targets = "numbers"

    def make(self, **params):
        return KernelRidgeCV(**{"alphas": (0.3,), "gammas": (0.4,), "cv": 2, **params})

    def oracle(self, K, y, K_new):
        theirs = sklearn.kernel_ridge.KernelRidge(kernel="precomputed", alpha=0.3)
        return theirs.fit(K, y).predict(K_new)


@pytest.mark.parametrize(
    ("ours", "plain", "grid"),
    [
        (SVCCV(Cs=(0.5, 5.0), class_weight="balanced"), SVC(class_weight="balanced"), {"C": None}),
        (SVRCV(Cs=(5.0,), epsilons=(0.1, 0.5)), SVR(), {"C": None, "epsilon": None}),
        (KernelRidgeCV(alphas=(0.1, 1.0)), KernelRidge(), {"alpha": None}),
        (
            LogisticRegressionCV(Cs=(0.5, 5.0), fit_intercept=False, scoring=None),
            LogisticRegression(fit_intercept=False),
            {"C": None},
        ),
    ],
    ids=["SVC", "SVR", "KernelRidge", "LogisticRegression"],
)
def test_same_scores_and_choice_as_a_grid_search(ours, plain, grid):
    kind = "classes" if is_classifier(plain) else "numbers"
    X, y, new = table(40, seed=1), targets_of(kind, 40), table(10, seed=2)
    # Weights for some, so that both ways are tried.
    weights = {"sample_weight": np.linspace(0.2, 2.0, 40)} if "C" in grid else {}
    values = {name: list(getattr(ours, name + "s")) for name in grid}
    values |= {"gamma": list(GAMMAS), "mask_weight": [None, 0.5]}
    plain.set_params(density=FrozenEstimator(GaussianDensity().fit(X, **weights)))
    theirs = GridSearchCV(plain, values, cv=2).fit(X, y, **weights)
    mine = ours.set_params(gammas=GAMMAS, mask_weights=(None, 0.5), cv=2).fit(X, y, **weights)
    assert list(mine.cv_results_) == list(theirs.cv_results_)
    assert mine.cv_results_["params"] == theirs.cv_results_["params"]
    for name in SAME:
        # Numbers can differ in the last bit: a kernel of support vectors alone rounds differently.
        np.testing.assert_allclose(mine.cv_results_[name], theirs.cv_results_[name], rtol=1e-10)
    assert mine.best_params_ == theirs.best_params_
    np.testing.assert_array_equal(mine.predict(new), theirs.predict(new))
    assert type(mine.best_estimator_) is type(plain)


def test_a_kernel_object_is_searched_inside():
    X, y = table(40), targets_of("classes", 40)
    kernel = GenRBF(metric="mahalanobis")
    plain = SVC(kernel=kernel, density=FrozenEstimator(GaussianDensity().fit(X)))
    theirs = GridSearchCV(plain, {"kernel__gamma": list(GAMMAS)}, cv=3).fit(X, y)
    mine = SVCCV(kernel=kernel, Cs=(1.0,), gammas=GAMMAS, cv=3).fit(X, y)
    np.testing.assert_array_equal(
        mine.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"]
    )
    assert mine.best_params_ == {"C": 1.0, **theirs.best_params_}
    fixed = SVCCV(kernel=kernel + GenRBF(1.0), Cs=(1.0,), gammas=None, cv=3).fit(X, y)
    assert fixed.best_params_ == {"C": 1.0}
    with pytest.raises(ValueError, match="has no gamma to search"):
        SVCCV(kernel=kernel + GenRBF(1.0), cv=3).fit(X, y)


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (ExpectedDistanceRBF(), "esd"),
        (GammaRBF(), "egk"),
        (ExpectedPolynomial(degree=3, coef0=0.0), "poly"),
    ],
)
@pytest.mark.parametrize("machine", [SVCCV, SVRCV, KernelRidgeCV, LogisticRegressionCV])
def test_kernels_without_a_weight_of_categories_are_searched(machine, kernel, name):
    """By a grid of widths around the scale of the data, as where the kernel is given by name."""
    X, y = table(40), targets_of("classes" if is_classifier(machine()) else "numbers", 40)
    ours, named = (machine(kernel=k, gammas=3, cv=2).fit(X, y) for k in (kernel, name))
    assert ours.best_params_["kernel__gamma"] == named.best_params_["gamma"]
    np.testing.assert_array_equal(
        ours.cv_results_["split0_test_score"], named.cv_results_["split0_test_score"]
    )


def test_a_fold_without_a_class_has_a_log_loss():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.repeat(["a", "b", "rare"], (20, 17, 3))
    with pytest.warns(UserWarning, match="least populated class"):
        search = LogisticRegressionCV(Cs=(1.0, 10.0), gammas=GAMMAS).fit(X, y)
    assert -2.0 < search.best_score_ < -0.5
    model = search.best_estimator_
    truth = model.predict_proba(X)[np.arange(40), np.searchsorted(model.classes_, y)]
    assert log_loss_score(model, X, y) == pytest.approx(np.log(truth).mean(), rel=1e-12)
    weights = rng.uniform(size=40)
    assert log_loss_score(model, X, y, weights) == pytest.approx(
        -log_loss(y, model.predict_proba(X), sample_weight=weights), rel=1e-12
    )
    # A class that the model has not seen costs what scikit-learn makes of a probability of zero.
    assert log_loss_score(model, X[:1], np.array(["zebra"])) == np.log(np.finfo(float).eps)


def test_scoring_groups_threads_and_several_classes():
    X, y = table(60), targets_of("classes", 60) + (table(60)[:, 0] > 0.5)
    groups = np.arange(60) % 4
    params = {"scoring": "balanced_accuracy", "cv": GroupKFold(4)}
    grid = {"C": [1.0, 10.0], "gamma": list(GAMMAS)}
    plain = SVC(density=FrozenEstimator(GaussianDensity().fit(X)))
    theirs = GridSearchCV(plain, grid, **params).fit(X, y, groups=groups)
    for n_jobs in (None, 2):
        mine = SVCCV(Cs=(1.0, 10.0), gammas=GAMMAS, n_jobs=n_jobs, **params)
        mine.fit(X, y, groups=groups)
        np.testing.assert_array_equal(
            mine.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"]
        )
    assert mine.n_splits_ == 4


def test_a_number_of_gammas_is_a_grid_around_the_scale_of_the_data():
    X, y = table(40), targets_of("classes", 40)
    search = SVCCV(Cs=(1.0,), gammas=3, cv=2).fit(X, y)
    covariance = GaussianDensity().fit(X).covariance_
    np.testing.assert_allclose(
        [p["gamma"] for p in search.cv_results_["params"]],
        np.array([0.25, 1.0, 4.0]) / np.trace(covariance),
    )


@pytest.fixture
def paid(monkeypatch):
    """Count what is dear: fits of densities and Gram matrices."""
    counts = {"fits": 0, "grams": 0}

    def counted(name, function):
        def call(*args, **kwargs):
            counts[name] += 1
            return function(*args, **kwargs)

        return call

    monkeypatch.setattr(GaussianDensity, "fit", counted("fits", GaussianDensity.fit))
    monkeypatch.setattr(GenRBF, "_gram", counted("grams", GenRBF._gram))
    monkeypatch.setattr(ExpectedRBF, "_gram", counted("grams", ExpectedRBF._gram))
    return counts


@pytest.mark.parametrize(
    ("kind", "plain"),
    [
        (SVCCV, SVC),
        (SVRCV, SVR),
        (KernelRidgeCV, KernelRidge),
        (LogisticRegressionCV, LogisticRegression),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_one_density_and_one_matrix_per_width_serve_all_folds(kind, plain, weighted, paid):
    X, y = table(40), targets_of("classes", 40)
    weights = np.linspace(0.5, 2.0, 40) if weighted else None
    search = kind().fit(X, y, sample_weight=weights)
    assert paid["fits"] == 1
    assert paid["grams"] == 7 + 1  # gammas, and the refit
    # The grid is made around the scale of the density that is kept, weights and all.
    gammas = sorted({p["gamma"] for p in search.cv_results_["params"]})
    np.testing.assert_allclose(gammas[3], 1 / np.trace(search.density_.covariance_), rtol=1e-12)
    refitted = plain(**search.best_params_).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(search.dual_coef_, refitted.dual_coef_)


def test_densities_and_matrices_are_paid_once(paid):
    X, y = table(30), targets_of("classes")
    search = SVCCV(Cs=(0.1, 1.0, 10.0), gammas=GAMMAS, mask_weights=(0, 1.0), cv=3, refit=False)
    search.fit(X, y)
    assert paid == {"fits": 1, "grams": 2}
    assert len(search.cv_results_["params"]) == 12
    with pytest.raises(NotFittedError, match="fitted with refit=False"):
        search.predict(X)


def test_the_robust_machine_prepares_its_rows_once_for_all_tau(paid):
    X, y = table(30), targets_of("classes")
    RobustSVC(tau="cv", taus=(0.0, 0.1, 0.3), cv=3).fit(X, y)
    assert paid["fits"] == 1


def test_a_wrong_candidate_is_found_before_any_density_is_fitted(paid):
    with pytest.raises(ValueError, match="C must be a positive number"):
        SVCCV(Cs=(1.0, -1.0)).fit(table(), targets_of("classes"))
    assert paid["fits"] == 0


@pytest.mark.parametrize("kind", [SVCCV, KernelRidgeCV])
def test_a_search_without_refit_forgets_the_machine_of_an_earlier_one(kind):
    X, y = table(), targets_of("classes")
    search = kind(gammas=GAMMAS, cv=2).fit(X, y)
    search.predict(X)
    search.set_params(refit=False).fit(-X, y)
    with pytest.raises(NotFittedError, match="fitted with refit=False"):
        search.predict(X)


def test_beliefs_are_split_like_rows():
    X, y = table(40), targets_of("classes", 40)
    P = GaussianDensity().fit(X).condition(X)
    theirs = GridSearchCV(SVC(), {"C": [1.0], "gamma": list(GAMMAS)}, cv=3).fit(P, y)
    mine = SVCCV(Cs=(1.0,), gammas=GAMMAS, cv=3).fit(P, y)
    np.testing.assert_array_equal(
        mine.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"]
    )


def test_empty_grids_and_wrong_values_get_a_sentence():
    X, y = table(), targets_of("classes")
    with pytest.raises(ValueError, match="no value to try for C"):
        SVCCV(Cs=()).fit(X, y)
    with pytest.raises(ValueError, match="C must be a positive number"):
        SVCCV(Cs=(1.0, -1.0), gammas=GAMMAS).fit(X, y)
    with pytest.raises(ValueError, match="gamma must be a positive number"):
        SVCCV(gammas=(1.0, 0.0)).fit(X, y)
    for params in ({"Cs": 3.0}, {"gammas": "scale"}, {"mask_weights": 0.5}):
        with pytest.raises(TypeError, match="must be a list of values to try, found"):
            SVCCV(**params).fit(X, y)
    sorted_folds = [(np.flatnonzero(y == label), np.flatnonzero(y != label)) for label in (0, 1)]
    with pytest.raises(ValueError, match=r"Fold 0 of 2 cannot be fitted: .* got 1 class"):
        SVCCV(gammas=GAMMAS, cv=sorted_folds).fit(X, y)
    with pytest.raises(TypeError, match="scoring must be one score"):
        SVCCV(gammas=GAMMAS, scoring=["accuracy", "f1"]).fit(X, y)


def test_progress_counts_every_candidate_in_every_fold(capsys):
    pytest.importorskip("tqdm")
    SVCCV(Cs=(1.0,), gammas=GAMMAS, cv=2, progress=True).fit(table(), targets_of("classes"))
    assert "4/4" in capsys.readouterr().err


@pytest.mark.parametrize("unit", [1.0, 1000.0])
def test_the_grid_of_widths_is_in_the_units_of_the_metric(unit):
    X, y = unit * table(), targets_of("classes")
    kernel = GenRBF(metric="mahalanobis")
    search = SVCCV(kernel=kernel, Cs=(1.0,), gammas=3, cv=2).fit(X, y)
    tried = [params["kernel__gamma"] for params in search.cv_results_["params"]]
    # The Mahalanobis metric makes every column count one.
    np.testing.assert_allclose(np.array(tried) * X.shape[1], [0.25, 1.0, 4.0], rtol=1e-8)


def mixed_rows(n=60, seed=0):
    """Numbers and words with holes; the word decides the class, the numbers hardly."""
    rng = np.random.default_rng(seed)
    words = rng.choice(["a", "b", "c"], size=n)
    frame = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n), "word": words})
    y = (words == "a").astype(int)
    return frame.mask(rng.random(frame.shape) < 0.1), y


@pytest.mark.parametrize(
    ("ours", "plain"),
    [
        (SVCCV(Cs=(1.0,)), SVC()),
        (SVRCV(Cs=(1.0,)), SVR()),
        (KernelRidgeCV(alphas=(1.0,)), KernelRidge()),
        (LogisticRegressionCV(Cs=(1.0,), scoring=None), LogisticRegression()),
    ],
    ids=["SVC", "SVR", "KernelRidge", "LogisticRegression"],
)
def test_weights_of_categories_are_searched_as_by_a_grid_search(ours, plain):
    frame, y = mixed_rows()
    # As an array: a frame is planned on all rows here, and on those of a fold there.
    X = frame.assign(word=frame["word"].map({"a": 0, "b": 1, "c": 2})).to_numpy(float)
    density = MixedDensity(n_components=2, categories=[2], n_init=1, random_state=0)
    plain.set_params(density=FrozenEstimator(clone(density).fit(X)))
    weights = ["scale", [2.0]]
    grid = {"gamma": list(GAMMAS), "category_weight": weights}
    theirs = GridSearchCV(plain, grid, cv=2).fit(X, y)
    mine = ours.set_params(density=density, gammas=GAMMAS, category_weights=weights, cv=2)
    mine.fit(X, y)
    for name in SAME:
        np.testing.assert_allclose(mine.cv_results_[name], theirs.cv_results_[name], rtol=1e-10)
    assert mine.best_params_["category_weight"] == theirs.best_params_["category_weight"]
    assert mine.kernel_ == theirs.best_estimator_.kernel_


def test_weights_of_categories_around_scale_inside_a_kernel_and_without_categories():
    X, y = mixed_rows()
    density = MixedDensity(n_components=1)
    search = SVCCV(Cs=(1.0,), density=density, gammas=3, category_weights=3, cv=3).fit(X, y)
    scale = SVC(density=density).fit(X, y).kernel_
    for name in ("gamma", "category_weight"):
        tried = sorted({params[name] for params in search.cv_results_["params"]})
        np.testing.assert_allclose(tried, np.array([0.25, 1, 4]) * getattr(scale, name), rtol=1e-12)
    inside = SVCCV(
        Cs=(1.0,), density=density, kernel=GenRBF(), gammas=3, category_weights=3, cv=3
    ).fit(X, y)
    np.testing.assert_array_equal(
        inside.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"]
    )
    assert set(inside.best_params_) == {"C", "kernel__gamma", "kernel__category_weight"}
    # A table of numbers has nothing to weigh, and costs nothing.
    numbers = SVCCV(Cs=(1.0,), gammas=GAMMAS, category_weights=5, cv=3).fit(X[["x", "z"]], y)
    assert set(numbers.best_params_) == {"C", "gamma"}
    with pytest.raises(ValueError, match="has no category_weight to search"):
        SVCCV(kernel=GammaRBF(), gammas=None, category_weights=3).fit(X, y)
    with pytest.raises(ValueError, match=r"category_weight must be .* found -1"):
        SVCCV(density=density, category_weights=[-1.0]).fit(X, y)
    with pytest.raises(
        ValueError, match=r"category_weight=2\.0 was given along with kernel=GenRBF"
    ):
        SVC(kernel=GenRBF(), category_weight=2.0).fit(X, y)
