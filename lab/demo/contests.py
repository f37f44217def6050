"""The main task on data that scikit-learn bundles: incomplete rows, against the alternatives.

Values are removed from a complete table. First the values that were removed are estimated; then
incomplete rows are classified, once after training on incomplete rows, once after training on
complete rows. Each time absentia is compared with common alternatives, on the same rows, with the
same missing values and default settings.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from sklearn import svm
from sklearn.base import BaseEstimator
from sklearn.datasets import load_wine
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401 (it is meant to be imported)
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from absentia.automatic import AutoClassifier
from absentia.densities import GaussianDensity
from absentia.machines import SVC
from absentia.missingness.amputation import mcar
from absentia.optional_imports import optional_import
from absentia.pictures import COLOURS, INK, MISSING, grid_of_panels
from absentia.progress import Bar, progress_bar
from absentia.tables import FloatArray
from lab.demo.production import answer_incomplete_rows
from lab.line_labels import label_ends

#: A quick few of those that it has.
AUTOMATIC_MEMBERS = ("boosting", "linear", "beliefs")
RATES = (0.1, 0.3, 0.5, 0.7)
_RIVALS = (COLOURS[0], INK, COLOURS[6], COLOURS[2])
_AUTOMATIC = COLOURS[4]


@dataclass
class Contest:
    """The results of several methods at several missing rates.

    Attributes
    ----------
    title : str
        What is measured.
    lower_is_better : bool
    rates : tuple of float
        The shares of values removed.
    results : dict of str to ndarray of shape (n_repeats, n_rates)
        By method.
    seconds : dict of str to float
        The time that each method took for everything.
    """

    title: str
    lower_is_better: bool
    rates: tuple[float, ...]
    results: dict[str, FloatArray] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        means = {name: values.mean(axis=0) for name, values in self.results.items()}
        table = np.array(list(means.values())).round(3)
        best = table.min(axis=0) if self.lower_is_better else table.max(axis=0)
        width = max(len(name) for name in means)
        lines = [
            self.title,
            f"  {'':<{width}}"
            + "".join(f"{f'{rate:.0%} missing':>14}" for rate in self.rates)
            + f"{'time':>10}",
        ]
        for (name, seconds), row in zip(self.seconds.items(), table, strict=True):
            cells = "".join(
                f"{f'{value:.3f}' + ('*' if value == top else ' '):>14}"
                for value, top in zip(row, best, strict=True)
            )
            lines.append(f"  {name:<{width}}{cells}{seconds:>8.1f} s")
        return "\n".join(lines)


def imputers() -> dict[str, Callable[[FloatArray], FloatArray]]:
    """Return the ways to estimate what was removed, by name."""
    return {
        "column mean": lambda X: SimpleImputer().fit_transform(X),
        "5 nearest neighbours": lambda X: KNNImputer().fit_transform(X),
        "iterative imputation": lambda X: IterativeImputer(random_state=0).fit_transform(X),
        "absentia GaussianDensity": lambda X: GaussianDensity().fit(X).impute(X),
    }


def classifiers(*, holes_in_training: bool) -> dict[str, BaseEstimator]:
    """Return the ways to classify incomplete rows, by name.

    The automatic machine, which tries several models, only where one fit answers all rates.
    """
    automatic = AutoClassifier(members=AUTOMATIC_MEMBERS, n_repeats=1, random_state=0)
    found = {
        "column mean, then SVC": make_pipeline(SimpleImputer(), StandardScaler(), svm.SVC()),
        "iterative, then SVC": make_pipeline(
            StandardScaler(), IterativeImputer(random_state=0), svm.SVC()
        ),
        "gradient boosting": HistGradientBoostingClassifier(random_state=0),
        "absentia SVC": make_pipeline(StandardScaler(), SVC()),
    }
    return found if holes_in_training else found | {"absentia AutoClassifier": automatic}


def compile_everything(X: FloatArray, y: np.ndarray, rates: tuple[float, ...]) -> None:
    """Do everything that absentia does here once, so that no time includes the compiler's."""
    standard = StandardScaler().fit_transform(X)
    for rate in rates:  # few and many missing values go different ways
        holes = mcar(standard, rate, random_state=0)
        GaussianDensity().fit(holes).impute(holes)
        SVC().fit(holes[::2], y[::2]).predict(holes[1::2])
    automatic = AutoClassifier(members=AUTOMATIC_MEMBERS, n_repeats=1, n_splits=2, random_state=0)
    automatic.fit(X, y).predict(mcar(X, rates[-1], random_state=0))


def recover(X: FloatArray, rates: tuple[float, ...], repeats: int, bar: Bar) -> Contest:
    """Estimate removed values; the error is in standard deviations of the columns."""
    contest = Contest(
        "Error of recovered values, in standard deviations (lower is better, * is best)",
        lower_is_better=True,
        rates=rates,
    )
    standard = StandardScaler().fit_transform(X)
    for name, impute in imputers().items():
        errors = np.empty((repeats, len(rates)))
        start = time.perf_counter()
        for repeat, r in np.ndindex(errors.shape):
            holes = mcar(standard, rates[r], random_state=repeat)
            removed = np.isnan(holes)
            errors[repeat, r] = np.sqrt(np.mean((impute(holes) - standard)[removed] ** 2))
            bar.advance(name)
        contest.results[name] = errors
        contest.seconds[name] = time.perf_counter() - start
    return contest


def classify(
    X: FloatArray,
    y: np.ndarray,
    rates: tuple[float, ...],
    repeats: int,
    bar: Bar,
    *,
    holes_in_training: bool,
) -> Contest:
    """Classify incomplete rows; training rows miss as much, or nothing at all."""
    where = "training and test rows" if holes_in_training else "test rows only"
    contest = Contest(
        f"Accuracy on test rows, values missing from {where} (higher is better, * is best)",
        lower_is_better=False,
        rates=rates,
    )
    splits = list(StratifiedShuffleSplit(repeats, test_size=0.3, random_state=0).split(X, y))
    for name, classifier in classifiers(holes_in_training=holes_in_training).items():
        accuracy = np.empty((repeats, len(rates)))
        start = time.perf_counter()
        for repeat, r in np.ndindex(accuracy.shape):
            holes = mcar(X, rates[r], random_state=repeat)
            train, test = splits[repeat]
            if holes_in_training:
                classifier.fit(holes[train], y[train])
            elif r == 0:  # the same complete rows at every rate
                classifier.fit(X[train], y[train])
            accuracy[repeat, r] = classifier.score(holes[test], y[test])
            bar.advance(name)
        contest.results[name] = accuracy
        contest.seconds[name] = time.perf_counter() - start
    return contest


def draw(contests: list[Contest], path: Path) -> None:
    """Draw the results of the contests, one panel each, into a picture."""
    figure, panels = grid_of_panels(len(contests), across=3, width=5.4, height=3.6)
    for axes, contest in zip(panels, contests, strict=True):
        percent = 100 * np.array(contest.rates)
        ends = []
        for k, (name, values) in enumerate(contest.results.items()):
            ours = name.startswith("absentia")
            colour = MISSING if ours else _RIVALS[k % len(_RIVALS)]
            if name == "absentia AutoClassifier":
                colour = _AUTOMATIC
            means = values.mean(axis=0)
            axes.errorbar(
                percent,
                means,
                values.std(axis=0) / np.sqrt(len(values)),
                color=colour,
                marker="o",
                markersize=4,
                linewidth=2.4 if ours else 1.4,
                zorder=3 if ours else 2,
            )
            ends.append((float(means[-1]), name, colour))
        what = contest.title.partition(" (")[0]
        better = "lower" if contest.lower_is_better else "higher"
        axes.set_title(f"{what};\n{better} is better", loc="left", fontsize="medium", color=INK)
        axes.set_xlabel("values missing, %")
        axes.set_xticks(percent)
        figure.draw_without_rendering()
        label_ends(axes, ends)
    figure.savefig(path, dpi=130)


def run(
    output: Path,
    rates: tuple[float, ...] = RATES,
    repeats: int = 4,
) -> list[Contest]:
    """Hold the contests, print them, and draw them into ``output / "demo.png"``.

    Parameters
    ----------
    output : Path
        A folder for the picture; it is made where it does not exist.
    rates : tuple of float
        The shares of values to remove.
    repeats : int
        How often to draw new missing values; the results are averaged.

    Returns
    -------
    list of Contest
    """
    optional_import("matplotlib", "demo", "The demonstration")  # before the work, not after it
    X, y = load_wine(return_X_y=True)
    print(
        f"Wine data: {len(X)} rows, {X.shape[1]} columns, values removed completely at "
        f"random, mean of {repeats} runs\n"
    )
    methods = len(imputers()) + sum(
        len(classifiers(holes_in_training=where)) for where in (True, False)
    )
    total = repeats * len(rates) * methods
    # One thread for all: the tables are small, and threads that wait for each other on a busy
    # machine make boosting take minutes.
    with (
        progress_bar(total, shown=True, title="demo", unit="run") as bar,
        threadpool_limits(1),
        warnings.catch_warnings(),
    ):
        # Ten rounds are the default of iterative imputation, and rarely enough for it.
        warnings.filterwarnings("ignore", category=ConvergenceWarning, module="sklearn")
        compile_everything(X, y, rates)
        contests = [
            recover(X, rates, repeats, bar),
            classify(X, y, rates, repeats, bar, holes_in_training=True),
            classify(X, y, rates, repeats, bar, holes_in_training=False),
        ]
        answers = answer_incomplete_rows()
    print("\n\n".join(str(part) for part in (*contests, answers)))
    output.mkdir(parents=True, exist_ok=True)
    picture = output / "demo.png"
    draw(contests, picture)
    print(f"\nThe picture is in {picture}")
    return contests


def main() -> None:
    """Run the demonstration as ``make demo`` does."""
    run(Path("demo-output"))
