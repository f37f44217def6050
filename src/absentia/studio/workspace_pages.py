"""The addresses inside a workspace: read its table, work on it, ask about rows, fetch files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from absentia.studio.row_answers import FieldValue
from absentia.studio.sent_by_page import as_object, body_of, file_name_of, json_of
from absentia.studio.workspaces import Workspace

__all__ = ["WORKSPACE_PAGES", "Answer"]

#: What a handler returns: a mapping that becomes JSON, or a response of its own.
Answer = Mapping[str, object] | Response


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


#: Method, address below that of the workspace, and what answers there.
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
