"""The plan of its columns below the diagram of a fitted estimator, in notebooks."""

from __future__ import annotations

from sklearn.base import BaseEstimator

from absentia.tables.plan.column_plan import ColumnPlan

__all__ = ["ShowsColumns"]


class ShowsColumns(BaseEstimator):
    """Base of estimators that take data frames: their page shows how the columns are used."""

    def _html_repr(self) -> str:
        page: str = super()._html_repr()
        known = vars(self)
        plan = known.get("plan_", known.get("columns_"))
        if not isinstance(plan, ColumnPlan):
            return page
        return f"<div>{page}<details><summary>Columns</summary>{plan._repr_html_()}</details></div>"
