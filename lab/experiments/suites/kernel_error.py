"""Error of a kernel matrix estimated from incomplete rows: the experiments of [Mesquita]_."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from absentia.densities import DensityImputer, GaussianDensity
from absentia.densities.fit_density import make_density
from absentia.kernels import ExpectedDistanceRBF, ExpectedRBF, GammaRBF, GenRBF
from absentia.missingness.amputation import mcar
from absentia.tables import FloatArray
from lab.baselines import IncompleteCaseKNNImputer
from lab.experiments.running.cells import Cell, Context, Protocol, Score
from lab.experiments.suites.trial import Result, dataset

_SETS = ("auto_mpg", "forest_fires", "haberman", "pima", "iris")
#: The four columns of weather that the paper takes.
_COLUMNS = {"forest_fires": ("temp", "rh", "wind", "rain")}
_KERNELS = {
    "esd": lambda gamma: ExpectedDistanceRBF(gamma),
    "egk": lambda gamma: GammaRBF(gamma),
    "egk-independent": lambda gamma: GammaRBF(gamma, variance="independent"),
    "expected-rbf": lambda gamma: ExpectedRBF(gamma),
    "genrbf": lambda gamma: GenRBF(gamma),
    "genrbf-mahalanobis": lambda gamma: GenRBF(gamma, metric="mahalanobis"),
}
_METHODS = ("icknni", "conditional-mean", *_KERNELS)
#: The paper does not give its width: a wide and a narrow kernel, and the one whose errors have
#: about the printed size.
_WIDTHS = {"gamma=1/d": lambda d: 1.0 / d, "gamma=1": lambda d: 1.0, "gamma=4.8": lambda d: 4.8}


def _cells(context: Context) -> list[Cell]:
    samples = {"smoke": 1, "small": 5, "full": 30}[context.size]
    sets: Sequence[str] = ("iris",) if context.size == "smoke" else _SETS
    return [
        Cell("mesquita", data, name, "mcar", rate, sample, 0, width)
        for sample in range(samples)
        for width in _WIDTHS
        for data in sets
        for rate in (0.1, 0.5)
        for name in _METHODS
    ]


def _run(cell: Cell, context: Context) -> Result:
    data = dataset(cell, context)
    if cell.dataset in _COLUMNS:
        wanted = [data.feature_names.index(name) for name in _COLUMNS[cell.dataset]]
        data = data.columns(np.array(wanted))
    complete = data.X[~np.isnan(data.X).any(axis=1)]
    complete = (complete - complete.mean(axis=0)) / complete.std(axis=0)
    X = mcar(complete, cell.rate, random_state=cell.holes_seed(context.seed))
    gamma = _WIDTHS[cell.variant](complete.shape[1])
    truth = rbf_kernel(complete, gamma=gamma)
    error = _estimate(cell.method, X, gamma) - truth
    # Two independent draws of a row differ from the row itself, so only pairs are judged.
    pairs = error[~np.eye(len(error), dtype=bool)]
    scores = {
        "sum_of_squares": float((pairs**2).sum() / 2),
        "rmse": float(np.sqrt((pairs**2).mean())),
        "mean_error": float(pairs.mean()),
        "mean_absolute_error": float(np.abs(pairs).mean()),
    }
    return [Score(name, value, cell.rate) for name, value in scores.items()], {"gamma": gamma}


def _estimate(method: str, X: FloatArray, gamma: float) -> FloatArray:
    if method in _KERNELS:
        density = make_density("gaussian").fit(X)
        K: FloatArray = _KERNELS[method](gamma)(density.condition(X))
        return K
    imputer = (
        IncompleteCaseKNNImputer() if method == "icknni" else DensityImputer(GaussianDensity())
    )
    filled: FloatArray = rbf_kernel(imputer.fit_transform(X), gamma=gamma)
    return filled


MESQUITA = Protocol(
    name="mesquita",
    title="Error of the kernel matrix",
    source="the table of results of Mesquita",
    description=(
        "Values are removed completely at random from complete, standardised rows; the RBF matrix "
        "of the complete rows is estimated from what is left, for a wide kernel (gamma of one over "
        "the number of columns), a narrow one (gamma of one) and one of 4.8. Judged by the squared "
        "error over pairs of different rows. The paper does not give its gamma, nor the unit of "
        "its errors, so ratios between methods compare, not sizes."
    ),
    metric="rmse",
    cells=_cells,
    run=_run,
    lower_is_better=True,
    blocks=("dataset", "variant", "rate", "sample"),
)
