"""The commands ``train``, ``predict``, ``ask`` and ``explain``."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from absentia.cli import terminal
from absentia.reports.safe_text import printable

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.base import BaseEstimator

    from absentia.recipe.model import TableModel
    from absentia.tables.column_plan import ReadFrame
    from absentia.tables.encoder import TableEncoder


def train(
    file: terminal.FileArgument,
    target: terminal.TargetOption,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="MODEL", help="Where to save the model.")
    ],
    method: Annotated[
        str,
        typer.Option(
            help="automatic (an average of different models), or one machine: genrbf, genrbf-mask "
            "(uses missingness), genrbf-mixture, genrbf-low-rank, expected-rbf, esd, egk, logistic "
            "(for classes) or gaussian-process (for quantities)."
        ),
    ] = "automatic",
    time_budget: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="Try no more models after this time (automatic only)."
        ),
    ] = None,
    task: terminal.TaskOption = None,
    ignore: terminal.IgnoreOption = None,
    categories: terminal.CategoriesOption = None,
    numbers: terminal.NumbersOption = None,
    dates: terminal.DatesOption = None,
    keep_ids: terminal.KeepIdsOption = False,
    support: terminal.SupportOption = None,
    calibrate: Annotated[
        float,
        typer.Option(
            metavar="SHARE", help="Hold out this share of the rows for predict --coverage."
        ),
    ] = 0.0,
    sheet: terminal.SheetOption = None,
    force: terminal.ForceOption = False,
    quiet: terminal.QuietOption = False,
) -> None:
    """Train a model on a table, and save it in a file.

    By default different models are tried and averaged, with weights from cross-validation; --method
    trains one support vector machine. Prints the cross-validated score next to that of the best
    constant answer. The file also holds how the columns are read, so `absentia predict` takes raw
    tables.
    """
    from absentia import save
    from absentia.recipe import training

    terminal.check_output(output, inputs=[file], force=force, endings=())
    found = training.train(
        terminal.read_table(file, sheet),
        target,
        task=task,
        method=method,
        ignore=terminal.names_in(ignore) or (),
        kinds=terminal.kinds_of(categories, numbers, dates),
        keep_ids=keep_ids,
        supports=terminal.supports_of(support),
        calibrate=calibrate,
        progress=not quiet and sys.stderr.isatty(),
        time_budget=time_budget,
    )
    output = terminal.place_now(output, force=force)
    save(found.model.estimator, output)
    if not quiet:
        for line in (*found.notes, *_hints(found.model.encoder), *found.chosen):
            terminal.say(terminal.as_options(line))
        terminal.say(f"{found}. Model written to {output}.")


def _hints(encoder: TableEncoder) -> list[str]:
    """Return the option by which codes for missing values are read in another way."""
    coded = [name for name, reading in encoder.plan_.by_name.items() if reading.sentinels]
    keep = f"use --numbers {','.join(coded)} to keep such codes as numbers"
    return [f"{', '.join(coded)}: {keep}"] if coded else []


def predict(
    model: terminal.ModelArgument,
    file: terminal.FileArgument,
    output: terminal.OutputOption = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Also write the columns of the input.")
    ] = False,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Also write the probability of each class.")
    ] = False,
    uncertainty: Annotated[
        bool,
        typer.Option(
            "--uncertainty",
            help="Also write probabilities or an interval, how much of the doubt is due to "
            "missing values, and the missing column that matters most.",
        ),
    ] = False,
    coverage: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Also write an interval or label set that is right with this probability (such as "
            "0.9) for each missing pattern; needs a model trained with --calibrate.",
        ),
    ] = None,
    sheet: terminal.SheetOption = None,
    force: terminal.ForceOption = False,
) -> None:
    """Predict the target of each row of a table with a trained model.

    Columns are found by name. Missing values (even where training had none), absent columns, cells
    that cannot be read and words that did not occur in training are uncertain, not errors: notes
    say what was not used, and which values lie far beyond the range of training.
    """
    from absentia.tables.files.formats import has_types

    if coverage is not None and not 0 < coverage < 1:
        raise ValueError(f"--coverage must be a share between 0 and 1, found {coverage:g}.")
    terminal.check_output(output, inputs=[file, model], force=force)
    fitted, read, cells = _model_and_rows(model, file, sheet)
    rows = read.table
    found = predictions(fitted, rows, probabilities or (uncertainty and fitted.classes is not None))
    if uncertainty:
        found |= _doubts(fitted, rows)
    if coverage is not None:
        found |= _regions(fitted, rows, coverage)
    if output not in (None, "-"):
        output = str(terminal.place_now(Path(str(output)), force=force))
    kept = cells() if keep and not has_types(output) else read.frame
    terminal.write_table(written_with(kept, found, keep=keep), output)


def predictions(model: TableModel, rows: Any, probabilities: bool) -> dict[str, np.ndarray]:
    """Return the predictions by the name of their column, with probabilities if requested."""
    if not probabilities:
        return {"prediction": model.predict(rows)}
    chances, classes = model.probabilities(rows), np.asarray(model.classes)
    # The classes that `predict` returns, without computing every kernel value again.
    found = {"prediction": classes[chances.argmax(axis=1)]}
    return found | {f"probability_{c}": p for c, p in zip(classes, chances.T, strict=True)}


def _doubts(model: TableModel, rows: Any) -> dict[str, np.ndarray]:
    best = [ranked[0]["column"] if ranked else "" for ranked in model.next_measurements(rows)]
    return model.doubts(rows).by_name() | {"matters_most": np.array(best, dtype=object)}


def _regions(model: TableModel, rows: Any, coverage: float) -> dict[str, np.ndarray]:
    """Return intervals or label sets by name, with a note on rows without a guarantee."""
    if model.classes is None:
        interval = model.interval(rows, coverage)
        found, without = interval.by_name(), int(np.isinf(interval.upper).sum())
    else:
        sets = model.label_sets(rows, coverage)
        named = zip(sets.classes, sets.members.T, strict=True)
        found = {f"in_set_{label}": members for label, members in named}
        found["calibration_rows"] = sets.n_calibration
        without = sets.n_without_guarantee
    if without:
        terminal.say(
            f"{without} of {len(rows)} rows have too few calibration rows for a coverage of "
            f"{coverage:g}: their interval is infinite, or their set has all classes."
        )
    return found


def written_with(frame: pd.DataFrame, found: dict[str, np.ndarray], *, keep: bool) -> pd.DataFrame:
    """Return predictions as a frame, next to the input if requested.

    No column of the input is overwritten: where it has one named ``prediction``, that of the model
    is ``prediction_2``, or the next name that nothing else has, with a note.
    """
    import pandas as pd

    if not keep:
        return pd.DataFrame(found)
    taken, named = set(frame.columns), dict[str, np.ndarray]()
    for name, values in found.items():
        free = name
        if name in taken:
            # Another class may have the next name: "a_2" beside "a".
            names = (f"{name}_{k}" for k in count(2))
            free = next(n for n in names if n not in {*taken, *found, *named})
            terminal.say(
                f"The input already has a column {name!r}; that of the model is named {free!r}."
            )
        named[free] = values
    return frame.assign(**named)


def ask(
    model: terminal.ModelArgument,
    file: terminal.FileArgument,
    costs: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Table with names of columns and their costs; others cost 1."
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many columns to list per row.")] = 3,
    output: terminal.OutputOption = None,
    keep: terminal.KeepUnusedOption = False,
    sheet: terminal.SheetOption = None,
    force: terminal.ForceOption = False,
) -> None:
    """Say which missing value of each row is most worth measuring next.

    Prints the missing columns of each row by expected gain per cost. The gain is the entropy in
    nats (gain_percent: in percent of that of equally likely classes) or, for quantities, the share
    of the variance that knowing the value would remove on average; quantities also have the
    standard deviation of the prediction before (doubt) and after (doubt_after).
    """
    import pandas as pd

    terminal.check_output(output, inputs=[file, model, costs or file], force=force)
    prices = {} if costs is None else costs_from(terminal.read_table(costs), costs)
    fitted, read, _ = _model_and_rows(model, file, sheet)
    ranked = fitted.next_measurements(read.table, prices)
    entries = [{"row": row} | c for row, best in enumerate(ranked, start=1) for c in best[:top]]
    known = ["row", "column", "gain", "cost", "gain_per_cost"]
    found = pd.DataFrame(entries, columns=None if entries else known)
    _show(_with_unused(found, fitted, read.frame) if keep else found, output)
    complete = len(read.frame) - found["row"].nunique()
    if complete:
        terminal.say(f"{complete} of {len(read.frame)} rows miss nothing that the model uses.")


def _show(found: pd.DataFrame, output: str | None) -> None:
    """Write a table to a file, or print it."""
    if output is not None:
        terminal.write_table(found, output)
    elif len(found):
        print(printable(found.to_string(index=False, float_format=_digits), lines=True))


def _digits(value: float) -> str:
    """Return a number with four digits, or all that are before its point."""
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"


def _with_unused(found: pd.DataFrame, model: TableModel, frame: pd.DataFrame) -> pd.DataFrame:
    """Return results by row with the columns that the model does not use, such as ids, in front."""
    rows = found["row"].to_numpy(dtype=np.intp) - 1
    kept = model.unused(frame).iloc[rows].reset_index(drop=True)
    kept.columns = [f"{name}_2" if name in found else str(name) for name in kept.columns]
    for place, name in enumerate(kept.columns, start=1):
        found.insert(place, name, kept[name])
    return found


def explain(
    model: terminal.ModelArgument,
    file: terminal.FileArgument,
    top: Annotated[int, typer.Option(min=1, help="How many columns to list per row.")] = 5,
    output: terminal.OutputOption = None,
    keep: terminal.KeepUnusedOption = False,
    sheet: terminal.SheetOption = None,
    force: terminal.ForceOption = False,
) -> None:
    """Say which columns made the prediction of each row.

    Prints the observed columns of each row by the size of their values, which add up from the base
    (the prediction for a row of which nothing is known) to the prediction: the quantity, or the
    probability of the second of two classes and of the likeliest of several.
    """
    terminal.check_output(output, inputs=[file, model], force=force)
    fitted, read, _ = _model_and_rows(model, file, sheet)
    found = fitted.explanation(read.table).ranked(top)
    _show(_with_unused(found, fitted, read.frame) if keep else found, output)


def costs_from(frame: pd.DataFrame, source: str) -> dict[str, float]:
    """Return the costs in a table of two columns: the name of a column, and what it costs.

    Numbers are read as in any table: "2,5" where decimals have a comma. A first line whose second
    cell is a number is no header, but the first of the costs.
    """
    import pandas as pd

    from absentia.tables.columns.column import Column
    from absentia.tables.columns.numerals import number_of
    from absentia.tables.columns.readings import numbers_of

    if frame.shape[1] != 2:
        raise ValueError(
            f"{source} has {frame.shape[1]} columns; expected two, names of columns and their "
            "costs."
        )
    costs: dict[str, float] = {}
    if np.isfinite([number_of(str(frame.columns[1]), sign) for sign in ".,"]).any():
        first = pd.DataFrame([frame.columns], columns=frame.columns)
        frame = pd.concat([first, frame.astype(object)], ignore_index=True)
    column = frame.iloc[:, 1]
    numbers = numbers_of(column, Column(column).decimal_sign)
    for name, cost, number in zip(frame.iloc[:, 0], column, numbers.tolist(), strict=True):
        try:
            costs[str(name)] = float(cost) if np.isnan(number) else number
        except ValueError:
            raise ValueError(
                f"{source} gives {cost!r} as the cost of {name!r}; expected a number."
            ) from None
    if len(costs) < len(frame):
        raise ValueError(f"{source} names a column more than once; give one cost for each.")
    return costs


def _model_and_rows(
    path: Path, file: str, sheet: str | None
) -> tuple[TableModel, ReadFrame, Callable[[], pd.DataFrame]]:
    """Load a model and rows for it, with notes on what it cannot use of them.

    The function returns the cells of those rows as the file has them.
    """
    from absentia.recipe.model import TableModel

    model = TableModel(_load(path))
    frame, cells = terminal.read_table_and_cells(file, sheet)
    read = model.read(frame, cells)
    for note in (*read.notes, *read.far):
        terminal.say(note)
    return model, read, cells


def _load(path: Path) -> BaseEstimator:
    """Load an estimator, with a note if another version of scikit-learn trained it."""
    from sklearn.exceptions import InconsistentVersionWarning

    from absentia.persistence import load

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", InconsistentVersionWarning)
        estimator = load(path)
    for message in [warning.message for warning in caught]:
        if isinstance(message, InconsistentVersionWarning):
            terminal.say(
                f"{path} was trained with scikit-learn {message.original_sklearn_version}, and "
                f"{message.current_sklearn_version} is installed: predictions may differ. Train it "
                "again to be sure."
            )
    return estimator
