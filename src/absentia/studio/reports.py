"""Self-contained pages about one row and about a batch, to be kept or sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from absentia.pictures import pyplot
from absentia.reports.report_page import Page
from absentia.reports.safe_text import printable

if TYPE_CHECKING:
    import pandas as pd

    from absentia.studio.row_answers import FieldValue, RowAnswers

#: Rows of a batch that are listed.
_MOST_ROWS = 1000


def row_page(answers: RowAnswers, values: Mapping[str, FieldValue], target: str) -> str:
    """Return a page with the answer for one row, what it came from, and what to measure next."""
    import pandas as pd

    found = answers.answer(values)
    page = Page(f"One row: what is {printable(target)}?", "a prediction by absentia")
    shown = found["prediction"]
    tiles = {target: shown if isinstance(shown, str) else f"{shown:.4g}"}
    if "probabilities" in found:
        tiles["probability"] = f"{100 * found['probabilities'][shown]:.0f} %"
    elif found["lower"] is not None:
        tiles["90 % interval"] = f"{found['lower']:.4g} to {found['upper']:.4g}"
    tiles["of the doubt due to unknown fields"] = f"{100 * found['missing_share']:.0f} %"
    page.tiles({printable(name): printable(text) for name, text in tiles.items()})
    if found["note"]:
        page.verdict(printable(found["note"]))
    page.section("What is known")
    given = {n: v for n, v in values.items() if n in answers.names and v.text.strip()}
    cells = [
        (printable(n), f"{v.state} {v.text}" if " " in v.state else v.text)
        for n, v in given.items()
    ]
    page.table(pd.DataFrame(cells, columns=["field", "value"], dtype=object))
    explained = answers.explanation(values)
    if explained.values.any():
        page.section("The columns that made the answer")
        figure = explained.plot(row=0)
        page.picture(figure, "From the average prediction, column by column, to this one")
        pyplot().close(figure)
    if found["next"]:
        page.section("Measure this next")
        ranked = pd.DataFrame(found["next"]).rename(
            columns={"name": "field", "per_cost": "per cost"}
        )
        page.table(ranked.map(lambda cell: printable(cell) if isinstance(cell, str) else cell))
    return page.render()


def batch_page(batch: pd.DataFrame, notes: Sequence[str], target: str) -> str:
    """Return a page with the predictions of a batch, the most doubtful first."""
    page = Page(f"Predictions of {printable(target)}", f"{len(batch):,} rows, by absentia")
    page.tiles(
        {
            "rows": f"{len(batch):,}",
            "mean share of the doubt due to unknown fields": (
                f"{100 * batch['due_to_unknown'].mean():.0f} %"
            ),
        }
    )
    page.section("Rows, the most doubtful first")
    shown = batch.head(_MOST_ROWS).rename(columns=printable)
    page.table(shown.map(lambda cell: printable(cell) if isinstance(cell, str) else cell))
    if len(batch) > _MOST_ROWS:
        page.paragraph(f"The {_MOST_ROWS:,} most doubtful of {len(batch):,} rows are listed.")
    if notes:
        page.section("Notes")
        for note in notes:
            page.paragraph(printable(note))
    return page.render()
