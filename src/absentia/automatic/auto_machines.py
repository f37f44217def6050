"""The automatic machines: averages of different members, weighted by cross-validation."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from absentia.automatic.assembly import Assembled
from absentia.automatic.auto_base import AutoMachine
from absentia.automatic.error_scale import ErrorScale, lowest_end, prefers_logarithm, smeared
from absentia.automatic.member_tuning import LearningRows, as_rows
from absentia.machines.targets import ClassifierTargets, RegressorTargets
from absentia.parameters import FLAG, FRACTION, FloatMatrix, Rule, declared, words
from absentia.tables import FloatArray, Learned, Table, TableLike
from absentia.tables.rows import is_constant

#: Rows to which the scale of errors is fitted: fewer of wide tables.
_CELLS_FOR_SCALE, _FEWEST_FOR_SCALE = 30_000, 100


class AutoClassifier(ClassifierTargets, AutoMachine):
    """An average of classifiers for a table with missing values, weighted by cross-validation.

    Different members are tuned cheaply and scored by their out-of-fold log loss: kernel logistic
    regression on beliefs (one Gaussian, a mixture, normal scores, times a kernel of what is
    missing) and on means with indicators, a random forest, and boosted trees. The prediction is an
    average ``p(x) = sum_k w_k(x) p_k(x)`` whose weights minimise the out-of-fold log loss with a
    pull towards equal weights, followed by a temperature. Rows that miss more than
    the training rows did get weights of their own, chosen on rows in which further cells were
    hidden; trees are averaged over draws of such rows.

    Parameters
    ----------
    members : "default" or list, default="default"
        Names among ``"forest"``, ``"extra-trees"``, ``"boosting"``, ``"linear"``, ``"beliefs"``,
        ``"indicators"``, ``"beliefs-mask"``, ``"beliefs-scores"``, ``"beliefs-mixture"``,
        ``"gaussian-process"``, ``"catboost"`` and ``"lightgbm"``, and pairs ``(name, estimator)``
        of estimators that take NaN. The last two names need their packages, and a machine that
        uses them cannot be saved.
    time_budget : float, optional
        Seconds of wall time that a fit may take. Cheap members are tried first; one that would come
        too late is given up between two steps of its work, and the first is always finished. If the
        time would not suffice for the whole table, members learn from a sample of the rows, and
        ``members_`` says so. Without a budget, and with an integer ``random_state``, a fit is
        deterministic.
    hidden : sequence of float, default=(0.3, 0.6)
        Shares of the observed cells that are hidden to choose weights for rows that miss more.
        ``()`` uses the same weights for all rows.
    density : {"gaussian", "low-rank", "mixture"} or density, default="gaussian"
        What missing values could be, for the members on beliefs and for averages of trees.
    n_splits : int, default=5
        Folds; fewer where a class is rare.
    n_repeats : int, optional
        How often folds are cut anew; by default twice up to 400 rows, else once.
    on_interrupt : {"raise", "keep"}, default="raise"
        What Ctrl-C does during a fit: leave the estimator as it was, or make an average of the
        members that are finished.
    progress : bool, default=False
        Whether to show a bar with the time left.
    random_state : int, RandomState instance or None, default=None
    n_jobs : int, optional
        Threads of what is compiled, and of forests.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    members_ : MemberTable
        The members that were tried: ``print(model.members_)`` shows weights, scores and seconds.
    score_, score_error_ : float
        Accuracy of ``out_of_fold_`` and its standard error.
    log_loss_ : float
        Log loss of ``out_of_fold_``.
    baseline_ : float
        Accuracy of always predicting the most frequent class.
    out_of_fold_ : ndarray of shape (n_samples, n_classes)
        Out-of-fold probabilities of the training rows, with hyperparameters, weights and
        temperature that were chosen on other folds (see Notes); NaN for rows that were in no fold.
    committee_ : Committee
        The fitted members, their weights and temperatures.
    density_ : density
    encoder_ : TableEncoder or None
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if the table had names

    See Also
    --------
    LogisticRegressionCV : the best single member on many tables.
    MarginalClassifier : one model of your own on rows with holes.

    Notes
    -----
    ``score_``, ``log_loss_`` and ``out_of_fold_`` are those of the first repetition of the folds,
    by nested cross-validation. Width, penalty and weight of the mask kernel for a fold are chosen
    by models that were neither trained nor scored on its rows: folds are left out two at a time,
    and each is scored by models without the other. Sizes of trees are chosen by the loss on rows
    of other folds, from models that may have been trained on the fold, and so are the weights and
    the temperature of the average. With two folds, or where two have all rows of a class, this
    holds for kernels too. Densities and scalings of columns have seen all rows, but no targets.
    Further repetitions, in which kernels are chosen by rows of other folds too, count in
    ``members_`` and in the final weights only.

    Kernel members choose widths on at most 500 rows, beyond 2500 rows, where they use Fourier
    features, on 2048, and penalties on 40 000. Beyond 20 000 rows only the first two folds are
    predicted, forests grow each tree on 20 000 rows, and densities are fitted to as many; members
    learn from all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import AutoClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(120, 3))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, "up", "down")
    >>> X[rng.random(X.shape) < 0.2] = np.nan
    >>> model = AutoClassifier(members=["beliefs", "boosting"], random_state=0).fit(X, y)
    >>> bool(model.score_ > model.baseline_ + 0.2)
    True
    >>> model.predict([[2.0, np.nan, np.nan], [-2.0, -1.0, 0.0]])
    array(['up', 'down'], dtype='<U4')
    """

    log_loss_: float

    def predict_proba(self, X: TableLike) -> FloatArray:
        """Return the probability of each class, (n_samples, n_classes)."""
        return self._with_noise(self._table(X))[0]

    def _learning_rows(
        self, table: Table, y: ArrayLike, weights: FloatArray | None
    ) -> tuple[LearningRows, dict[str, object]]:
        classes, codes = np.unique(y, return_inverse=True)
        return LearningRows(table, codes, weights, len(classes)), {"classes_": classes}

    def _scores(
        self, rows: LearningRows, found: Assembled, codes: dict[str, object]
    ) -> dict[str, object]:
        answers = found.out_of_fold[0]
        scored = np.isfinite(answers).all(axis=1)
        weights = rows.row_weights
        shares = np.bincount(rows.y, weights) / weights.sum()
        right = answers[scored].argmax(axis=1) == rows.y[scored]
        truth = np.maximum(answers[scored, rows.y[scored]], 1e-15)
        score, error = _mean_and_error(right.astype(float), weights[scored])
        log_loss, _ = _mean_and_error(-np.log(truth), weights[scored])
        return {
            "score_": score,
            "score_error_": error,
            "log_loss_": log_loss,
            "baseline_": float(shares.max()),
        }


@declared
class AutoRegressor(RegressorTargets, AutoMachine):
    """An average of regressors for a table with missing values, weighted by cross-validation.

    As :class:`AutoClassifier`, with kernel ridge regression on beliefs and on means with
    indicators, a forest and boosted trees, weighted by their out-of-fold squared error. Intervals
    of a target without negative values end at zero.

    Parameters
    ----------
    log_target : bool or "auto", default=False
        Whether members learn the logarithm of a positive target; predictions are means of the
        target still. With "auto" the continuous ranked probability score of boosted trees in three
        folds decides.
    members, time_budget, hidden, density, n_splits, n_repeats, on_interrupt, progress
    random_state, n_jobs
        As in :class:`AutoClassifier`.

    Attributes
    ----------
    members_ : MemberTable
        The members that were tried: ``print(model.members_)`` shows weights, scores and seconds.
    score_, score_error_ : float
        R² of ``out_of_fold_`` and its standard error.
    baseline_ : float
        R² of always predicting the mean: 0.
    log_target_ : bool
        Whether members learned the logarithm of the target.
    target_least_ : float
        The lowest end of intervals: zero for a learned logarithm, and for 20 or more targets
        without a negative one, otherwise minus infinity.
    target_mean_, target_scale_ : float
        Mean and scale by which targets, or their logarithms, are standardised.
    errors_ : ndarray of shape (n_levels, 201)
        Quantiles of the absolute errors of predictions of the target, or of its logarithm, at each
        level of hidden cells.
    error_scale_ : ErrorScale
        The size of these errors, by what a row misses.
    out_of_fold_ : ndarray of shape (n_samples,)
        Out-of-fold predictions of the training rows, with hyperparameters, weights and a mean of
        the target from other folds, see the Notes of :class:`AutoClassifier`.
    committee_, density_, encoder_, n_features_in_, feature_names_in_
        As in :class:`AutoClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import AutoRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(120, 3))
    >>> y = X[:, 0] + X[:, 1]
    >>> X[rng.random(X.shape) < 0.1] = np.nan
    >>> model = AutoRegressor(members=["beliefs", "boosting"], random_state=0).fit(X, y)
    >>> known, unknown = model.predict_interval([[1.0, 1.0, 0.0], [1.0, np.nan, np.nan]])
    >>> bool(np.ptp(unknown) > np.ptp(known))
    True
    """

    _rules: ClassVar[dict[str, Rule]] = {"log_target": FLAG | words("auto")}

    errors_: FloatMatrix = field(init=False)
    error_scale_: ErrorScale = field(init=False)
    log_target_: bool = field(init=False)
    target_least_: float = field(init=False)
    target_mean_: float = field(init=False)
    target_scale_: float = field(init=False)

    log_target: bool | Literal["auto"] = False

    def predict(self, X: TableLike) -> FloatArray:
        """Return the prediction for each row, (n_samples,)."""
        return self._with_noise(self._table(X))[0][:, 0]

    def predict_interval(self, X: TableLike, coverage: float = 0.9) -> FloatArray:
        """Return an interval for the target of each row, (n_samples, 2), from out-of-fold errors.

        The half-width is a quantile of the absolute out-of-fold errors, relative to the error that
        is expected for what the row misses: rows without the columns that matter get wider
        intervals, also among rows that miss no more than training rows did. For a guarantee use
        :class:`~absentia.ConformalRegressor`.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        coverage : float, default=0.9
        """
        FRACTION.check("coverage", coverage)
        table = self._table(X)
        centre = self.committee_.answer(table)[:, 0]
        half = self.error_scale_.half_widths(table, coverage, self.committee_)
        ends = np.stack([centre - half, centre + half], axis=1)
        ends = self.target_mean_ + self.target_scale_ * ends
        return np.maximum(np.exp(ends) if self.log_target_ else ends, self.target_least_)

    def _decoded(
        self, answers: FloatArray, rows: Table, codes: Learned
    ) -> tuple[FloatArray, FloatArray | None]:
        numbers: FloatArray = codes["target_mean_"] + codes["target_scale_"] * answers
        if not codes["log_target_"]:
            return numbers, None
        scale: ErrorScale = codes["error_scale_"]
        if not rows.unknown.any():  # errors of one size
            rows = as_rows(np.zeros((1, rows.shape[1])))
        errors = codes["target_scale_"] * scale.signed_errors(rows, codes["committee_"])
        return smeared(numbers, errors)

    def _noise(self) -> float | None:
        if self.log_target_:
            return None  # that of each row
        # The square may overflow to infinity.
        with np.errstate(over="ignore"):
            return float(self.error_scale_.lines[0, 0] * np.square(self.target_scale_))

    def _learning_rows(
        self, table: Table, y: np.ndarray, weights: FloatArray | None
    ) -> tuple[LearningRows, Learned]:
        log = self.log_target
        log = prefers_logarithm(lambda: table.array, y) if log == "auto" else log
        if log and y.min() <= 0:
            raise ValueError(
                f"log_target=True needs a positive target, found {y.min():.6g}. Use "
                "log_target=False, or add a constant to the target."
            )
        least = 0.0 if log else lowest_end(y)
        y = np.log(y) if log else y
        # In units of a power of two, which changes no digit, because squares of 1e200 overflow.
        exponent = int(np.frexp(np.abs(y).max(initial=0.0))[1])
        unit = np.ldexp(y, -exponent)
        counted = unit if weights is None else unit[weights > 0]
        if is_constant(counted):  # the mean, and so the spread, would be rounding
            centre, spread = float(counted[0]), 0.0
        else:
            centre = float(np.average(unit, weights=weights))
            spread = float(np.sqrt(np.average((unit - centre) ** 2, weights=weights)))
        mean = float(np.ldexp(centre, exponent))
        scale = float(np.ldexp(spread, exponent)) or 1.0
        codes = {
            "target_mean_": mean,
            "target_scale_": scale,
            "target_least_": least,
            "log_target_": bool(log),
        }
        return LearningRows(table, (y - mean) / scale, weights, None), codes

    def _scores(
        self, rows: LearningRows, found: Assembled, codes: dict[str, object]
    ) -> dict[str, object]:
        residuals = found.out_of_fold[..., 0] - rows.y
        grid = np.linspace(0.0, 1.0, 201)
        errors = np.stack(
            [np.quantile(np.abs(level[np.isfinite(level)]), grid) for level in residuals]
        )
        # More hidden cells never make a prediction surer.
        errors = np.maximum.accumulate(errors, axis=0)
        # The time of conditioning grows with the cube of the number of columns.
        some = np.flatnonzero(found.folds.judged)
        some = some[: max(_FEWEST_FOR_SCALE, _CELLS_FOR_SCALE // rows.table.shape[1])]
        scale = ErrorScale.of(
            -residuals[:, some],
            rows.y[some],
            tuple(table[some] for table in found.folds.tables),
            found.committee.density,
            found.committee.points.matched(),
            len(grid),
        )
        scored = np.isfinite(residuals[0])
        weights, y = rows.row_weights[scored], rows.y[scored]
        squared = residuals[0, scored] ** 2
        if codes["log_target_"]:
            truth = np.exp(codes["target_mean_"] + codes["target_scale_"] * y)
            known = codes | {"error_scale_": scale, "committee_": found.committee}
            predicted = self._decoded(found.out_of_fold[0][scored], rows.table[scored], known)[0]
            centre = np.average(truth, weights=weights)
            spread = np.sqrt(np.average((truth - centre) ** 2, weights=weights))
            y, squared = (truth - centre) / spread, ((predicted[:, 0] - truth) / spread) ** 2
        # The target has mean zero and variance one, so that 1 - error^2 is R² row by row; a
        # constant target has no variance to explain.
        share, _ = _mean_and_error(squared, weights)
        _, error = _mean_and_error(squared - share * y**2, weights)
        return {
            "errors_": errors * codes["target_scale_"],
            "error_scale_": scale,
            "score_": 1.0 - share,
            "score_error_": error,
            "baseline_": 0.0,
        }


def _mean_and_error(values: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Return a weighted mean and its standard error."""
    shares = weights / weights.sum()
    mean = float(shares @ values)
    return mean, float(np.sqrt((shares**2) @ (values - mean) ** 2))
