"""A model in production: what the demonstration says about it holds together."""

from __future__ import annotations

import numpy as np
import pytest

from lab.demo import answer_incomplete_rows


@pytest.fixture(scope="module")
def answers():
    return answer_incomplete_rows(max_iter=5, n_draws=8)


def test_the_row_shown_misses_values_and_the_list_names_them(answers):
    missing = [
        name for name, value in zip(answers.names, answers.row, strict=True) if np.isnan(value)
    ]
    ranking = answers.next.ranking(0)
    assert sorted(ranking) == sorted(missing)
    gains = [answers.next.gain[0, list(answers.names).index(name)] for name in ranking]
    assert gains == sorted(gains, reverse=True)
    assert answers.doubt.missing[0] > 0


def test_a_person_can_read_it(answers):
    text = str(answers)
    for phrase in ("50% of the values", "before", "after", "due to the missing values", "nats"):
        assert phrase in text
    assert answers.next.best[0] in text
    # Nobody wins by a margin here: values that are not missing are the only sure advantage.
    complete, *others = (loss for _, loss in answers.scores.values())
    assert all(complete < loss for loss in others)
