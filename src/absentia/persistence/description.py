"""The description in a model file, checked before anything is made from it.

A file of skops holds arrays and ``schema.json``, a tree of nodes that says which objects they
belong to. Every node must be of a kind and a class that is allowed, have the fields that its kind
has and no others, refer to arrays that are there and are as large as they say, and be identical to
other nodes with its number. Objects must have the attributes that their class is known to have.

skops reads a node by its ``__loader__``. A node with another loader than expected would bring
another kind of object, so wherever skops hands what a node brings to something other than a
container (a generator of random numbers, a tree, a loss, a masked array, an attribute dictionary),
the loaders are compared here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from hashlib import blake2b, file_digest
from itertools import repeat
from operator import itemgetter
from typing import Any, NamedTuple
from zipfile import ZipFile

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.isotonic import IsotonicRegression

from absentia.persistence.compiled_parts import tree_records
from absentia.persistence.kinds import allowed_classes, known_kinds, trusted_names

Node = dict[str, Any]

#: Nodes inside nodes. A pipeline of a calibrated machine has some fifteen.
_DEEPEST = 100
#: Estimators inside each other, each of which scikit-learn's methods visit several times.
_MOST_NESTED = 10
#: Bytes that an entry of an empty array may take, from which a type of numbers or text is read.
_WIDEST_ENTRY = 2**16
#: The kinds of numbers that arrays may have: no objects, and no records but the nodes of trees.
_NUMBER_KINDS = "biufcUSmM"
#: Fields of the first node beside its own.
_ROOT = ("protocol", "_skops_version")


def refused_entries(schema: Any, archive: ZipFile, max_bytes: float) -> list[str]:
    """Return the names of what is not trusted, sorted; raise ValueError where nothing fits.

    ``schema`` is that of ``schema.json``, ``archive`` has the arrays, which may take ``max_bytes``,
    each counted as often as it is read.
    """
    root = {name: value for name, value in schema.items() if name not in _ROOT}
    walk = _Walk(archive, max_bytes)
    walk.visit(root)
    walk.compare()
    return sorted(walk.refused)


class _Array(NamedTuple):
    size: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    digest: bytes


class _Walk:
    """A walk through all nodes, parents before their children."""

    def __init__(self, archive: ZipFile, max_bytes: float):
        self.refused: set[str] = set()
        self._max_bytes = max_bytes
        self._archive = archive
        self._arrays: dict[str, _Array] = {}
        self._n_bytes = 0
        #: Number, content and number of children of each node, in the order of the walk.
        self._visited: list[tuple[int | None, tuple[Any, ...], int]] = []

    def visit(self, root: Node) -> None:
        """Check every node by itself.

        ``is_made`` says whether skops makes an object of the node: inside an object that it has
        already met it makes none.
        """
        allowed, made, most_nested = allowed_classes(), set[int](), 0
        pending = [(root, 1, 0, True)]
        while pending:
            node, depth, n_estimators, is_made = pending.pop()
            if depth > _DEEPEST:
                raise ValueError(f"more than {_DEEPEST} objects inside each other")
            kind, name = node["__loader__"], f"{node['__module__']}.{node['__class__']}"
            # skops keeps no object with the number 0, so it is read again wherever it stands.
            number = node.get("__id__") or None
            if number is not None and type(number) is not int:
                raise ValueError(f"an object with the number {number!r}")
            if name not in allowed.get(kind, ()):
                self.refused.add(name)
                self._visited.append((number, (), 0))
                continue
            stored = kind == "NdArrayNode" and node["type"] == "numpy"
            fields, rule = (_ARRAY, None) if stored else _RULES[kind]
            if not node.keys() <= fields:
                raise _unread(node, fields)
            children: list[Node] = [] if rule is None else rule(node)
            is_made = is_made and number not in made
            if is_made and number is not None:
                made.add(number)
            content: Any = None
            if kind == "JsonNode":
                content = node["content"]
                if isinstance(json.loads(content), list | dict):
                    raise ValueError("a list or dictionary in place of a number or text")
            elif kind == "SliceNode":
                content = json.dumps(node["content"])
            elif kind == "DictNode":
                content = tuple(node["content"])
            elif stored:
                array = self._arrays.get(node["file"]) or self._array(node["file"])
                content = array.digest
                if node["__class__"] != "ndarray" and array.shape:
                    raise ValueError(f"a {node['__class__']} of shape {array.shape}")
                self._n_bytes += array.size if is_made else 0
                if self._n_bytes > self._max_bytes:
                    raise ValueError(f"arrays of more than {self._max_bytes:.0f} bytes")
            elif kind == "ObjectNode":
                self._check_attributes(name, children)
                if issubclass(trusted_names()[name], BaseEstimator):
                    n_estimators += 1
                    most_nested = max(most_nested, n_estimators)
            self._visited.append((number, (kind, name, content), len(children)))
            inside = repeat(depth + 1), repeat(n_estimators), repeat(is_made)
            pending += zip(reversed(children), *inside, strict=False)
        if most_nested > _MOST_NESTED:
            raise ValueError(f"more than {_MOST_NESTED} estimators inside each other")

    def compare(self) -> None:
        """Raise ValueError where nodes with one number differ in more than numbers."""
        forms: dict[tuple[Any, ...], int] = {}
        form_of_number: dict[int, int] = {}
        stack: list[int] = []  # forms of the nodes that have not met their parents
        for number, content, n_children in reversed(self._visited):
            first = len(stack) - n_children
            form = forms.setdefault((content, *stack[first:]), len(forms))
            stack[first:] = [form]
            if number is not None and form_of_number.setdefault(number, form) != form:
                raise ValueError(f"two different objects with the number {number}")

    def _check_attributes(self, name: str, children: list[Node]) -> None:
        """Refuse attributes that objects of a class are not known to have."""
        kind = trusted_names()[name]
        attributes = children[0]["content"] if children else {}
        for attribute in attributes.keys() - known_kinds(kind).keys():
            self.refused.add(f"{name}.{attribute}")
        if kind is IsotonicRegression:
            # Made into a curve as soon as it is read, for which narrow types become wide.
            for attribute in attributes.keys() & {"X_thresholds_", "y_thresholds_"}:
                dtype = self._array(attributes[attribute]["file"]).dtype
                if dtype not in (np.float32, np.float64):
                    raise ValueError(f"thresholds of {dtype}")

    def _array(self, file: str) -> _Array:
        """Compare the header of an array with what follows it."""
        with self._archive.open(file) as stream:
            digest = file_digest(stream, blake2b).digest()  # type: ignore[arg-type]
            size = stream.tell()
            stream.seek(0)
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
        return self._arrays.setdefault(file, _Array(size, shape, dtype, digest))


def _set(node: Node) -> list[Node]:
    return [_loaded(entry, "JsonNode") for entry in node["content"]]


def _slice(node: Node) -> list[Node]:
    content = node["content"]
    if set(content) != {"start", "stop", "step"} or any(
        type(end) not in (type(None), int, str) for end in content.values()
    ):
        raise ValueError("a slice without ends")
    return []


def _dict(node: Node) -> list[Node]:
    types, content = node["key_types"], node["content"]
    # skops calls the types on the keys, as many as there are of both.
    if types["__loader__"] != "ListNode" or set(map(itemgetter("__loader__"), types["content"])) - {
        "TypeNode"
    }:
        raise ValueError("a dictionary with keys of other kinds than numbers and text")
    if len(types["content"]) != len(content):
        raise ValueError("a dictionary with keys and types that are not as many")
    # The entries of a Bunch are its attributes, too.
    if node["__class__"] == "Bunch" and any(name.startswith("__") for name in content):
        raise ValueError("a Bunch with special attributes")
    return [types, *content.values()]


def _object(node: Node) -> list[Node]:
    """Attributes are a dictionary with keys of text, or nothing."""
    content = node.get("content")
    if content is None or (content["__loader__"] == "JsonNode" and _scalar(content) is None):
        return []
    _fields(content)
    return [content]


def _array(node: Node) -> list[Node]:
    """Arrays of objects are lists of nodes beside their shape."""
    if node["type"] != "json" or node["__class__"] != "ndarray":
        raise ValueError(f"an array of type {node['type']!r}")
    shape = _loaded(node["shape"], "TupleNode")
    n_axes = len([_scalar(length) for length in shape["content"]])
    if n_axes != 1:
        # NumPy asks these entries whether they are arrays.
        _check_plain(node["content"], n_axes)
    return [shape, *node["content"]]


def _masked(node: Node) -> list[Node]:
    content = node["content"]
    _only(content, {"data", "mask"})
    return [_loaded(content[name], "NdArrayNode") for name in ("data", "mask")]


def _dtype(node: Node) -> list[Node]:
    return [_loaded(node["content"], "NdArrayNode")]


def _tree(node: Node) -> list[Node]:
    """Trees are made of arrays; whether these describe a tree is checked when they are read."""
    arguments = _arguments(node)
    fields = _fields(node["content"], "max_depth", "node_count", "nodes", "values")
    n_features, n_classes, n_outputs = arguments["content"]
    for number in (n_features, n_outputs, fields["max_depth"], fields["node_count"]):
        _scalar(number, int)
    for array in (n_classes, fields["nodes"], fields["values"]):
        _whole_array(array)
    return [arguments, node["content"]]


def _arguments(node: Node) -> Node:
    _only(node["__reduce__"], {"args"})
    return _loaded(node["__reduce__"]["args"], "TupleNode")


def _loss(node: Node) -> list[Node]:
    """Losses of boosted trees have numbers as arguments, and no state of their own."""
    arguments = _arguments(node)
    for argument in arguments["content"]:
        _scalar(argument)
    if node["content"]["content"]:
        raise ValueError("a loss with a state of its own")
    return [arguments, node["content"]]


def _random_state(node: Node) -> list[Node]:
    fields = _fields(node["content"], "bit_generator", "state", "has_gauss", "gauss")
    state = _fields(fields["state"], "key", "pos")
    if _scalar(fields["bit_generator"]) != "MT19937":
        raise ValueError("a random state that is no Mersenne twister")
    _whole_array(state["key"])
    for number in (state["pos"], fields["has_gauss"]):
        _scalar(number, int)
    _scalar(fields["gauss"], float)
    return [node["content"]]


def _generator(node: Node) -> list[Node]:
    """Generators are NumPy's default with its usual seed, whose size is memory and time."""
    content = node["content"]
    _only(content, {"bit_generator", "seed_seq"})
    fields = _fields(content["bit_generator"], "bit_generator", "state", "has_uint32", "uinteger")
    seed = _fields(content["seed_seq"], "entropy", "spawn_key", "pool_size", "n_children_spawned")
    kind, pool = _scalar(fields["bit_generator"]), _scalar(seed["pool_size"])
    if (kind, pool) != ("PCG64", np.random.SeedSequence(0).pool_size):
        raise ValueError(f"random numbers of {kind!r} with a pool of {pool!r}")
    state = _fields(fields["state"], "state", "inc")
    for number in (*state.values(), fields["has_uint32"], fields["uinteger"]):
        _scalar(number, int)
    for number in (seed["n_children_spawned"], *_loaded(seed["spawn_key"], "TupleNode")["content"]):
        _scalar(number, int)
    entropy = seed["entropy"]
    if entropy["__loader__"] != "NdArrayNode" or entropy["__class__"] == "ndarray":
        _scalar(entropy, int)
    return [content["bit_generator"], content["seed_seq"]]


_EVERY_NODE = frozenset({"__class__", "__module__", "__loader__", "__id__"})
_CONTENT = _EVERY_NODE | {"content"}
_ARRAY = _EVERY_NODE | {"type", "file"}
#: The fields that each kind of node may have, and the nodes that it is made from.
_RULES: dict[str, tuple[frozenset[str], Callable[[Node], list[Node]] | None]] = {
    "DictNode": (_CONTENT | {"key_types"}, _dict),
    "DTypeNode": (_CONTENT, _dtype),
    "FunctionNode": (_EVERY_NODE, None),
    "JsonNode": (_CONTENT | {"is_json"}, None),
    "ListNode": (_CONTENT, itemgetter("content")),
    "LossNode": (_CONTENT | {"__reduce__"}, _loss),
    "MaskedArrayNode": (_CONTENT, _masked),
    "NdArrayNode": (_CONTENT | {"shape", "type"}, _array),
    "ObjectNode": (_CONTENT, _object),
    "RandomGeneratorNode": (_CONTENT, _generator),
    "RandomStateNode": (_CONTENT, _random_state),
    "SetNode": (_CONTENT, _set),
    "SliceNode": (_CONTENT, _slice),
    "TreeNode": (_CONTENT | {"__reduce__"}, _tree),
    "TupleNode": (_CONTENT, itemgetter("content")),
    "TypeNode": (_EVERY_NODE, None),
}


def _only(node: Node, names: frozenset[str] | set[str]) -> None:
    """Refuse fields that skops does not read, and no check would look at."""
    if not node.keys() <= names:
        raise _unread(node, names)


def _unread(node: Node, names: frozenset[str] | set[str]) -> ValueError:
    return ValueError(f"{', '.join(sorted(node.keys() - names))} in a node, which nothing reads")


def _loaded(node: Node, kind: str) -> Node:
    """Return a node, having made sure which loader reads it."""
    if node["__loader__"] != kind:
        raise ValueError(f"{node['__loader__']} in place of {kind}")
    return node


def _scalar(node: Node, kind: type | None = None) -> Any:
    """Return the number or text of a node."""
    value = json.loads(_loaded(node, "JsonNode")["content"])
    if isinstance(value, list | dict):
        raise ValueError(f"a {type(value).__name__} in place of a number or text")
    if kind is not None and type(value) is not kind:
        raise ValueError(f"{value!r} in place of a number")
    return value


def _whole_array(node: Node) -> None:
    if _loaded(node, "NdArrayNode")["__class__"] != "ndarray" or node["type"] != "numpy":
        raise ValueError("something else in place of an array of numbers")


def _fields(node: Node, *names: str) -> dict[str, Node]:
    """Return the values of a dictionary with keys of text, and exactly those names if any."""
    if node["__loader__"] != "DictNode":
        raise ValueError(f"{node['__loader__']} in place of DictNode")
    types = node["key_types"]["content"]
    if node["__class__"] != "dict" or set(map(itemgetter("__class__"), types)) - {"str"}:
        raise ValueError("fields with names that are not text")
    fields: dict[str, Node] = node["content"]
    if names and set(fields) != set(names):
        raise ValueError(f"the fields {', '.join(sorted(fields))}, expected {', '.join(names)}")
    return fields


def _check_plain(entries: list[Node], n_axes: int) -> None:
    """Refuse objects in an array of several axes."""
    for entry in entries:
        if entry["__loader__"] == "ListNode" and n_axes > 1:
            _check_plain(entry["content"], n_axes - 1)
        elif entry["__loader__"] != "NdArrayNode" or entry["__class__"] == "ndarray":
            _scalar(entry)
