"""Demonstration on data that scikit-learn bundles: ``python -m lab.demo``."""

from lab.demo.contests import Contest, main, run
from lab.demo.production import Answers, answer_incomplete_rows

__all__ = ["Answers", "Contest", "answer_incomplete_rows", "main", "run"]
