"""The dispatch table under test: the path that is chosen, and paths that are forced."""

from __future__ import annotations

import numpy as np

from absentia.kernels.gram import dispatch
from absentia.kernels.gram.sides import Side


def chosen(P, Q, smoothing):
    """Return the name of the path for pairs of rows that are not both of frequent patterns."""
    rows, columns = (
        Side.of_components(side, np.zeros(len(side)))[0] for side in (P, P if Q is None else Q)
    )
    return dispatch.choose(dispatch.Pairs(rows, columns, smoothing, False, Q is None)).name


def force(monkeypatch, name, where=lambda pairs: not pairs.frequent):
    """Take one path where a condition holds, whatever the size, and return a list of its calls."""
    calls = []

    def forced(path):
        if path.name != name:
            return path

        def fill(*args):
            calls.append(args)
            path.fill(*args)

        return path._replace(applies=where, cost=lambda pairs: -1.0, fill=fill)

    monkeypatch.setattr(dispatch, "PATHS", tuple(map(forced, dispatch.PATHS)))
    return calls
