"""The state of each browser tab; tabs share nothing."""

from __future__ import annotations

import io
import secrets
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from absentia.missingness.amputation import mcar
from absentia.persistence import load, save
from absentia.recipe.learning_table import guess_task, split_target
from absentia.recipe.model import TableModel
from absentia.recipe.training import Training
from absentia.reports.describing import describe_missingness
from absentia.reports.safe_text import printable, spreadsheet_text
from absentia.studio.jobs import Job, answer_batch, compare_methods, train
from absentia.studio.reports import batch_page, row_page
from absentia.studio.row_answers import MOST_CELLS, FieldValue, Json, RowAnswers, plain
from absentia.tables.columns.guesses import id_note, read_columns
from absentia.tables.phrases import OVERRULED

if TYPE_CHECKING:
    import pandas as pd

_SHOWN_PATTERNS, _SHOWN_COLUMNS, _SHOWN_ROWS, _BATCH_SHOWN = 20, 40, 8, 500
_MOST_MODEL_BYTES = 2**28
#: Wider tables take minutes to describe.
_MOST_COLUMNS = 5_000
#: Title and target of each example, by name.
BUNDLED: dict[str, tuple[str, str]] = {
    "wine": ("Wine: which grower, from a laboratory report with a quarter missing", "grower"),
    "diabetes": (
        "Diabetes: progression after a year, from an incomplete examination",
        "progression",
    ),
    "breast-cancer": ("Breast cancer: benign or malignant, from half the measurements", "finding"),
}
#: Options of the command line and of Python in sentences, and what the page has in their place.
_OPTIONS = {
    " (--task regression)": "",
    "Use --sheet to read another": "To open another, save it as a file, or start with --sheet",
    "pass mcar_test=True (--test on the command line) to run it anyway": (
        "`absentia describe --test` runs it anyway"
    ),
}
_WORK: dict[str, Callable[..., Any]] = {"train": train, "compare": compare_methods}


class Workspace:
    """The table of a tab, its settings, its job and its model."""

    def __init__(self, frame: pd.DataFrame | None = None, name: str = "", target: str = ""):
        self._lock = RLock()
        if frame is not None and (
            frame.shape[1] > _MOST_COLUMNS or frame.shape[0] * frame.shape[1] > MOST_CELLS
        ):
            raise ValueError(
                f"The table has {frame.shape[0]:,} rows and {frame.shape[1]:,} columns; the studio "
                f"takes at most {_MOST_COLUMNS:,} columns and {MOST_CELLS:,} cells. Leave out "
                "some, or use the command line: absentia describe, absentia train."
            )
        self.frame, self.name, self.target = frame, name, target
        self.kinds: dict[str, str] = {}
        self.task: str | None = None
        self.job: Job | None = None
        self.trained: Training | None = None
        self._pictures: Json = {}
        self.answers: RowAnswers | None = None
        self._batch: Any = None
        self._batch_notes: Sequence[str] = ()

    def summary(self) -> dict[str, object]:
        """Describe the table: its first rows, and what is missing from it."""
        frame = self.table
        report = describe_missingness(frame)
        columns = np.sort(np.argsort(-report.column_rates, kind="stable")[:_SHOWN_COLUMNS])
        patterns = report.commonest_patterns(_SHOWN_PATTERNS)
        return {
            "name": self.name,
            "rows": len(frame),
            "columns": [str(name) for name in frame.columns],
            "first": [[_cell(v) for v in row] for row in frame.head(_SHOWN_ROWS).to_numpy(object)],
            "rate": report.rate,
            "complete_rows": report.n_complete_rows,
            "shown": [report.columns[j] for j in columns],
            "rates": report.column_rates[columns].tolist(),
            "patterns": [
                {
                    "count": int(report.patterns.counts[p]),
                    "missing": report.patterns.masks[p][columns].tolist(),
                }
                for p in patterns
            ],
            "n_patterns": len(report.patterns.masks),
            "blocks": [[report.columns[j] for j in block] for block in report.blocks[:8]],
            "pairs": [
                [report.columns[i], report.columns[j], strength]
                for i, j, strength in report.strongest_pairs(8)
                if abs(strength) >= 0.1
            ],
            "test": [for_page(printable(line).strip()) for line in report.test_lines()],
            "reading": [for_page(printable(note)) for note in report.notes],
            "target": self.target or str(frame.columns[-1]),
        }

    def read(self, target: str, kinds: dict[str, str], task: str | None) -> Json:
        """Choose the target and how columns are read; return how every column is read."""
        frame = self.table
        if target not in frame.columns:
            raise ValueError(f"There is no column {target!r} to predict.")
        unknown = [name for name in kinds if name not in frame.columns]
        if unknown:
            raise ValueError(f"There is no column {unknown[0]!r}.")
        if task not in (None, "classification", "regression"):
            raise ValueError(f"The task must be classification or regression, found {task!r}.")
        columns: list[Json] = []
        for name, reading in read_columns(frame, kinds=kinds)[1].items():
            asked = kinds.get(name, "")
            is_id = reading.is_id and not asked
            kind = "left out" if reading.left_out or is_id else reading.kind
            note = for_page(id_note(reading) if is_id else reading.note)
            columns.append({"name": name, "kind": kind, "note": note, "asked": asked})
        self.target, self.kinds, self.task = target, kinds, task
        self.kinds.pop(target, None)
        return {"target": target, "columns": columns} | _what_to_learn(frame, target, task)

    def start(self, what: str, method: str = "") -> dict[str, object]:
        """Train (by a method, if one is given) or compare methods, in a worker."""
        if what not in _WORK:
            raise ValueError(f"The work must be train or compare, found {what!r}.")
        if not self.target:
            raise ValueError("Choose the column to predict first.")
        with self._lock:
            self.stop()
            settings: Json = {"target": self.target, "task": self.task, "kinds": self.kinds}
            settings |= {"method": method} if method and what == "train" else {}
            self.job = Job(_WORK[what], frame=self.table, **settings)
            return self.progress()

    def progress(self) -> dict[str, object]:
        """Return the progress of the job, with its result once it is done."""
        job = self.job
        if job is None:
            return {"state": "none"}
        with self._lock:  # two requests of a page may ask at once
            state = job.look()
            found: Json = {"state": state, "share": job.share, "seconds": job.seconds}
            found["text"] = for_page(job.text)
            if state == "done" and isinstance(job.result, tuple):
                if self.trained is not job.result[0]:
                    self.trained, self._pictures = job.result
                    self.answers = RowAnswers(job.result[0].model)
                    self._batch = None
                found["model"] = self.model_card()
            elif state == "done" and isinstance(job.result, list):
                found["comparison"] = job.result
            elif state == "done":
                found["batch"] = self._take_batch(job.result)
            return found

    def stop(self) -> None:
        """Stop the running job, if any."""
        with self._lock:
            if self.job is not None:
                self.job.stop()

    def model_card(self) -> dict[str, object]:
        """Describe the model: what it predicts, how well, and the fields of its form."""
        answers = self.model_answers
        trained = self.trained
        card: Json = {
            # Another target may have been chosen while the model was trained.
            "target": (trained.target if trained else answers.model.target) or "the target",
            "classes": answers.classes,
            "fields": answers.fields(),
            "rows": 0 if self.frame is None else len(self.frame),
        }
        if trained is not None:
            card |= {"measure": trained.measure, "score": trained.score, "spread": trained.spread}
            card |= {"baseline": trained.baseline, "notes": [*map(for_page, trained.notes)]}
            card |= self._pictures
            card["how"] = f"{trained.how[0].upper()}{trained.how[1:]}."
        return card

    def row(self, number: int) -> dict[str, str]:
        """Return the known values of a row of the table, rows counted from 1."""
        frame = self.table
        if not 1 <= number <= len(frame):
            raise ValueError(f"There is no row {number}: the table has rows 1 to {len(frame)}.")
        values = frame.iloc[number - 1]
        used = self.model_answers.names
        return {
            name: _cell(values[name]) for name in used if name in values and _cell(values[name])
        }

    def start_batch(self, content: bytes = b"", name: str = "") -> dict[str, object]:
        """Answer the rows of a CSV file (of the table, if there is none) in a worker."""
        answers = self.model_answers
        rows = answers.read_batch(content, name) if content else answers.read_table(self.table)
        with self._lock:
            if self.job is not None and self.job.look() == "running":
                raise ValueError("Other work is running: wait for it, or stop it first.")
            self.job = Job(answer_batch, model=answers.model, rows=rows)
            self._batch_notes = rows.notes
            return self.progress()

    def _take_batch(self, found: Any) -> dict[str, object]:
        """Store the predictions of a batch, the most uncertain first, and return those shown."""
        self._batch = found.sort_values("doubt", ascending=False, kind="stable")
        shown = self._batch.head(_BATCH_SHOWN)
        return {
            "columns": list(shown.columns),
            "rows": [[plain(value) for value in row] for row in shown.to_numpy(object)],
            "total": len(found),
            "notes": [*map(for_page, self._batch_notes)],
        }

    def batch_csv(self) -> bytes:
        """Return the last batch as CSV; no cell is a formula for a spreadsheet."""
        stream = io.StringIO()
        self.batch.map(spreadsheet_text).to_csv(stream, index=False)
        return stream.getvalue().encode()

    def batch_report(self) -> bytes:
        """Return the last batch as a self-contained page."""
        name = str(self.model_card()["target"])
        return batch_page(self.batch, self._batch_notes, name).encode()

    def row_report(
        self, values: dict[str, FieldValue], costs: dict[str, float] | None = None
    ) -> bytes:
        """Return the answer for one row as a self-contained page."""
        name = str(self.model_card()["target"])
        return row_page(self.model_answers, values, name, costs).encode()

    def model_file(self) -> bytes:
        """Return the model as the bytes of a model file."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.absentia"
            save(self.model_answers.model.estimator, path)
            return path.read_bytes()

    @classmethod
    def of_model(cls, content: bytes, name: str) -> Workspace:
        """Open a model file, which is checked before any object is made."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            path.write_bytes(content)
            try:
                model = load(path, max_bytes=_MOST_MODEL_BYTES)
            except ValueError as error:
                raise ValueError(str(error).replace(repr(str(path)), name)) from None
        workspace = cls(name=name)
        workspace.answers = RowAnswers(TableModel(model))
        return workspace

    @property
    def table(self) -> pd.DataFrame:
        """The table of the tab, which must be there."""
        if self.frame is None:
            raise ValueError("There is no table here: open one first.")
        return self.frame

    @property
    def batch(self) -> pd.DataFrame:
        """The predictions of the last batch, which must be there."""
        if self._batch is None:
            raise ValueError("There is no batch yet: load one first.")
        return self._batch

    @property
    def model_answers(self) -> RowAnswers:
        """The answers of the model, which must be there."""
        if self.answers is None:
            raise ValueError("There is no model yet: train one first.")
        return self.answers


class Gone(ValueError):
    """Error for a workspace that was closed."""

    status = 404


class Workspaces:
    """The workspaces of all tabs by a random name; the one unused for longest goes first."""

    def __init__(self, most: int = 16):
        self._most = most
        self._lock = RLock()
        self._by_name: OrderedDict[str, Workspace] = OrderedDict()

    def add(self, workspace: Workspace) -> str:
        """Store a workspace, and return its name."""
        name = secrets.token_urlsafe(12)
        with self._lock:
            self._by_name[name] = workspace
            while len(self._by_name) > self._most:
                self._by_name.popitem(last=False)[1].stop()
        return name

    def __getitem__(self, name: str) -> Workspace:
        with self._lock:
            if name not in self._by_name:
                raise Gone(
                    "This page is no longer kept, since many others were opened: open the table "
                    "again."
                )
            self._by_name.move_to_end(name)
            return self._by_name[name]

    def close(self) -> None:
        """Stop all jobs."""
        with self._lock:
            for workspace in self._by_name.values():
                workspace.stop()
            self._by_name.clear()


def _what_to_learn(frame: pd.DataFrame, target: str, task: str | None) -> Json:
    """Return the task that training will choose, and the reason why it would refuse the target."""
    try:
        return {"task": split_target(frame, target, task).task, "problem": ""}
    except ValueError as error:
        return {"task": task or guess_task(frame[target]), "problem": for_page(str(error))}


def for_page(text: str) -> str:
    """Return a sentence that names what the page has, in place of options."""
    for option, instead in _OPTIONS.items():
        text = text.replace(option, instead)
    kinds = {"left out": "leave out"}
    return OVERRULED.sub(lambda found: f"“{kinds.get(found[2], found[2])}” under Columns", text)


def _cell(value: object) -> str:
    """Return a cell as text, empty where it is missing."""
    if isinstance(value, str):
        return value
    if value is None or str(value) in ("nan", "<NA>", "NaT"):
        return ""
    return f"{value:.10g}" if isinstance(value, float) else str(value).removesuffix(" 00:00:00")


def bundled_table(name: str) -> pd.DataFrame:
    """Return a bundled incomplete table, as a pandas frame."""
    if name not in BUNDLED:
        raise ValueError(f"There is no example {name!r}; the examples are {', '.join(BUNDLED)}.")
    from sklearn import datasets

    loaders = {
        "wine": (datasets.load_wine, 0.25),
        "diabetes": (datasets.load_diabetes, 0.2),
        "breast-cancer": (datasets.load_breast_cancer, 0.5),
    }
    load, rate = loaders[name]
    data = load(as_frame=True, **({"scaled": False} if name == "diabetes" else {}))
    target = BUNDLED[name][1]
    frame = mcar(data.data.astype(float), rate, random_state=0)
    frame.columns = [str(column) for column in frame.columns]
    if name == "diabetes":
        # s1 to s6 are blood values; sex comes as 1 and 2.
        frame = frame.rename(
            columns={
                "bp": "blood pressure", "s1": "cholesterol", "s2": "LDL", "s3": "HDL",
                "s4": "cholesterol / HDL", "s5": "log triglycerides", "s6": "blood sugar",
            }
        )  # fmt: skip
        frame["sex"] = frame["sex"].map({1.0: "group 1", 2.0: "group 2"})
        frame[target] = data.target
    elif name == "wine":
        frame[target] = np.array(["first", "second", "third"])[data.target]
    else:
        frame = frame[[column for column in frame.columns if column.startswith("mean ")]]
        frame[target] = np.array(["malignant", "benign"])[data.target]
    return frame
