"""The data sets of the experiments, from a folder of CSV files.

``load("ionosphere")`` looks for ``ionosphere.csv`` or ``ionosphere.csv.gz`` in the folder given, or
else in the one that the environment variable ``ABSENTIA_DATA`` names, and then in the cache, which
:mod:`lab.data.fetching` fills. Files are checked against a sha256, so that a result can be traced
to the bytes it was made from.

The files have a header row, an empty cell where a value is missing, and the column ``target`` last.
"""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from absentia.machines.targets import Task
from absentia.recipe.learning_table import guess_task, sample_in_proportion, target_values
from absentia.tables import FloatArray, IntArray, Table
from absentia.tables.encoder import TableEncoder
from absentia.tables.files.delimited import read_csv
from absentia.tables.files.formats import unpacked

#: A numeric target with more different values than this is taken for a quantity, not for classes.
#: Columns of text with more values than this are left out of the experiments.
_MAX_CATEGORIES = 60


@dataclass(frozen=True)
class Record:
    """Facts about a data set that are known before it is read (see ``sources.toml``)."""

    name: str
    task: Task
    sha256: str
    licence: str
    source: str
    openml_id: int | None = None
    url: str = ""
    raw: str = ""
    separator: str = ","
    start: str = ""
    skip: int = 0
    recode: Sequence[dict[str, Any]] = ()


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table ready for an experiment: numbers with NaN where missing, and a target.

    Attributes
    ----------
    name : str
    task : {"classification", "regression"}
    X : ndarray of shape (n_samples, n_features)
        Text columns are one-hot encoded; a missing word is NaN in each of its columns.
    y : ndarray of shape (n_samples,)
        Class labels as they are in the file, or float64.
    feature_names : tuple of str
    sha256 : str
        Of the file that was read.
    notes : tuple of str
        What was done to the columns.
    limits : pair of ndarray of shape (n_samples, n_features), or None
        Lower and upper limits of missing values, infinite where there is none.
    """

    name: str
    task: Task
    X: FloatArray
    y: np.ndarray
    feature_names: tuple[str, ...]
    sha256: str = ""
    notes: tuple[str, ...] = ()
    limits: tuple[FloatArray, FloatArray] | None = None

    def table(self, rows: IntArray) -> FloatArray | Table:
        """Return some of the rows, as a table where some of their values have limits."""
        if self.limits is None:
            return self.X[rows]
        return Table(self.X[rows], lower=self.limits[0][rows], upper=self.limits[1][rows])

    @property
    def n_limits(self) -> int:
        """The number of missing values that have a limit."""
        return 0 if self.limits is None else int(np.isfinite(self.limits).any(axis=0).sum())

    @property
    def missing_rate(self) -> float:
        """The share of the values that is missing."""
        return float(np.isnan(self.X).mean())

    def rows(self, rows: IntArray) -> Dataset:
        """Return the same data set with some of the rows only."""
        limits = None if self.limits is None else (self.limits[0][rows], self.limits[1][rows])
        return replace(self, X=self.X[rows], y=self.y[rows], limits=limits)

    def sample(self, n: int, *, random_state: int = 0) -> Dataset:
        """Return ``n`` of the rows in their order, classes in proportion; all if there are fewer.

        Examples
        --------
        >>> import numpy as np
        >>> y = np.repeat(["a", "b"], [80, 20])
        >>> data = Dataset("d", "classification", np.zeros((100, 1)), y, ("x",))
        >>> np.unique(data.sample(10).y, return_counts=True)[1].tolist()
        [8, 2]
        """
        if len(self.y) <= n:
            return self
        classes = self.y if self.task == "classification" else None
        return self.rows(sample_in_proportion(classes, len(self.y), n, random_state))

    def columns(self, columns: IntArray) -> Dataset:
        """Return the same data set with some of the columns only."""
        names = tuple(self.feature_names[j] for j in columns)
        limits = None
        if self.limits is not None:
            limits = self.limits[0][:, columns], self.limits[1][:, columns]
        return replace(self, X=self.X[:, columns], feature_names=names, limits=limits)


@cache
def records() -> dict[str, Record]:
    """Return what is known of each data set, by name."""
    text = files("lab.data").joinpath("sources.toml").read_text(encoding="utf-8")
    return {name: Record(name=name, **facts) for name, facts in tomllib.loads(text).items()}


def available(folder: str | os.PathLike[str] | None = None) -> list[str]:
    """Return the names of the data sets whose files are available, sorted."""
    names = set()
    for place in _places(folder):
        for pattern in ("*.csv", "*.csv.gz"):
            names |= {path.name.removesuffix(".gz")[:-4] for path in place.glob(pattern)}
    return sorted(names)


def load(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    verify: bool = True,
) -> Dataset:
    """Return a data set by name.

    Parameters
    ----------
    name : str
        The file's name without ``.csv`` or ``.csv.gz``.
    folder : path, optional
        Where the files are; by default the folder named by ``ABSENTIA_DATA``. The cache
        (``ABSENTIA_CACHE``, or ``absentia`` in the user's cache folder) is searched after it.
    verify : bool, default=True
        Refuse a file whose sha256 is not the recorded one. A user's own files, which have no
        record, are always accepted.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from lab.data import datasets
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "mine.csv").write_text("a,colour,target\\n1,red,x\\n,blue,y\\n3,,x\\n")
    >>> data = datasets.load("mine", folder)
    >>> data.task, data.feature_names, data.X.tolist()
    ('classification', ('a', 'colour=red'), [[1.0, 1.0], [nan, 0.0], [3.0, nan]])
    """
    record = records().get(name)
    path = _find(name, folder)
    if path is None:
        raise ValueError(_not_found(name, folder, record))
    digest = _sha256(path)
    expected = record.sha256 if record else ""
    if verify and expected and digest != expected:
        raise ValueError(
            f"{path} is not the file that was recorded for {name!r} (sha256 {digest[:12]}..., "
            f"expected {expected[:12]}...). Fetch it again, or pass verify=False to use it anyway."
        )
    frame = read_csv(unpacked(path.read_bytes(), path.name).decode(), source=str(path))
    if frame.columns[-1] != "target":
        raise ValueError(
            f"{path} must have 'target' as its last column, found {str(frame.columns[-1])!r}."
        )
    target = frame.pop("target")
    if target.isna().any():
        raise ValueError(f"{path} has {int(target.isna().sum())} rows without a target.")
    task = record.task if record else guess_task(target)
    encoder = TableEncoder(max_categories=_MAX_CATEGORIES, keep_ids=True)
    numbers = encoder.fit_transform(frame)
    return Dataset(
        name,
        task,
        numbers,
        target_values(target, task),
        tuple(encoder.get_feature_names_out()),
        digest,
        tuple(encoder.notes_),
    )


def cache_folder() -> Path:
    """Return where downloads are kept."""
    named = os.environ.get("ABSENTIA_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "absentia"


def require(names: Iterable[str], folder: str | os.PathLike[str] | None = None) -> None:
    """Raise where the file of a data set is in no folder, and say how to get it."""
    missing = sorted(name for name in names if _find(name, folder) is None)
    if missing:
        searched = ", ".join(str(place) for place in _places(folder))
        raise ValueError(
            f"There is no file of {', '.join(missing)} in {searched}. Run `python -m lab data "
            f"fetch {' '.join(missing)}`, or name the folder that has them by --data or "
            "ABSENTIA_DATA."
        )


def _places(folder: str | os.PathLike[str] | None) -> list[Path]:
    if folder is not None:
        return [Path(folder)]
    named = os.environ.get("ABSENTIA_DATA")
    return [*([Path(named)] if named else []), cache_folder()]


def _find(name: str, folder: str | os.PathLike[str] | None) -> Path | None:
    if Path(name).name != name:
        raise ValueError(f"The name of a data set must not be a path, found {name!r}: use folder=.")
    places = _places(folder)
    # A folder that was asked for comes first, but what was downloaded before is found again.
    for place in [*places, *([cache_folder()] if cache_folder() not in places else [])]:
        for ending in (".csv", ".csv.gz"):
            path = place / f"{name}{ending}"
            if path.is_file():
                return path
    return None


def _not_found(name: str, folder: str | os.PathLike[str] | None, record: Record | None) -> str:
    searched = ", ".join(str(place) for place in _places(folder))
    sentence = f"There is no {name}.csv or {name}.csv.gz in {searched}"
    if record is None:
        known = ", ".join(sorted(records()))
        return f"{sentence}, and the name is not one of the known data sets: {known}."
    return f"{sentence}: run `python -m lab data fetch {name}`, or pass the folder that has it."


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
