"""``absentia bench``: the experiments of the papers, run and reported."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from absentia.cli.terminal import (
    LARGEST_SEED,
    ForceOption,
    JobsOption,
    QuietOption,
    stop,
    words_of,
)

__all__ = ["bench"]

bench = typer.Typer(
    help="Run the experiments of the papers, and report on them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@bench.command("list")
def list_suites() -> None:
    """List the suites of experiments."""
    from lab.experiments.suites import PROTOCOLS

    for protocol in PROTOCOLS.values():
        print(f"{protocol.name:24s}{protocol.title} ({protocol.source})")


@bench.command("methods")
def list_methods() -> None:
    """List the methods that are compared."""
    from lab.experiments.methods import METHODS

    for method in METHODS.values():
        missing = "" if method.entry.is_available() else f" [needs {method.entry.requires}]"
        print(f"{method.name:26s}{method.description} ({method.entry.reference}){missing}")


@bench.command("run")
def run_suite(
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="`absentia bench list` lists all.")],
    data: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder with the data sets; ABSENTIA_DATA by default."),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="File for the results.")] = Path(
        "results.sqlite"
    ),
    size: Annotated[str, typer.Option(help="smoke, small or full.")] = "small",
    jobs: JobsOption = 1,
    seed: Annotated[
        int,
        typer.Option(
            min=0, max=LARGEST_SEED, help="Random seed, from which all others are derived."
        ),
    ] = 0,
    methods: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Run only these methods.")
    ] = None,
    datasets: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Run only these data sets.")
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run failed cells again.")
    ] = False,
    time_limit: Annotated[
        float | None, typer.Option(help="Time limit in seconds for one cell.")
    ] = None,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run on a Dask cluster.")
    ] = None,
    no_verify: Annotated[
        bool,
        typer.Option("--no-verify", help="Accept data sets whose sha256 is not the recorded one."),
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Run a suite; finished work is kept, and a run that was stopped continues."""
    from lab.experiments.running.cells import SIZES, Context
    from lab.experiments.running.runner import run
    from lab.experiments.running.store import Results
    from lab.experiments.suites import protocol_named

    if size not in SIZES:
        raise ValueError(f"The size must be one of {', '.join(SIZES)}, found {size!r}.")
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
                methods=words_of(methods),
                datasets=words_of(datasets),
                retry_failed=retry_failed,
                time_limit=time_limit,
                dask=dask,
                progress=not quiet,
            )
        except KeyboardInterrupt:
            stop(out)
    print(f"{suite}: {summary} Results are in {out}.")
    if summary.done and summary.failed == summary.done:
        raise ValueError("Every cell failed; `absentia bench report` shows why.")


@bench.command("report")
def report_results(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="File from `bench run`.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Folder for the report.")
    ] = Path("report"),
    force: ForceOption = False,
) -> None:
    """Write a page with pictures and tables, and the same as PNG and CSV."""
    from absentia.cli.files import check_folder
    from lab.experiments.reporting.report import report_folders, write_reports
    from lab.experiments.running.store import Results

    if not results.is_file():
        raise ValueError(f"There is no file {results}.")
    with Results(results, read_only=True) as store:
        for folder in report_folders(store, output):
            check_folder(folder, inputs=[results], force=force)
        for page in write_reports(store, output):
            print(page)
