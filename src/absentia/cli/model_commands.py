"""The commands that make a model file and that answer from one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from absentia.cli.terminal import (
    CategoriesOption,
    DatesOption,
    FileArgument,
    ForceOption,
    IgnoreOption,
    KeepIdsOption,
    NumbersOption,
    QuietOption,
    SheetOption,
    TargetOption,
    TaskOption,
    kinds_of,
    say,
    words_of,
)
from absentia.reports.safe_text import printable

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.base import BaseEstimator

    from absentia.recipe.learning_table import LearningTable

__all__ = ["ask", "predict", "train"]


def train(
    file: FileArgument,
    target: TargetOption,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="MODEL", help="Where to save the model.")
    ],
    method: Annotated[
        str,
        typer.Option(
            help="automatic (an average of different models), or one machine: genrbf, genrbf-mask "
            "(uses missingness), genrbf-mixture, genrbf-low-rank, expected-rbf, esd or egk."
        ),
    ] = "automatic",
    time_budget: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="Try no more models after this time (automatic only)."
        ),
    ] = None,
    task: TaskOption = None,
    ignore: IgnoreOption = None,
    categories: CategoriesOption = None,
    numbers: NumbersOption = None,
    dates: DatesOption = None,
    keep_ids: KeepIdsOption = False,
    calibrate: Annotated[
        float,
        typer.Option(
            metavar="SHARE", help="Hold out this share of the rows for predict --coverage."
        ),
    ] = 0.0,
    sheet: SheetOption = None,
    force: ForceOption = False,
    quiet: QuietOption = False,
) -> None:
    """Train a model on a table, and save it in a file.

    By default different models are tried and averaged, with weights from cross-validation; --method
    trains one support vector machine. Prints the cross-validated score next to that of the best
    constant answer. The file also holds how the columns are read, so `absentia predict` takes raw
    tables.
    """
    from absentia import save
    from absentia.cli.asking import with_calibration
    from absentia.cli.files import check_output, place_now, read_table
    from absentia.cli.learning import (
        fit,
        machine_of,
        new_model,
        with_probabilities,
    )
    from absentia.recipe.learning_table import split_target

    check_output(output, inputs=[file], force=force, endings=())
    kinds = kinds_of(categories, numbers, dates)
    frame = read_table(file, say, sheet=sheet)
    table = split_target(frame, target, task, ignore=words_of(ignore) or ()).shuffled()
    table, held = table.held_out(calibrate)
    model = new_model(
        table.task,
        method,
        keep_ids=keep_ids,
        kinds=kinds,
        progress=not quiet and sys.stderr.isatty(),
        time_budget=time_budget,
    )
    fit(model, table)
    machine = machine_of(model)
    model = with_probabilities(model, table)
    if held is not None:
        model = with_calibration(model, held.features, held.target)
    output = place_now(output, force=force, note=say)
    save(model, output)
    if not quiet:
        _say_what_was_learned(model, machine, table, target, output)


def _say_what_was_learned(
    model: BaseEstimator, machine: BaseEstimator, table: LearningTable, target: str, output: Path
) -> None:
    """Print how the table was read, what was chosen, and how good it is; ``machine`` as fitted."""
    from absentia.cli.learning import pipeline_of, training_summary
    from absentia.recipe.learning_table import reading_notes

    score, lines = training_summary(machine, table)
    notes = reading_notes(pipeline_of(model).named_steps["encode"])
    for line in (*table.notes, *notes, *lines):
        say(line)
    say(
        f"{table.task.capitalize()} of {target} from {len(table.target)} rows: {score}. Model "
        f"written to {output}."
    )


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="File from `absentia train`.")],
    file: FileArgument,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="CSV, TSV or Parquet; printed by default."
        ),
    ] = None,
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
            help="Also write probabilities or an interval, and how much of the doubt is due to "
            "missing values.",
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
    sheet: SheetOption = None,
    force: ForceOption = False,
) -> None:
    """Predict the target of each row of a table with a trained model.

    Columns are found by name. Missing values (even where training had none), absent columns, cells
    that cannot be read and words that did not occur in training are uncertain, not errors: notes
    say what was not used, and which values lie far beyond the range of training.
    """
    from absentia.cli.asking import doubts, regions
    from absentia.cli.files import check_output, place_now, write_table
    from absentia.cli.learning import predictions, written_with
    from absentia.tables.files.formats import has_types

    if output not in (None, "-"):
        check_output(str(output), inputs=[file, model], force=force)
    fitted, frame, cells = _model_and_rows(model, file, sheet)
    shown = probabilities or (uncertainty and hasattr(fitted, "predict_proba"))
    found = predictions(fitted, frame, probabilities=shown)
    if uncertainty:
        found |= doubts(fitted, frame)
    if coverage is not None:
        guaranteed, without = regions(fitted, frame, coverage)
        found |= guaranteed
        if without:
            say(
                f"{without} of {len(frame)} rows have too few calibration rows for a coverage of "
                f"{coverage:g}: their interval is infinite, or their set has all classes."
            )
    if output not in (None, "-"):
        output = str(place_now(Path(str(output)), force=force, note=say))
    kept = cells() if keep and not has_types(output) else frame
    write_table(written_with(kept, found, keep=keep, note=say), output)


def ask(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="File from `absentia train`.")],
    file: FileArgument,
    costs: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Table with names of columns and their costs; others cost 1."
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many columns to list per row.")] = 3,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="CSV, TSV or Parquet; printed by default."
        ),
    ] = None,
    sheet: SheetOption = None,
    force: ForceOption = False,
) -> None:
    """Say which missing value of each row is most worth measuring next.

    Prints the missing columns of each row by expected gain per cost. The gain is the entropy in
    nats or, for quantities, the share of the variance that knowing the value would remove on
    average; quantities also have the standard deviation of the prediction before (doubt) and after
    (doubt_after).
    """
    from absentia.cli.asking import costs_from, next_measurements
    from absentia.cli.files import check_output, read_table, write_table

    if output not in (None, "-"):
        check_output(str(output), inputs=[file, model, costs or file], force=force)
    prices = {} if costs is None else costs_from(read_table(costs, say), costs)
    fitted, frame, _ = _model_and_rows(model, file, sheet)
    found = next_measurements(fitted, frame, prices, top)
    if output is not None:
        write_table(found, output)
    elif len(found):
        text = found.to_string(index=False, float_format=lambda value: f"{value:.4g}")
        print(printable(text, lines=True))
    complete = len(frame) - found["row"].nunique()
    if complete:
        say(f"{complete} of {len(frame)} rows miss nothing that the model uses.")


def _model_and_rows(
    model: Path, file: str, sheet: str | None
) -> tuple[BaseEstimator, pd.DataFrame, Callable[[], pd.DataFrame]]:
    """Load a model and the rows to ask it about, with notes on what it cannot use of them.

    The function returns the cells of those rows as the file has them.
    """
    from absentia.cli.files import read_table_and_cells
    from absentia.cli.learning import check_reach, load_model, pipeline_of
    from absentia.tables.plan_notes import as_written, row_notes

    fitted = load_model(model, say)
    frame, cells = read_table_and_cells(file, say, sheet=sheet)
    pipeline = pipeline_of(fitted)
    encoder = pipeline.named_steps["encode"]
    frame = as_written(encoder, frame, cells)
    check_reach(pipeline, frame)
    for note in row_notes(encoder, frame, file):
        say(note)
    return fitted, frame, cells
