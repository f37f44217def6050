"""Writing and reading model files.

A file is compressed by gzip. Its first line is a JSON object with the format, the versions that
wrote it, the types and shapes of arrays, and the nodes of a model (:mod:`.nodes`). The bytes of the
arrays follow, one after the other, and nothing else. See ``docs/security.md`` for what is checked.
"""

from __future__ import annotations

import json
import math
import os
import warnings
import zlib
from gzip import GzipFile
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning

from absentia.persistence.contents import check_model
from absentia.persistence.kinds import model_types
from absentia.persistence.nodes import NotTrustedError, Reader, Writer, name_of_type, type_of_name
from absentia.tables.files.formats import replaced

#: Beginning of a file: gzip's, without a name, a comment or other fields that nobody reads.
_MAGIC = b"\x1f\x8b\x08\x00"
_FORMAT = 4
_FIELDS = {"format", "versions", "arrays", "model"}
_VERSIONS = ("absentia", "scikit-learn", "numpy")
_MAX_BYTES = 2**30
#: More than any file has.
_UNLIMITED = 2**62
#: The description grows some sixty times in memory, so its share of the limit is smaller.
_SHARE = 64
#: Bytes that are unpacked at once.
_STEP = 2**16
#: Bytes that an entry of an empty array may take, from which a type of numbers or text is read.
_WIDEST_ENTRY = 2**16


def save(model: BaseEstimator, path: str | os.PathLike[str]) -> None:
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
        For anything but an estimator, and for estimators that hold something :func:`load`
        would refuse, such as a user-defined function, or that lack what ``fit`` leaves behind.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np
    >>> from absentia import SVC, load, save
    >>> X = np.array([[-2.0, -1.5], [-1.0, np.nan], [np.nan, -2.0], [1.0, 1.5], [np.nan, 1.0]])
    >>> machine = SVC().fit(X, [0, 0, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(machine, pathlib.Path(folder) / "machine.absentia")
    ...     again = load(pathlib.Path(folder) / "machine.absentia")
    >>> bool((again.decision_function(X) == machine.decision_function(X)).all())
    True
    """
    if not isinstance(model, BaseEstimator):
        raise TypeError(
            f"Only estimators can be saved (machines, densities, pipelines), found "
            f"{type(model).__name__}."
        )
    try:
        writer = Writer()
        header = {
            "format": _FORMAT,
            "versions": {name: version(name) for name in _VERSIONS},
            "model": writer.node(model),
            "arrays": [
                [name_of_type(array.dtype), list(array.shape), _order(array)]
                for array in writer.arrays
            ],
        }
        with replaced(path) as draft, open(draft, "w+b") as stream:
            with GzipFile("", "wb", 1, stream, mtime=0) as packed:
                packed.write(json.dumps(header).encode() + b"\n")
                for array in writer.arrays:
                    packed.write(array.tobytes(_order(array)))
            stream.seek(0)
            # What was written is checked as load does; the caller's model is not touched.
            _read(stream, _UNLIMITED)
    except NotTrustedError as error:
        raise TypeError(
            f"This {type(model).__name__} holds {error}, which load would refuse to create "
            "from a file. Remove it, or use joblib, whose files run code when opened."
        ) from None
    except (OSError, MemoryError):
        raise
    except Exception as error:
        raise TypeError(f"load would refuse this model: {error}.") from error


def load(path: str | os.PathLike[str], *, max_bytes: int = _MAX_BYTES) -> BaseEstimator:
    """Read back what :func:`save` wrote.

    Parameters
    ----------
    path : str or path
    max_bytes : int, default=2**30
        The most that the arrays of the model may take, in bytes. A small file can unpack to a
        very large model; raise this for large models from a source that you trust.

    Returns
    -------
    estimator
        With the same parameters and the same predictions, to the last bit for models of absentia.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is damaged, was not written by :func:`save`, is larger than ``max_bytes``,
        holds a type that is not trusted, or values that do not fit together: before a model is
        returned it answers two rows.

    Examples
    --------
    >>> import tempfile
    >>> from absentia import KernelRidge, load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(KernelRidge().fit([[0.0], [1.0]], [0.0, 1.0]), f"{folder}/ridge.absentia")
    ...     load(f"{folder}/ridge.absentia").predict([[1.0]]).round(1)
    array([0.5])
    """
    place = Path(path)
    if not place.is_file():
        kind = "regular file" if place.exists() else "file"  # a folder, a pipe
        raise FileNotFoundError(f"There is no {kind} {str(place)!r} to load a model from.")
    try:
        with open(place, "rb") as stream:
            return _read(stream, max_bytes)
    except _RefusedError as error:
        raise ValueError(f"{str(place)!r} {error}") from None
    except NotTrustedError as error:
        raise ValueError(
            f"{str(place)!r} holds something that is not trusted: {error}. Nothing was loaded."
        ) from None
    except Warning:  # made an exception by a filter of the caller's
        raise
    except Exception as error:  # whatever a damaged file leads to, memory and recursion too
        raise ValueError(
            f"{str(place)!r} is not a model file, or is damaged ({type(error).__name__}: "
            f"{error}). Save the model again."
        ) from error


class _RefusedError(ValueError):
    """Reason why a whole file is not read."""


def _read(stream: BinaryIO, max_bytes: int) -> BaseEstimator:
    """Return the model of a file, checked."""
    start = stream.read(_STEP)
    if start[: len(_MAGIC)] != _MAGIC:
        raise _RefusedError(
            "was not written by absentia.save. Read it with the tool that wrote it, such as "
            "joblib.load, if you trust the file."
        )
    if not zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(start, 1):
        raise ValueError("an archive without content before the model")
    stream.seek(0)
    most = max_bytes // _SHARE
    with GzipFile(fileobj=stream) as packed:
        line = packed.readline(most + 1)
        header = _header(line) if len(line) <= most else {"arrays": []}
        layouts = _layouts(header["arrays"])
        size = len(line) + sum([math.prod(shape) * dtype.itemsize for shape, dtype, _ in layouts])
        if size > max_bytes or len(line) > most:
            raise _RefusedError(
                f"unpacks to {size:,} bytes or more, {len(line):,} of them a description, but at "
                f"most {max_bytes:,} and {most:,} are allowed. If you trust the file, call load "
                "with a larger max_bytes."
            )
        arrays = _arrays(packed, layouts)
        behind = packed.read(1)
        stream.seek(-4, os.SEEK_END)
        # The last bytes of a file are its size, unless zeros or other archives follow.
        if behind or int.from_bytes(stream.read(4), "little") != size % 2**32:
            raise ValueError("bytes behind the last array")
    reader = Reader(arrays, most)
    model: BaseEstimator = reader.model(header["model"])
    if type(model) not in model_types():
        raise _RefusedError(f"holds a {type(model).__name__}, which is not a model by itself.")
    check_model(model, reader.objects)
    written, current = header["versions"]["scikit-learn"], version("scikit-learn")
    if written != current and b'{"sklearn.' in line:
        warnings.warn(
            InconsistentVersionWarning(
                estimator_name=type(model).__name__,
                current_sklearn_version=current,
                original_sklearn_version=str(written)[:30],
            ),
            stacklevel=3,
        )
    return model


def _header(line: bytes) -> dict[str, Any]:
    """Return the first line of a file, in this format."""
    header = json.loads(line)
    if type(header) is not dict or "format" not in header:
        raise ValueError("no description of a model")
    if header["format"] != _FORMAT:
        versions = header.get("versions")
        writer = versions.get("absentia") if isinstance(versions, dict) else None
        tool = f"absentia {writer}" if writer else "the version of absentia that wrote it"
        raise _RefusedError(
            f"has format {header['format']!r}, but this version of absentia reads format {_FORMAT}."
            f" Use {tool}, or train the model again."
        )
    if header.keys() != _FIELDS:
        raise ValueError(f"a description with {', '.join(header)}")
    if {*header["versions"]} - {*_VERSIONS}:
        raise ValueError("a description with other versions")
    return header


def _layouts(entries: Any) -> list[tuple[list[int], np.dtype[Any], str]]:
    """Return the shapes, types and orders of the arrays, as a file declares them."""
    layouts = []
    for name, shape, order in entries:
        dtype = type_of_name(name)
        if type(shape) is not list or {*map(type, shape)} - {int} or min(shape, default=0) < 0:
            raise ValueError(f"an array of shape {shape}")
        if order not in ("C", "F"):
            raise ValueError(f"an array of order {order!r}")
        if 0 in (*shape, dtype.itemsize) and not 0 < dtype.itemsize <= _WIDEST_ENTRY:
            raise ValueError(f"a type of {dtype.itemsize:,} bytes per entry")
        layouts.append((shape, dtype, order))
    return layouts


def _order(array: np.ndarray) -> Literal["C", "F"]:
    return "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"


def _arrays(packed: GzipFile, layouts: list[tuple[list[int], np.dtype[Any], str]]) -> list[Any]:
    """Read the arrays, unpacking a little at once."""
    arrays = []
    for shape, dtype, order in layouts:
        array = np.empty(shape[::-1] if order == "F" else shape, dtype)
        content = array.reshape(-1).view(np.uint8)
        for start in range(0, len(content), _STEP):
            step = content[start : start + _STEP]
            if packed.readinto(step) != len(step):
                raise EOFError("an array that is cut off")
        arrays.append(array.T if order == "F" else array)
    return arrays
