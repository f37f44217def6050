"""The description of a model: a tree of nodes in JSON, beside a list of arrays.

Numbers, text, None and lists are written as such. Any other node is a JSON object with one entry,
whose name is the kind of the node:

- ``{"array": 3}``: the array of that number in the list. Arrays of objects, which are no bytes, are
  ``{"objects": [shape, entries]}``;
- ``{"tuple": ...}``, ``{"dict": ...}``, ``{"slice": ...}``, ``{"float64": ...}``: containers of
  Python and numbers of NumPy;
- ``{"function": ...}``, ``{"type": ...}``, ``{"dtype": ...}``: names out of fixed lists;
- ``{"Generator": ...}``, ``{"RandomState": ...}``, ``{"Tree": ...}``: compiled objects, of numbers
  and arrays;
- ``{"absentia.machines.svm.SVC": {"C": 1.0, ...}}``: an object of a trusted class, with attributes;
- ``{"same": 5}``: an object that is there already. They are numbered in the order in which they
  are complete, so that no object is inside itself.

A reader makes objects without calling their constructors, and calls nothing that a file names. An
object is checked when its attributes are there, and before anything holds it. The reader refuses
classes, attributes and kinds of nodes that are not known, and a tree that is deeper or,
with what is repeated written out, larger than any model.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.random import PCG64, Generator, RandomState, SeedSequence
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch

from absentia.persistence.compiled_parts import MADE_AGAIN
from absentia.persistence.contents import check_entries, check_object
from absentia.persistence.kinds import ANY_SCALAR, kinds_of, record_types, trusted_names
from absentia.persistence.known_classes import FUNCTIONS, NUMBER_TYPES, NUMPY_TYPES
from absentia.tables import stored

#: Nodes inside nodes. A pipeline of a calibrated machine has some fifteen.
_DEEPEST = 100
#: Estimators inside each other, each of which scikit-learn's methods visit several times.
_MOST_NESTED = 10
#: Types of arrays that are stored as bytes: numbers, text, and dates.
_TYPES = re.compile(
    r"\|b1|\|[iu]1|<[iu][248]|<f[248]|<c(8|16)|\|S\d{1,9}|<U\d{1,9}|<[Mm]8(\[(Y|M|W|D|h|m|s|ms|us|ns)\])?"
)
_PLAIN = {type(None), bool, int, float, str}
_DICTS = (dict, OrderedDict, Bunch)
#: Lists of what a file may name, by the kind of node.
_NAMED: dict[str, dict[str, Any]] = {
    table: {f"{one.__module__}.{one.__name__}": one for one in known}
    for table, known in (("type", NUMBER_TYPES), ("function", FUNCTIONS))
}
#: Numbers that a Mersenne twister holds.
_TWISTER_NUMBERS = 624


class NotTrustedError(ValueError):
    """Name of something that is not made from files."""


@cache
def type_of_name(name: str) -> np.dtype[Any]:
    """Return the type of an array that is stored as bytes; raise ValueError for other types."""
    if type(name) is not str or not (name in record_types() or _TYPES.fullmatch(name)):
        raise ValueError(f"an array of {name!r}")
    return record_types().get(name) or np.dtype(name)


def name_of_type(dtype: np.dtype[Any]) -> str:
    """Return the name by which :func:`type_of_name` finds a type."""
    return next((name for name, known in record_types().items() if known == dtype), dtype.str)


class Writer:
    """The nodes of a model, and the list of its arrays."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self._n_objects = 0
        #: By place in memory, which no other gets meanwhile: arrays and objects, and how to refer.
        self._known: dict[int, tuple[dict[str, int], Any]] = {}

    def node(self, value: Any) -> Any:
        """Return the node of a value; raise NotTrustedError for what a reader would not make."""
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind is list:
            if {*map(type, value)} <= _PLAIN:
                return value
            return [*map(self.node, value)]
        if id(value) in self._known:
            return self._known[id(value)][0]
        name = f"{kind.__module__}.{kind.__name__}"
        if trusted_names().get(name) is kind or kind in (RandomState, Generator):
            node = self._object(name, value)
            self._known[id(value)] = {"same": self._n_objects}, value
            self._n_objects += 1
            return node
        found, content = self._content(kind, value)
        return {found: content}

    def _object(self, name: str, value: Any) -> dict[str, Any]:
        if isinstance(value, RandomState):
            return {"RandomState": [self.node(value.get_state(legacy=False))]}
        if isinstance(value, Generator):
            bits: Any = value.bit_generator
            if type(bits) is not PCG64 or type(bits.seed_seq) is not SeedSequence:
                raise NotTrustedError(f"numpy.random.{type(bits).__name__}")
            seed: Any = bits.seed_seq
            seeds = (int(seed.entropy), seed.n_children_spawned, *seed.spawn_key)
            return {"Generator": [self.node(bits.state), *seeds]}
        state = value.__getstate__() if isinstance(value, stored.Stored) else vars(value)
        made_again = MADE_AGAIN.get(type(value).__name__)
        loss = vars(value).get("_loss") if made_again == "_loss" else None
        if loss is not None and type(loss) is not type(value._get_loss(None)):
            raise NotTrustedError(f"a loss other than {value.loss!r}")
        return {name: {key: self.node(held) for key, held in state.items() if key != made_again}}

    def _content(self, kind: type, value: Any) -> tuple[str, Any]:
        if kind in (np.ndarray, np.memmap):
            if value.dtype == object:
                return "objects", [list(value.shape), [*map(self.node, value.flat)]]
            self._known[id(value)] = {"array": len(self.arrays)}, value
            self.arrays.append(value)
            return "array", len(self.arrays) - 1
        if kind in (tuple, set):
            return kind.__name__, [*map(self.node, value)]
        if kind in _DICTS:
            return kind.__name__, [[self.node(key), self.node(held)] for key, held in value.items()]
        if kind in NUMPY_TYPES:
            return kind.__name__, value.item()
        if kind is slice:
            return "slice", [*map(self.node, (value.start, value.stop, value.step))]
        if kind is np.ma.MaskedArray:
            data, mask = np.ma.getdata(value), np.ma.getmaskarray(value)
            return "masked", [self.node(data), self.node(mask)]
        if isinstance(value, np.dtype):
            return "dtype", value.str
        if kind.__module__ == "sklearn.tree._tree" and kind.__name__ == "Tree":
            (n_features, n_classes, n_outputs), state = value.__reduce__()[1:]
            fields = (n_classes, state["nodes"], state["values"])
            return "Tree", [n_features, n_outputs, state["max_depth"], *map(self.node, fields)]
        found = stored.parts_of_frame(value)
        if found is not None:
            return found[0], self.node(found[1])
        own = value if hasattr(value, "__name__") else kind
        name = f"{getattr(own, '__module__', '')}.{own.__name__}"
        for table, names in _NAMED.items():
            if names.get(name) is value:
                return table, name
        raise NotTrustedError(name)


class Reader:
    """The model that nodes and arrays describe, each object checked as soon as it is complete.

    ``most_nodes`` limits the nodes, each counted as often as it would be written if nothing were
    written once for several places.
    """

    def __init__(self, arrays: list[np.ndarray], most_nodes: int):
        for array in arrays:
            if array.dtype.char in "?U" and array.nbytes:
                check_entries(array)
        self._arrays, self._most = arrays, most_nodes
        self._read: set[int] = set()
        self._complete: list[_Found] = []
        #: The objects that are complete, inner ones before those that hold them.
        self.objects: list[Any] = []

    def model(self, node: Any) -> Any:
        """Return what a node describes, having read every array."""
        ((model,), *_) = self._inside([node])
        if len(self._read) != len(self._arrays):
            raise ValueError("arrays that nothing reads")
        return model

    def _inside(self, nodes: Iterable[Any]) -> _Found:
        """Return the values of nodes as a list, and what it reaches."""
        values, size, depth, nested = [], 1, 0, 0
        for node in nodes:
            if type(node) in _PLAIN:
                values.append(node)
                size += 1
                continue
            found = self._found(node)
            values.append(found.value)
            size += found.size
            depth, nested = max(depth, found.depth), max(nested, found.nested)
        if depth >= _DEEPEST:
            raise ValueError(f"more than {_DEEPEST} objects inside each other")
        if size > self._most:
            raise ValueError(f"more than {self._most:,} objects")
        return _Found(values, size, depth + 1, nested)

    def _found(self, node: Any) -> _Found:
        if type(node) is list:
            return self._inside(node)
        if len(node) != 1:
            raise ValueError(f"a node of {len(node)} kinds")
        ((name, content),) = node.items()
        if name in ("array", "same"):
            known: list[Any] = self._arrays if name == "array" else self._complete
            if type(content) is not int or not 0 <= content < len(known):
                raise ValueError(f"number {content!r} of {len(known)}")
            if name == "same":
                return self._complete[content]
            self._read.add(content)
            return _Found(self._arrays[content])
        kind = trusted_names().get(name)
        if kind is not None:
            found = self._object(kind, name, content)
        elif name in _PLAIN_PARTS:
            return _Found(_PLAIN_PARTS[name](content))
        elif name not in _PARTS:
            raise NotTrustedError(name)
        elif type(content) is not list:
            raise ValueError(f"a {name} of no entries")
        else:
            found = self._inside(content)
            found = found._replace(value=_PARTS[name](*found.value))
        if kind is not None or name in _GENERATORS:
            self._complete.append(found)
            self.objects.append(found.value)
        return found

    def _object(self, kind: type, name: str, content: Any) -> _Found:
        if type(content) is not dict:
            raise ValueError(f"{name} without attributes")
        unknown = sorted(content.keys() - kinds_of(kind).keys())
        if unknown:
            raise NotTrustedError(", ".join([f"{name}.{attribute}" for attribute in unknown]))
        found = self._inside(content.values())
        nested = found.nested + issubclass(kind, BaseEstimator)
        if nested > _MOST_NESTED:
            raise ValueError(f"more than {_MOST_NESTED} estimators inside each other")
        attributes = dict(zip(content, found.value, strict=True))
        value: Any = object.__new__(kind)
        if isinstance(value, stored.Stored):
            value.__setstate__(attributes)
        else:
            vars(value).update(attributes)
        check_object(value, attributes)
        return found._replace(value=value, nested=nested)


class _Found(NamedTuple):
    """A value, its number of nodes, and how many nodes and estimators are inside each other."""

    value: Any
    size: int = 1
    depth: int = 0
    nested: int = 0


def _number(kind: type, content: Any) -> Any:
    number = kind(content) if type(content) in _PLAIN else None
    if number is None or type(number.item()) is not type(content):
        raise ValueError(f"{content!r} in place of a {kind.__name__}")
    return number


def _dtype(name: str) -> np.dtype[Any]:
    return np.dtype(object) if name == "|O" else type_of_name(name)


def _named(known: dict[str, Any], name: str) -> Any:
    """Return a type of numbers or a function out of a fixed list."""
    if name not in known:
        raise NotTrustedError(name)
    return known[name]


def _of_text(make: Callable[[str], Any], content: Any) -> Any:
    _require(str, content)
    return make(content)


def _dict(kind: type, *pairs: Any) -> dict[Any, Any]:
    made = kind()
    for pair in pairs:
        if type(pair) is not list or len(pair) != 2 or type(pair[0]) not in ANY_SCALAR:
            raise ValueError("a dictionary with keys of other kinds than numbers and text")
        # The entries of a Bunch are its attributes, too.
        if kind is Bunch and (type(pair[0]) is not str or pair[0].startswith("__")):
            raise ValueError("a Bunch with special attributes")
        made[pair[0]] = pair[1]
    return made


def _set(*entries: Any) -> set[Any]:
    if not {*map(type, entries)} <= ANY_SCALAR:
        raise ValueError("a set of other kinds than numbers and text")
    return set(entries)


def _slice(start: Any, stop: Any, step: Any) -> slice:
    if not {type(start), type(stop), type(step)} <= {type(None), int, str}:
        raise ValueError("a slice without ends")
    return slice(start, stop, step)


def _objects(shape: Any, entries: Any) -> np.ndarray:
    _require(list, shape, entries)
    _require(int, *shape)
    if min(shape, default=0) < 0:
        raise ValueError(f"an array of shape {shape}")
    return stored.array_of_cells(entries).reshape(shape)


def _masked(data: Any, mask: Any) -> np.ma.MaskedArray:
    _require(np.ndarray, data, mask)
    stored.require_array("mask", mask, bool, data.shape)
    return np.ma.MaskedArray(data, mask)


def _tree(n_features: Any, n_outputs: Any, depth: Any, *arrays: Any) -> Any:
    """Return a tree of arrays; whether they are one is checked with the estimator that has it."""
    from sklearn.tree._tree import Tree

    _require(int, n_features, n_outputs, depth)
    n_classes, nodes, values = arrays
    stored.require_array("n_classes", n_classes, np.intp, (n_outputs,))
    stored.require_array("nodes", nodes, record_types()["tree"], (None,))
    if n_outputs < 1 or n_classes.min() < 1:
        raise ValueError("a tree without outputs or classes")
    stored.require_array(
        "values", values, np.float64, (len(nodes), n_outputs, int(n_classes.max()))
    )
    tree = Tree(n_features, n_classes, n_outputs)
    state = {"max_depth": depth, "node_count": len(nodes), "nodes": nodes, "values": values}
    tree.__setstate__(state)
    return tree


def _random_state(state: Any) -> RandomState:
    if not 0 <= state["state"]["pos"] <= _TWISTER_NUMBERS:  # NumPy looks at the rest alone
        raise ValueError("a random number generator in an impossible state")
    made = RandomState(0)
    made.set_state(state)
    return made


def _generator(state: Any, entropy: Any, n_children: Any, *spawn_key: Any) -> Generator:
    _require(int, entropy, n_children, *spawn_key)
    bits = PCG64(SeedSequence(entropy, spawn_key=spawn_key, n_children_spawned=n_children))
    bits.state = state
    return Generator(bits)


def _require(kind: type, *values: Any) -> None:
    """Raise ValueError unless all values are exactly of a type."""
    for value in values:
        if type(value) is not kind:
            raise ValueError(f"a {type(value).__name__} in place of a {kind.__name__}")


#: Makers of the kinds of nodes whose content is one number or text, and of those with a list.
_PLAIN_PARTS: dict[str, Callable[[Any], Any]] = {
    **{kind.__name__: partial(_number, kind) for kind in NUMPY_TYPES},
    "dtype": partial(_of_text, _dtype),
    **{table: partial(_of_text, partial(_named, names)) for table, names in _NAMED.items()},
    **{kind: partial(_of_text, partial(stored.made_cell, kind)) for kind in stored.CELLS},
}
_GENERATORS: dict[str, Callable[..., Any]] = {"RandomState": _random_state, "Generator": _generator}
_PARTS: dict[str, Callable[..., Any]] = {
    "tuple": lambda *entries: entries,
    "set": _set,
    **{kind.__name__: partial(_dict, kind) for kind in _DICTS},
    "slice": _slice,
    "objects": _objects,
    "masked": _masked,
    "Tree": _tree,
    **_GENERATORS,
    **stored.FRAME_PARTS,
}
