"""What every density must do. A new density supplies one method and inherits the rest.

    class TestMyDensity(DensityContract):
        def make(self, **params):
            return MyDensity(**params)

``bad_parameters`` lists further parameters that must be refused, as ``(name, value)``. A density
that needs all rows at once says so with ``takes_chunks = False``.
"""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from absentia import Chunks, suspicious_cells
from oracles import densities as oracle

SAME_FORMULA = 1e-10


def table(n=40, d=3):
    """Return correlated rows, a third of the values missing; one row has no value at all."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    X[rng.random(X.shape) < 0.3] = np.nan
    X[n // 2] = np.nan
    return X


class DensityContract:
    bad_parameters: tuple[tuple[str, object], ...] = ()
    takes_chunks = True

    def make(self, **params):
        raise TypeError("a density's contract needs make()")

    def fitted(self, X=None, **params):
        return self.make(**params).fit(table() if X is None else X)

    # The formula ---------------------------------------------------------------------------

    def test_beliefs_and_scores_are_those_of_the_fitted_mixture_row_by_row(self):
        density, X = self.fitted(), table()
        prior, beliefs = density.prior_, density.condition(X)
        scores, imputed = density.score_samples(X), density.impute(X)
        covariances = beliefs.covariances.dense(beliefs.group_of_row)
        for i, x in enumerate(X):
            total, weights, means, spreads = oracle.mixture_given(
                x, prior.weights, prior.means, prior.covariances
            )
            close(scores[i], total)
            close(beliefs.weights()[i], weights)
            close(beliefs.means[i], means)
            close(covariances[i], spreads)
            close(imputed[i], weights @ means)
        close(density.score(X), scores.mean())

    def test_what_was_observed_is_kept_to_the_last_bit(self):
        X = table()
        imputed = self.fitted().impute(X)
        seen = ~np.isnan(X)
        np.testing.assert_array_equal(imputed[seen], X[seen])
        assert np.isfinite(imputed).all()

    def test_draws_have_the_moments_of_the_density(self):
        density, n = self.fitted(), 4000
        draws = density.sample(n, random_state=0)
        np.testing.assert_array_equal(draws, density.sample(n, random_state=0))
        mean, covariance = density.prior_.mean(), density.prior_.covariance()
        centred = draws - mean
        assert (np.abs(centred.mean(axis=0)) < 5 * np.sqrt(np.diag(covariance) / n)).all()
        products = centred[:, :, None] * centred[:, None]
        error = products.std(axis=0) / np.sqrt(n)
        assert (np.abs(products.mean(axis=0) - covariance) < 5 * error).all()
        with pytest.raises(ValueError, match="n_samples"):
            density.sample(0)

    # Rows of every kind --------------------------------------------------------------------

    def test_one_row_at_a_time_equals_all_at_once(self):
        density, X = self.fitted(), table()
        alone = [density.score_samples(row[None])[0] for row in X]
        close(density.score_samples(X), alone)
        close(density.impute(X), np.concatenate([density.impute(row[None]) for row in X]))

    def test_a_pattern_never_seen_and_a_row_without_values(self):
        X = table()
        X[:, 1] = np.nan_to_num(X[:, 1])
        density = self.fitted(X)
        beliefs = density.condition([[0.5, np.nan, 1.0], [np.nan] * 3])
        assert np.isfinite(beliefs.mean()).all()
        close(beliefs.mean()[1], density.prior_.mean())

    def test_chunks_are_scored_and_imputed_as_rows_are(self):
        density, X = self.fitted(), table()
        pieces = Chunks([X[:7], X[7:30], X[30:]])
        with pytest.raises(ValueError, match="in memory"):
            density.condition(pieces)
        if self.takes_chunks:
            close(density.score_samples(pieces).concatenate(), density.score_samples(X))
            close(density.impute(pieces).concatenate(), density.impute(X))

    def test_frames_and_lists_say_the_same(self):
        X, names = table(), ["a", "b", "c"]
        density = self.fitted(X)
        frame = pd.DataFrame(X, columns=names)
        lists = [[None if np.isnan(value) else value for value in row] for row in X]
        polars = pl.DataFrame(X, schema=names, nan_to_null=True)
        for other in (frame, frame.convert_dtypes(), polars, lists):
            same = self.fitted(other)
            np.testing.assert_array_equal(same.prior_.means, density.prior_.means)
            np.testing.assert_array_equal(same.impute(other), density.impute(X))
            for imputed in (same.impute(other), *same.draw(other, 2, random_state=0)):
                assert type(imputed) is (np.ndarray if other is lists else type(other))
                assert list(getattr(imputed, "columns", names)) == names
        named = self.fitted(frame)
        late = frame.set_index(np.arange(len(frame))[::-1])
        assert named.impute(late).index.equals(late.index)
        with pytest.warns(UserWarning, match="lacks 'b'"):
            assert list(named.impute(frame[["a", "c"]]).columns) == names
        assert list(named.get_feature_names_out()) == names
        with pytest.raises(ValueError, match="feature names"):
            named.condition(frame[["b", "a", "c"]])
        assert list(density.get_feature_names_out()) == ["x0", "x1", "x2"]

    def test_a_column_that_is_never_observed_is_named_and_left_out(self):
        X = table()
        padded = pd.DataFrame({"a": X[:, 0], "gone": np.nan, "b": X[:, 1], "c": X[:, 2]})
        without = self.fitted(padded.drop(columns="gone"))
        with pytest.warns(UserWarning, match="every training row: gone"):
            density = self.fitted(padded)
        assert list(density.columns_) == [0, 2, 3]
        assert list(density.get_feature_names_out()) == ["a", "b", "c"]
        np.testing.assert_array_equal(density.prior_.means, without.prior_.means)
        new = padded.assign(gone=7.0)
        assert density.n_features_in_ == 4
        assert density.condition(new).shape == (40, 3)
        imputed = density.impute(new)
        assert (imputed["gone"] == 7.0).all()
        np.testing.assert_array_equal(
            imputed.drop(columns="gone"), without.impute(padded.drop(columns="gone"))
        )
        assert np.isfinite(density.score_samples(new)).all()

    @pytest.mark.parametrize(
        "values", [[1e300, -1e300, 1e307], [1e-300, 2e-300, 3e-300], [1.7e308, -1e308]]
    )
    def test_units_in_which_no_variance_can_be_computed_are_refused_by_name(self, values):
        frame = pd.DataFrame({"mass": np.arange(1.0, len(values) + 1), "charge": values})
        density = self.make()
        with pytest.raises(ValueError, match=r"Column 'charge' .*another unit"):
            density.fit(frame)
        assert not hasattr(density, "prior_")

    def test_a_constant_column_may_be_as_small_as_it_likes(self):
        X = np.column_stack([np.arange(5.0), np.full(5, 1e-300)])
        assert np.isfinite(self.fitted(X).prior_.precisions).all()

    # Bad input, and nothing halfway --------------------------------------------------------

    @pytest.mark.parametrize(
        ("X", "words"),
        [
            ([[1.0, np.inf], [2.0, 1.0]], "Infinity"),
            ([["a", "b"], ["c", "d"]], "convert string"),
            (np.array([[1j, 2.0]]), "[Cc]omplex"),
            (np.empty((0, 3)), "0 sample"),
            ([1.0, 2.0], "two dimensions"),
            ([[np.nan, np.nan]], "[Nn]othing to learn"),
        ],
    )
    def test_bad_tables_leave_a_density_as_it_was(self, X, words):
        density = self.fitted()
        before = dict(vars(density))
        with pytest.raises(ValueError, match=words):
            density.fit(X)
        assert vars(density) == before
        fresh = self.make()
        with pytest.raises(ValueError, match=words):
            fresh.fit(X)
        with pytest.raises(NotFittedError):
            fresh.condition(table())

    def test_bad_parameters_get_a_sentence(self):
        shared = {
            "shrinkage": [-0.1, 1.1, "much"],
            "reg_covar": [-1.0, "small"],
            "max_iter": [0, 1.5],
            "tol": [-1e-3, np.nan],
        }
        pairs = [(name, value) for name, values in shared.items() for value in values]
        for name, value in (*pairs, *self.bad_parameters):
            density = self.make().set_params(**{name: value})
            with pytest.raises(ValueError, match=f"{name} must be"):
                density.fit(table())
            assert not hasattr(density, "prior_")

    def test_weights_must_be_of_use(self):
        with pytest.raises(ValueError, match="nothing to learn from"):
            self.make().fit(table(), sample_weight=np.zeros(40))
        with pytest.raises(ValueError, match="must not be negative"):
            self.make().fit(table(), sample_weight=-np.ones(40))

    # Keeping -------------------------------------------------------------------------------

    def test_rows_and_cells_are_judged_alike_in_every_kind_of_table(self):
        X = table()
        density = self.fitted(X)
        wrong = X.copy()
        row, column = np.argwhere(~np.isnan(X) & ((~np.isnan(X)).sum(axis=1, keepdims=True) > 2))[0]
        wrong[row, column] += 100 * np.nanstd(X[:, column])
        found, p_values = suspicious_cells(density, wrong), density.row_pvalues(wrong)
        assert (found.rows[0], found.columns[0]) == (row, column)
        np.testing.assert_array_equal(np.isnan(found.all_p_values), np.isnan(wrong))
        assert ((p_values >= 0) & (p_values <= 1)).all()
        assert p_values.argmin() == row
        assert not len(suspicious_cells(density, np.full((2, X.shape[1]), np.nan)))
        names = [f"c{j}" for j in range(X.shape[1])]
        pandas, polars = pd.DataFrame(wrong, columns=names), pl.DataFrame(wrong, schema=names)
        named = self.fitted(pd.DataFrame(X, columns=names))
        for frame in (pandas, polars.fill_nan(None)):
            again = suspicious_cells(named, frame)
            np.testing.assert_allclose(again.all_p_values, found.all_p_values, rtol=1e-8)
            assert again.to_frame().loc[0, "row"] == row

    def test_copies_say_the_same(self):
        density, X = self.fitted(), table()
        again = pickle.loads(pickle.dumps(density))
        np.testing.assert_array_equal(again.impute(X), density.impute(X))
        fresh = clone(density)
        assert not hasattr(fresh, "prior_")
        np.testing.assert_array_equal(fresh.fit(X).prior_.means, density.prior_.means)


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=SAME_FORMULA, atol=SAME_FORMULA)
