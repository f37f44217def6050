"""The description in a model file, checked before anything is made from it.

A file of skops holds arrays and ``schema.json``, a tree of nodes that says which objects they
belong to. Every node must be of a kind and a class that is allowed, have the fields that its kind
has and no others, refer to arrays that are there and are as large as they say, and be what other
nodes with its number are. Objects must have the attributes that their class is known to have.
"""

from __future__ import annotations

import json
import math
from hashlib import blake2b
from typing import Any, NamedTuple
from zipfile import ZipFile

import numpy as np
from sklearn.isotonic import IsotonicRegression

from absentia.persistence.node_rules import inner_nodes
from absentia.persistence.stored_trees import tree_records
from absentia.persistence.trust import (
    allowed_classes,
    known_attributes,
    parameter_names,
    trusted_types,
)

__all__ = ["refused_entries"]

#: Nodes inside nodes. A pipeline of a calibrated machine has some fifteen.
_DEEPEST = 100
#: Bytes that an entry of an empty array may take, from which a type of numbers or text is read.
_WIDEST_ENTRY = 2**16
#: The kinds of numbers that arrays may have: no objects, and no records but the nodes of trees.
_NUMBER_KINDS = "biufcUSmM"
#: Of isotonic regression.
_THRESHOLDS = {"X_thresholds_", "y_thresholds_"}
#: What the first node has beside its own fields.
_ROOT = ("protocol", "_skops_version")
_STEP = 2**20


def refused_entries(schema: Any, archive: ZipFile, max_bytes: float) -> list[str]:
    """Return the names of what is not trusted, sorted; raise ValueError where nothing fits.

    Parameters
    ----------
    schema : dict
        As parsed from ``schema.json``.
    archive : ZipFile
        Where the arrays are.
    max_bytes : float
        The most that the arrays may take, each counted as often as it is read.
    """
    root = {name: value for name, value in schema.items() if name not in _ROOT}
    walk = _Walk(archive, max_bytes)
    walk.visit(root, 1, is_made=True)
    return sorted(walk.refused)


class _Array(NamedTuple):
    """What is known about an array in a file: of how many bytes, which shape, type and bytes."""

    size: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    digest: bytes


class _Walk:
    """A walk through all nodes, each of which is visited once."""

    def __init__(self, archive: ZipFile, max_bytes: float):
        self.refused: set[str] = set()
        self._archive, self._max_bytes = archive, max_bytes
        self._allowed = allowed_classes()
        self._types = {f"{kind.__module__}.{kind.__name__}": kind for kind in trusted_types()}
        self._arrays: dict[str, _Array] = {}
        self._digests: dict[int, bytes] = {}
        self._made: set[int] = set()
        self._n_bytes = 0

    def visit(self, node: Any, depth: int, is_made: bool) -> bytes:
        """Check a node and all inside it; return what tells it from others, but for numbers.

        ``is_made`` says whether skops makes it: what is inside an object that it has already met it
        does not make again.
        """
        if depth > _DEEPEST:
            raise ValueError(f"more than {_DEEPEST} objects inside each other")
        kind, name = node["__loader__"], f"{node['__module__']}.{node['__class__']}"
        # skops keeps no object with the number 0, so it is read again wherever it stands.
        number = node.get("__id__") or None
        if number is not None and type(number) is not int:
            raise ValueError(f"an object with the number {number!r}")
        if name not in self._allowed.get(kind, ()):
            self.refused.add(name)
            return b""
        inner = inner_nodes(kind, node)
        if kind == "ObjectNode":
            self._check_attributes(name, node.get("content"))
        is_made = is_made and number not in self._made
        if is_made and number is not None:
            self._made.add(number)
        found = [kind, name, *self._own_content(kind, node, is_made)]
        for label, child in inner:
            found += [label, self.visit(child, depth + 1, is_made)]
        digest = _digest(found)
        # A number stands for one object, wherever it is met.
        if number is not None and self._digests.setdefault(number, digest) != digest:
            raise ValueError(f"two different objects with the number {number}")
        return digest

    def _check_attributes(self, name: str, content: Any) -> None:
        """Refuse attributes that objects of a class are not known to have."""
        kind = self._types[name]
        known = {*known_attributes(kind), *parameter_names(kind)}
        attributes = content["content"] if content and content["__loader__"] == "DictNode" else {}
        self.refused |= {f"{name}.{attribute}" for attribute in set(attributes) - known}
        if kind is IsotonicRegression:
            # Made into a curve as soon as it is read, for which narrow types become wide.
            for attribute in _THRESHOLDS & set(attributes):
                dtype = self._array(attributes[attribute]["file"]).dtype
                if dtype not in (np.float32, np.float64):
                    raise ValueError(f"thresholds of {dtype}")

    def _array(self, file: str) -> _Array:
        if file not in self._arrays:
            self._arrays[file] = _read_array(self._archive, file)
        return self._arrays[file]

    def _own_content(self, kind: str, node: Any, is_made: bool) -> list[str | bytes]:
        """Return what a node says itself, and count its array."""
        if kind in ("JsonNode", "SliceNode"):
            return [json.dumps(node["content"])]
        if kind != "NdArrayNode" or node["type"] != "numpy":
            return []
        array = self._array(node["file"])
        if node["__class__"] != "ndarray" and array.shape:
            raise ValueError(f"a {node['__class__']} of shape {array.shape}")
        self._n_bytes += array.size if is_made else 0
        if self._n_bytes > self._max_bytes:
            raise ValueError(f"arrays of more than {self._max_bytes:.0f} bytes")
        return [array.digest]


def _digest(parts: list[str | bytes]) -> bytes:
    found = blake2b(digest_size=16)
    for part in parts:
        written = part.encode() if isinstance(part, str) else part
        found.update(len(written).to_bytes(8, "little") + written)
    return found.digest()


def _read_array(archive: ZipFile, name: str) -> _Array:
    """Compare the header of an array with what follows it."""
    size, digest = archive.getinfo(name).file_size, blake2b(digest_size=16)
    with archive.open(name) as stream:
        while step := stream.read(_STEP):
            digest.update(step)
    with archive.open(name) as stream:
        version = np.lib.format.read_magic(stream)
        readers = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }
        shape, _, dtype = readers[version](stream)
        left = size - stream.tell()
    if dtype.kind not in _NUMBER_KINDS and dtype not in tree_records():
        raise ValueError(f"an array of {dtype}")
    if min(shape, default=0) < 0 or math.prod(shape) * max(1, dtype.itemsize) != left:
        raise ValueError(f"an array of shape {shape} in {left} bytes")
    if not left and dtype.itemsize > _WIDEST_ENTRY:
        raise ValueError(f"a type of {dtype.itemsize:,} bytes per entry")
    return _Array(size, shape, dtype, digest.digest())
