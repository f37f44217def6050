"""What to do next: which missing value is worth measuring."""

from absentia.decisions.acquisition import Measurements, measure_next
from absentia.decisions.policy import AcquisitionPolicy, AcquisitionTrace

__all__ = ["AcquisitionPolicy", "AcquisitionTrace", "Measurements", "measure_next"]
