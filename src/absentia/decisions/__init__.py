"""Decisions: which missing value is worth measuring."""

from absentia.decisions.acquisition import measure_next
from absentia.decisions.column_worth import column_worth, held_out_worth
from absentia.decisions.measurements import Measurements
from absentia.decisions.policy import AcquisitionPolicy, AcquisitionTrace

__all__ = [
    "AcquisitionPolicy",
    "AcquisitionTrace",
    "Measurements",
    "column_worth",
    "held_out_worth",
    "measure_next",
]
