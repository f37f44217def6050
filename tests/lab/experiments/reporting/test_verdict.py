"""The verdict of a comparison on one table."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_rel

from lab.experiments.reporting.verdict import judge, standard_error

RNG = np.random.default_rng(0)
FOLDS = RNG.normal(0.8, 0.02, size=5)


def test_the_error_is_larger_than_that_of_independent_folds():
    plain = FOLDS.std(ddof=1) / np.sqrt(5)
    # 1/n + 1/(k - 1) in place of 1/n.
    assert standard_error(FOLDS, 5) == pytest.approx(plain * np.sqrt(1 + 5 / 4))
    assert np.isnan(standard_error(FOLDS[:1], 5))


def test_what_is_far_behind_is_not_as_good_and_the_quick_one_is_named():
    scores = {
        "slow": FOLDS + 0.001,
        "quick": FOLDS + 1e-3 * np.array([1, -1, 1, -1, 1]),
        "poor": FOLDS - 0.1 + 1e-3 * np.array([1, 0, 1, 0, 1]),
    }
    found = judge(scores, {"slow": 30.0, "quick": 2.0, "poor": 1.0}, "accuracy", 0.5)
    assert (found.best, found.as_good) == ("slow", ("quick",))
    assert "no significant difference from quick" in found.sentence
    assert "quick is 15 times faster" in found.sentence
    assert ttest_rel(scores["slow"], scores["poor"]).pvalue < 1e-4


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ({"a": FOLDS}, "Use a: R²"),
        ({"a": FOLDS, "b": FOLDS, "c": FOLDS}, "no significant difference between the 3 methods"),
        ({"a": FOLDS, "b": FOLDS - 0.2 + 0.001 * RNG.normal(size=5)}, "significantly ahead of all"),
        ({"a": FOLDS[:1], "b": FOLDS[:1] - 0.5}, "no significant difference from b"),
    ],
)
def test_sentences_of_the_corners(scores, said):
    assert said in judge(scores, dict.fromkeys(scores, 1.0), "R²", 0.0).sentence


def test_nothing_learned_is_said():
    found = judge({"a": FOLDS}, {"a": 1.0}, "accuracy", 0.8)
    assert found.sentence.startswith("No method is clearly better than the best constant answer")
