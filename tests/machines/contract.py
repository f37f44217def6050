"""Contract of the machines. A new machine supplies two methods and inherits the rest.

    class TestMyMachine(MachineContract):
        targets = "classes"  # or "numbers", or None

        def make(self, **params):
            return MyMachine(**params)

        def oracle(self, K, y, K_new):
            ...  # what `output` must be for new rows, from explicit matrices and scikit-learn

``output(model, X)`` is the numbers by which two machines are compared: the decision function where
there is one, else what is transformed or predicted. A machine whose constructor has no ``gamma``
or ``mask_weight`` (model selection) says so with ``has_gamma = False``.
"""

from __future__ import annotations

import io
import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from absentia import (
    Beliefs,
    GaussianDensity,
    GenRBF,
    MaskKernel,
    MissingnessShiftWarning,
    explain,
    load,
    save,
    sensitivity,
)

SAME_FORMULA = 1e-10
# The parameters that all machines have.
SHARED = {"density", "kernel", "gamma", "mask_weight", "category_weight", "n_jobs", "shift"}


def table(n: int = 30, seed: int = 0) -> np.ndarray:
    """Return rows of three columns, correlated, a quarter of the values missing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) @ np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.4], [0.0, 0.0, 1.0]])
    X[rng.random(X.shape) < 0.25] = np.nan
    return X


def targets_of(kind: str | None, n: int = 30, seed: int = 0) -> np.ndarray | None:
    """Return targets that depend on the rows of :func:`table` before values went missing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    if kind is None:
        return None
    return X[:, 0] + np.sin(X[:, 1]) if kind == "numbers" else (X[:, 0] + X[:, 1] > 0).astype(int)


class MachineContract:
    targets: str | None = "classes"
    has_gamma = True

    def make(self, **params):
        raise TypeError("a machine's contract needs make()")

    def oracle(self, K, y, K_new):
        raise TypeError("a machine's contract needs oracle()")

    def output(self, model, X):
        for name in ("decision_function", "transform", "predict"):
            if hasattr(model, name):
                return getattr(model, name)(X)
        raise TypeError("a machine's contract needs output()")

    @property
    def y(self):
        return targets_of(self.targets)

    def fitted(self, X=None, **params):
        X = table() if X is None else X
        return self.make(**params).fit(X, targets_of(self.targets, len(X)))

    # The formula ---------------------------------------------------------------------------

    @pytest.mark.parametrize("kernel", ["genrbf", GenRBF(gamma=0.4) * MaskKernel(0.5)], ids=repr)
    def test_output_is_that_of_scikit_learn_on_an_explicit_matrix(self, kernel):
        if not self.has_gamma and not isinstance(kernel, str):
            kernel = GenRBF(gamma=0.4)
        X, new = table(), table(12, seed=1)
        model = self.fitted(X, kernel=kernel)
        density = GaussianDensity().fit(X)
        P, Q = density.condition(X), density.condition(new)
        expected = self.oracle(model.kernel_(P), self.y, model.kernel_(Q, P))
        np.testing.assert_allclose(
            self.output(model, new), expected, rtol=SAME_FORMULA, atol=SAME_FORMULA
        )

    def test_mask_weight_multiplies_the_mask_kernel_in(self):
        if not self.has_gamma:
            pytest.skip("searches the mask weight instead")
        by_weight = self.fitted(gamma=0.4, mask_weight=0.5)
        by_kernel = self.fitted(kernel=GenRBF(gamma=0.4) * MaskKernel(0.5))
        assert by_weight.kernel_ == by_kernel.kernel_
        new = table(5, seed=2)
        np.testing.assert_array_equal(self.output(by_weight, new), self.output(by_kernel, new))
        per_column = self.fitted(gamma=0.4, mask_weight=np.array([0.5, 0.5, 0.5]))
        np.testing.assert_allclose(
            self.output(per_column, new), self.output(by_weight, new), rtol=1e-10
        )
        assert self.fitted(mask_weight=0).kernel_ == self.fitted().kernel_

    # Rows of every kind --------------------------------------------------------------------

    def test_one_row_at_a_time_equals_all_at_once(self):
        model, new = self.fitted(), table(6, seed=3)
        one_by_one = [self.output(model, new[i : i + 1])[0] for i in range(len(new))]
        np.testing.assert_allclose(self.output(model, new), one_by_one, rtol=1e-12, atol=1e-13)

    def test_wholly_missing_rows_and_new_patterns_are_fine(self):
        X = table()
        X[:, 2] = np.where(np.isnan(X[:, 2]), 0.0, X[:, 2])
        X[3] = np.nan
        model = self.fitted(X)
        new = np.array([[np.nan, np.nan, np.nan], [1.0, np.nan, np.nan], [np.nan, 0.5, 1.0]])
        assert np.isfinite(self.output(model, new)).all()

    def test_a_column_without_a_single_value_carries_nothing(self):
        X, new = table(), table(5, seed=4)
        empty = np.full((len(X), 1), np.nan)
        frame = pd.DataFrame(np.hstack([X, empty]), columns=["a", "b", "c", "never"])
        with pytest.warns(UserWarning, match="never"):
            self.fitted(frame)
        with pytest.warns(UserWarning, match="x3"):
            model = self.fitted(np.hstack([X, empty]))
        with_empty = np.hstack([new, [[np.nan], [np.nan], [1.0], [-50.0], [np.nan]]])
        np.testing.assert_allclose(
            self.output(model, with_empty), self.output(self.fitted(X), new), rtol=1e-6, atol=1e-8
        )

    @pytest.mark.parametrize("bad", [np.inf, -np.inf])
    def test_infinity_is_refused_at_fit_and_after(self, bad):
        X = table()
        model = self.fitted(X)
        X[2, 1] = bad
        with pytest.raises(ValueError, match="Infinity"):
            self.fitted(X)
        with pytest.raises(ValueError, match="Infinity"):
            self.output(model, X)

    def test_frames_of_all_kinds_are_tables(self):
        X = np.round(table())
        X[:, 2] = np.where(np.isnan(X[:, 2]), 0, X[:, 2] > 0)
        expected = self.output(self.fitted(X), X)
        pandas = pd.DataFrame(
            {
                "a": X[:, 0],
                "b": pd.array([pd.NA if np.isnan(v) else int(v) for v in X[:, 1]], dtype="Int64"),
                "c": X[:, 2].astype(bool),
            }
        )
        polars = pl.DataFrame(
            {
                "a": X[:, 0],
                "b": [None if np.isnan(v) else int(v) for v in X[:, 1]],
                "c": X[:, 2].astype(bool),
            }
        )
        for frame in (pandas, polars):
            model = self.fitted(frame)
            assert list(model.feature_names_in_) == ["a", "b", "c"]
            np.testing.assert_array_equal(self.output(model, frame), expected)
            with pytest.raises(ValueError, match="feature names"):
                self.output(model, frame[["b", "a", "c"]])

    def test_columns_of_text_are_planned(self):
        frame = pd.DataFrame(table(), columns=["age", "income", "city"]).astype({"city": object})
        frame["city"] = np.where(np.arange(len(frame)) % 3 == 0, "Paris", "Rome")
        model = self.fitted(frame)
        assert "city" in str(model.columns_)
        again = self.output(model, frame.head(5))
        assert np.isfinite(np.asarray(again, dtype=np.float64)).all()

    # Beliefs in place of rows --------------------------------------------------------------

    def test_beliefs_stand_in_for_rows(self):
        X, new = table(), table(5, seed=5)
        model = self.fitted(X)
        P, Q = model.density_.condition(X), model.density_.condition(new)
        np.testing.assert_array_equal(self.output(model, Q), self.output(model, new))
        on_beliefs = self.fitted(P)
        assert on_beliefs.density_ is None
        assert on_beliefs.n_features_in_ == 3
        np.testing.assert_allclose(
            self.output(on_beliefs, Q), self.output(model, new), rtol=1e-10, atol=1e-10
        )
        with pytest.raises(ValueError, match=r"fitted on Beliefs.*density\.condition"):
            self.output(on_beliefs, new)
        with pytest.raises(ValueError, match=r"4 features, but .* expecting 3"):
            self.output(model, Beliefs.from_moments(np.zeros((2, 4)), np.eye(4)))

    def test_known_measurement_error_is_learned_from(self):
        centres = np.nan_to_num(table())
        model = self.fitted(Beliefs.from_moments(centres, np.full(centres.shape, 0.1)))
        new = Beliefs.from_moments(centres[:4], np.full((4, 3), 0.5))
        assert np.isfinite(self.output(model, new)).all()

    # Training rows only, and nothing halfway -----------------------------------------------

    def test_the_density_sees_training_rows_only_and_is_cloned(self):
        X, density = table(), GaussianDensity()
        model = self.fitted(X, density=density)
        self.output(model, 10 + table(40, seed=6))
        alone = GaussianDensity().fit(X)
        np.testing.assert_array_equal(model.density_.mean_, alone.mean_)
        assert model.density_ is not density
        assert not hasattr(density, "mean_")

    def test_a_failed_fit_leaves_the_machine_as_it_was(self):
        model, new = self.fitted(), table(5, seed=7)
        before, state = self.output(model, new), set(vars(model))
        broken = table(20, seed=8)
        broken[0, 0] = np.inf
        with pytest.raises(ValueError, match="Infinity"):
            model.fit(broken, targets_of(self.targets, 20))
        np.testing.assert_array_equal(self.output(model, new), before)
        assert set(vars(model)) == state

        fresh = self.make()
        state = set(vars(fresh))
        with pytest.raises((ValueError, TypeError)):
            fresh.set_params(kernel="no such kernel").fit(table(), self.y)
        assert set(vars(fresh)) == state
        with pytest.raises(NotFittedError):
            self.output(fresh, new)

    def test_fitting_again_forgets_names_and_sizes(self):
        frame = pd.DataFrame(table(), columns=["a", "b", "c"])
        model = self.fitted(frame)
        P = GaussianDensity().fit(table()).condition(table())
        model.fit(P, self.y)
        assert not hasattr(model, "feature_names_in_")
        model.fit(table()[:, :2], self.y)
        assert model.n_features_in_ == 2

    # Parameters ----------------------------------------------------------------------------

    def test_the_parameters_of_all_machines_are_there(self):
        searched = set() if self.has_gamma else {"gamma", "mask_weight", "category_weight"}
        assert SHARED - searched <= set(self.make().get_params(deep=False))

    @pytest.mark.parametrize(
        ("params", "kind", "sentence"),
        [
            ({"kernel": "gaussian"}, ValueError, "genrbf"),
            ({"kernel": 3}, TypeError, "Kernel"),
            ({"density": "normal"}, ValueError, "'mixture'"),
            ({"density": 3}, TypeError, "condition"),
            ({"shift": "panic"}, ValueError, "'ignore', 'warn' or 'error'"),
        ],
    )
    def test_wrong_parameters_get_a_sentence(self, params, kind, sentence):
        with pytest.raises(kind, match=sentence):
            self.fitted(**params)

    def test_wrong_gammas_get_a_sentence(self):
        if not self.has_gamma:
            pytest.skip("searches gamma instead")
        for gamma in (0, -1.0, np.nan, True, "automatic", None):
            with pytest.raises(ValueError, match="gamma must be a positive number"):
                self.fitted(gamma=gamma)
        with pytest.raises(ValueError, match="kernel__gamma"):
            self.fitted(kernel=GenRBF(), gamma=0.5)

    def test_leave_one_out_needs_targets(self):
        if not self.has_gamma:
            pytest.skip("searches gamma instead")
        if self.targets is None:
            with pytest.raises(ValueError, match="gamma='loo'"):
                self.fitted(gamma="loo")
        else:
            chosen = self.fitted(gamma="loo").kernel_
            assert chosen == self.fitted(gamma="loo").kernel_
            assert 0 < chosen.gamma < np.inf

    def test_clones_and_inner_parameters(self):
        machine = self.make(kernel=GenRBF(gamma=0.3), density=GaussianDensity(max_iter=7))
        copy = clone(machine).set_params(kernel__gamma=0.9, density__max_iter=3)
        assert machine.kernel.gamma == 0.3
        assert copy.get_params()["kernel__gamma"] == 0.9
        assert copy.density.max_iter == 3

    # What beliefs know ---------------------------------------------------------------------

    def test_answers_are_explained_and_shifted(self):
        if self.targets is None:
            pytest.skip("has no target")
        model, new = self.fitted(), np.array([[0.5, -0.5, 1.0], [0.5, np.nan, np.nan]])
        found = explain(model, new, n_draws=8)
        np.testing.assert_array_equal(found.observed, ~np.isnan(new))
        assert not found.values[1, 1:].any()
        np.testing.assert_allclose(
            found.base + found.values.sum(axis=1), found.prediction, rtol=1e-10, atol=1e-10
        )
        if self.targets == "classes" and not hasattr(model, "predict_proba"):
            with pytest.raises(ValueError, match="has no predict_proba"):
                sensitivity(model, new)
            return
        moved = sensitivity(model, new, deltas=[-1e9, 0.0, 1.0], n_draws=8).predictions
        assert np.isfinite(moved).all()
        assert (moved[:, :, 0] == moved[:, :1, 0]).all()  # nothing is missing
        assert np.ptp(moved[:, :, 1], axis=1).max() > 0

    # Keeping -------------------------------------------------------------------------------

    def test_what_is_kept_predicts_the_same(self, tmp_path):
        model, new = self.fitted(), table(5, seed=9)
        expected = self.output(model, new)
        pickled = pickle.loads(pickle.dumps(model))
        buffer = io.BytesIO()
        joblib.dump(model, buffer)
        buffer.seek(0)
        save(model, tmp_path / "model.absentia")
        for again in (pickled, joblib.load(buffer), load(tmp_path / "model.absentia")):
            np.testing.assert_array_equal(self.output(again, new), expected)
            assert repr(again) == repr(model)

    # Shift ---------------------------------------------------------------------------------

    def test_holes_that_appear_after_training_are_told(self):
        X = table()
        X[:, 1] = np.nan_to_num(X[:, 1])
        new = np.array([[0.0, np.nan, 1.0], [np.nan, 1.0, 0.0]])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.output(self.fitted(X), new)
            self.output(self.fitted(X, shift="warn"), new[1:])
        with pytest.warns(MissingnessShiftWarning, match=r"'x1' \(50% of the new rows\)"):
            self.output(self.fitted(X, shift="warn"), new)
        with pytest.raises(ValueError, match="'x1'"):
            self.output(self.fitted(X, shift="error"), new)
