"""Self-contained pages about one row and about a batch, to be kept or sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from absentia.pictures import INK, MODEL, grid_of_panels, pyplot
from absentia.reports.report_page import Page
from absentia.reports.safe_text import as_plot_labels, printable

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from absentia.studio.row_answers import FieldValue, RowAnswers

#: Rows of a batch that are listed.
_MOST_ROWS = 1000
#: Headings of measurements and of a batch.
_HEADINGS = {
    "name": "field",
    "gain_percent": "gain, %",
    "per_cost": "gain per cost",
    "doubt": "± now",
    "doubt_after": "± then",
}
_WORTH = (
    "What knowing a field is expected to leave of the standard deviation, and the share of the "
    "variance that it removes.",
    "How much knowing a field is expected to reduce the doubt: the entropy in nats, and in percent "
    "of that of equally likely classes.",
)


def row_page(
    answers: RowAnswers,
    values: Mapping[str, FieldValue],
    target: str,
    costs: Mapping[str, float] | None = None,
) -> str:
    """Return a page with the answer for one row, what it came from, and what to measure next."""
    import pandas as pd

    found = answers.answer(values, costs)
    page = Page(f"One row: what is {target}?", "a prediction by absentia")
    shown = found["prediction"]
    tiles = {target: shown if isinstance(shown, str) else f"{shown:.4g}"}
    if "probabilities" in found:
        tiles["probability"] = f"{100 * found['probabilities'][shown]:.0f} %"
    elif found["upper"] is not None:
        tiles["90 % interval"] = f"{found['lower']:.4g} to {found['upper']:.4g}"
    tiles["of the doubt due to unknown fields"] = f"{100 * found['missing_share']:.0f} %"
    page.tiles(tiles)
    if found["note"]:
        page.verdict(found["note"])
    page.section("What is known")
    typed = {
        name: printable(f"{value.state} {value.text}" if " " in value.state else value.text)
        for name, value in values.items()
        if name in answers.names and value.text.strip()
    }
    if typed:
        page.table(pd.DataFrame(typed.items(), columns=["field", "value"], dtype=object))
    else:
        page.paragraph("Every field is unknown.")
    explained = answers.explanation(values)
    if explained.values.any():
        page.section("The columns that made the answer")
        # The cells as they were typed; the machine has them in units of their spread.
        cells = np.array([[typed.get(name) for name in explained.columns]], dtype=object)
        figure = replace(explained, data=cells).plot(row=0)
        figure.axes[0].set_title("")
        page.picture(figure, "From the average prediction, column by column, to this one")
        pyplot().close(figure)
    if found["beliefs"]:
        page.section("What the unknown fields could be")
        figure = _drawn(found["beliefs"], answers.model.encoder.categories_)
        page.picture(figure, "A density of each number, and the probability of each word")
        pyplot().close(figure)
    if found["next"]:
        page.section("Measure this next")
        page.paragraph(_WORTH[bool(answers.classes)])
        ranked = pd.DataFrame(found["next"]).rename(columns=_HEADINGS)
        page.table(ranked)
    return page.render()


def _drawn(beliefs: Mapping[str, Any], categories: Mapping[str, Any]) -> Figure:
    """Draw the beliefs about unknown fields as small panels."""
    figure, panels = grid_of_panels(len(beliefs))
    for panel, (name, belief) in zip(panels, beliefs.items(), strict=True):
        labels, heights = belief["labels"], belief["heights"]
        places = range(len(labels))
        if name in categories:
            panel.bar(places, heights, color=MODEL)
            panel.set_xticks(places, as_plot_labels(labels, 12), rotation=30, ha="right")
        else:
            panel.fill_between(places, heights, color=MODEL)
            ends = [0, len(labels) - 1]
            panel.set_xticks(ends, as_plot_labels([labels[k] for k in ends], 10))
        panel.set_yticks([])
        panel.set_ylim(0)
        panel.set_title(*as_plot_labels([name]), color=INK, fontsize="small")
    return figure


def batch_page(batch: pd.DataFrame, notes: Sequence[str], target: str) -> str:
    """Return a page with the predictions of a batch, the most doubtful first."""
    page = Page(f"Predictions of {target}", f"{len(batch):,} rows, by absentia")
    page.tiles(
        {
            "rows": f"{len(batch):,}",
            "mean share of the doubt due to unknown fields": (
                f"{100 * batch['due_to_unknown'].mean():.0f} %"
            ),
        }
    )
    page.section("Rows, the most doubtful first")
    own = {name: name.replace("_", " ") for name in ("due_to_unknown", "unknown_fields")}
    own["doubt_percent"] = "doubt, %"
    page.table(batch.head(_MOST_ROWS).rename(columns=own))
    if len(batch) > _MOST_ROWS:
        page.paragraph(f"The {_MOST_ROWS:,} most doubtful of {len(batch):,} rows are listed.")
    if notes:
        page.section("Notes")
        for note in notes:
            page.paragraph(note)
    return page.render()
