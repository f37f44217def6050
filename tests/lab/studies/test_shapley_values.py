"""The study of explanations: the truth, and the values that it is compared with."""

from __future__ import annotations

import numpy as np

from lab.studies.shapley_values import Law, main, ours


def test_values_approach_those_of_the_law():
    law = Law(4, n_rows=400)
    x = law.rows[0]
    truth = law.truth(x, 2000)
    found = ours(law, law.rows[:1], law.with_holes(0.3))
    np.testing.assert_allclose(found[0], truth, atol=0.3)  # an estimated density, 64 draws


def test_the_table_has_a_line_for_each_rate(capsys):
    lines = main(4, 1, 50, 4)
    assert sum(line.startswith("| absentia") for line in lines) == 2
    assert "Root mean square" in capsys.readouterr().out
