"""The table of members as text."""

import numpy as np

from absentia.automatic.committee import MemberTable


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
