"""What to do next: which missing value is worth measuring."""

from absentia.decisions.acquisition import Measurements, measure_next
from absentia.decisions.column_worth import column_worth
from absentia.decisions.policy import AcquisitionPolicy, AcquisitionTrace
from absentia.decisions.worth_share import choose_worth_share

__all__ = [
    "AcquisitionPolicy",
    "AcquisitionTrace",
    "Measurements",
    "choose_worth_share",
    "column_worth",
    "measure_next",
]
