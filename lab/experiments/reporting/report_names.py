"""Names in a report: methods, facts of a run, files."""

from __future__ import annotations

from typing import Any

from lab.experiments.methods import METHODS

_LONGEST_NAME = 150


#: What only single protocols have.
_DESCRIPTIONS = {
    "egk-independent": "the same with the variance as printed, coordinates taken as independent",
    "complete": "the same machine on complete rows: a bound",
    "robust-joint": "expected RBF with its variance; tau, penalty and width tuned together",
    "random": "values in a random order, another for each row",
    "mutual-information": "columns by their mutual information with the class, per cost",
    "permutation-importance": "columns by the rise of the log loss when shuffled, per cost",
    "measure-next": "the value with the largest expected gain per cost, for each row",
}


def description(method: str) -> str:
    """Return what a method is in a phrase."""
    return METHODS[method].description if method in METHODS else _DESCRIPTIONS.get(method, "")


def in_words(names: list[str] | tuple[str, ...]) -> str:
    """Return names as a list of a sentence."""
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def slug(text: str) -> str:
    """Return text as a part of a file name: letters, digits and hyphens."""
    kept = "".join(letter if letter.isalnum() else "-" for letter in text.lower())
    return "-".join(part for part in kept.split("-") if part)


def file_name(text: str) -> str:
    """Return text from a file of results as the name of a file: no folders, nothing hidden.

    Examples
    --------
    >>> file_name("removal-../../etc/x-0")
    'removal-.._.._etc_x-0'
    """
    kept = "".join(c if c.isalnum() or c in "._-" else "_" for c in text)
    return kept.lstrip(".")[:_LONGEST_NAME] or "_"


def shown_facts(facts: dict[str, Any]) -> str:
    """Return what a method noted of itself, on one line."""
    shown = {name: value for name, value in facts.items() if name != "calibration"}
    return ", ".join(f"{name}={value}" for name, value in shown.items())
