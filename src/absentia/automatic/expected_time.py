"""How long a member will take, from how long others took on the same table.

A kernel search cannot be interrupted, so that it must not be begun when the time left does not
suffice. Seconds depend on the machine and on what else it does; their ratios depend little on it.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["expected_seconds"]

#: The member whose time tells most about that of another, and how many times that is: ratios of
#: processor time on 1000 and 2400 rows of 20 columns and on 600 rows of 474, nearer to the largest
#: than to the smallest, because a member that is begun in vain takes the time of all later ones.
_LIKE = {
    "linear": ("forest", 0.6),
    "beliefs": ("linear", 4.0),
    "boosting": ("forest", 0.9),
    "extra-trees": ("forest", 0.7),
    "indicators": ("beliefs", 1.0),
    "beliefs-mask": ("beliefs", 2.5),
    "beliefs-scores": ("beliefs", 1.5),
    "beliefs-mixture": ("beliefs", 6.0),
    "gaussian-process": ("beliefs", 10.0),
}


def expected_seconds(name: str, taken: Mapping[str, float]) -> float:
    """Return about how long a member will take.

    Parameters
    ----------
    name : str
    taken : dict
        Seconds that members took, by name.

    Returns
    -------
    float
        From the member that is most like it, or from the one that *that* is most like; as long as
        the quickest so far where there is none, as for a user's own estimator.

    Examples
    --------
    >>> from absentia.automatic.expected_time import expected_seconds
    >>> expected_seconds("beliefs", {"forest": 8.0, "linear": 5.0})
    20.0
    >>> expected_seconds("beliefs-mask", {"forest": 8.0, "linear": 5.0})
    50.0
    >>> expected_seconds("mine", {"forest": 8.0, "linear": 5.0})
    5.0
    """
    times = 1.0
    while name not in taken:
        if name not in _LIKE:
            return min(taken.values(), default=0.0)
        name, ratio = _LIKE[name]
        times *= ratio
    return times * taken[name]
