"""What the page sends: bodies of a bounded size, objects of JSON, names of files."""

from __future__ import annotations

import json
from urllib.parse import unquote

from starlette.requests import Request

from absentia.reports.safe_text import printable
from absentia.studio.row_answers import Json

__all__ = ["MOST_BYTES", "TooLarge", "as_object", "body_of", "file_name_of", "json_of"]

#: The largest file that the page may send.
MOST_BYTES = 50 * 2**20


class TooLarge(ValueError):
    """The page sent more than the studio takes."""


async def body_of(request: Request) -> bytes:
    """Read the body of a request, and no more than is allowed."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BYTES:
            raise TooLarge(
                f"The file is larger than {MOST_BYTES // 2**20} MB, the most that is allowed."
            )
        parts.append(part)
    return b"".join(parts)


async def json_of(request: Request) -> Json:
    """Read the object that a request holds; an empty body is an empty object."""
    try:
        found = json.loads(await body_of(request) or b"{}")
    except RecursionError:
        raise ValueError("The page sent something that is nested too deeply.") from None
    return as_object(found)


def as_object(found: object) -> Json:
    """Return an object of JSON; what else a page may send is refused."""
    if not isinstance(found, dict):
        raise ValueError("The page sent something that is not an object.")
    return found


def file_name_of(request: Request) -> str:
    """Return what the user calls a file: for sentences only."""
    return printable(unquote(request.headers.get("x-file-name", "the table")))[:80]
