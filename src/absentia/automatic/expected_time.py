"""How long a member will take, from how long others took on the same table.

A kernel search cannot be interrupted, so that it must not be begun when the time left does not
suffice. Seconds depend on the machine and on what else it does; their ratios depend little on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["expected_seconds", "quick_first"]

#: The member whose time tells most about that of another, and how many times that is: ratios of
#: processor time on 1000 and 2400 rows of 20 columns and on 600 rows of 474, nearer to the largest
#: than to the smallest, because a member that is begun in vain takes the time of all later ones.
#: Forests took 1.1 to 58 times as long as linear models: a ratio near the largest would leave out
#: all trees of large tables, and the linear model, which is tried first, is there in any case.
_LIKE = {
    "forest": ("linear", 3.0),
    "linear": ("forest", 0.6),
    "beliefs": ("linear", 4.0),
    "boosting": ("forest", 0.9),
    "extra-trees": ("forest", 0.7),
    "indicators": ("beliefs", 2.0),
    "beliefs-mask": ("beliefs", 2.5),
    "beliefs-scores": ("beliefs", 2.5),
    "beliefs-mixture": ("beliefs", 6.0),
    "gaussian-process": ("beliefs", 10.0),
}


#: The same for kernel members that work on Fourier features, without a search on Gram matrices.
_LIKE_ON_FEATURES = _LIKE | {"beliefs": ("linear", 1.0)}


def quick_first(names: Sequence[str]) -> list[int]:
    """Return in which order members are tried where time is limited: the linear one first.

    The first member is tried whatever the budget. On a few hundred rows a forest takes several
    times as long as the linear model, and may be all that a short budget has time for.

    Examples
    --------
    >>> from absentia.automatic.expected_time import quick_first
    >>> quick_first(["forest", "linear", "beliefs"])
    [1, 0, 2]
    """
    return sorted(range(len(names)), key=lambda k: names[k] != "linear")


def expected_seconds(name: str, taken: Mapping[str, float], *, on_features: bool = False) -> float:
    """Return about how long a member will take.

    Parameters
    ----------
    name : str
    taken : dict
        Seconds that members took, by name.
    on_features : bool, default=False
        Whether the member, if it has a kernel, works on Fourier features.

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
    >>> expected_seconds("beliefs", {"forest": 8.0, "linear": 5.0}, on_features=True)
    5.0
    >>> expected_seconds("beliefs-mask", {"forest": 8.0, "linear": 5.0})
    50.0
    >>> expected_seconds("mine", {"forest": 8.0, "linear": 5.0})
    5.0
    """
    like = _LIKE_ON_FEATURES if on_features else _LIKE
    times, passed = 1.0, set[str]()
    while name not in taken:
        passed.add(name)
        if name not in like or like[name][0] in passed:
            return min(taken.values(), default=0.0)
        name, ratio = like[name]
        times *= ratio
    return times * taken[name]
