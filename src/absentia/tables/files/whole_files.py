"""Files that appear whole or not at all, whatever stops the program that writes them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["replaced"]


@contextmanager
def replaced(output: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of a draft that takes the place of a file once it is whole.

    The draft is in a hidden folder of its own beside the file, whose name nobody else has. A
    program that is killed while it writes leaves the file as it was, and that folder.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> page = Path(folder.name) / "page.html"
    >>> with replaced(page) as draft:
    ...     _ = draft.write_text("<p>Whole.</p>")
    ...     page.exists()
    False
    >>> page.read_text()
    '<p>Whole.</p>'
    >>> folder.cleanup()
    """
    path = Path(output)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent} to write {path.name} into.")
    try:
        # Not the whole name: with eight letters behind it, it may be longer than names may be.
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name[:40]}.") as folder:
            draft = Path(folder) / path.name
            yield draft
            os.replace(draft, path)
    except OSError as error:
        if error.filename is None:  # a full disk does not say which file it has no room for
            error.filename = str(path)
        raise
