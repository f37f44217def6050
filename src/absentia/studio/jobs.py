"""Long computations in a separate process, which report progress and can be stopped."""

from __future__ import annotations

import multiprocessing
import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import confusion_matrix

from absentia.machines.targets import Task
from absentia.recipe import training
from absentia.recipe.comparison import QUICK_METHODS, QUICK_ROWS, QUICK_SECONDS, compare
from absentia.recipe.learning_table import sample_in_proportion, split_target
from absentia.recipe.model import TableModel
from absentia.studio.row_answers import QUICK, Json, RowAnswers
from absentia.tables.column_plan import ReadFrame

if TYPE_CHECKING:
    import pandas as pd

#: Rows of a batch between two reports of progress.
_BATCH_ROWS = 200

#: Rows that are explained after training, columns that are listed, and dots that are drawn.
_EXPLAINED_ROWS, _MOST_MATTERING, _MOST_DOTS = 20, 12, 400

#: Settings of training: an answer must keep up with typing.
_TRAINED: dict[Task, dict[str, Any]] = {
    "classification": {"method": "logistic", "max_rows": 2000},
    "regression": {"method": "gaussian-process", "max_rows": 1000, "calibrate": 0.3},
}

Step = Callable[[float, str], None]


class Job:
    """A call ``work(step, **arguments)`` in a worker process, to which ``work`` is sent by name."""

    def __init__(self, work: Callable[..., Any], **arguments: Any):
        # Not a fork, which would copy threads of the server in the middle of their work.
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe(duplex=False)
        self._process = context.Process(target=_run, args=(other, work, arguments), daemon=True)
        self._started, self._ended = time.monotonic(), 0.0
        self.state, self.share, self.text = "running", 0.0, "starting"
        self.result: Any = None
        self._process.start()
        other.close()

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return (self._ended or time.monotonic()) - self._started

    def look(self) -> str:
        """Read the reports of the worker, and return the state.

        ``"running"``, ``"done"`` (with ``result``), ``"failed"`` (``text`` says why) or
        ``"stopped"``.
        """
        try:
            while self.state == "running" and self._pipe.poll():
                kind, *content = self._pipe.recv()
                if kind == "step":
                    self.share, self.text = content
                else:
                    self._end("done" if kind == "result" else "failed")
                    self.text = "" if kind == "result" else content[0]
                    self.result = content[0] if kind == "result" else None
        except (EOFError, OSError):
            self._end("failed")
            self.text = "The work ended without a result; the computer may be out of memory."
        return self.state

    def stop(self) -> None:
        """Stop the worker."""
        if self.look() == "running":
            self._process.terminate()
            self._end("stopped")
            self.text = "Stopped."

    def _end(self, state: str) -> None:
        self.state, self._ended = state, time.monotonic()
        self._process.join(timeout=10)


def _run(pipe: Any, work: Callable[..., Any], arguments: dict[str, object]) -> None:
    warnings.simplefilter("ignore")
    try:
        step: Step = lambda share, text: pipe.send(("step", share, text))  # noqa: E731
        pipe.send(("result", work(step, **arguments)))
    except (ValueError, TypeError, ImportError) as error:
        pipe.send(("error", str(error)))
    except Exception as error:
        pipe.send(("error", f"{type(error).__name__}: {error}"))


def train(
    step: Step, frame: pd.DataFrame, target: str, method: str = "", **options: Any
) -> tuple[training.Training, Json]:
    """Train a model, and describe how good it is; see :func:`absentia.recipe.training.train`.

    Unless there is a method, classes are learned by logistic regression, quantities by a Gaussian
    process whose intervals are calibrated on held-out rows: both answer quickly. Large tables are
    sampled.
    """
    task = split_target(frame, target, options.pop("task", None)).task
    settings = {**_TRAINED[task], **({"method": method} if method else {})}

    def of_training(share: float, text: str) -> None:
        if share < 1:  # its "done" is not the end here
            step(0.9 * share, text)

    found = training.train(frame, target, task=task, step=of_training, **settings, **options)
    step(0.92, "finding the columns that matter")
    card = {"matters": columns_that_matter(found.model, frame), **pictures(found)}
    step(1.0, "done")
    return found, card


def columns_that_matter(model: TableModel, frame: pd.DataFrame) -> list[tuple[str, float]]:
    """Return the columns by their mean absolute value over some rows, the largest first."""
    some = frame.sample(min(_EXPLAINED_ROWS, len(frame)), random_state=0)
    found = model.explanation(model.rows(some), **QUICK)
    order = np.argsort(-found.importance, kind="stable")[:_MOST_MATTERING]
    return [(found.columns[j], float(found.importance[j])) for j in order]


def pictures(found: training.Training) -> Json:
    """Return the confusion matrix and the calibration of classes, or predictions and targets."""
    if found.scored is None:
        return {}
    truth, predicted = found.scored
    if found.model.classes is None:
        some = sample_in_proportion(None, len(truth), min(_MOST_DOTS, len(truth)))
        return {"residuals": np.column_stack([predicted, truth])[some].tolist()}
    likeliest = found.model.classes[predicted.argmax(axis=1)]
    right = likeliest == truth
    confusion = confusion_matrix(truth, likeliest, labels=found.model.classes)
    sure = predicted.max(axis=1)
    order = np.argsort(sure, kind="stable")
    bins = [part for part in np.array_split(order, min(5, len(order) // 10 or 1)) if len(part)]
    calibration = [[float(sure[b].mean()), float(right[b].mean()), len(b)] for b in bins]
    return {"confusion": confusion.tolist(), "calibration": calibration}


def answer_batch(step: Step, model: TableModel, rows: ReadFrame) -> pd.DataFrame:
    """Predict a batch in a worker, some rows at a time."""
    import pandas as pd

    parts, answers, n = [], RowAnswers(model), len(rows.frame)
    for start in range(0, n, _BATCH_ROWS):
        step(start / n, f"predicting {n:,} rows")
        part = answers.batch(rows.part(slice(start, start + _BATCH_ROWS)))
        parts.append(part.assign(row=part["row"] + start))
    return pd.concat(parts, ignore_index=True)


def compare_methods(
    step: Step, frame: pd.DataFrame, target: str, task: str | None = None, kinds: Any = None
) -> list[dict[str, object]]:
    """Compare a few methods quickly, as ``absentia compare --quick``, the best first.

    ``as_good``: without a significant difference from the best; ``advised``: the best that can be
    trained.
    """
    found = compare(
        frame,
        target,
        task=task,
        kinds=kinds,
        methods=QUICK_METHODS,
        max_rows=QUICK_ROWS,
        time_budget=QUICK_SECONDS,
        step=lambda share, text: step(share, f"comparing {_shown(text)}"),
    )
    return [
        {
            "method": _shown(name),
            "train": name if name in training.METHODS else "",
            "advised": name == found.trainable,
            "as_good": name in (found.best, *found.as_good),
            "measure": found.measure,
            "score": found.mean(name),
            "spread": found.standard_error(name),
            "seconds": found.mean(name, "seconds"),
        }
        for name in found.methods
    ]


def _shown(method: str) -> str:
    """Return what a method is, for the page."""
    if method in training.BASELINES:
        return training.BASELINES[method].about
    return "average of different models" if method == training.AUTOMATIC else "kernel on beliefs"
