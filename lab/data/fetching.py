"""Fetch the data sets of the experiments from their sources, and bring them into one form.

``sources.toml`` says where each set comes from, under which licence, how the file of the source is
read, and which sha256 the finished file has. A file that differs from the recorded one is refused.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import URLError
from urllib.request import urlopen

from absentia.tables.files.formats import replaced
from lab.data.datasets import Record, cache_folder, records

if TYPE_CHECKING:
    import pandas as pd

_SECONDS = 60


def fetch(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    url: str | None = None,
    verify: bool = True,
) -> Path:
    """Fetch a data set, check its sha256, and return the file ``<name>.csv``.

    Parameters
    ----------
    name : str
    folder : path, optional
        Where to write; by default the cache, where ``load`` looks.
    url : str, optional
        Address of the source's file, or of the finished one, in place of the recorded address:
        ``https://...`` or ``file://...``.
    verify : bool, default=True
        Refuse a file whose sha256 is not the recorded one.
    """
    record = records().get(name)
    if record is None:
        raise ValueError(f"There is no data set {name!r}; the sets are {', '.join(records())}.")
    address = url or record.url
    if not address:
        raise ValueError(
            f"The source of {name!r} is known by name only ({record.source}"
            f"{f'; OpenML {record.openml_id}' * bool(record.openml_id)}): get it there, and "
            "pass the address of its file by --from (file:///... for one on this computer)."
        )
    raw = _content(address, name)
    place = Path(folder) if folder is not None else cache_folder()
    if hashlib.sha256(raw).hexdigest() == record.sha256:
        path, content = place / _file_name(name, raw), raw
    else:
        path, content = place / f"{name}.csv", finished(raw, record)
        digest = hashlib.sha256(content).hexdigest()
        if verify and digest != record.sha256:
            raise ValueError(
                f"{address} does not give the recorded file of {name!r}: sha256 {digest[:12]}..., "
                f"expected {record.sha256[:12]}... Pass --no-verify to keep it anyway."
            )
    place.mkdir(parents=True, exist_ok=True)
    with replaced(path) as draft:
        draft.write_bytes(content)
    return path


def finished(raw: bytes, record: Record) -> bytes:
    """Return the file of a source in the form of the experiments: a header, the target last."""
    if not record.raw:
        raise ValueError(
            f"{record.name!r} was put together from several files ({record.source}), so only the "
            "finished file, which has the recorded sha256, can be fetched."
        )
    frame = parsed(raw, record)
    frame = frame[[c for c in frame.columns if c != "target"] + ["target"]]
    return frame.to_csv(index=False).encode()


def parsed(raw: bytes, record: Record) -> pd.DataFrame:
    """Read the file of a source: name the columns, recode words, keep whole numbers whole."""
    import pandas as pd

    text = raw.decode("utf-8", errors="replace")
    if record.start:  # what follows this line are the values, as in ARFF
        lines = text.splitlines()
        first = next(k for k, line in enumerate(lines) if line.strip().lower() == record.start)
        text = "\n".join(line for line in lines[first + 1 :] if line.strip()[:1] not in ("", "%"))
    names = _columns(record.raw)
    frame = pd.read_csv(
        io.StringIO(text),
        header=None,
        names=[f"-{k}" if name == "-" else name for k, name in enumerate(names)],
        sep=r"\s+" if record.separator == " " else record.separator,
        skiprows=record.skip,
        na_values=["?", "\t?"],
        skipinitialspace=True,
        on_bad_lines="skip",
        index_col=False,
    )
    frame = frame[[name for name in names if name != "-"]]
    for rule in record.recode:
        for column in rule["columns"].split():
            frame[column] = _recoded(frame[column], rule["values"])
    frame = frame[frame["target"].notna()].copy()
    for column in frame.columns:
        values = frame[column]
        if pd.api.types.is_numeric_dtype(values) and (values.dropna() % 1 == 0).all():
            frame[column] = values.astype("Int64")
    return frame


def _recoded(values: pd.Series, rules: dict[str, object]) -> pd.Series:
    """Replace words, or whole numbers, by numbers; an empty word is a missing value."""
    import pandas as pd

    def word(value: object) -> object:
        whole = isinstance(value, float) and value.is_integer()
        return str(int(value) if whole else value).strip()  # type: ignore[call-overload]

    known = values.map(lambda v: rules.get(str(word(v)), v), na_action="ignore")
    return pd.to_numeric(known.replace("", None))


def _columns(raw: str) -> list[str]:
    """Return the names of the raw columns; ``V1..V34`` are 34 of them."""
    names: list[str] = []
    for word in raw.split():
        first, dots, last = word.partition("..")
        if not dots or not last:
            names.append(word)
            continue
        stem = first.rstrip("0123456789")
        numbers = range(int(first[len(stem) :]), int(last[len(stem) :]) + 1)
        names += [f"{stem}{number}" for number in numbers]
    return names


def _content(address: str, name: str) -> bytes:
    """Return the bytes of an address: of the network, of a file, or of an installed package."""
    if address.startswith("package:"):
        package, _, path = address.removeprefix("package:").partition("/")
        return files(package).joinpath(path).read_bytes()
    if not address.startswith(("https://", "file://")):
        raise ValueError(f"An address begins with https:// or file://, found {address!r}.")
    try:
        with urlopen(address, timeout=_SECONDS) as answer:
            content: bytes = answer.read()
            return content
    except URLError as error:
        raise ValueError(
            f"{name!r} could not be fetched from {address} ({error.reason}). Try again with a "
            "connection, or name the folder that has the data by --data or ABSENTIA_DATA."
        ) from error


def _file_name(name: str, content: bytes) -> str:
    return f"{name}.csv.gz" if content[:2] == gzip.compress(b"")[:2] else f"{name}.csv"
