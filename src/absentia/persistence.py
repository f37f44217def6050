"""Keep fitted models in files that run no code when they are opened.

The format is that of skops: a zip archive of arrays and of a description of the objects that they
belong to. Opening one makes objects of types that are trusted and no others, sets their
attributes, and calls nothing that the file names. :func:`trusted_types` says what is trusted.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile
from zlib import error as ZlibError

import numpy as np
from sklearn import calibration
from sklearn.base import BaseEstimator

from absentia import kernels
from absentia.beliefs import Beliefs, ConditionalCovariances, ExplicitCovariances, Prior

__all__ = ["load", "save", "trusted_types"]

_MARK = "absentia.json"
_FORMAT = 1
#: What a CalibratedClassifierCV holds: scikit-learn's, but not among what skops trusts by itself.
_CALIBRATORS = ("_CalibratedClassifier", "_SigmoidCalibration", "_TemperatureScaling")
_DAMAGE = (
    BadZipFile,
    ZlibError,
    json.JSONDecodeError,
    UnicodeDecodeError,
    EOFError,
    KeyError,
    IndexError,
    AttributeError,
    TypeError,
    ValueError,
)


def trusted_types() -> list[type]:
    """Return the types that a file may hold: absentia's public classes and what they carry.

    All of them are plain holders of parameters and arrays, and so are the parts of scikit-learn's
    ``CalibratedClassifierCV``, which are among them. Beside them :func:`load` accepts what
    skops trusts by itself: scikit-learn's estimators, NumPy's arrays and Python's containers,
    numbers and strings; so a pipeline with a scaler and a machine can be kept as a whole.
    Functions are not trusted, those of a user's own module least of all.

    Examples
    --------
    >>> from absentia import SVC
    >>> from absentia.persistence import trusted_types
    >>> SVC in trusted_types()
    True
    """
    import absentia  # here, because absentia itself imports this module

    public = [getattr(absentia, name) for name in absentia.__all__]
    public += [getattr(kernels, name) for name in kernels.__all__]
    carried: list[type] = [Prior, ConditionalCovariances, ExplicitCovariances]
    kinds = [value for value in public if isinstance(value, type) and value not in carried]
    # Private names, which a version of scikit-learn may not have.
    carried += [getattr(calibration, n) for n in _CALIBRATORS if hasattr(calibration, n)]
    return [*dict.fromkeys(kind for kind in kinds if not issubclass(kind, Warning)), *carried]


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a machine, a density or a pipeline that holds them to a file.

    The file appears whole or not at all: it is written beside its place and then moved there.

    Parameters
    ----------
    model : estimator
        Fitted or not.
    path : str or path
        Where to; an existing file is replaced.

    Raises
    ------
    TypeError
        For what is no estimator, and for estimators that hold something :func:`load` would
        refuse, such as a function of your own.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np
    >>> from absentia import SVC, load, save
    >>> X = np.array([[-2.0, -1.5], [-1.0, np.nan], [np.nan, -2.0], [1.0, 1.5], [np.nan, 1.0]])
    >>> machine = SVC().fit(X, [0, 0, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(machine, pathlib.Path(folder) / "machine.skops")
    ...     again = load(pathlib.Path(folder) / "machine.skops")
    >>> bool((again.decision_function(X) == machine.decision_function(X)).all())
    True
    """
    skops = _skops()
    if not isinstance(model, BaseEstimator):
        raise TypeError(
            f"Only estimators can be saved (machines, densities, pipelines), found "
            f"{type(model).__name__}."
        )
    place = Path(path)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=f".{place.name}.") as folder:
        draft = Path(folder) / place.name
        skops.dump(model, draft, compression=ZIP_DEFLATED, compresslevel=1)
        with ZipFile(draft, "a", compression=ZIP_DEFLATED) as archive:
            archive.writestr(_MARK, json.dumps({"format": _FORMAT, "kind": type(model).__name__}))
        refused = _untrusted(skops, draft)
        if refused:
            raise TypeError(
                f"This {type(model).__name__} holds {', '.join(refused)}, which load would refuse "
                "to make from a file. Remove it (of a GridSearchCV save the best_estimator_), or "
                "use joblib, whose files run code when opened."
            )
        os.replace(draft, place)


def load(path: str | os.PathLike[str]) -> Any:
    """Read back what :func:`save` wrote.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    estimator
        With the same parameters and, to the last bit, the same predictions.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is damaged, was not written by :func:`save`, or holds a type that is not
        trusted; nothing of it has been run or made then.
    """
    skops = _skops()
    place = Path(path)
    if not place.is_file():
        raise FileNotFoundError(f"There is no file {str(place)!r} to load a model from.")
    try:
        mark = _mark_of(place)
    except _DAMAGE as error:
        raise _damaged(place, error) from error
    if mark is None:
        raise ValueError(
            f"{str(place)!r} was not written by absentia.save. Files of other tools are read by "
            "those tools: skops.io.load, joblib.load."
        )
    if mark.get("format") != _FORMAT:
        raise ValueError(
            f"{str(place)!r} has format {mark.get('format')!r}, and this version of absentia reads "
            f"format {_FORMAT}. Use the version that wrote it, or save the model anew."
        )
    try:
        refused = _untrusted(skops, place)
        model = None if refused else skops.load(place, trusted=trusted_types())
        _check_consistent(model)
    except _DAMAGE as error:
        raise _damaged(place, error) from error
    if refused:
        raise ValueError(
            f"{str(place)!r} holds types that are not trusted: {', '.join(refused)}. Nothing was "
            "loaded. If you know and trust the file, skops.io.load lets you name them."
        )
    if not isinstance(model, BaseEstimator):
        raise ValueError(f"{str(place)!r} holds a {type(model).__name__}, which is no estimator.")
    return model


def _mark_of(place: Path) -> dict[str, Any] | None:
    """Return what :func:`save` wrote about the file, or None where another tool wrote it."""
    with ZipFile(place) as archive:
        if _MARK not in archive.namelist():
            return None
        mark: dict[str, Any] = dict(json.loads(archive.read(_MARK)))
        return mark


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(
            "Saving and loading use skops, which is not installed: install absentia[persistence]."
        ) from error
    return skops.io


def _untrusted(skops: Any, place: Path) -> list[str]:
    """Return the names of the types in a file that are not trusted, without making any of them."""
    trusted = {f"{kind.__module__}.{kind.__qualname__}" for kind in trusted_types()}
    return [name for name in skops.get_untrusted_types(file=place) if name not in trusted]


def _damaged(place: Path, error: Exception) -> ValueError:
    return ValueError(
        f"{str(place)!r} is no model file, or is damaged ({type(error).__name__}: {error}). Save "
        "the model anew."
    )


def _check_consistent(value: Any, seen: set[int] | None = None) -> None:
    """Raise where beliefs point outside their own tables.

    Compiled code trusts these numbers, so a file must not be able to send it astray.
    """
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, Beliefs):
        _check_beliefs(value)
    elif isinstance(value, dict):
        for inner in value.values():
            _check_consistent(inner, seen)
    elif isinstance(value, list | tuple):
        for inner in value:
            _check_consistent(inner, seen)
    elif isinstance(value, BaseEstimator):
        _check_consistent(vars(value), seen)


def _check_beliefs(beliefs: Beliefs) -> None:
    n, k, d = beliefs.means.shape
    masks, table = beliefs.patterns.masks, beliefs.covariances
    shapes_fit = (
        beliefs.log_weights.shape == (n, k)
        and beliefs.group_of_row.shape == beliefs.patterns.pattern_of_row.shape == (n,)
        and masks.shape[1:] == (d,)
        and (table.n_components, table.n_features) == (k, d)
        and beliefs.prior.means.shape == beliefs.prior.covariances.shape[:2]
        and beliefs.prior.covariances.shape[1:] == (beliefs.prior.n_features,) * 2
    )
    if not shapes_fit:
        raise ValueError("beliefs with arrays of different sizes")
    for places, size in (
        (beliefs.group_of_row, table.n_groups),
        (beliefs.patterns.pattern_of_row, len(masks)),
    ):
        if places.dtype.kind != "i" or (n and not 0 <= places.min() <= places.max() < size):
            raise ValueError("beliefs about patterns that are not there")
    if not np.isfinite(beliefs.means).all():
        raise ValueError("beliefs that are not finite")
