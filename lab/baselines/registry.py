"""One list of everything that can be compared: absentia's machines and their rivals.

Every entry makes an ordinary scikit-learn estimator that takes rows with NaN, says what it can do,
which parameters are worth tuning, where it comes from, and which extra it needs.
"""

from __future__ import annotations

from absentia.machines.targets import Task
from lab.baselines.comparator import TAGS, Comparator
from lab.baselines.entries import ENTRIES


def registry(
    task: Task | None = None, *, available: bool = False, **tags: bool
) -> dict[str, Comparator]:
    """Return the methods that can be compared, by name.

    Parameters
    ----------
    task : {"classification", "regression"}, optional
        Only methods that do it.
    available : bool, default=False
        Only methods whose requirements are installed.
    **tags : bool
        Only methods for which this holds: ``multiclass=True``, ``own=False``, ...

    Returns
    -------
    dict of str to Comparator
        absentia's own first, then imputation, then machines and learners that take NaN.

    Examples
    --------
    >>> from lab.baselines import registry
    >>> "karma" in registry("classification", own=False)
    True
    >>> registry()["mean"].make()
    Pipeline(steps=[('standardscaler', StandardScaler()), ('simpleimputer',
        SimpleImputer(keep_empty_features=True)), ('svc', SVC())])
    """
    unknown = sorted(set(tags) - set(TAGS))
    if unknown:
        raise ValueError(f"There is no tag {unknown[0]!r}; the tags are {', '.join(TAGS)}.")
    if task not in (None, "classification", "regression"):
        raise ValueError(f"task must be 'classification' or 'regression', found {task!r}.")
    return {
        entry.name: entry
        for entry in ENTRIES
        if (task is None or task in entry.grids)
        and (not available or entry.is_available())
        and all(getattr(entry, tag) == wanted for tag, wanted in tags.items())
    }
