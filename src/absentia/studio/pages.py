"""The addresses of the studio: a page, its script and style, and answers as JSON."""

from __future__ import annotations

import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from absentia.reports.safe_text import printable
from absentia.studio.bundled import BUNDLED, bundled_table
from absentia.studio.guard import Guard
from absentia.studio.row_answers import FieldValue, Json
from absentia.studio.workspaces import Gone, Workspace, Workspaces
from absentia.tables.files.delimited import read_delimited

if TYPE_CHECKING:
    import pandas as pd


__all__ = ["MOST_BYTES", "studio_app"]

#: The largest file that the page may send.
MOST_BYTES = 50 * 2**20
_STATIC = Path(__file__).parent / "static"
#: Everything that is served as a file; no name of a request is a path.
_FILES = {
    "": "index.html",
    "studio.js": "studio.js",
    "charts.js": "charts.js",
    "studio.css": "studio.css",
}


#: What a handler returns: a mapping that becomes JSON, or a response of its own.
Answer = Mapping[str, object] | Response
Handler = Callable[..., Awaitable[Answer]]


class _TooLarge(ValueError):
    pass


def studio_app(
    token: str, port: int, *, frame: pd.DataFrame | None = None, name: str = ""
) -> Guard:
    """Return the application that a server runs.

    Parameters
    ----------
    token : str
        The first part of every path.
    port : int
        Where it is served, to check the ``Host`` header.
    frame : pandas.DataFrame, optional
        A table that the page opens at once.
    name : str
        What to call it.
    """
    spaces = Workspaces()

    async def start(request: Request) -> Answer:
        examples = [{"name": key, "title": title} for key, (title, _) in BUNDLED.items()]
        return {"examples": examples, "file": name if frame is not None else ""}

    async def open_table(request: Request) -> Answer:
        asked, notes = request.query_params, list[str]()
        if asked.get("example"):
            key = asked["example"]
            table = await run_in_threadpool(bundled_table, key)
            workspace = Workspace(table, key, BUNDLED[key][1])
        elif asked.get("file"):
            if frame is None:
                raise ValueError("The studio was started without a file.")
            workspace = Workspace(frame, name)
        else:
            label = _file_name(request)
            content = await _body(request)
            table = await run_in_threadpool(read_delimited, content, label, notes.append)
            workspace = Workspace(table, label)
        summary = await run_in_threadpool(workspace.summary)
        return {"workspace": spaces.add(workspace), "notes": notes, **summary}

    async def open_model(request: Request) -> Answer:
        workspace = await run_in_threadpool(
            Workspace.of_model, await _body(request), _file_name(request)
        )
        return {"workspace": spaces.add(workspace), "model": workspace.model_card()}

    async def read(workspace: Workspace, request: Request) -> Answer:
        asked = await _json(request)
        kinds = {name: str(kind) for name, kind in _object(asked.get("kinds", {})).items() if kind}
        task = asked.get("task") or None
        return workspace.read(str(asked.get("target", "")), kinds, task)

    async def work(workspace: Workspace, request: Request) -> Answer:
        return workspace.start(str((await _json(request)).get("what", "")))

    async def progress(workspace: Workspace, request: Request) -> Answer:
        return await run_in_threadpool(workspace.progress)

    async def stop(workspace: Workspace, request: Request) -> Answer:
        await run_in_threadpool(workspace.stop)
        return workspace.progress()

    async def row(workspace: Workspace, request: Request) -> Answer:
        number = request.path_params["number"]
        if not (number.isascii() and number.isdecimal() and len(number) < 10):
            raise ValueError("Rows are numbered from 1.")
        return workspace.row(int(number))

    async def answer(workspace: Workspace, request: Request) -> Answer:
        asked = await _json(request)
        fields = {name: _object(of) for name, of in _object(asked.get("values", {})).items()}
        values = {
            name: FieldValue(str(of.get("state", "")), str(of.get("text", "")))
            for name, of in fields.items()
        }
        costs = {name: float(str(cost)) for name, cost in _object(asked.get("costs", {})).items()}
        return await run_in_threadpool(workspace.answer, values, costs)

    async def batch(workspace: Workspace, request: Request) -> Answer:
        content, notes = await _body(request), list[str]()
        table = None
        if content:
            name = _file_name(request)
            table = await run_in_threadpool(read_delimited, content, name, notes.append)
        return await run_in_threadpool(workspace.start_batch, table, notes)

    async def batch_csv(workspace: Workspace, request: Request) -> Answer:
        return _download(workspace.batch_csv(), "text/csv; charset=utf-8", "predictions.csv")

    async def model_file(workspace: Workspace, request: Request) -> Answer:
        content = await run_in_threadpool(workspace.model_file)
        return _download(content, "application/octet-stream", "model.absentia")

    def plain(handler: Handler) -> Handler:
        return _answering(lambda request: handler(request))

    def inside(handler: Handler) -> Handler:
        async def with_workspace(request: Request) -> Answer:
            return await handler(spaces[request.path_params["workspace"]], request)

        return _answering(with_workspace)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        spaces.close()

    base = "/api/{workspace}"
    routes = [
        *(Route(f"/{path}", _file(file)) for path, file in _FILES.items()),
        Route("/api/start", plain(start)),
        Route("/api/open", plain(open_table), methods=["POST"]),
        Route("/api/open-model", plain(open_model), methods=["POST"]),
        Route(f"{base}/read", inside(read), methods=["POST"]),
        Route(f"{base}/work", inside(work), methods=["POST"]),
        Route(f"{base}/work", inside(progress)),
        Route(f"{base}/stop", inside(stop), methods=["POST"]),
        Route(f"{base}/row/{{number}}", inside(row)),
        Route(f"{base}/answer", inside(answer), methods=["POST"]),
        Route(f"{base}/batch", inside(batch), methods=["POST"]),
        Route(f"{base}/batch.csv", inside(batch_csv)),
        Route(f"{base}/model", inside(model_file)),
    ]
    return Guard(Starlette(routes=routes, lifespan=lifespan), token, port)


def _file(name: str) -> Handler:
    async def serve_file(request: Request) -> Response:
        return FileResponse(_STATIC / name)

    return serve_file


def _answering(
    handler: Callable[[Request], Awaitable[Answer]],
) -> Callable[[Request], Awaitable[Answer]]:
    """Turn what a handler returns into JSON, and errors in the input into one sentence."""

    async def answer(request: Request) -> Response:
        try:
            found = await handler(request)
        except _TooLarge as error:
            return JSONResponse({"error": str(error)}, status_code=413)
        except Gone as error:
            return JSONResponse({"error": str(error)}, status_code=404)
        except (ValueError, OverflowError, ImportError) as error:
            return JSONResponse({"error": printable(str(error))}, status_code=400)
        except Exception:
            traceback.print_exc()
            inside = "The studio could not do that; the terminal where it was started says why."
            return JSONResponse({"error": inside}, status_code=500)
        return found if isinstance(found, Response) else JSONResponse(found)

    return answer


async def _body(request: Request) -> bytes:
    """Read the body of a request, and no more than is allowed."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BYTES:
            raise _TooLarge(
                f"The file is larger than {MOST_BYTES // 2**20} MB, the most that is allowed."
            )
        parts.append(part)
    return b"".join(parts)


async def _json(request: Request) -> Json:
    import json

    try:
        found = json.loads(await _body(request) or b"{}")
    except RecursionError:
        raise ValueError("The page sent something that is nested too deeply.") from None
    return _object(found)


def _object(found: object) -> Json:
    """Return an object of JSON; what else a page may send is refused."""
    if not isinstance(found, dict):
        raise ValueError("The page sent something that is not an object.")
    return found


def _file_name(request: Request) -> str:
    """Return what the user calls a file: for sentences only."""
    return printable(unquote(request.headers.get("x-file-name", "the table")))[:80]


def _download(content: bytes, kind: str, name: str) -> Response:
    return Response(
        content,
        media_type=kind,
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
