"""Writing and reading model files.

The format is that of skops: a zip archive of arrays and of a description of the objects that they
belong to. Reading one makes objects of types that are trusted and no others, and sets their
attributes; see :mod:`absentia.persistence.kinds` and ``docs/security.md``.
"""

from __future__ import annotations

import json
import math
import os
import re
from functools import cache
from importlib.metadata import version
from io import BytesIO
from operator import attrgetter
from pathlib import Path
from shutil import copyfileobj
from tempfile import SpooledTemporaryFile
from types import ModuleType
from typing import IO, Any, BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from sklearn.base import BaseEstimator

from absentia.optional_imports import optional_import
from absentia.parameters import shown
from absentia.persistence.contents import check_model
from absentia.persistence.description import refused_entries
from absentia.persistence.kinds import allowed_classes
from absentia.tables.files.formats import replaced

_MARK = "absentia.json"
_SCHEMA = "schema.json"
_FORMAT = 3
_MAX_BYTES = 2**30
#: The description grows some sixty times in memory, so its share of the limit is smaller.
_SCHEMA_SHARE = 64
_LARGEST_MARK = 10_000
#: Bytes that are unpacked at once, and of the largest copy that is kept in memory.
_STEP, _IN_MEMORY = 2**16, 2**26
#: Bytes of the headers of a zip archive, and where in a member's the length of its name stands.
_LOCAL_HEADER, _ENTRY, _NAME_LENGTH = 30, 46, 26
#: Bytes after the directory: without a comment, of small archives and of large ones.
_END_RECORDS = (22, 22 + 76)


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
    mark = {
        "format": _FORMAT,
        "kind": type(model).__name__,
        "versions": {name: version(name) for name in ("absentia", "scikit-learn", "numpy")},
    }
    with replaced(place) as draft:
        try:
            skops.dump(model, draft, compression=ZIP_DEFLATED, compresslevel=1)
        # From what takes part in pickling, such as a pandas frame, and from circles of references.
        except (TypeError, RecursionError) as error:
            raise TypeError(
                f"This {type(model).__name__} holds something that cannot be written to a file, "
                f"such as a pandas frame ({error}). Fit it to an array of numbers (TableEncoder "
                "makes one of a frame), or use joblib, whose files run code when opened."
            ) from error
        with ZipFile(draft, "a", compression=ZIP_DEFLATED) as archive:
            archive.writestr(_MARK, json.dumps(mark))
        try:
            with open(draft, "rb") as stream:
                # What was written is checked as load does; the caller's model is not touched.
                _read(skops, stream, math.inf)
        except _NotTrustedError as error:
            raise TypeError(
                f"This {type(model).__name__} holds {error}, which load would refuse to create "
                "from a file. Remove it, or use joblib, whose files run code when opened."
            ) from None
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
    """
    skops = _skops()
    place = Path(path)
    if not place.is_file():
        kind = "regular file" if place.exists() else "file"  # a folder, a pipe
        raise FileNotFoundError(f"There is no {kind} {str(place)!r} to load a model from.")
    with open(place, "rb") as stream:
        try:
            refusal, model = _read(skops, stream, max_bytes)
        except _NotTrustedError as error:
            refusal = (
                f"holds something that is not trusted: {error}. Nothing was loaded. If you know "
                "and trust the file, skops.io.load lets you name the types to accept."
            )
        except Warning:  # made an exception by a filter of the caller's
            raise
        except Exception as error:  # whatever a damaged file leads to, memory and recursion too
            raise ValueError(
                f"{str(place)!r} is not a model file, or is damaged ({type(error).__name__}: "
                f"{error}). Save the model again."
            ) from error
    if refusal:
        raise ValueError(f"{str(place)!r} {refusal}")
    return model


class _NotTrustedError(ValueError):
    """Names of what a file holds and is not made from files."""


def _read(skops: ModuleType, stream: BinaryIO, max_bytes: float) -> tuple[str, Any]:
    """Return why a file is refused and None, or nothing and its model."""
    with ZipFile(stream) as archive:
        if _MARK not in archive.namelist():
            return (
                "was not written by absentia.save. Read it with the tool that wrote it: "
                "skops.io.load, joblib.load."
            ), None
        total = sum(map(attrgetter("file_size"), archive.infolist()))
        schema_size = archive.getinfo(_SCHEMA).file_size
        if total > max_bytes or schema_size > max_bytes // _SCHEMA_SHARE:
            return (
                f"unpacks to {total:,} bytes, {schema_size:,} of them a description, but at most "
                f"{max_bytes:,} and {max_bytes // _SCHEMA_SHARE:,} are allowed. If you trust the "
                "file, call load with a larger max_bytes."
            ), None
        _check_layout(archive, stream)
        copy = _clean_copy(archive)
    with copy:
        with ZipFile(copy) as archive:
            refusal = _refusal(archive, max_bytes)
        if refusal:
            return refusal, None
        names = sorted({name for classes in allowed_classes().values() for name in classes})
        copy.seek(0)
        model = skops.load(copy, trusted=names)
    if not isinstance(model, BaseEstimator):
        return f"holds a {type(model).__name__}, which is not an estimator.", None
    check_model(model)
    return "", model


def _check_layout(archive: ZipFile, stream: BinaryIO) -> None:
    """Refuse members that the description does not name, and bytes that belong to no member."""
    members = sorted(archive.infolist(), key=attrgetter("header_offset"))
    if len({member.filename for member in members}) != len(members):
        raise ValueError("an archive with two members of one name")
    for member in members:
        if member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise ValueError(f"an archive with compression {member.compress_type}")
    schema = BytesIO()
    with archive.open(_SCHEMA) as source:
        copyfileobj(source, schema, _STEP)
    files = re.findall(rb'"file": "([^"]*)"', schema.getbuffer())
    named = {_MARK, _SCHEMA, *map(bytes.decode, files)}
    unknown = {member.filename for member in members} - named
    if unknown:
        raise ValueError(f"members that nothing reads: {shown(sorted(unknown))}")
    end, directory = 0, 0
    for member in members:
        if member.header_offset != end:
            raise ValueError("bytes that belong to no member of the archive")
        stream.seek(end + _NAME_LENGTH)
        lengths = int.from_bytes(stream.read(2), "little") + int.from_bytes(
            stream.read(2), "little"
        )
        end += _LOCAL_HEADER + lengths + member.compress_size
        directory += _ENTRY + len(member.orig_filename.encode()) + len(member.extra)
    left = stream.seek(0, os.SEEK_END) - archive.start_dir - directory
    if end != archive.start_dir or left not in _END_RECORDS:
        raise ValueError("bytes that belong to no member of the archive")


def _clean_copy(archive: ZipFile) -> IO[bytes]:
    """Return a copy of an archive without compression, whose sizes are what they say.

    The directory of an archive need not be true: a member of fifty bytes may unpack to gigabytes
    before Python cuts it off, and one name may stand for two members. So no other library reads a
    file from elsewhere: its members are unpacked here, at most as far as the directory says.
    """
    copy = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 (the caller closes it)
    try:
        with ZipFile(copy, "w", ZIP_STORED) as target:
            for name in archive.namelist():
                with archive.open(name) as source, target.open(ZipInfo(name), "w") as sink:
                    copyfileobj(source, sink, _STEP)
    except BaseException:
        copy.close()
        raise
    copy.seek(0)
    return copy


def _refusal(archive: ZipFile, max_bytes: float) -> str:
    """Return why nothing is made from an archive, or nothing."""
    if archive.getinfo(_MARK).file_size > _LARGEST_MARK:
        raise ValueError(f"{_MARK} of {archive.getinfo(_MARK).file_size:,} bytes")
    mark = json.loads(archive.read(_MARK))
    if not mark.keys() <= {"format", "kind", "versions"}:
        raise ValueError(f"{_MARK} with {', '.join(mark)}")
    if mark["format"] != _FORMAT:
        writer = mark.get("versions", {}).get("absentia")
        tool = f"absentia {writer}" if writer else "the version of absentia that wrote it"
        return (
            f"has format {mark['format']!r}, but this version of absentia reads format {_FORMAT}. "
            f"Use {tool}, or train the model again."
        )
    schema = json.loads(archive.read(_SCHEMA))
    # By this number skops chooses how to read nodes; earlier ways read other fields of them.
    if schema["protocol"] != _protocol():
        return (
            f"is written in protocol {schema['protocol']!r} of skops, but the installed "
            f"version writes {_protocol()}. Save the model again with it."
        )
    refused = refused_entries(schema, archive, max_bytes)
    if refused:
        raise _NotTrustedError(", ".join(refused))
    return ""


@cache
def _protocol() -> int:
    """Return the number of the protocol that skops writes."""
    with ZipFile(BytesIO(_skops().dumps(None))) as archive:
        return int(json.loads(archive.read(_SCHEMA))["protocol"])


def _skops() -> ModuleType:
    skops_io: ModuleType = optional_import("skops.io", "persistence", "A model file")
    return skops_io
