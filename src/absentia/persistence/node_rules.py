"""The nodes of a description, one rule for each kind: its fields, and what may stand in them.

skops reads a node by its ``__loader__``. A node with another loader than expected would bring
another kind of object, so wherever skops hands what a node brings to something other than a
container (a generator of random numbers, a tree, a loss, a masked array, an attribute dictionary),
the loaders are compared here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["inner_nodes"]

Node = dict[str, Any]
Labelled = list[tuple[str, Node]]

_EVERY_NODE = {"__class__", "__module__", "__loader__", "__id__"}
#: The fields that each kind of node may have beside those.
_FIELDS: dict[str, set[str]] = {
    "DictNode": {"content", "key_types"},
    "JsonNode": {"content", "is_json"},
    "TypeNode": set(),
    "FunctionNode": set(),
    "NdArrayNode": {"content", "file", "shape", "type"},
    "TreeNode": {"content", "__reduce__"},
    "LossNode": {"content", "__reduce__"},
}


def inner_nodes(kind: str, node: Node) -> Labelled:
    """Return the nodes that a node is made from, with labels; raise ValueError unless it is sound.

    Examples
    --------
    >>> text = {"__loader__": "JsonNode", "__module__": "builtins", "__class__": "str"}
    >>> inner_nodes("JsonNode", {**text, "content": '"word"'})
    []
    >>> inner_nodes("JsonNode", {**text, "content": "[1, 2]"})
    Traceback (most recent call last):
        ...
    ValueError: a list in place of a number or text
    """
    _only(node, _EVERY_NODE | _FIELDS.get(kind, {"content"}))
    return _RULES[kind](node)


def _only(node: Node, names: set[str]) -> None:
    """Refuse what skops does not read, and no check would look at."""
    if not set(node) <= names:
        raise ValueError(f"{', '.join(sorted(set(node) - names))} in a node, which nothing reads")


def _nothing(node: Node) -> Labelled:
    return []


def _json(node: Node) -> Labelled:
    _scalar(node)
    return []


def _entries(node: Node) -> Labelled:
    return [("", entry) for entry in node["content"]]


def _set(node: Node) -> Labelled:
    return [("", _loaded(entry, "JsonNode")) for entry in node["content"]]


def _slice(node: Node) -> Labelled:
    content = node["content"]
    if set(content) != {"start", "stop", "step"} or any(
        type(end) not in (type(None), int, str) for end in content.values()
    ):
        raise ValueError("a slice without ends")
    return []


def _dict(node: Node) -> Labelled:
    types, content = _loaded(node["key_types"], "ListNode"), node["content"]
    # skops calls the types on the keys, as many as there are of both.
    for kind in types["content"]:
        _loaded(kind, "TypeNode")
    if len(types["content"]) != len(content):
        raise ValueError("a dictionary with keys and types that are not as many")
    # What a Bunch holds are its attributes, too.
    if node["__class__"] == "Bunch" and any(name.startswith("__") for name in content):
        raise ValueError("a Bunch with special attributes")
    return [("key_types", types), *content.items()]


def _object(node: Node) -> Labelled:
    """Attributes are a dictionary with keys of text, or nothing."""
    content = node.get("content")
    if content is None or (content["__loader__"] == "JsonNode" and _scalar(content) is None):
        return []
    _fields(content)
    return [("content", content)]


def _array(node: Node) -> Labelled:
    if node["type"] == "numpy":
        _only(node, _EVERY_NODE | {"type", "file"})
        return []
    _only(node, _EVERY_NODE | {"type", "content", "shape"})
    if node["type"] != "json" or node["__class__"] != "ndarray":
        raise ValueError(f"an array of type {node['type']!r}")
    shape = _loaded(node["shape"], "TupleNode")
    n_axes = len([_scalar(length) for length in shape["content"]])
    if n_axes != 1:
        # NumPy asks these entries whether they are arrays.
        _check_plain(node["content"], n_axes)
    return [("shape", shape), *(("", entry) for entry in node["content"])]


def _masked(node: Node) -> Labelled:
    content = node["content"]
    _only(content, {"data", "mask"})
    return [(name, _loaded(content[name], "NdArrayNode")) for name in ("data", "mask")]


def _dtype(node: Node) -> Labelled:
    return [("content", _loaded(node["content"], "NdArrayNode"))]


def _tree(node: Node) -> Labelled:
    """Trees are made of arrays; whether these describe a tree is checked when they are read."""
    arguments = _arguments(node)
    fields = _fields(node["content"], "max_depth", "node_count", "nodes", "values")
    n_features, n_classes, n_outputs = arguments["content"]
    for number in (n_features, n_outputs, fields["max_depth"], fields["node_count"]):
        _scalar(number, int)
    for array in (n_classes, fields["nodes"], fields["values"]):
        _whole_array(array)
    return [("args", arguments), ("content", node["content"])]


def _arguments(node: Node) -> Node:
    _only(node["__reduce__"], {"args"})
    return _loaded(node["__reduce__"]["args"], "TupleNode")


def _loss(node: Node) -> Labelled:
    """Losses of boosted trees have numbers as arguments, and no state of their own."""
    arguments = _arguments(node)
    for argument in arguments["content"]:
        _scalar(argument)
    if node["content"]["content"]:
        raise ValueError("a loss with a state of its own")
    return [("args", arguments), ("content", node["content"])]


def _random_state(node: Node) -> Labelled:
    fields = _fields(node["content"], "bit_generator", "state", "has_gauss", "gauss")
    state = _fields(fields["state"], "key", "pos")
    if _scalar(fields["bit_generator"]) != "MT19937":
        raise ValueError("a random state that is no Mersenne twister")
    _whole_array(state["key"])
    for number in (state["pos"], fields["has_gauss"]):
        _scalar(number, int)
    _scalar(fields["gauss"], float)
    return [("content", node["content"])]


def _generator(node: Node) -> Labelled:
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
    return [(name, content[name]) for name in ("bit_generator", "seed_seq")]


_RULES: dict[str, Callable[[Node], Labelled]] = {
    "DictNode": _dict,
    "DTypeNode": _dtype,
    "FunctionNode": _nothing,
    "JsonNode": _json,
    "ListNode": _entries,
    "LossNode": _loss,
    "MaskedArrayNode": _masked,
    "NdArrayNode": _array,
    "ObjectNode": _object,
    "RandomGeneratorNode": _generator,
    "RandomStateNode": _random_state,
    "SetNode": _set,
    "SliceNode": _slice,
    "TreeNode": _tree,
    "TupleNode": _entries,
    "TypeNode": _nothing,
}


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
    types = _loaded(_loaded(node, "DictNode")["key_types"], "ListNode")
    if node["__class__"] != "dict" or any(kind["__class__"] != "str" for kind in types["content"]):
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
