"""The addresses inside a workspace, and the bodies of requests, which have a bounded size."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import unquote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from absentia.reports.safe_text import printable
from absentia.studio.row_answers import FieldValue, Json
from absentia.studio.workspaces import Workspace

#: Result of a handler: a mapping that becomes JSON, or a response.
Answer = Mapping[str, object] | Response
#: The largest file that the page may send.
MOST_BYTES = 50 * 2**20


class TooLarge(ValueError):
    """The page sent more than the studio takes."""


async def body_of(request: Request) -> bytes:
    """Read the body of a request, up to the largest size."""
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
    """Return an object of JSON; refuse anything else."""
    if not isinstance(found, dict):
        raise ValueError("The page sent something that is not an object.")
    return found


def file_name_of(request: Request) -> str:
    """Return the name of the sent file, for messages only."""
    return printable(unquote(request.headers.get("x-file-name", "the table")))[:80]


async def _read(workspace: Workspace, request: Request) -> Answer:
    asked = await json_of(request)
    kinds = {name: str(kind) for name, kind in as_object(asked.get("kinds", {})).items() if kind}
    task = asked.get("task") or None
    return workspace.read(str(asked.get("target", "")), kinds, task)


async def _work(workspace: Workspace, request: Request) -> Answer:
    return workspace.start(str((await json_of(request)).get("what", "")))


async def _progress(workspace: Workspace, request: Request) -> Answer:
    return await run_in_threadpool(workspace.progress)


async def _stop(workspace: Workspace, request: Request) -> Answer:
    await run_in_threadpool(workspace.stop)
    return workspace.progress()


async def _row(workspace: Workspace, request: Request) -> Answer:
    number = request.path_params["number"]
    if not (number.isascii() and number.isdecimal() and len(number) < 10):
        raise ValueError("Rows are numbered from 1.")
    return workspace.row(int(number))


async def _answer(workspace: Workspace, request: Request) -> Answer:
    asked = await json_of(request)
    fields = {name: as_object(of) for name, of in as_object(asked.get("values", {})).items()}
    values = {
        name: FieldValue(str(of.get("state", "")), str(of.get("text", "")))
        for name, of in fields.items()
    }
    costs = {name: float(str(cost)) for name, cost in as_object(asked.get("costs", {})).items()}
    return await run_in_threadpool(workspace.answer, values, costs)


async def _batch(workspace: Workspace, request: Request) -> Answer:
    content = await body_of(request)
    return await run_in_threadpool(workspace.start_batch, content, file_name_of(request))


async def _batch_csv(workspace: Workspace, request: Request) -> Answer:
    return _download(workspace.batch_csv(), "text/csv; charset=utf-8", "predictions.csv")


async def _model_file(workspace: Workspace, request: Request) -> Answer:
    content = await run_in_threadpool(workspace.model_file)
    return _download(content, "application/octet-stream", "model.absentia")


def _download(content: bytes, kind: str, name: str) -> Response:
    return Response(
        content,
        media_type=kind,
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


#: Method, address below that of the workspace, and handler.
WORKSPACE_PAGES: tuple[tuple[str, str, Callable[[Workspace, Request], Awaitable[Answer]]], ...] = (
    ("POST", "read", _read),
    ("POST", "work", _work),
    ("GET", "work", _progress),
    ("POST", "stop", _stop),
    ("GET", "row/{number}", _row),
    ("POST", "answer", _answer),
    ("POST", "batch", _batch),
    ("GET", "batch.csv", _batch_csv),
    ("GET", "model", _model_file),
)
