"""Model files changed at random, loaded and used: run as a program, for a crash ends it.

``python hostile_files.py SEED COUNT`` prints one line per file. Every file must either be refused
with a ValueError or give a model whose predictions are numbers or Python exceptions; whatever else
happens (a crash, another exception from load) ends the program with an error.
"""

from __future__ import annotations

import io
import json
import random
import sys
import tempfile
import warnings
import zipfile
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


def nodes(value: object, found: list) -> list:
    if isinstance(value, dict):
        if "__loader__" in value:
            found.append(value)
        for inner in value.values():
            nodes(inner, found)
    elif isinstance(value, list):
        for inner in value:
            nodes(inner, found)
    return found


def change_description(rng: random.Random, schema: dict, files: list[str]) -> None:
    """Change one node: its class, its content, its number or its array."""
    every = nodes(schema, [])
    node, other = rng.choice(every), rng.choice(every)
    arrays = [n for n in every if "file" in n]
    values = [n for n in every if n["__loader__"] == "JsonNode"]
    what = rng.randrange(7)
    if what == 0:
        node["__loader__"] = other["__loader__"]
    elif what == 1:
        node["__class__"], node["__module__"] = other["__class__"], other["__module__"]
    elif what == 2:
        copy = json.loads(json.dumps(other))
        node.clear()
        node.update(copy)
    elif what == 3:
        node.pop(rng.choice(list(node)))
    elif what == 4:
        node["__id__"] = other.get("__id__")
    elif what == 5:
        rng.choice(arrays)["file"] = rng.choice(files)
    else:
        odd = ["-1", "1e308", "null", '"x"', "[]", "[[]]", "NaN", "9" * 40, "{}", "true"]
        rng.choice(values)["content"] = rng.choice(odd)


def change_array(rng: random.Random, content: bytes) -> bytes:
    """Return an array with another type, shape or other values, as a file of NumPy."""
    array = np.load(io.BytesIO(content))
    what = rng.randrange(8)
    if array.dtype.names and what < 5:
        # A node of a tree, with another child, feature or flag.
        array = array.copy()
        field = rng.choice(array.dtype.names)
        array[field][rng.randrange(array.size)] = rng.choice([0, 1, 3, 100])
    elif what == 0:
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
    elif array.dtype.kind in "if" and array.size and array.itemsize == 8:
        array = array.copy()
        array.flat[rng.randrange(array.size)] = rng.choice([-1, 10**6, 2**31, -(2**40)])
    elif array.dtype.kind == "b":
        array = ~array
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def without_unread(parts: dict[str, bytes]) -> dict[str, bytes]:
    """Leave out the arrays that a changed description no longer names."""
    schema = parts.get("schema.json", b"")
    return {
        name: part
        for name, part in parts.items()
        if not name.endswith(".npy") or f'"file": "{name}"'.encode() in schema
    }


def changed(rng: random.Random, content: bytes) -> bytes:
    """Return a model file with something changed."""
    if rng.random() < 0.15:
        damaged = bytearray(content)
        for _ in range(rng.randrange(1, 5)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        return bytes(damaged)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    files = [name for name in parts if name.endswith(".npy")]
    for _ in range(rng.randrange(1, 3)):
        if rng.random() < 0.5:
            schema = json.loads(parts["schema.json"])
            change_description(rng, schema, files)
            parts["schema.json"] = json.dumps(schema).encode()
        else:
            name = rng.choice(files)
            parts[name] = change_array(rng, parts[name])
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, part in without_unread(parts).items():
            archive.writestr(name, part)
    return stream.getvalue()


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
            place.write_bytes(changed(rng, content))
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
