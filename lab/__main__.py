"""``python -m lab``: run the experiments of the papers, and report on them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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

if TYPE_CHECKING:
    from lab.experiments.running.cells import Context

#: The largest seed that a file of results can hold.
LARGEST_SEED = 2**63 - 1
DataOption = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Folder with the data sets; ABSENTIA_DATA by default."),
]
SizeOption = Annotated[str, typer.Option(help="smoke, small or full.")]
SeedOption = Annotated[
    int,
    typer.Option(min=0, max=LARGEST_SEED, help="Random seed, from which all others are derived."),
]
TimeLimitOption = Annotated[float | None, typer.Option(help="Time limit in seconds for one cell.")]
NoVerifyOption = Annotated[
    bool,
    typer.Option("--no-verify", help="Accept data sets whose sha256 is not the recorded one."),
]
app = new_app("python -m lab", "Run the experiments of the papers, and report on them.")
data_app = new_app("data", "List and fetch the data sets of the experiments.")
app.add_typer(data_app, name="data")


def main(arguments: list[str] | None = None) -> int:
    """Run a command of the laboratory and return its exit code.

    Parameters
    ----------
    arguments : list of str, optional
        Without the program's name; by default those of the process.
    """
    return exit_code_of(lambda: run_app(app, sys.argv[1:] if arguments is None else arguments))


def _context(size: str, seed: int, data: Path | None, no_verify: bool) -> Context:
    from lab.experiments.running.cells import SIZES, Context

    if size not in SIZES:
        raise ValueError(f"The size must be one of {', '.join(SIZES)}, found {size!r}.")
    if data is not None and not data.is_dir():
        raise ValueError(f"There is no folder {data}.")
    return Context(
        size=next(known for known in SIZES if known == size),
        seed=seed,
        folder=None if data is None else str(data.resolve()),
        verify=not no_verify,
    )


@contextmanager
def _resumable(out: Path) -> Iterator[None]:
    """Say where finished work is when a run is interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"Stopped. Finished work is in {out}; run the same command again to continue.")
        raise typer.Exit(130) from None


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
    data: DataOption = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="File for the results.")] = Path(
        "results.sqlite"
    ),
    size: SizeOption = "small",
    jobs: JobsOption = 1,
    seed: SeedOption = 0,
    methods: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Run only these methods.")
    ] = None,
    datasets: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Run only these data sets.")
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run failed cells again.")
    ] = False,
    time_limit: TimeLimitOption = None,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run on a Dask cluster.")
    ] = None,
    no_verify: NoVerifyOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run a suite; finished work is kept, and a run that was stopped continues."""
    from lab.data.datasets import require
    from lab.experiments.running.runner import run
    from lab.experiments.running.store import Results
    from lab.experiments.suites import protocol_named

    protocol = protocol_named(suite)
    context = _context(size, seed, data, no_verify)
    if dask is None:  # the workers of a cluster have folders of their own
        chosen = names_in(datasets)
        sets = {cell.dataset for cell in protocol.cells(context)}
        require(sets if chosen is None else sets & set(chosen), context.folder)
    with Results(out) as results, _resumable(out):
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
    print(f"{suite}: {summary} Results are in {out}.")
    if summary.done and summary.failed == summary.done:
        raise ValueError("Every cell failed; `python -m lab report` shows why.")


@app.command("reproduce")
def reproduce_table(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A table or figure; --list shows all.")
    ] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List tables and figures.")] = False,
    data: DataOption = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="File for the results.")] = Path(
        "reproduce.sqlite"
    ),
    page: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for the page of the table.")
    ] = Path("reproduced"),
    size: SizeOption = "small",
    jobs: JobsOption = 1,
    seed: SeedOption = 0,
    time_limit: TimeLimitOption = None,
    no_verify: NoVerifyOption = False,
    quiet: QuietOption = False,
) -> None:
    """Repeat a table of a paper: only its cells are run, and a stopped run continues."""
    from lab.experiments.running.store import Results
    from lab.papers import reproduce
    from lab.papers.printed import TARGETS

    if list_all or name is None:
        for target in TARGETS.values():
            kind = "" if target.printed else " [no printed numbers]"
            print(f"{target.name:24s}{target.title}{kind}")
        return
    target = reproduce.target_named(name)
    context = _context(size, seed, data, no_verify)
    with Results(out) as results, _resumable(out):
        summary = reproduce.run_target(
            target, results, context, jobs=jobs, time_limit=time_limit, progress=not quiet
        )
        lines = reproduce.lines_of(target, results, context)
    print(reproduce.as_table(target, lines))
    how = f"Size {size}, seed {seed}. {summary or 'Nothing is trained for this table.'}"
    print(f"{how} {reproduce.write_page(target, reproduce.as_page(target, lines, how), page)}")


@data_app.command("list")
def list_data() -> None:
    """List the data sets: task, licence and source, and whether the source has an address."""
    from lab.data.datasets import available, records

    present = set(available())
    for record in records().values():
        known = "address" if record.url else "by name only"
        state = "here" if record.name in present else "not here"
        print(f"{record.name:24s}{state:10s}{known:14s}{record.licence}; {record.source}")


@data_app.command("fetch")
def fetch_data(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="`data list` shows all.")],
    address: Annotated[
        str | None,
        typer.Option("--from", metavar="URL", help="Another address of the file; file:// works."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where to write; by default the cache.")
    ] = None,
    no_verify: NoVerifyOption = False,
) -> None:
    """Fetch data sets from their sources, and check their sha256."""
    from lab.data.fetching import fetch

    if address is not None and len(names) > 1:
        raise ValueError(f"--from is the address of one data set, found {len(names)} names.")
    for name in names:
        print(fetch(name, data, url=address, verify=not no_verify))


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
