"""The contest of methods on a user's own table, and how its outcome reads."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from absentia import __version__
from absentia.recipe.learning_table import best_constant
from absentia.tables.phrases import with_names
from lab.data.datasets import Dataset
from lab.experiments.methods import METHODS, methods_for
from lab.experiments.reporting.answer import Answer, measure_of
from lab.experiments.reporting.figures import METRIC_LABELS
from lab.experiments.reporting.report import write_report
from lab.experiments.reporting.verdict import Verdict, judge
from lab.experiments.running.cells import Context
from lab.experiments.running.runner import run
from lab.experiments.running.store import Results
from lab.experiments.suites import COMPARE, COMPARE_METHODS
from lab.experiments.suites.realholes import compare_cells

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Outcome", "compare_table", "comparison_text"]


@dataclass(frozen=True, eq=False)
class Outcome:
    """How a comparison came out: a frame of methods by scores, errors, the page, the verdict."""

    table: pd.DataFrame
    errors: dict[str, str]
    page: Path
    verdict: Verdict


def compare_table(
    data: Dataset,
    *,
    methods: Sequence[str] | None = None,
    folder: Path,
    repeats: int = 1,
    jobs: int = 1,
    seed: int = 0,
    time_limit: float | None = None,
    progress: bool = True,
    target: str = "target",
    file: str = "FILE",
    say: Callable[[str], None] | None = None,
) -> Outcome:
    """Compare methods on a table by cross-validation, and write the report.

    Parameters
    ----------
    data : Dataset
    methods : sequence of str, optional
        Names of the registry; by default a sensible set.
    folder : path
        Of the report.
    repeats, jobs, seed, time_limit, progress
        How often the folds are redrawn, and as for :func:`lab.experiments.run`.
    target, file : str
        What the page calls the target and the file.
    say : callable, optional
        Gets a sentence where an earlier comparison is continued.

    Returns
    -------
    Outcome

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np
    >>> from absentia.missingness.amputation import mcar
    >>> from lab.data.datasets import Dataset
    >>> from lab.experiments import compare_table
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> y = np.where(X[:, 0] > 0, "up", "down")
    >>> data = Dataset("mine", "classification", mcar(X, 0.1, random_state=0), y, ("a", "b", "c"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     outcome = compare_table(
    ...         data, methods=["mean", "zero"], folder=pathlib.Path(folder), progress=False
    ...     )
    >>> sorted(outcome.table.index)
    ['mean', 'zero']
    """
    names = methods_for(data.task, COMPARE_METHODS if methods is None else methods)
    if not names:
        raise ValueError(f"None of the methods can do {data.task}, or none of them is installed.")
    folder.mkdir(parents=True, exist_ok=True)
    context = Context(size="small", seed=seed, tables={data.name: data})
    metric = "accuracy" if data.task == "classification" else "r2"
    protocol = replace(COMPARE, metric=metric).with_cells(compare_cells(data, names, repeats))
    contest = _digest_of_contest(data, names, repeats, seed)
    # Nobody else writes there from the first look to the page: two contests would mix their scores.
    with Results(folder / "results.sqlite", sole_user=True) as results:
        runs = results.runs(COMPARE.name, context.size, seed)
        kept = bool(runs) and all(run["settings"].get("contest") == contest for run in runs)
        if not kept:
            results.forget(COMPARE.name)
        if kept and say is not None and (done := len(results.finished(COMPARE.name, context))):
            total = len(protocol.cells(context))
            say(f"Continuing: {done} of {total} fits were done by an earlier run in {folder}.")
        run(
            protocol,
            results,
            context,
            jobs=jobs,
            retry_failed=True,
            time_limit=time_limit,
            progress=progress,
            settings={"contest": contest},
        )
        scores = results.scores(COMPARE.name, "small", seed)
        cells = results.cells(COMPARE.name, "small", seed)
        verdict = _verdict(scores, cells, data, metric) if len(scores) else None
        answer = None
        if verdict is not None:
            table = _scores_by_method(scores, cells, data, verdict)
            answer = Answer(verdict, table, data, target, file)
        page = write_report(results, protocol, "small", seed, folder, answer=answer)
    failed = cells[cells["error"] != ""]
    errors = {
        method: with_names(error, data.feature_names)
        for method, error in failed.groupby("method")["error"].first().items()
    }
    if answer is None:
        raise ValueError(f"Every method failed; the first error is: {next(iter(errors.values()))}")
    return Outcome(answer.scores, errors, page, answer.verdict)


def _digest_of_contest(data: Dataset, names: Sequence[str], repeats: int, seed: int) -> str:
    """Return a digest of all that the scores depend on."""
    contest = (__version__, data.name, data.task, data.feature_names, list(names), repeats, seed)
    digest = hashlib.sha256(repr(contest).encode())
    targets = data.y if data.y.dtype.kind != "O" else data.y.astype(str)
    for array in (data.X, targets, *(data.limits or ())):
        digest.update(f"{array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:32]


def comparison_text(outcome: Outcome, data: Dataset, target: str, file: str = "FILE") -> str:
    """Return the outcome as text: the verdict, one line per method, and where the page is."""
    answer = Answer(outcome.verdict, outcome.table, data, target, file)
    table = outcome.table
    lines = [*answer.about(), "", outcome.verdict.sentence, answer.command(), ""]
    heads = [*table.columns]
    width = max(len(str(name)) for name in table.index) + 2
    lines.append(" " * width + "".join(f"{head:>18s}" for head in heads))
    for name, row in table.iterrows():
        mark = "*" if name in METHODS and METHODS[str(name)].entry.own else " "
        cells = "".join(f"{value:18.3f}" for value in row)
        lines.append(f"{name!s:{width - 1}s}{mark}{cells}")
    lines += [
        "",
        "* absentia's own methods; five-fold cross-validation, tuned inside each fold; ± is the "
        "standard error over folds",
    ]
    lines += [f"{name} failed: {error}" for name, error in outcome.errors.items()]
    lines.append(f"Full report: {outcome.page}")
    return "\n".join(lines)


def _verdict(scores: pd.DataFrame, cells: pd.DataFrame, data: Dataset, metric: str) -> Verdict:
    chosen = scores[scores["metric"] == metric]
    folds = chosen.pivot_table(index=["sample", "fold"], columns="method", values="value")
    # A method that failed on a fold is compared on no fold: others would be judged by fewer.
    whole = folds.dropna(axis=1)
    folds = whole if whole.shape[1] else folds.dropna(axis=0, how="all").fillna(folds.min())
    seconds = cells[cells["error"] == ""].groupby("method")["seconds"].mean()
    return judge(
        {str(name): folds[name].to_numpy() for name in folds.columns},
        {str(name): float(value) for name, value in seconds.items()},
        measure_of(data),
        best_constant(data.task, data.y)[0],
    )


def _scores_by_method(
    scores: pd.DataFrame, cells: pd.DataFrame, data: Dataset, verdict: Verdict
) -> pd.DataFrame:
    """Return mean scores, one row per method, in the order of the verdict."""
    metrics = (
        ["accuracy", "balanced_accuracy", "log_loss"]
        if data.task == "classification"
        else ["r2", "crps"]
    )
    chosen = scores[scores["metric"].isin(metrics)]
    table = chosen.pivot_table(index="method", columns="metric", values="value", aggfunc="mean")
    table = table.reindex(columns=[m for m in metrics if m in table.columns])
    table.insert(1, "±", [verdict.errors.get(str(name), float("nan")) for name in table.index])
    table["seconds"] = cells[cells["error"] == ""].groupby("method")["seconds"].mean()
    short = {**METRIC_LABELS, "crps": "CRPS"}
    # The order of the picture and of the verdict; methods that failed on a fold come last.
    rest = [name for name in table.index if name not in verdict.means]
    table = table.loc[[*verdict.means, *rest]]
    return table.rename(columns={name: short.get(name, name) for name in table.columns})
