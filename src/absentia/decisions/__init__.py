"""Decisions: which missing value is worth measuring, and which would change them."""

from absentia.decisions.acquisition import measure_next
from absentia.decisions.column_worth import column_worth, held_out_worth
from absentia.decisions.measurements import Measurements
from absentia.decisions.policy import AcquisitionPolicy, AcquisitionTrace
from absentia.decisions.sensitivity import Sensitivity, TippingPoints, sensitivity, tipping_point

__all__ = [
    "AcquisitionPolicy",
    "AcquisitionTrace",
    "Measurements",
    "Sensitivity",
    "TippingPoints",
    "column_worth",
    "held_out_worth",
    "measure_next",
    "sensitivity",
    "tipping_point",
]
