"""Imputation by draws from a density."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from absentia.densities.fit_density import DensityLike, make_density
from absentia.parameters import RandomState
from absentia.tables import FloatArray, Learned
from lab.baselines.imputers.imputer import RandomImputer


class SampledImputer(RandomImputer):
    """Fill each missing value with a draw from a density, given what was observed.

    ``gmm`` of [Smieja2018]_ is this with ``MixtureDensity(n_components=3)``. As the draws are as
    spread as the truth would be, a single one adds noise; several of them, with the predictions
    pooled, are multiple imputation (:class:`MultipleImputationClassifier`).

    Parameters
    ----------
    density : {"gaussian", "mixture"} or a density, default="mixture"
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    density_ : density
        Fitted to the training rows, on the columns that have a value.
    seed_ : int
        Where the draws of the fitted imputer start.

    Examples
    --------
    >>> import numpy as np
    >>> from lab.baselines import SampledImputer
    >>> x = np.linspace(-1, 1, 50)
    >>> X = np.column_stack([x, 2 * x + 0.1 * np.cos(40 * x)])
    >>> imputer = SampledImputer(density="gaussian", random_state=0).fit(X)
    >>> draws = imputer.draws([[0.5, np.nan]], n_draws=200)[:, 0, 1]
    >>> float(draws.mean().round(1)), float(draws.std().round(2))
    (1.0, 0.06)
    """

    density_: BaseEstimator

    def __init__(self, density: DensityLike = "mixture", *, random_state: RandomState = None):
        self.density = density
        self.random_state = random_state

    def _learn(self, table: FloatArray) -> Learned:
        return {"density_": make_density(self.density).fit(table), "seed_": self._seed()}

    def _draw(self, table: FloatArray, n_draws: int, rng: np.random.RandomState) -> FloatArray:
        drawn: FloatArray = self.density_.condition(table).sample(n_draws, random_state=rng)
        return drawn
