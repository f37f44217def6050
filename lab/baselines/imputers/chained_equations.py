"""MICE: multiple imputation by chained equations, with posterior sampling.

Van Buuren and Groothuis-Oudshoorn, *mice: multivariate imputation by chained equations in R*,
Journal of Statistical Software 45(3), 2011. Each incomplete column is regressed on the others; the
regression's parameters are drawn from their posterior, the missing values from the prediction; the
columns are visited in turn, several times. Everything that was drawn is kept, so that the same
chain can be run on rows that training did not see.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from absentia.parameters import COUNT, RandomState, declared, number_between
from absentia.tables import BoolArray, FloatArray, TableLike
from absentia.tables.rows import is_constant
from lab.baselines.imputers.imputer import RandomImputer

#: More than this leaves nothing of any slope, and its sums must still be numbers.
_RIDGE = number_between(0, 1e100, expected="a number from 0 to 1e100")


@declared
class ChainedEquationsImputer(RandomImputer):
    """Draw completed tables by chained equations (MICE).

    For column ``j`` with predictors ``Z`` (the other columns, centred, and a constant), on the rows
    that have it: ``V = inv(Z'Z + ridge diag(Z'Z))``, ``b = V Z'x``,
    ``sigma^2 = rss / chi2(n - p)``, ``beta ~ N(b, sigma^2 V)``: one draw from the posterior under
    the usual vague prior. A hole then gets ``z'beta + N(0, sigma^2)``. Predictors that are constant
    on the rows that have column ``j`` are not among ``Z``. So the draws differ by the noise *and*
    by what is not known about the regression.

    Parameters
    ----------
    n_draws : int, default=5
        Independent chains, and so completed tables.
    max_iter : int, default=10
        Number of visits of every column.
    ridge : float, default=1e-5
        Relative to the diagonal of ``Z'Z``, but for that of the constant; keeps collinear
        columns and n < d solvable.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    chains_ : list of list of list
        By chain, visit and column: the drawn equation.
    observed_values_ : list of ndarray
        By column: the training values that a chain starts from.
    seed_ : int
        Where the draws of the fitted imputer start.
    n_iter_ : int
        Number of visits of every column.

    Notes
    -----
    O(n_draws max_iter n d^3). Training keeps n_draws * max_iter * d equations of d numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from lab.baselines import ChainedEquationsImputer
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal(200)
    >>> X = np.column_stack([x, x + 0.5 * rng.standard_normal(200)])
    >>> X[:50, 1] = np.nan
    >>> imputer = ChainedEquationsImputer(n_draws=200, max_iter=1, random_state=0).fit(X)
    >>> draws = imputer.draws([[1.0, np.nan]])[:, 0, 1]
    >>> float(draws.mean().round(1)), float(draws.std().round(1))
    (0.9, 0.5)
    """

    chains_: list[list[list[_Equation]]] = field(init=False)
    observed_values_: list[FloatArray] = field(init=False)
    n_iter_: int = field(init=False)

    n_draws: int = field(default=5, kw_only=False)
    max_iter: int = 10
    ridge: float = 1e-5
    random_state: RandomState = None

    def draws(self, X: TableLike, n_draws: int | None = None) -> FloatArray:
        """Return several completions of the same rows, one from each chain.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        n_draws : int, optional
            All chains without it; never more than there are.

        Returns
        -------
        ndarray of shape (n_draws, n_samples, n_features)
        """
        if n_draws is None:
            n_draws = self.n_draws
        COUNT.check("n_draws", n_draws)
        if n_draws > self.n_draws:
            raise ValueError(
                f"{n_draws} draws were asked for, but only {self.n_draws} chains were run; set "
                f"n_draws={n_draws} and fit again."
            )
        return super().draws(X, n_draws)

    def _learn(self, table: FloatArray) -> dict[str, object]:
        self._check_parameters()
        seed = self._seed()
        missing = np.isnan(table)
        pools = [table[~missing[:, j], j] for j in range(table.shape[1])]
        # Another stream than that of the draws, which start from the same seed.
        seeds = np.random.SeedSequence([seed, 1]).generate_state(self.n_draws)
        chains = [
            self._run_chain(table, missing, pools, np.random.RandomState(chain)) for chain in seeds
        ]
        return {
            "chains_": chains,
            "observed_values_": pools,
            "seed_": seed,
            "n_iter_": self.max_iter,
        }

    def _check_parameters(self) -> None:
        for name in ("n_draws", "max_iter"):
            COUNT.check(name, getattr(self, name))
        _RIDGE.check("ridge", self.ridge)

    def _run_chain(
        self,
        table: FloatArray,
        missing: BoolArray,
        pools: list[FloatArray],
        rng: np.random.RandomState,
    ) -> list[list[_Equation]]:
        """Visit all columns ``max_iter`` times, complete ones too: new rows may miss them."""
        state = _started(table, missing, pools, rng)
        visits = []
        for _ in range(self.max_iter):
            equations = []
            for j in range(table.shape[1]):
                rows = missing[:, j]
                inputs = _with_constant(state, j)
                equation = _draw_equation(inputs[~rows], table[~rows, j], j, float(self.ridge), rng)
                state[rows, j] = equation.draw(inputs[rows], rng)
                equations.append(equation)
            visits.append(equations)
        return visits

    def _draw(self, table: FloatArray, n_draws: int, rng: np.random.RandomState) -> FloatArray:
        return np.stack([self._follow(chain, table, rng) for chain in self.chains_[:n_draws]])

    def _follow(
        self, chain: list[list[_Equation]], table: FloatArray, rng: np.random.RandomState
    ) -> FloatArray:
        """Run the equations of a chain on other rows."""
        missing = np.isnan(table)
        state = _started(table, missing, self.observed_values_, rng)
        columns = [int(j) for j in np.flatnonzero(missing.any(axis=0))]
        for equations in chain:
            for j in columns:
                rows = missing[:, j]
                inputs = _with_constant(state[rows], j)
                state[rows, j] = equations[j].draw(inputs, rng)
        return state


@dataclass(frozen=True, eq=False)
class _Equation:
    """One drawn regression of a column on the others."""

    centre: FloatArray
    coefficients: FloatArray
    spread: float

    def draw(self, inputs: FloatArray, rng: np.random.RandomState) -> FloatArray:
        """Draw values for rows with these inputs."""
        noise: FloatArray = rng.standard_normal(len(inputs))
        return (inputs - self.centre) @ self.coefficients + self.spread * noise


def _draw_equation(
    inputs: FloatArray,
    values: FloatArray,
    constant: int,
    ridge: float,
    rng: np.random.RandomState,
) -> _Equation:
    """Draw a linear regression from its posterior.

    The inputs are centred and brought to one scale, all but the column of ones: the model is the
    same, but the ridge then shrinks slopes by what the columns vary and not by how far they are
    from zero, no digits are lost to their means, and no column is dropped for its unit. Inputs that
    have one value on these rows say nothing about it, and are left out (slope zero), as in R's
    mice: other rows may have other values there.
    """
    n, p = inputs.shape
    unvarying = is_constant(inputs)
    unvarying[constant] = False
    centre = inputs.mean(axis=0)
    centre[constant] = 0.0
    inputs = np.where(unvarying, 0.0, inputs - centre)
    units = np.sqrt((inputs**2).mean(axis=0))
    units[units == 0] = 1.0
    scaled = inputs / units
    gram = scaled.T @ scaled
    gram[np.diag_indices(p)] += np.where(np.arange(p) == constant, 0.0, ridge * n)
    eigenvalues, vectors = np.linalg.eigh(gram)
    kept = eigenvalues > eigenvalues[-1] * p * np.finfo(float).eps
    inverse_roots = np.where(kept, 1 / np.sqrt(np.where(kept, eigenvalues, 1.0)), 0.0)
    root = np.where(unvarying[:, None], 0.0, vectors * inverse_roots / units[:, None])
    estimate = root @ (root.T @ (inputs.T @ values))
    residual = float(((values - inputs @ estimate) ** 2).sum())
    spread = np.sqrt(residual / rng.chisquare(max(n - p + int(unvarying.sum()), 1)))
    drawn = estimate + spread * (root @ rng.standard_normal(p))
    return _Equation(centre, drawn, float(spread))


def _started(
    table: FloatArray, missing: BoolArray, pools: list[FloatArray], rng: np.random.RandomState
) -> FloatArray:
    """Impute with random draws of the observed values of the same column."""
    state = table.copy()
    for j in np.flatnonzero(missing.any(axis=0)):
        rows = missing[:, j]
        state[rows, j] = rng.choice(pools[j], size=int(rows.sum()))
    return state


def _with_constant(state: FloatArray, j: int) -> FloatArray:
    """Return the other columns, and a column of ones in the place of ``j``."""
    inputs = state.copy()
    inputs[:, j] = 1.0
    return inputs
