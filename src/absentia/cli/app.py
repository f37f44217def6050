"""The commands ``describe``, ``compare``, ``warmup`` and ``studio``, and the application."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from absentia.cli import terminal
from absentia.cli.model_commands import ask, explain, predict, train
from absentia.reports.safe_text import printable

if TYPE_CHECKING:
    from absentia.recipe.comparison import Comparison

app = terminal.new_app("absentia", terminal.options.__doc__ or "")
app.callback()(terminal.options)


@app.command()
def describe(
    file: terminal.FileArgument,
    plot: Annotated[
        Path | None, typer.Option(metavar="PICTURE", help="Draw it as a .png, .svg or .pdf file.")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(metavar="PAGE", help="Write a page with pictures as a .html file."),
    ] = None,
    ignore: terminal.IgnoreOption = None,
    categories: terminal.CategoriesOption = None,
    numbers: terminal.NumbersOption = None,
    dates: terminal.DatesOption = None,
    test: Annotated[
        bool | None,
        typer.Option(
            "--test/--no-test", help="Whether to run Little's test; by default only if it is quick."
        ),
    ] = None,
    sheet: terminal.SheetOption = None,
    force: terminal.ForceOption = False,
) -> None:
    """Describe which values are missing from a table, and whether they look random."""
    from absentia import describe_missingness
    from absentia.recipe.learning_table import without_columns
    from absentia.reports.describing import suspects
    from absentia.tables.files.formats import replaced

    terminal.check_output(plot, inputs=[file], force=force, endings=(".png", ".svg", ".pdf"))
    terminal.check_output(html, inputs=[file], force=force, endings=(".html", ".htm"))
    frame = without_columns(terminal.read_table(file, sheet), terminal.names_in(ignore) or ())
    kinds = terminal.kinds_of(categories, numbers, dates)
    report = describe_missingness(frame, mcar_test="auto" if test is None else test, kinds=kinds)
    print(report)
    found = suspects(frame, kinds)
    if found:
        print("\nCells that hardly fit the rest of their rows")
    for cell in found:
        line = "  row {row}, {column}: {value}, expected about {expected}".format(**cell)
        print(printable(line))
    if plot is not None:
        with replaced(plot) as draft:
            report.plot().savefig(draft, dpi=150)
        terminal.say(f"Picture written to {plot}.")
    if html is not None:
        with replaced(html) as draft:
            draft.write_text(report.to_html(terminal.table_name(file)), encoding="utf-8")
        terminal.say(f"Page written to {html}.")


for command in (train, predict, ask, explain):
    app.command()(command)


@app.command()
def compare(
    file: terminal.FileArgument,
    target: terminal.TargetOption,
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Methods of `train --method`, and mean-indicator, iterative, random-forest, "
            "hist-gradient-boosting, lightgbm and catboost.",
        ),
    ] = None,
    task: terminal.TaskOption = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write a page and a picture into this folder."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Five methods on 300 rows, in about a minute.")
    ] = False,
    max_rows: Annotated[
        int | None,
        typer.Option(min=50, help="Use a sample of this size of a larger table; 1000 by default."),
    ] = None,
    repeats: Annotated[
        int, typer.Option(min=1, max=20, help="Number of times that the folds are drawn.")
    ] = 1,
    ignore: terminal.IgnoreOption = None,
    categories: terminal.CategoriesOption = None,
    numbers: terminal.NumbersOption = None,
    dates: terminal.DatesOption = None,
    keep_ids: terminal.KeepIdsOption = False,
    support: terminal.SupportOption = None,
    jobs: terminal.JobsOption = 1,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Random seed; another one gives other folds.")
    ] = 0,
    sheet: terminal.SheetOption = None,
    force: terminal.ForceOption = False,
    quiet: terminal.QuietOption = False,
) -> None:
    """Find out which method suits your table, by cross-validation.

    Prints a verdict and a table of scores; --report writes a page with a picture. Every method is
    tuned only on the training rows of each fold.
    """
    from absentia.recipe import comparison
    from absentia.tables.files.formats import replaced

    places = [] if report is None else [report / "index.html", report / "methods.png"]
    if report is not None:
        if report.exists() and not report.is_dir():
            raise ValueError(f"{report} is a file; give the name of a folder.")
        report.mkdir(parents=True, exist_ok=True)
        for place in places:
            terminal.check_output(place, inputs=[file], force=force, endings=())
    found = comparison.compare(
        terminal.read_table(file, sheet),
        target,
        task=task,
        methods=terminal.names_in(methods) or (comparison.QUICK_METHODS if quick else None),
        ignore=terminal.names_in(ignore) or (),
        kinds=terminal.kinds_of(categories, numbers, dates),
        keep_ids=keep_ids,
        supports=terminal.supports_of(support),
        repeats=repeats,
        max_rows=max_rows or (comparison.QUICK_ROWS if quick else 1000),
        random_state=seed,
        n_jobs=jobs,
        time_budget=comparison.QUICK_SECONDS if quick else None,
        step=lambda share, text: None if quiet else terminal.say(f"{100 * share:3.0f} %  {text}"),
    )
    advice = train_command(found, file, target)
    title = f"Methods for {terminal.table_name(file)}"
    print(printable(terminal.as_options(found.to_text(advice)), lines=True))
    if report is not None:
        with replaced(places[0]) as draft:
            draft.write_text(found.to_html(title, advice), "utf-8")
        with replaced(places[1]) as draft:
            found.plot().savefig(draft, dpi=144, format="png")
        print(f"Page written to {places[0]}.")


def train_command(found: Comparison, file: str, target: str) -> str:
    """Return the command that trains the recommended method.

    Without any such method among those compared, this is the default of ``absentia train``.
    """
    name = found.trainable or "automatic"
    method = "" if name == "automatic" else f" --method {name}"
    without = "" if found.trainable else f"{found.best} cannot be trained from the command line. "
    train = f"absentia train {quote(file)} -t {quote(target)} -o model.absentia{method}"
    return f"{without}Train {name}: {train}"


@app.command()
def warmup() -> None:
    """Compile the library's loops for this processor, so that the first fit need not wait."""
    warm_up()
    terminal.say("All loops are compiled and cached on disk.")


def warm_up() -> None:
    """Compile the loops of densities, kernels and features, which Numba caches on disk.

    The tables need all of them: rows of frequent and of single patterns, one row alone, complete
    rows, known measurement errors, mixtures, many columns with few factors and without.
    """
    from absentia.densities import GaussianDensity, LowRankDensity, MixtureDensity
    from absentia.engine.compiling import always_compiled
    from absentia.features import FourierFeatures
    from absentia.kernels import ExpectedRBF, GenRBF

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    holed = X.copy()
    holed[100:][rng.random((100, 4)) < 0.5] = np.nan
    with always_compiled():
        for table in (X, holed):
            for density in (GaussianDensity(), MixtureDensity(2, max_iter=2, random_state=0)):
                beliefs = density.fit(table).condition(table)
                GenRBF()(beliefs)
                GenRBF()(beliefs[:9], beliefs)
                GenRBF()(beliefs[-1:], beliefs)
        wide = np.tile(holed, 10)
        GenRBF()(LowRankDensity(1, tol=1.0).fit(wide).condition(wide))
        wide = np.where(rng.random((40, 100)) < 0.3, np.nan, rng.normal(size=(40, 100)))
        GenRBF()(GaussianDensity(shrinkage=0.5, tol=1.0).fit(wide).condition(wide))
        measured = GaussianDensity().fit(holed).condition(holed).transform(np.eye(4))
        ExpectedRBF()(measured)
        FourierFeatures(n_components=16, random_state=0).fit(holed).transform(holed)


@app.command()
def studio(
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="A table to open right away.")
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Whether to open the page in a browser.")
    ] = True,
    sheet: terminal.SheetOption = None,
) -> None:
    """Open a page on this computer to look at a table, train on it, and ask about one row.

    Prints the address on one line. Only this computer can reach it, and only with the token in
    that address. Stop it with Ctrl-C.
    """
    from absentia.studio import serve

    if file is None and sheet is not None:
        raise ValueError("--sheet names a sheet of the table to open: give an Excel file as well.")
    frame = None if file is None else terminal.read_table(file, sheet)
    serve(
        frame=frame,
        name="" if file is None else terminal.table_name(file),
        port=port,
        browser=browser,
        say=lambda address: print(address, flush=True),
    )
