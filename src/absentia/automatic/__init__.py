"""Machines that choose for themselves: different members, tuned cheaply, weighted and averaged."""

from absentia.automatic.auto_machines import AutoClassifier, AutoRegressor
from absentia.automatic.committee import MemberTable

__all__ = ["AutoClassifier", "AutoRegressor", "MemberTable"]
