"""What all imputers share, and what defines each of the simple ones."""

import numpy as np
import pandas as pd
import pytest
from sklearn.svm import SVR

from lab.baselines import (
    ChainedEquationsImputer,
    IncompleteCaseKNNImputer,
    KMeansImputer,
    MissForestImputer,
    SampledImputer,
    SVRImputer,
)

NAN = np.nan

IMPUTERS = {
    "icknni": IncompleteCaseKNNImputer(),
    "kmeans": KMeansImputer(random_state=0),
    "svr": SVRImputer(),
    "sampled": SampledImputer("gaussian", random_state=0),
    "mice": ChainedEquationsImputer(max_iter=2, random_state=0),
    "missForest": MissForestImputer(n_estimators=5, max_iter=2, random_state=0),
}


@pytest.fixture(params=IMPUTERS.values(), ids=IMPUTERS.keys())
def imputer(request):
    from sklearn.base import clone

    return clone(request.param)


def test_observed_values_stay_and_new_rows_are_filled(imputer, two_classes):
    X, _ = two_classes(0.3)
    new, _ = two_classes(0.5, n=20, seed=1)
    new[0] = NAN
    filled = imputer.fit(X).transform(new)
    assert np.isfinite(filled).all()
    np.testing.assert_array_equal(filled[~np.isnan(new)], new[~np.isnan(new)])


def test_the_same_table_twice_and_the_same_seed_twice(imputer, two_classes):
    from sklearn.base import clone

    X, _ = two_classes(0.3)
    first = imputer.fit(X).transform(X)
    np.testing.assert_array_equal(first, imputer.transform(X))
    np.testing.assert_array_equal(first, clone(imputer).fit(X).transform(X))


def test_new_rows_teach_nothing(imputer, two_classes):
    """Inductive: what one row gets does not depend on the values of the other new rows."""
    X, _ = two_classes(0.3)
    new, _ = two_classes(0.5, n=20, seed=1)
    imputer.fit(X)
    changed = new.copy()
    changed[10:] *= 100
    np.testing.assert_allclose(
        imputer.transform(new)[:10], imputer.transform(changed)[:10], rtol=1e-10
    )


def test_columns_that_nobody_has_are_named_and_zero(imputer, two_classes):
    X, _ = two_classes(0.3)
    X[:, 2] = NAN
    with pytest.warns(UserWarning, match="x2"):
        filled = imputer.fit(X).transform([[1.0, NAN, NAN, 1.0], [1.0, NAN, 7.0, 1.0]])
    np.testing.assert_array_equal(filled[:, 2], [0.0, 7.0])
    assert np.isfinite(filled).all()


def test_infinity_is_refused(imputer, two_classes):
    X, _ = two_classes(0.3)
    X[0, 0] = np.inf
    with pytest.raises(ValueError, match="Infinity"):
        imputer.fit(X)
    assert not hasattr(imputer, "n_features_in_")


def test_one_column_and_constant_columns(imputer):
    filled = imputer.fit([[1.0], [3.0], [NAN], [2.0]]).transform([[NAN], [5.0]])
    assert np.isfinite(filled).all()
    X = np.ones((12, 3))
    X[:4, 0] = NAN
    X[:, 2] = np.arange(12)
    np.testing.assert_allclose(imputer.fit(X).transform(X)[:, 0], 1.0, atol=1e-6)


def test_frames_in_and_names_out(imputer, two_classes):
    X, _ = two_classes(0.3)
    frame = pd.DataFrame(X, columns=list("abcd"))
    out = imputer.set_output(transform="pandas").fit_transform(frame)
    assert list(out.columns) == list("abcd")


def test_icknni_takes_only_rows_that_have_as_much():
    X = np.array(
        [
            [0.0, 0.0, 10.0],  # has all: qualifies
            [0.1, NAN, 99.0],  # nearest, but misses what the row has
            [1.0, 1.0, 20.0],
            [5.0, 5.0, NAN],  # has nothing to give
        ]
    )
    filled = IncompleteCaseKNNImputer(n_neighbors=1).fit(X).transform([[0.1, 0.1, NAN]])
    assert filled[0, 2] == 10.0
    # For a row that has column 0 alone, the incomplete case qualifies and is nearest.
    filled = IncompleteCaseKNNImputer(n_neighbors=1).fit(X).transform([[0.1, NAN, NAN]])
    assert filled[0, 2] == 99.0
    # Nobody has columns 1 and 2 of a row such as this with column 0 missing from the last.
    only = IncompleteCaseKNNImputer().fit([[1.0, NAN], [NAN, 4.0]]).transform([[2.0, NAN]])
    assert only[0, 1] == 4.0


def test_kmeans_on_complete_rows_is_a_fixed_point_of_lloyd(two_classes):
    X, _ = two_classes(0.3)
    imputer = KMeansImputer(n_clusters=4, random_state=0).fit(X)
    assert imputer.n_iter_ < 100
    distances = np.nansum((X[:, None] - imputer.cluster_centers_) ** 2, axis=2)
    labels = distances.argmin(axis=1)
    assert imputer.inertia_ == pytest.approx(distances.min(axis=1).sum(), rel=1e-10)
    for k in range(4):
        np.testing.assert_allclose(
            imputer.cluster_centers_[k], np.nanmean(X[labels == k], axis=0), rtol=1e-10
        )
    filled = imputer.transform(X)
    holes = np.isnan(X)
    np.testing.assert_array_equal(filled[holes], imputer.cluster_centers_[labels][holes])


def test_svr_is_a_regression_of_each_column_on_the_others(two_classes):
    X, _ = two_classes(0.0)
    new = X[:5].copy()
    new[:, 1] = NAN
    filled = SVRImputer(C=1.0).fit(X).transform(new)
    by_hand = SVR(C=1.0).fit(X[:, [0, 2, 3]], X[:, 1]).predict(X[:5][:, [0, 2, 3]])
    np.testing.assert_allclose(filled[:, 1], by_hand, rtol=1e-10)


def test_draws_vary_as_the_density_says(two_classes):
    X, _ = two_classes(0.3, n=200)
    imputer = SampledImputer("gaussian", random_state=0).fit(X)
    row = np.array([[0.5, NAN, NAN, 0.0]])
    draws = imputer.draws(row, 4000)[:, 0, [1, 2]]
    beliefs = imputer.density_.condition(row)
    mean, covariance = beliefs.mean()[0, [1, 2]], beliefs.covariance()[0][np.ix_([1, 2], [1, 2])]
    z = (draws.mean(axis=0) - mean) / np.sqrt(np.diagonal(covariance) / 4000)
    assert np.abs(z).max() < 5
    ratio = draws.var(axis=0) / np.diagonal(covariance)
    assert np.abs((ratio - 1) / np.sqrt(2 / 4000)).max() < 5


@pytest.mark.parametrize(
    "broken",
    [
        IncompleteCaseKNNImputer(n_neighbors=0),
        KMeansImputer(n_clusters=0),
        ChainedEquationsImputer(n_draws=0),
        ChainedEquationsImputer(ridge=-1.0),
        MissForestImputer(max_iter=0),
        MissForestImputer(categorical_features=[9]),
    ],
    ids=repr,
)
def test_bad_parameters(broken, two_classes):
    X, _ = two_classes(0.3)
    with pytest.raises(ValueError, match="must"):
        broken.fit(X)
