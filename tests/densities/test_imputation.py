"""The imputer in pipelines, and multiple imputations."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from absentia import (
    Chunks,
    DensityImputer,
    GaussianDensity,
    LowRankDensity,
    MixedDensity,
    MixtureDensity,
    bounded,
    load,
    multiple_imputations,
    save,
)

# By name, mixtures search for their number of components, which has tests of its own.
DENSITIES = {
    "gaussian": "gaussian",
    "low-rank": LowRankDensity(1, margins="auto"),
    "mixture": MixtureDensity(2, margins="auto", n_init=1, random_state=0),
    "mixed": MixedDensity(2, margins="auto", n_init=1, random_state=0),
}


def table(n=200):
    rng = np.random.default_rng(0)
    X = rng.multivariate_normal([0, 5, -1], 0.4 * np.eye(3) + 0.6, size=n)
    X[rng.random(X.shape) < 0.2] = np.nan
    return X


def worded(n=200):
    X = table(n)
    words = np.where(X[:, 1] > 5, "high", "low").astype(object)
    words[:30] = None
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "word": words}, index=range(7, 7 + n))


@parametrize_with_checks([DensityImputer()])
def test_scikit_learn_accepts_the_imputer(estimator, check):
    check(estimator)


@pytest.mark.parametrize("density", DENSITIES)
@pytest.mark.parametrize("strategy", ["mean", "median", "mode", "draw"])
def test_frames_come_back_complete_and_as_they_were(density, strategy):
    X = worded()
    imputer = DensityImputer(DENSITIES[density], strategy=strategy, random_state=0).fit(X)
    filled = imputer.transform(X)
    assert list(filled.columns) == ["a", "b", "word"]
    assert (filled.index == X.index).all()
    assert not filled.isna().any().any()
    assert set(filled["word"]) == {"high", "low"}
    for name in X:
        seen = X[name].notna()
        assert (filled.loc[seen, name] == X.loc[seen, name]).all()
    assert (np.array(filled["word"])[:30] != "high").any()


def test_strategies_are_what_the_density_says():
    X = table()
    density = GaussianDensity(margins="auto").fit(X)
    mean = DensityImputer().fit(X).transform(X)
    np.testing.assert_array_equal(mean, density.impute(X))
    median = DensityImputer(strategy="median").fit(X).transform(X)
    np.testing.assert_allclose(median, density.quantiles(X, [0.5])[0])
    drawn = DensityImputer(strategy="draw", random_state=3).fit(X).transform(X)
    np.testing.assert_array_equal(drawn, density.draw(X, random_state=3))
    bumps = MixtureDensity(2, random_state=0).fit(X)
    mode = DensityImputer(MixtureDensity(2, random_state=0), strategy="mode").fit(X).transform(X)
    beliefs = bumps.condition(X)
    at = beliefs.weights().argmax(axis=1)
    np.testing.assert_allclose(mode, beliefs.means[np.arange(len(X)), at])


def test_indicators_and_back_again():
    X = table()
    X[:, 2] = np.nan_to_num(X[:, 2])
    imputer = DensityImputer(add_indicator=True).fit(X)
    filled = imputer.transform(X)
    assert list(imputer.get_feature_names_out()) == [
        "x0", "x1", "x2", "missingindicator_x0", "missingindicator_x1",
    ]  # fmt: skip
    np.testing.assert_array_equal(filled[:, 3:] == 1, np.isnan(X[:, :2]))
    np.testing.assert_array_equal(imputer.inverse_transform(filled), X)
    frame = worded()
    imputer = DensityImputer(add_indicator=True).fit(frame)
    back = imputer.inverse_transform(imputer.transform(frame))
    assert (back.isna() == frame.isna()).all().all()
    with pytest.raises(ValueError, match="add_indicator=True"):
        DensityImputer().fit(X).inverse_transform(X)
    frame = pl.from_pandas(frame)
    coded = frame.with_columns(frame[frame.columns[0]].fill_null(-9))
    imputer = DensityImputer(add_indicator=True, missing_values=-9).fit(coded)
    back = imputer.inverse_transform(imputer.transform(coded))
    assert back.null_count().equals(frame.null_count())


def test_a_matrix_of_low_rank_is_recovered():
    rng = np.random.default_rng(0)
    X = rng.random((50, 1)) @ rng.random((1, 50))
    missing = np.where(rng.random(X.shape) < 0.5, np.nan, X)
    filled = DensityImputer(LowRankDensity(1)).fit_transform(missing)
    np.testing.assert_allclose(filled, X, atol=1e-4)


def test_polars_and_set_output():
    X = table()
    frame = pl.DataFrame(X, schema=["a", "b", "c"]).fill_nan(None)
    filled = DensityImputer(add_indicator=True).fit_transform(frame)
    assert isinstance(filled, pl.DataFrame)
    assert filled.columns[3:] == ["missingindicator_a", "missingindicator_b", "missingindicator_c"]
    out = DensityImputer().set_output(transform="pandas").fit_transform(X)
    assert isinstance(out, pd.DataFrame)


def test_other_missing_values_and_empty_columns():
    X = table()
    expected = DensityImputer().fit(X).transform(X)
    coded = np.nan_to_num(X, nan=-99.0)
    np.testing.assert_array_equal(DensityImputer(missing_values=-99).fit_transform(coded), expected)
    empty = np.column_stack([X, np.full(len(X), np.nan)])
    with pytest.warns(UserWarning, match="missing in every training row"):
        kept = DensityImputer(keep_empty_features=True).fit(empty)
    assert kept.transform(empty).shape == empty.shape
    assert not kept.transform(empty)[:, 3].any()
    with pytest.warns(UserWarning, match="missing in every training row"):
        assert DensityImputer().fit(empty).transform(empty).shape == X.shape
    with pytest.raises(TypeError, match="zeros in a sparse matrix"):
        DensityImputer(missing_values=-1).fit(csr_array(np.nan_to_num(X)))


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_frames_of_numbers_keep_their_types(kind):
    frame = pl.DataFrame(
        {"a": [1, 2, -9, 4] * 20, "b": np.arange(80.0), "c": [True, None, False, True] * 20}
    )
    if kind == "pandas":
        c = pd.array(frame["c"].to_list(), dtype="boolean")
        frame = frame.to_pandas().astype({"a": "Int64"}).assign(c=c)
    elif kind == "pyarrow":
        frame = frame.to_arrow()
    imputer = DensityImputer(missing_values=-9, add_indicator=True).fit(frame)
    filled = imputer.transform(frame)
    assert type(filled) is type(frame)
    back = imputer.inverse_transform(filled)
    assert type(back) is type(frame)
    if kind == "pyarrow":
        filled, back, frame = pl.from_arrow(filled), pl.from_arrow(back), pl.from_arrow(frame)
    for name in ("a", "b", "c"):
        assert filled[name].dtype == frame[name].dtype
        assert not np.asarray(pd.isna(filled[name])).any()
    assert list(back["a"].is_null() if kind != "pandas" else back["a"].isna()) == [
        False, False, True, False,
    ] * 20  # fmt: skip


@pytest.mark.parametrize("keep", [True, False])
def test_a_column_of_a_frame_without_values_is_dropped_or_zero(keep):
    frame = pd.DataFrame(table(), columns=list("abc")).assign(d=np.nan)
    with pytest.warns(UserWarning, match="missing in every training row"):
        imputer = DensityImputer(keep_empty_features=keep, add_indicator=True).fit(frame)
    filled = imputer.transform(frame)  # without a further warning
    assert list(filled.columns) == list(imputer.get_feature_names_out())
    assert ("d" in filled) == keep
    assert not filled.isna().any().any()
    assert not filled.get("d", pd.Series(0.0)).any()
    back = imputer.inverse_transform(filled)
    pd.testing.assert_frame_equal(back[list("abc")], frame[list("abc")])


def test_a_code_of_words_is_looked_for_among_words():
    frame = pl.DataFrame({"x": np.arange(60.0), "w": ["u", "v", "?"] * 20, "b": [True, False] * 30})
    filled = DensityImputer("mixed", missing_values="?", random_state=0).fit_transform(frame)
    assert set(filled["w"]) == {"u", "v"}


def test_in_a_grid_search_and_in_a_file(tmp_path):
    X = table()
    y = np.nan_to_num(X[:, 0]) > 0
    model = make_pipeline(DensityImputer(), LogisticRegression())
    grid = {"densityimputer__density": ["gaussian", "mixture"]}
    search = GridSearchCV(model, grid, cv=2).fit(X, y)
    save(search.best_estimator_, tmp_path / "model.absentia")
    again = load(tmp_path / "model.absentia")
    np.testing.assert_array_equal(again.predict_proba(X), search.predict_proba(X))


@pytest.mark.parametrize("density", DENSITIES)
def test_proper_imputations_vary_more_than_improper_ones(density):
    X = worded(120) if density == "mixed" else table(120)
    proper = multiple_imputations(DENSITIES[density], X, 3, random_state=0)
    assert len(proper) == 3
    again = multiple_imputations(DENSITIES[density], X, 3, random_state=0)
    for one, other in zip(proper, again, strict=True):
        assert not pd.isna(np.asarray(one, dtype=object)).any()
        assert (np.asarray(one, dtype=object) == np.asarray(other, dtype=object)).all()


def test_parameters_are_drawn_as_well():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(30, 2)), np.full(30, np.nan)])
    X[:12, 2] = X[:12, 0] + rng.normal(size=12)
    spread = {
        proper: np.std(
            [t[:, 2].mean() for t in multiple_imputations(
                GaussianDensity(), X, 40, proper=proper, random_state=1
            )]
        )
        for proper in (True, False)
    }  # fmt: skip
    assert spread[True] > 1.15 * spread[False]


def test_tables_out_of_core_and_limits():
    X = table()
    chunks = Chunks(lambda: (X[k : k + 70] for k in range(0, len(X), 70)))
    expected = DensityImputer().fit(X).transform(X)
    imputer = DensityImputer().fit(chunks)
    np.testing.assert_allclose(imputer.transform(X), expected, rtol=1e-9)
    with pytest.raises(ValueError, match="strategy='mean' without indicators"):
        DensityImputer(strategy="draw").fit(chunks).transform(chunks)
    upper = np.full(X.shape, np.inf)
    X[:20, 0], upper[:20, 0] = np.nan, -1.0
    limited = bounded(X, upper=upper)
    for strategy in ("mean", "median"):
        filled = DensityImputer(strategy=strategy).fit(limited).transform(limited)
        assert (filled[:20, 0] <= -1).all()


def test_a_dask_frame_stays_one():
    dd = pytest.importorskip("dask.dataframe", reason="needs dask")
    frame = pd.DataFrame(table(), columns=list("abc")[: table().shape[1]])
    lazy = dd.from_pandas(frame, npartitions=3)
    for strategy in ("mean", "median"):
        imputer = DensityImputer(strategy=strategy, add_indicator=True).fit(frame)
        filled = imputer.transform(lazy)
        assert type(filled) is type(lazy)
        expected = imputer.transform(frame)
        assert list(filled.columns) == list(expected.columns)
        pd.testing.assert_frame_equal(filled.compute(), expected)
