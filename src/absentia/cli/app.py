"""The commands, as thin as they can be: read, call the library, write."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from absentia.reports.missingness_report import MissingnessReport

__all__ = ["app", "run_command"]

app = typer.Typer(
    name="absentia",
    help="Learn from tables with missing values, without filling them in.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
bench = typer.Typer(
    help="Run the experiments of the papers, and report on them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(bench, name="bench")

FileArgument = Annotated[
    str, typer.Argument(metavar="FILE", help="CSV, TSV or Parquet; - reads CSV from the input.")
]
TargetOption = Annotated[
    str, typer.Option("--target", "-t", metavar="COLUMN", help="The column to predict.")
]
TaskOption = Annotated[
    str | None,
    typer.Option(
        metavar="TASK",
        help="classification or regression; found out from the target, if not given.",
    ),
]
JobsOption = Annotated[int, typer.Option("--jobs", "-j", min=1, help="Processes to use.")]
_INTERRUPTED = 130
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No notes and no progress bar.")]


def run_command(arguments: list[str]) -> int:
    """Run the command line and return the exit code; errors in the input are raised."""
    try:
        app(args=arguments, prog_name="absentia")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return 0


@app.command()
def describe(
    file: FileArgument,
    plot: Annotated[
        Path | None, typer.Option(metavar="PICTURE", help="Draw it into a .png, .svg or .pdf.")
    ] = None,
) -> None:
    """Say what is missing from a table, where, and whether it looks random."""
    from absentia import describe_missingness
    from absentia.cli.files import read_table

    frame = read_table(file)
    numbers, text = _as_numbers(frame)
    report = describe_missingness(numbers, mcar_test=False if text else "auto")
    if text:
        report = _tested_on_numbers(report, numbers.drop(columns=text))
    print(report)
    if text:
        _note(f"Little's test looks at numbers only: not at {_listed(text)}, which hold text.")
    if plot is not None:
        if plot.suffix.lower() not in (".png", ".svg", ".pdf"):
            raise ValueError(f"{plot} must end in .png, .svg or .pdf.")
        report.plot().savefig(plot, dpi=150)
        _note(f"Picture written to {plot}.")


@app.command()
def train(
    file: FileArgument,
    target: TargetOption,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="MODEL", help="Where to keep the model.")
    ],
    method: Annotated[
        str,
        typer.Option(
            help="genrbf, genrbf-mask (absence may tell something), genrbf-mixture, expected-rbf, "
            "esd or egk."
        ),
    ] = "genrbf",
    task: TaskOption = None,
    quiet: QuietOption = False,
) -> None:
    """Train a support vector machine on a table, and keep it in a file.

    Penalty and kernel width are chosen by five-fold cross-validation. The file holds how the
    columns are read as well, so that `absentia predict` takes raw tables.
    """
    from absentia import save
    from absentia.cli.files import read_table
    from absentia.cli.learning import (
        machine_of,
        new_model,
        pipeline_of,
        split_target,
        with_probabilities,
    )

    table = split_target(read_table(file), target, task)
    if not output.parent.is_dir():
        raise ValueError(f"There is no folder {output.parent} to write {output.name} into.")
    model = new_model(table.task, method, progress=not quiet and sys.stderr.isatty())
    model.fit(table.features, table.target)
    machine = machine_of(model)
    if table.task == "classification":
        model = with_probabilities(model, table.features, table.target)
    save(model, output)
    if quiet:
        return
    for note in (*table.notes, *pipeline_of(model).named_steps["encode"].notes_):
        _note(note)
    chosen = ", ".join(f"{name}={_short(value)}" for name, value in machine.best_params_.items())
    measure = "accuracy" if table.task == "classification" else "R²"
    _note(
        f"{table.task.capitalize()} of {target} from {len(table.target)} rows: cross-validated "
        f"{measure} {machine.best_score_:.3f} with {chosen}. Model written to {output}."
    )


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Made by `absentia train`.")],
    file: FileArgument,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="CSV, TSV or Parquet; else printed."),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Write the columns of the input as well.")
    ] = False,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Write the probability of each class as well.")
    ] = False,
) -> None:
    """Predict the target of each row of a table, with a model that was trained before.

    Columns are found by name. Missing values, also where training had none, and words that
    training never saw are uncertain, not errors.
    """
    from absentia import load
    from absentia.cli.files import read_table, write_table
    from absentia.cli.learning import predictions

    frame = predictions(load(model), read_table(file), keep=keep, probabilities=probabilities)
    write_table(frame, output)


@app.command()
def compare(
    file: FileArgument,
    target: TargetOption,
    methods: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Which methods; `absentia bench methods` lists all."),
    ] = None,
    task: TaskOption = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where the report goes; FILE-report, if not given."),
    ] = None,
    max_rows: Annotated[int, typer.Option(min=50, help="Take a sample of a larger table.")] = 1000,
    repeats: Annotated[
        int, typer.Option(min=1, max=20, help="How often the cross-validation is repeated.")
    ] = 1,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds for a method on a fold; given up after that.")
    ] = None,
    jobs: JobsOption = 1,
    seed: Annotated[int, typer.Option(help="Another seed gives other folds.")] = 0,
    quiet: QuietOption = False,
) -> None:
    """Find out which method suits your table: a fair contest by cross-validation.

    Prints a table of scores and writes a page with pictures. Every method is tuned on the
    training rows of each fold alone.
    """
    from absentia.cli.files import read_table, table_name
    from absentia.cli.learning import as_dataset, split_target
    from absentia.evaluation.comparison import compare_table, comparison_text
    from absentia.evaluation.methods import methods_for

    wanted = _words(methods)
    if wanted is not None:
        methods_for("classification", wanted)  # names are checked before anything takes time
    name = table_name(file)
    data = as_dataset(split_target(read_table(file), target, task), name, max_rows)
    if not quiet:
        for note in data.notes:
            _note(note)
    outcome = compare_table(
        data,
        methods=wanted,
        folder=report or Path(f"{name}-report"),
        repeats=repeats,
        jobs=jobs,
        seed=seed,
        time_limit=time_limit,
        progress=not quiet,
    )
    print(comparison_text(outcome, data, target))


@app.command()
def demo() -> None:
    """Show what the library does, on data that it brings, in less than a minute."""
    from absentia.demo import main

    main()


@bench.command("list")
def list_suites() -> None:
    """List the suites of experiments."""
    from absentia.evaluation.experiments import PROTOCOLS

    for protocol in PROTOCOLS.values():
        print(f"{protocol.name:24s}{protocol.title} ({protocol.source})")


@bench.command("methods")
def list_methods() -> None:
    """List the methods that are compared."""
    from absentia.evaluation.methods import METHODS

    for method in METHODS.values():
        missing = "" if method.entry.is_available() else f" [needs {method.entry.requires}]"
        print(f"{method.name:26s}{method.description} ({method.entry.reference}){missing}")


@bench.command("run")
def run_suite(
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="`absentia bench list` has them.")],
    data: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="The data sets; ABSENTIA_DATA, if not given."),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file of results.")] = Path(
        "results.sqlite"
    ),
    size: Annotated[str, typer.Option(help="smoke, small or full.")] = "small",
    jobs: JobsOption = 1,
    seed: Annotated[int, typer.Option(help="All other seeds are derived from it.")] = 0,
    methods: Annotated[str | None, typer.Option(metavar="A,B,...", help="Only these.")] = None,
    datasets: Annotated[str | None, typer.Option(metavar="A,B,...", help="Only these.")] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run failed cells again.")
    ] = False,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds for one cell; given up after that.")
    ] = None,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run on a Dask cluster.")
    ] = None,
    no_verify: Annotated[
        bool, typer.Option("--no-verify", help="Accept data sets with another sha256.")
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Run a suite; what is finished is kept, and a run that was stopped goes on."""
    from absentia.evaluation.cells import SIZES, Context
    from absentia.evaluation.experiments import protocol_named
    from absentia.evaluation.runner import run
    from absentia.evaluation.store import Results

    if size not in SIZES:
        raise ValueError(f"The size is one of {', '.join(SIZES)}, found {size!r}.")
    protocol = protocol_named(suite)
    if data is not None and not data.is_dir():
        raise ValueError(f"There is no folder {data}.")
    context = Context(
        size=next(known for known in SIZES if known == size),
        seed=seed,
        folder=None if data is None else str(data.resolve()),
        verify=not no_verify,
    )
    with Results(out) as results:
        try:
            summary = run(
                protocol,
                results,
                context,
                jobs=jobs,
                methods=_words(methods),
                datasets=_words(datasets),
                retry_failed=retry_failed,
                time_limit=time_limit,
                dask=dask,
                progress=not quiet,
            )
        except KeyboardInterrupt:
            _note(f"Stopped. What was finished is in {out}; the same command goes on from there.")
            raise typer.Exit(_INTERRUPTED) from None
    print(f"{suite}: {summary} Results are in {out}.")
    if summary.done and summary.failed == summary.done:
        raise ValueError("Every cell failed; `absentia bench report` shows why.")


@bench.command("report")
def report_results(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="Made by `bench run`.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where the report goes.")
    ] = Path("report"),
) -> None:
    """Write a page with pictures and tables, and the same as PNG and CSV."""
    from absentia.evaluation.report import write_reports
    from absentia.evaluation.store import Results

    if not results.is_file():
        raise ValueError(f"There is no file {results}.")
    with Results(results) as store:
        for page in write_reports(store, output):
            print(page)


def _as_numbers(frame: Any) -> tuple[Any, list[str]]:
    """Return a frame of numbers with the same holes, and the columns that hold text."""
    import pandas as pd

    columns, text = {}, []
    for j, name in enumerate(frame.columns):
        column = frame.iloc[:, j]
        if column.dtype.kind in "iufb":
            columns[str(name)] = column
        else:
            codes, _ = pd.factorize(column)
            columns[str(name)] = pd.Series(codes, index=frame.index).where(codes >= 0)
            if column.notna().any():
                text.append(str(name))
    return pd.DataFrame(columns), text


def _tested_on_numbers(report: MissingnessReport, numbers: Any) -> MissingnessReport:
    """Return the report with Little's test of the columns that are numbers."""
    from absentia import describe_missingness

    if not numbers.isna().any(axis=None):
        return replace(report, why_no_test="nothing is missing from the columns of numbers.")
    tested = describe_missingness(numbers)
    return replace(report, little=tested.little, why_no_test=tested.why_no_test)


def _words(text: str | None) -> list[str] | None:
    return None if text is None else [word.strip() for word in text.split(",") if word.strip()]


def _note(text: str) -> None:
    print(text, file=sys.stderr)


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
