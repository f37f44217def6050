"""``python -m lab``: run the experiments of the papers, and report on them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from absentia.cli import exit_code_of, run_app
from absentia.cli.terminal import (
    ForceOption,
    JobsOption,
    QuietOption,
    names_in,
    new_app,
    say,
)

#: The largest seed that a file of results can hold.
LARGEST_SEED = 2**63 - 1
app = new_app("python -m lab", "Run the experiments of the papers, and report on them.")


def main(arguments: list[str] | None = None) -> int:
    """Run a command of the laboratory and return its exit code.

    Parameters
    ----------
    arguments : list of str, optional
        Without the program's name; by default those of the process.
    """
    return exit_code_of(lambda: run_app(app, sys.argv[1:] if arguments is None else arguments))


@app.command("list")
def list_suites() -> None:
    """List the suites of experiments."""
    from lab.experiments.suites import PROTOCOLS

    for protocol in PROTOCOLS.values():
        print(f"{protocol.name:24s}{protocol.title} ({protocol.source})")


@app.command("methods")
def list_methods() -> None:
    """List the methods that are compared."""
    from lab.experiments.methods import METHODS

    for method in METHODS.values():
        missing = "" if method.entry.is_available() else f" [needs {method.entry.requires}]"
        print(f"{method.name:26s}{method.description} ({method.entry.reference}){missing}")


@app.command("run")
def run_suite(
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="`python -m lab list` lists all.")],
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
                methods=names_in(methods),
                datasets=names_in(datasets),
                retry_failed=retry_failed,
                time_limit=time_limit,
                dask=dask,
                progress=not quiet,
            )
        except KeyboardInterrupt:
            say(f"Stopped. Finished work is in {out}; run the same command again to continue.")
            raise typer.Exit(130) from None
    print(f"{suite}: {summary} Results are in {out}.")
    if summary.done and summary.failed == summary.done:
        raise ValueError("Every cell failed; `python -m lab report` shows why.")


@app.command("report")
def report_results(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="File from `run`.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Folder for the report.")
    ] = Path("report"),
    force: ForceOption = False,
) -> None:
    """Write a page with pictures and tables, and the same as PNG and CSV."""
    from lab.experiments.reporting.report import report_folders, write_reports
    from lab.experiments.reporting.report_folder import check_folder
    from lab.experiments.running.store import Results

    if not results.is_file():
        raise ValueError(f"There is no file {results}.")
    with Results(results, read_only=True) as store:
        for folder in report_folders(store, output):
            check_folder(folder, inputs=[results], force=force)
        for page in write_reports(store, output):
            print(page)


if __name__ == "__main__":
    sys.exit(main())
