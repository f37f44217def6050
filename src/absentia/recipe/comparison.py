"""Comparison of methods on one table by cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import t as student
from sklearn.base import BaseEstimator, is_classifier
from sklearn.metrics import accuracy_score, balanced_accuracy_score, log_loss, r2_score
from sklearn.metrics import mean_absolute_error as absolute_error
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold, cross_validate
from threadpoolctl import threadpool_limits

from absentia.hidden_warnings import hidden_warnings
from absentia.machines.targets import Task
from absentia.optional_imports import optional_import
from absentia.pictures import FAINT, INK, MISSING, pyplot, tidy
from absentia.recipe.learning_table import LearningTable, split_target
from absentia.recipe.training import AUTOMATIC, BASELINES, METHODS, new_steps
from absentia.reports.report_page import Page
from absentia.tables import FloatArray, Table
from absentia.tables.encoder import TableEncoder
from absentia.tables.phrases import counted, with_names
from absentia.tables.reading import as_frame, is_frame, native_frame

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["Comparison", "compare"]

_FOLDS = 5
_LEVEL = 0.05
#: Methods and rows of a comparison that takes less than a minute.
QUICK_METHODS = (
    *(AUTOMATIC, "genrbf", "mean-indicator", "hist-gradient-boosting", "random-forest"),
)
QUICK_ROWS, QUICK_SECONDS = 300, 8.0


def compare(
    X: Any,
    y: Any,
    *,
    task: str | None = None,
    methods: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    keep_ids: bool = False,
    supports: Mapping[str, Any] | None = None,
    repeats: int = 1,
    max_rows: int | None = 1000,
    random_state: int = 0,
    n_jobs: int | None = None,
    time_budget: float | None = None,
    step: Callable[[float, str], None] = lambda share, text: None,
) -> Comparison:
    """Compare methods on a table by repeated five-fold cross-validation.

    Every method is tuned on the training rows of each fold only. Differences are tested on the
    same folds by the corrected resampled t-test of Nadeau and Bengio [1]_.

    Parameters
    ----------
    X : array-like or frame of shape (n_samples, n_features)
        NaN where a value is missing; a frame may hold words, dates and limits such as ``"<0.5"``.
    y : array-like of shape (n_samples,), or str
        The targets, or the name of their column in the frame. Rows without one are left out.
    task : {"classification", "regression"}, optional
        By default text, and whole numbers with few different values, are classes.
    methods : sequence of str, optional
        Any that ``absentia train --method`` accepts, and the baselines ``"mean-indicator"``,
        ``"iterative"``, ``"random-forest"``, ``"hist-gradient-boosting"``, ``"lightgbm"`` and
        ``"catboost"``. By default ``"automatic"``, ``"genrbf"`` and the baselines that are
        installed.
    ignore : sequence of str, default=()
        Columns to leave out.
    kinds, keep_ids, supports
        As for :class:`absentia.TableEncoder`.
    repeats : int, default=1
        The number of times that the folds are drawn.
    max_rows : int, default=1000
        A larger table is sampled; None uses all rows.
    random_state : int, default=0
    n_jobs : int, optional
        Folds that are computed at the same time.
    time_budget : float, optional
        Seconds after which the automatic machine of a fold tries no more members.
    step : callable
        Called with the share of the work that is done and the name of the next method.

    Returns
    -------
    Comparison

    References
    ----------
    .. [1] C. Nadeau and Y. Bengio. Inference for the generalization error. Machine Learning 52,
       2003.

    Examples
    --------
    >>> import absentia
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> X = absentia.amputation.mcar(X[::2], rate=0.2, random_state=0)
    >>> found = absentia.compare(X, y[::2], methods=["genrbf", "mean-indicator"])
    >>> found.best
    'genrbf'
    >>> found.to_frame()[["accuracy", "±"]].round(2)
                    accuracy     ±
    genrbf              0.92  0.04
    mean-indicator      0.88  0.04
    """
    names = _names_of(methods)
    table, target = _split(X, y, task, ignore)
    table = table.sampled(max_rows).shuffled(random_state)
    encoder = TableEncoder(keep_ids=keep_ids, kinds=kinds, supports=supports, limits=True)
    rows = encoder.fit_transform(table.features, table.target)
    complete = np.asarray(rows)
    splitter = RepeatedStratifiedKFold if table.task == "classification" else RepeatedKFold
    folds = splitter(n_splits=_FOLDS, n_repeats=repeats, random_state=random_state)
    scores: dict[str, dict[str, FloatArray]] = {}
    errors: dict[str, str] = {}
    for place, name in enumerate(names):
        step(place / len(names), name)
        try:
            # Threads of boosted trees wait for each other by turning round and round: on two busy
            # cores two fits to 178 rows took 278 seconds with two threads, and 1.3 with one.
            with hidden_warnings(), threadpool_limits(1, user_api="openmp"):
                found = cross_validate(
                    BASELINES[name].make(table.task, random_state, rows.n_features)
                    if name in BASELINES
                    else new_steps(name, table.task, seed=random_state, time_budget=time_budget),
                    rows if name in METHODS else complete,
                    table.target,
                    cv=folds,
                    scoring=_scores_of_fold,
                    n_jobs=n_jobs,
                    error_score="raise",
                )
        except (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError) as error:
            errors[name] = with_names(str(error), list(encoder.get_feature_names_out()))
            continue
        seconds = found["fit_time"] + found["score_time"]
        measures = {k.removeprefix("test_"): v for k, v in found.items() if k.startswith("test_")}
        scores[name] = measures | {"seconds": seconds}
    if not scores:
        raise ValueError(f"Every method failed; the first error is: {next(iter(errors.values()))}")
    about = _about(table, target, rows, [name for name in scores if name in METHODS])
    notes = (*about, *table.notes, *encoder.notes_)
    return Comparison(table.task, scores, table.baseline()[0], errors, notes)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Scores of several methods on the same folds of one table.

    Attributes
    ----------
    task : {"classification", "regression"}
    scores : dict of str to dict of str to ndarray
        By method and measure, one score per fold.
    baseline : float
        The score of the best constant prediction.
    errors : dict of str to str
        Methods that failed, with their messages.
    notes : tuple of str
        Sentences about the table and how it was read.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from absentia import compare
    >>> found = compare(*load_iris(return_X_y=True), methods=["genrbf", "mean-indicator"])
    >>> found.measure, found.errors
    ('accuracy', {})
    """

    task: Task
    scores: dict[str, dict[str, FloatArray]]
    baseline: float
    errors: dict[str, str]
    notes: tuple[str, ...]

    @property
    def measure(self) -> str:
        """Name of the score by which methods are ordered; larger is better."""
        return "accuracy" if self.task == "classification" else "R²"

    @property
    def methods(self) -> list[str]:
        """Names of the methods, best first."""
        return sorted(self.scores, key=lambda name: -self.mean(name))

    @property
    def best(self) -> str:
        """The method with the highest mean score."""
        return self.methods[0]

    @property
    def as_good(self) -> list[str]:
        """Other methods without a significant difference from the best."""
        scores = {name: self.scores[name][self.measure] for name in self.methods}
        return [n for n in self.methods[1:] if not _behind(scores[self.best], scores[n])]

    @property
    def trainable(self) -> str | None:
        """The best method that ``absentia train --method`` can train, or None."""
        return next((name for name in self.methods if name in METHODS), None)

    def mean(self, method: str, measure: str | None = None) -> float:
        """Return the mean of a measure over the folds."""
        return float(np.mean(self.scores[method][measure or self.measure]))

    def standard_error(self, method: str) -> float:
        """Return the corrected standard error of the mean score."""
        return standard_error(self.scores[method][self.measure])

    def _score(self, method: str) -> str:
        return f"{self.measure} {self.mean(method):.3f} ± {self.standard_error(method):.3f}"

    @property
    def verdict(self) -> str:
        """The method to use, and the methods that are as good, in words.

        A baseline, which ``absentia train`` does not have, is used only where nothing else is
        compared.
        """
        order, best, as_good = self.methods, self.best, self.as_good
        name = self.trainable or best
        score = self._score(best)
        sentences = [f"Use {name}: {self._score(name)}."]
        if self.mean(best) - 2 * self.standard_error(best) <= self.baseline:
            sentences = [
                f"No method is clearly better than the best constant prediction "
                f"({self.baseline:.3f}): the best, {best}, has {score}."
            ]
        elif name != best:
            how = "no significant difference" if name in as_good else "significantly better"
            sentences.append(f"{best}, which absentia train does not have, has {score}: {how}.")
        if len(order) > 1 and not as_good and name == best:
            sentences.append("It is significantly ahead of all others.")
        elif as_good and name == best:
            where = f"from {', '.join(as_good)}"
            if len(order) > 2 and len(as_good) == len(order) - 1:
                where = f"between the {len(order)} methods"
            sentences.append(f"There is no significant difference {where}.")
        return " ".join(sentences)

    def to_frame(self) -> pd.DataFrame:
        """Return the mean scores as a pandas frame, one row per method, best first."""
        pd = optional_import("pandas", "tables", "A frame of scores")
        means = {n: {m: self.mean(n, m) for m in self.scores[n]} for n in self.methods}
        frame = pd.DataFrame.from_dict(means, orient="index").dropna(axis=1, how="all")
        frame.insert(1, "±", [self.standard_error(name) for name in frame.index])
        return frame

    def plot(self) -> Figure:
        """Draw a dot with two standard errors to either side for each method, the best on top.

        The dashed line is the best constant prediction; absentia's own methods are coloured.
        """
        names = self.methods[::-1]
        size = (7.0, 1.1 + 0.3 * len(names))
        figure, axes = pyplot().subplots(figsize=size, layout="constrained")
        panel = tidy(axes)
        for place, name in enumerate(names):
            colour = MISSING if name in METHODS else INK
            reach = 2 * float(np.nan_to_num(self.standard_error(name)))
            panel.errorbar(self.mean(name), place, xerr=reach, fmt="o", color=colour, markersize=6)
        panel.set_yticks(range(len(names)), names)
        panel.axvline(self.baseline, color=INK, linewidth=1, linestyle=(0, (3, 2)), zorder=0)
        panel.grid(axis="x", color=FAINT, linewidth=0.6)
        panel.set_xlabel(f"{self.measure}; dashed: best constant prediction {self.baseline:.3f}")
        return figure

    def to_html(self, title: str, advice: str = "") -> str:
        """Return a page with the verdict, the picture, the scores and notes on the table."""
        page = Page(title, "cross-validation of methods by absentia")
        page.verdict(self.verdict)
        page.section("All methods")
        if advice:
            page.paragraph(advice)
        page.picture(
            self.plot(),
            "Mean over the folds and two standard errors to either side, corrected for the "
            "overlap of training rows. The dashed line is the best constant prediction.",
        )
        shown = self.to_frame().rename_axis(index="method").reset_index()
        shown["what it is"] = [
            BASELINES[name].about if name in BASELINES else "absentia" for name in shown["method"]
        ]
        page.table(shown)
        for name, error in self.errors.items():
            page.paragraph(f"{name} failed: {error}")
        page.section("The table as it was read")
        for note in self.notes:
            page.paragraph(note)
        return page.render()

    def to_text(self, advice: str = "") -> str:
        """Return the notes, the verdict and the table of scores."""
        frame = self.to_frame()
        frame.index = [f"{name} *" if name in METHODS else name for name in frame.index]
        table = frame.to_string(float_format=lambda value: f"{value:.4g}", na_rep="")
        lines = [*self.notes, "", self.verdict, *([advice] if advice else []), "", table, ""]
        lines.append(
            "* absentia's own methods; five-fold cross-validation, tuned inside each fold; ± is "
            "the standard error over folds"
        )
        return "\n".join([*lines, *(f"{k} failed: {v}" for k, v in self.errors.items())])

    def __repr__(self) -> str:
        return self.to_text()


def standard_error(values: FloatArray) -> float:
    """Return the standard error of a mean over the folds of repeated cross-validation.

    Training rows of folds overlap, so the variance of the mean is not ``s^2 / n`` but, after
    Nadeau and Bengio (2003), ``s^2 (1/n + n_test/n_train)``.
    """
    if len(values) < 2:
        return float("nan")
    return float(np.std(values, ddof=1) * np.sqrt(1 / len(values) + 1 / (_FOLDS - 1)))


def _behind(best: FloatArray, other: FloatArray) -> bool:
    """Return whether a method is significantly behind another on the same folds."""
    difference = best - other
    error = standard_error(difference)
    if not np.isfinite(error):
        return False
    return float(difference.mean()) > student.ppf(1 - _LEVEL / 2, len(difference) - 1) * error


def _split(X: Any, y: Any, task: str | None, ignore: Sequence[str]) -> tuple[LearningTable, str]:
    """Return a table split from its target, and the name of the target."""
    frame = as_frame(X)
    if not is_frame(native_frame(X)):
        frame.columns = [f"x{name}" for name in frame.columns]
    if isinstance(y, str):
        return split_target(frame, y, task, ignore=ignore), y
    target = str(getattr(y, "name", None) or "target")
    while target in frame.columns:
        target += "_"
    frame = frame.assign(**{target: np.asarray(y)})
    return split_target(frame, target, task, ignore=ignore), target


def _names_of(methods: Sequence[str] | None) -> list[str]:
    """Return the names of methods; refuse those that are unknown or not installed."""
    if methods is None:
        found = [k for k, v in BASELINES.items() if not v.package or find_spec(v.package)]
        return [AUTOMATIC, "genrbf", *found]
    known = (*METHODS, *BASELINES)
    for name in methods:
        if name not in known:
            raise ValueError(f"There is no method {name!r}; the methods are {', '.join(known)}.")
        if name in BASELINES and BASELINES[name].package:
            optional_import(BASELINES[name].package, "boosters", f"The method {name!r}")
    return list(dict.fromkeys(methods))


def _scores_of_fold(model: BaseEstimator, X: Any, y: np.ndarray) -> dict[str, float]:
    if not is_classifier(model):
        predicted = np.ravel(model.predict(X))
        return {"R²": r2_score(y, predicted), "mean absolute error": absolute_error(y, predicted)}
    if hasattr(model, "predict_proba"):
        chances = model.predict_proba(X)
        predicted = model.classes_[chances.argmax(axis=1)]
        loss = log_loss(y, chances, labels=model.classes_)
    else:
        predicted, loss = model.predict(X), np.nan
    return {
        "accuracy": accuracy_score(y, predicted),
        "balanced accuracy": balanced_accuracy_score(y, predicted),
        "log loss": loss,
    }


def _about(table: LearningTable, target: str, rows: Table, own: list[str]) -> list[str]:
    """Return sentences on the target, the rows and the best constant prediction."""
    score, constant = table.baseline()
    measure, kind = "R²", "numbers"
    if table.task == "classification":
        measure, kind = "accuracy", f"{len(np.unique(table.target))} classes"
    missing = np.isnan(rows.array)
    sentences = [
        f"{table.task.capitalize()} of {target} ({kind}).",
        f"{counted(len(rows), 'row')}, {counted(rows.n_features, 'column')} after encoding; "
        f"{100 * missing.mean():.1f} % of the values are missing, and "
        f"{100 * missing.any(axis=1).mean():.0f} % of the rows miss something.",
        f"{constant[0].upper()}{constant[1:]} would have {measure} {score:.3f}.",
    ]
    if rows.lower is not None and rows.upper is not None:
        limited = int((np.isfinite(rows.lower) | np.isfinite(rows.upper)).sum())
        using = f"used by {', '.join(own)}; " if own else ""
        sentences.append(
            f"{counted(limited, 'value')} with limits such as <0.5: {using}missing for the other "
            "methods."
        )
    return sentences
