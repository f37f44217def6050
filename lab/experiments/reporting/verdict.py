"""What a comparison on one table says, in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from absentia.tables import FloatArray

__all__ = ["Verdict", "judge", "standard_error"]

_LEVEL = 0.05
#: A method is called faster where it takes at most half the time.
_FASTER = 2.0
_FEW = 4


@dataclass(frozen=True)
class Verdict:
    """Which method to use, which are as good, and why.

    Attributes
    ----------
    best : str
    as_good : tuple of str
        Others without a significant difference to it, best first.
    means, errors : dict
        Score and its standard error, by method, best first.
    sentence : str
    """

    best: str
    as_good: tuple[str, ...]
    means: dict[str, float]
    errors: dict[str, float]
    sentence: str


def standard_error(values: FloatArray, n_folds: int) -> float:
    """Return the standard error of a mean over folds of repeated cross-validation.

    Training sets of folds overlap, so the variance of the mean is not ``s^2 / n``; Nadeau and
    Bengio (2003) put ``s^2 (1/n + n_test/n_train)``.

    Examples
    --------
    >>> import numpy as np
    >>> from lab.experiments.reporting.verdict import standard_error
    >>> round(standard_error(np.array([0.8, 0.9, 0.7, 0.8, 0.8]), 5), 4)
    0.0474
    """
    if len(values) < 2:
        return float("nan")
    return float(np.std(values, ddof=1) * np.sqrt(1 / len(values) + 1 / (n_folds - 1)))


def judge(
    scores: Mapping[str, FloatArray],
    seconds: Mapping[str, float],
    measure: str,
    baseline: float,
    *,
    n_folds: int = 5,
) -> Verdict:
    """Say which method to use.

    Parameters
    ----------
    scores : mapping
        Of methods to their scores, the same folds in the same order; larger is better.
    seconds : mapping
        Of methods to the seconds that a fold took.
    measure : str
        What the scores are, such as ``"accuracy"``.
    baseline : float
        The score of the best constant answer.
    n_folds : int, default=5

    Examples
    --------
    >>> import numpy as np
    >>> from lab.experiments.reporting.verdict import judge
    >>> scores = {"a": np.array([0.8, 0.9, 0.85]), "b": np.array([0.79, 0.91, 0.84])}
    >>> print(judge(scores, {"a": 10.0, "b": 1.0}, "accuracy", 0.5).sentence)
    Use a: accuracy 0.850 ± 0.038. There is no significant difference from b. b is 10 times faster.
    """
    order = sorted(scores, key=lambda name: -float(np.mean(scores[name])))
    means = {name: float(np.mean(scores[name])) for name in order}
    errors = {name: standard_error(scores[name], n_folds) for name in order}
    best = order[0]
    as_good = tuple(n for n in order[1:] if not _behind(scores[best], scores[n], n_folds))
    sentences = [f"Use {best}: {measure} {means[best]:.3f} ± {errors[best]:.3f}."]
    if means[best] - 2 * errors[best] <= baseline:
        sentences = [
            f"No method is clearly better than the best constant answer ({baseline:.3f}): the "
            f"best, {best}, has {measure} {means[best]:.3f} ± {errors[best]:.3f}."
        ]
    if len(order) > 1 and not as_good:
        sentences.append("It is significantly ahead of all others.")
    elif as_good and len(as_good) == len(order) - 1 and len(order) > 2:
        sentences.append(f"There is no significant difference between the {len(order)} methods.")
    elif as_good:
        shown = list(as_good[:_FEW])
        more = f" and {len(as_good) - _FEW} more" if len(as_good) > _FEW else ""
        sentences.append(f"There is no significant difference from {', '.join(shown)}{more}.")
    quick = min(as_good, key=lambda name: seconds[name], default=None)
    if quick is not None and seconds[best] >= _FASTER * seconds[quick] > 0:
        ratio = seconds[best] / seconds[quick]
        sentences.append(f"{quick} is {ratio:.0f} times faster.")
    return Verdict(best, as_good, means, errors, " ".join(sentences))


def _behind(best: FloatArray, other: FloatArray, n_folds: int) -> bool:
    """Return whether a method is significantly behind on the same folds (corrected t-test)."""
    difference = np.asarray(best) - np.asarray(other)
    error = standard_error(difference, n_folds)
    if not np.isfinite(error):
        return False
    return float(difference.mean()) > student.ppf(1 - _LEVEL / 2, len(difference) - 1) * error
