"""The demonstration runs, prints what a person can read, and draws a picture."""

from __future__ import annotations

import numpy as np
import pytest

from lab import demo


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    return folder, demo.run(folder, rates=(0.1, 0.4), repeats=1)


def test_all_contests_are_held_and_drawn(small):
    folder, contests = small
    assert (folder / "demo.png").stat().st_size > 10_000
    assert len(contests) == 3
    for contest in contests:
        assert all(values.shape == (1, 2) for values in contest.results.values())
        assert all(np.isfinite(values).all() for values in contest.results.values())
        assert contest.results.keys() == contest.seconds.keys()


def test_the_contests_are_worth_holding(small):
    """Nobody is worse than knowing nothing; who wins on one repeat is not for a test to say."""
    _, (recovered, *accuracies) = small
    assert "Error" in str(recovered)
    # A column's mean is wrong by one standard deviation, here estimated from some hundred holes.
    assert all(np.all(errors < 1.2) for errors in recovered.results.values())
    for contest, where in zip(
        accuracies, ("training and test rows", "test rows only"), strict=True
    ):
        assert f"values missing from {where}" in str(contest)
        most_frequent = 71 / 178
        assert all(np.all(values > most_frequent) for values in contest.results.values())


def test_the_table_marks_the_best_at_every_rate(small):
    for contest in small[1]:
        lines = str(contest).splitlines()
        assert len(lines) == 2 + len(contest.results)
        assert "10% missing" in lines[1]
        assert sum(line.count("*") for line in lines[2:]) >= 2


def test_the_best_is_the_lowest_error_and_the_highest_accuracy():
    results = {"first": np.array([[0.5, 0.7]]), "second": np.array([[0.6, 0.2]])}
    seconds = {"first": 1.0, "second": 2.0}
    error = demo.Contest("error", True, (0.1, 0.3), results, seconds)
    assert [("*" in line) for line in str(error).splitlines()[2:]] == [True, True]
    assert "0.500*" in str(error)
    assert "0.200*" in str(error)
    accuracy = demo.Contest("accuracy", False, (0.1, 0.3), results, seconds)
    assert "0.700*" in str(accuracy)
    assert "0.600*" in str(accuracy)
