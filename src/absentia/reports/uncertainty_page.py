"""The uncertainty of a batch of rows as a page, the most uncertain first."""

from __future__ import annotations

import numpy as np

from absentia.machines.uncertainty import Uncertainty
from absentia.pictures import pyplot
from absentia.reports.report_page import Page
from absentia.reports.safe_text import printable

_SHOWN, _DRAWN = 500, 60


def uncertainty_page(doubt: Uncertainty, title: str = "How sure the predictions are") -> str:
    """Return a page about the predictions of a batch: how uncertain each is, and why.

    ``doubt`` is what :func:`absentia.predict_uncertainty` returns for one target. Rows are counted
    from 0; the most doubtful 500 are listed.
    """
    if doubt.total.ndim != 1:
        raise ValueError(
            f"The page is about one target, found {doubt.total.shape[1]}: predict them one by one."
        )
    frame = doubt.to_frame()
    by_column = frame[[f"by_{name}" for name in doubt.columns]].to_numpy()
    largest = by_column.argmax(axis=1)
    names = [printable(name) for name in doubt.columns]
    frame = frame[[name for name in frame.columns if not name.startswith("by_")]]
    frame.insert(0, "row", np.arange(len(frame)))
    frame["due to missing values, %"] = 100 * doubt.missing_share
    frame["mostly due to"] = [
        names[j] if by_column[i, j] > 0 else "" for i, j in enumerate(largest)
    ]
    order = np.argsort(-doubt.total, kind="stable")
    share = float(doubt.missing.sum()) / (float(doubt.total.sum()) or 1.0)
    page = Page(
        title, f"{len(doubt):,} rows; the {doubt.unit} of each prediction, split into its parts"
    )
    page.tiles(
        {
            "rows": f"{len(doubt):,}",
            f"mean {doubt.unit}": f"{doubt.total.mean():.3g}",
            "share due to missing values": f"{100 * share:.0f} %",
        }
    )
    page.section("Parts")
    some = order[:_DRAWN]
    parts = {name: getattr(doubt, name)[some] for name in ("model", "noise", "missing")}
    first = Uncertainty(
        doubt.prediction[some], doubt.total[some], parts["model"], parts["noise"],
        parts["missing"], doubt.by_column[some], doubt.columns, doubt.unit, doubt.classes,
    )  # fmt: skip
    figure = first.plot()
    figure.axes[0].set_xlabel("rank by doubt")
    page.picture(figure, f"The {len(some)} most doubtful rows, the most doubtful first")
    pyplot().close(figure)
    page.section("Rows, the most doubtful first")
    page.table(frame.iloc[order[:_SHOWN]])
    return page.render()
