"""Print the tables of the guide: ``python -m lab.studies.marginal [part ...]``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from lab.studies.marginal import (
    calibration_page,
    draw_error,
    frozen_models,
    known_patterns,
    sparse_rows,
    trained_models,
)
from lab.studies.marginal.trials import TABLES

PARTS = ("calibration", "draws", "frozen", "known", "sparse", "trained")


def main(chosen: list[str]) -> None:
    """Run the parts named, or all."""
    for part in chosen or PARTS:
        if part == "draws":
            print("rmse of probabilities, draws:", *draw_error.NUMBERS, "and the rate")
            for name, errors in draw_error.rows():
                slope = np.polyfit(np.log(draw_error.NUMBERS), np.log(errors), 1)[0]
                print(f"{name:<15}", *(f"{error:.5f}" for error in errors), f"n^{slope:.2f}")
            continue
        if part == "calibration":
            calibration_page.write()
            continue
        if part == "sparse":
            for title, losses in sparse_rows.rows():
                print(f"{title:<32}", *(f"{way} {loss:.3f}" for way, loss in losses.items()))
            continue
        for name in TABLES:
            if part == "frozen":
                _print(f"{name}, trained on complete rows, 60 % missing", frozen_models.rows(name))
            elif part == "known":
                _print(f"{name}, three patterns in training", known_patterns.rows(name))
            else:
                for rate in (0.3, 0.6):
                    title = f"{name}, {rate:.0%} missing in training and test"
                    _print(title, trained_models.rows(name, rate))


def _print(title: str, rows: Iterator[tuple[str, Any]]) -> None:
    print(f"\n{title}\n{'':<32}accuracy  log loss")
    for way, (accuracy, loss) in rows:
        print(f"{way:<32}{accuracy:>8.3f}  {loss:>8.3f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
