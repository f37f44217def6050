"""The description in a model file, checked before anything is made from it.

A file of skops holds arrays and ``schema.json``, a tree of nodes that says which objects they
belong to. Here the tree is walked without recursion: every node must be of a kind and a class that
is allowed, refer to arrays that are there and are as large as they say, and be what other nodes
with its number are.
"""

from __future__ import annotations

import json
import math
from typing import Any
from zipfile import ZipFile

import numpy as np

from absentia.persistence.stored_trees import tree_records
from absentia.persistence.trust import allowed_classes

__all__ = ["refused_entries"]

#: Nodes inside nodes. A pipeline of a calibrated machine has some fifteen.
_DEEPEST = 100
#: Of searches: masked arrays of scores, from which nothing is predicted.
_RESULTS = "cv_results_"
#: Bytes that an entry of an empty array may take, from which a type of numbers or text is read.
_WIDEST_ENTRY = 2**16
#: The kinds of numbers that arrays may have: no objects, and no records but the nodes of trees.
_NUMBER_KINDS = "biufcUSmM"


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
    allowed = allowed_classes()
    refused: set[str] = set()
    first: dict[Any, Any] = {}
    n_bytes = 0
    searched: set[int] = set()  # nodes of the results of searches
    pending = [(schema, 1, False)]
    while pending:
        node, depth, in_results = pending.pop()
        if depth > _DEEPEST:
            raise ValueError(f"more than {_DEEPEST} objects inside each other")
        kind, name = node["__loader__"], f"{node['__module__']}.{node['__class__']}"
        # skops keeps no object with the number 0, so it is read again wherever it stands.
        number = node.get("__id__") or None
        is_new = number is None or number not in first
        # A number that was met before stands for the object that had it first.
        if not is_new and _unnumbered(first[number], archive) != _unnumbered(node, archive):
            raise ValueError(f"two different objects with the number {number!r}")
        first.setdefault(number, node)
        if name not in allowed.get(kind, ()):
            refused.add(name)
            continue
        if kind == "MaskedArrayNode" and not in_results:
            # The smallest and the largest entry, which checks ask for, leave masked ones out.
            raise ValueError("a masked array outside of the results of a search")
        if kind == "NdArrayNode" and node["type"] == "numpy" and is_new:
            n_bytes += _array_bytes(archive, node["file"])
            if n_bytes > max_bytes:
                raise ValueError(f"arrays of more than {max_bytes:.0f} bytes")
        if kind == "ObjectNode" and node["__class__"].endswith("CV") and node["content"]:
            searched.add(id(node["content"]["content"].get(_RESULTS)))
        pending += [
            (inner, depth + 1, in_results or id(inner) in searched)
            for inner in _inner_nodes(kind, node)
        ]
    return sorted(refused)


def _inner_nodes(kind: str, node: dict[str, Any]) -> list[Any]:
    """Return the nodes that a node is made from."""
    content = node.get("content")
    match kind:
        case "DictNode":
            _check_keys(node["key_types"])
            return [node["key_types"], *content.values()]  # type: ignore[union-attr]
        case "ListNode" | "TupleNode" | "SetNode":
            return list(content)  # type: ignore[arg-type]
        case "MaskedArrayNode":
            return [content["data"], content["mask"]]  # type: ignore[index]
        case "NdArrayNode":
            return [] if node["type"] == "numpy" else [*content, node["shape"]]  # type: ignore[misc]
        case "ObjectNode":
            return [] if content is None else [content]
        case "DTypeNode" | "RandomStateNode":
            return [content]
        case "TreeNode" | "LossNode":
            arguments = node["__reduce__"]["args"]
            (_check_tree_arrays if kind == "TreeNode" else _check_loss)(arguments, content)
            return [arguments, content]
        case "RandomGeneratorNode":
            _check_generator(**content)  # type: ignore[arg-type]
            return list(content.values())  # type: ignore[union-attr]
    return []


def _check_tree_arrays(arguments: Any, content: Any) -> None:
    """Refuse trees of anything but arrays; an object with the attributes of an array is none.

    Whether the arrays describe a tree is checked when they have been read.
    """
    fields = {"max_depth", "node_count", "nodes", "values"}
    if content["__loader__"] != "DictNode" or set(content["content"]) != fields:
        raise ValueError("a tree with other fields than trees have")
    _, n_classes, _ = arguments["content"]
    arrays = [n_classes, content["content"]["nodes"], content["content"]["values"]]
    if any((a["__loader__"], a["__class__"]) != ("NdArrayNode", "ndarray") for a in arrays) or any(
        a["type"] != "numpy" for a in arrays
    ):
        raise ValueError("a tree that is not made of arrays")


def _check_loss(arguments: Any, content: Any) -> None:
    """Refuse losses with a state: those of boosted trees have numbers as arguments, and no more."""
    if content["content"] or any(a["__loader__"] != "JsonNode" for a in arguments["content"]):
        raise ValueError("a loss with a state of its own")


def _check_generator(bit_generator: Any, seed_seq: Any) -> None:
    """Refuse generators other than NumPy's default with its usual seed, whose size is memory."""
    kind = json.loads(bit_generator["content"]["bit_generator"]["content"])
    pool = json.loads(seed_seq["content"]["pool_size"]["content"])
    if (kind, pool) != ("PCG64", np.random.SeedSequence(0).pool_size):
        raise ValueError(f"random numbers of {kind!r} with a pool of {pool!r}")


def _unnumbered(value: object, archive: ZipFile) -> Any:
    """Return a part of the description without the numbers of its objects and arrays."""
    if isinstance(value, list):
        return [_unnumbered(inner, archive) for inner in value]
    if not isinstance(value, dict):
        return value
    bare = {k: _unnumbered(inner, archive) for k, inner in value.items() if k != "__id__"}
    if isinstance(value.get("file"), str):
        array = archive.getinfo(value["file"])
        bare["file"] = (array.CRC, array.file_size)
    return bare


def _check_keys(key_types: dict[str, Any]) -> None:
    """Refuse types of keys that are not types: skops calls them on the keys."""
    kinds = {key_types["__loader__"], *(f"{key['__loader__']}" for key in key_types["content"])}
    if not kinds <= {"ListNode", "TypeNode"} or key_types["__loader__"] != "ListNode":
        raise ValueError("keys of a dictionary that are neither numbers nor text")


def _array_bytes(archive: ZipFile, name: str) -> int:
    """Return how much an array takes, having compared its header with what follows it."""
    size = archive.getinfo(name).file_size
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
    return size
