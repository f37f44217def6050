"""The table of members as text."""

from types import SimpleNamespace

import numpy as np

from absentia.automatic.committee import MemberTable, summarise
from absentia.automatic.member_tuning import LearningRows


def test_the_table_of_members_fits_a_terminal():
    names = ("beliefs-mixture", "linear")
    table = MemberTable(
        names=names,
        descriptions=names,
        weights=np.full((2, 3), 0.5),
        losses=np.full((2, 3), 0.125),
        scores=np.array([0.9, np.nan]),
        seconds=np.ones(2),
        hidden=(0.0, 0.3, 0.6),
        remarks=("", "left out, the time was up"),
        measure="accuracy",
    )
    assert max(map(len, str(table).splitlines())) <= 100


def test_levels_are_compared_on_the_same_rows():
    """Hidden cells are judged on a sample: as they are, its rows must not be beside all others."""
    y = np.array([0.0, 0.0, 3.0, -3.0])
    answers = np.zeros((2, 4, 1))
    answers[1, :2], answers[1, 2:] = 1.0, np.nan
    member = SimpleNamespace(name="one", description="", answers=answers, seconds=0.0, remark="")
    rows = LearningRows(np.zeros((4, 1)), y, None, None)
    table = summarise(rows, np.arange(4) < 2, (0.0, 0.3), [member], np.ones((1, 2)))
    np.testing.assert_allclose(table.losses, [[0.0, 1.0]])
    np.testing.assert_allclose(table.scores, [0.0])  # of all rows
