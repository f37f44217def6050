"""Model files changed at random, loaded and used: run as a program, for a crash ends it.

``python hostile_files.py SEED COUNT`` prints one line per file. Every file must either be refused
with a ValueError or give a model whose predictions are numbers or Python exceptions; whatever else
happens (a crash, another exception from load) ends the program with an error.
"""

from __future__ import annotations

import gzip
import json
import math
import random
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from absentia import (
    SVC,
    SVR,
    Beliefs,
    ExpectedPolynomial,
    FourierFeatures,
    GenRBF,
    LargeScaleRidge,
    MaskKernel,
    MixtureDensity,
    load,
    save,
)
from absentia.persistence.nodes import Reader, Writer, name_of_type, type_of_name


def rows(n: int = 40, d: int = 4) -> np.ndarray:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    X[rng.random(X.shape) < 0.3] = np.nan
    return X


def models() -> list:
    """Models that reach every compiled loop, with the rows to predict."""
    X = rows()
    y = np.arange(len(X)) % 2
    mixture = MixtureDensity(n_components=2, random_state=0, n_init=1)
    kernel = GenRBF(metric="mahalanobis") * MaskKernel([0.1, 0.2, 0.3, 0.4])
    given = Beliefs.from_moments(np.nan_to_num(X), variances=0.1)
    fourier = FourierFeatures(
        n_components=8, mask_weight=0.1, random_state=np.random.RandomState(0)
    )
    return [
        (make_pipeline(StandardScaler(), CalibratedClassifierCV(SVC(), cv=2)).fit(X, y), X),
        (SVC(kernel=kernel, density=mixture).fit(X, y), X),
        (SVR(kernel=ExpectedPolynomial(degree=3)).fit(X, y), X),
        (SVC().fit(given, y), given),
        (LargeScaleRidge(features=fourier).fit(X, y), X),
        (RandomForestClassifier(3, random_state=0).fit(X, y), X),
        (HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=3).fit(X, y), X),
    ]


def check_contents(model: object) -> list:
    """Read a model from its description as a file does, without its trial; return its objects."""
    writer = Writer()
    node = writer.node(model)
    reader = Reader(writer.arrays, 10**7)
    reader.model(json.loads(json.dumps(node)))
    return reader.objects


def opened(path: Path) -> tuple[dict, list[bytes]]:
    """Return the first line of a model file, and the bytes of its arrays."""
    line, _, content = gzip.decompress(path.read_bytes()).partition(b"\n")
    header, parts = json.loads(line), []
    for name, shape, _ in header["arrays"]:
        size = math.prod(shape) * type_of_name(name).itemsize
        parts.append(content[:size])
        content = content[size:]
    return header, parts


def write(path: Path, header: object, parts: list[bytes]) -> None:
    """Write a model file by hand."""
    with open(path, "wb") as stream, gzip.GzipFile("", "wb", 1, stream, mtime=0) as packed:
        packed.write(b"\n".join([json.dumps(header).encode(), b"".join(parts)]))


def rewrite(path: Path, change) -> None:
    """Write a model file anew; ``change`` alters its first line and its arrays in place."""
    header, parts = opened(path)
    change(header, parts)
    write(path, header, parts)


def nodes(value: object, kind: str = "") -> list[dict]:
    """Return the nodes of a description, or those whose kind ends in a word."""
    if isinstance(value, list):
        return [node for entry in value for node in nodes(entry, kind)]
    if not isinstance(value, dict):
        return []
    inside = nodes(list(value.values()), kind)
    is_node = len(value) == 1 and next(iter(value)).endswith(kind)
    return [value, *inside] if is_node else inside


def change_description(rng: random.Random, model: object) -> None:
    """Change one node: its kind, its content, its number or its array."""
    every = nodes(model)
    node, other = rng.choice(every), rng.choice(every)
    (kind, content), (other_kind, other_content) = *node.items(), *other.items()
    odd = [-1, 1e308, None, "x", [], [[]], {}, float("nan"), 10**40, True, {"array": 0}]
    odd += [{"same": k} for k in range(3)] + [json.loads(json.dumps(other))]
    what = rng.randrange(4)
    if what == 0:
        node.clear()
        node[other_kind] = content
    elif what == 1:
        node[kind] = json.loads(json.dumps(other_content))
    elif what == 2 or not isinstance(content, dict | list) or not content:
        node[kind] = rng.choice(odd)
    else:
        place = rng.choice([*content] if isinstance(content, dict) else range(len(content)))
        content[place] = rng.choice(odd)
        if rng.random() < 0.2:
            del content[place]


def change_array(rng: random.Random, layout: list, part: bytes) -> bytes:
    """Return an array with another type, shape or other values; the layout is changed in place."""
    array = np.frombuffer(part, type_of_name(layout[0])).reshape(layout[1], order=layout[2]).copy()
    what = rng.randrange(9)
    if array.dtype.names and what < 5:
        # A node of a tree, with another child, feature or flag.
        field = rng.choice(array.dtype.names)
        array[field][rng.randrange(array.size)] = rng.choice([0, 1, 3, 100])
    elif what == 0 and array.dtype.kind in "biuf":
        array = array.astype(rng.choice(["f4", "i4", "i8", "u1", "?", ">f8", "U3", "c16"]))
    elif what == 1:
        array = array.reshape(-1)
    elif what == 2:
        array = array[..., None]
    elif what == 3:
        array = np.concatenate([array.reshape(-1), array.reshape(-1)])
    elif what == 4 and array.ndim:
        array = array[: len(array) // 2]
    elif what == 5 and array.ndim:
        array = array.T if array.ndim > 1 else array[:0]
    elif what == 6 and array.dtype.kind == "f" and array.size:
        array.flat[rng.randrange(array.size)] = rng.choice([np.nan, np.inf, -1e300])
    elif array.dtype.kind in "if" and array.size and array.itemsize == 8:
        array.flat[rng.randrange(array.size)] = rng.choice([-1, 10**6, 2**31, -(2**40)])
    elif array.dtype.kind == "b":
        array = ~array
    layout[:] = name_of_type(array.dtype), list(array.shape), "C"
    return array.tobytes()


def changed(rng: random.Random, path: Path) -> None:
    """Change something in a model file."""
    if rng.random() < 0.15:
        damaged = bytearray(path.read_bytes())
        for _ in range(rng.randrange(1, 5)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        path.write_bytes(bytes(damaged))
        return
    header, parts = opened(path)
    for _ in range(rng.randrange(1, 3)):
        if rng.random() < 0.5:
            change_description(rng, header["model"])
        else:
            k = rng.randrange(len(parts))
            parts[k] = change_array(rng, header["arrays"][k], parts[k])
    write(path, header, parts)


def main(seed: int, count: int) -> None:
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "model"
        originals = []
        for model, X in models():
            save(model, place)
            originals.append((place.read_bytes(), X))
        for k in range(count):
            rng = random.Random(f"{seed}-{k}")
            content, X = rng.choice(originals)
            place.write_bytes(content)
            changed(rng, place)
            print(k, end=" ", flush=True)
            try:
                model = load(place)
            except ValueError:
                print("refused", flush=True)
                continue
            try:
                model.predict(X)
            except Exception as error:
                print(
                    "loaded", type(error).__name__, str(error)[:150].replace("\n", " "), flush=True
                )
            else:
                print("loaded and predicted", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
