"""The web application: access control, routes, and responses as JSON.

The server listens on 127.0.0.1, which every program and every web page on the machine can reach.
So each request must name this server as its host (a page elsewhere that had its name resolve to
127.0.0.1 cannot), come from no other origin, and carry the random token in its address.
"""

from __future__ import annotations

import json
import secrets
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from absentia.reports.describing import suspects
from absentia.reports.safe_text import printable
from absentia.studio.row_answers import MOST_CELLS, FieldValue, Json
from absentia.studio.workspaces import BUNDLED, Workspace, Workspaces, bundled_table, for_page
from absentia.tables.files.formats import read_bytes

if TYPE_CHECKING:
    import pandas as pd

_STATIC = Path(__file__).parent / "static"
#: All files that are served; no part of a request is used as a path.
_FILES = ("index.html", "studio.js", "charts.js", "studio.css")
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
#: Result of a handler: a mapping that becomes JSON, or a response.
Answer = Mapping[str, object] | Response
#: The largest file that the page may send.
MOST_BYTES = 50 * 2**20
_Handler = Callable[[Request], Awaitable[Answer]]


class Guard:
    """Middleware that answers 403 to requests without the token or from elsewhere.

    The application sees paths without the token.
    """

    def __init__(self, app: ASGIApp, token: str, port: int):
        self._app, self._token = app, token.encode()
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, and pass it on or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http" or not self._admits(scope):
            refusal = PlainTextResponse(
                "This request lacks the token of the studio, or comes from elsewhere. Use the "
                "address that `absentia studio` printed.",
                status_code=403,
                headers=_HEADERS,
            )
            await refusal(scope, receive, send)
            return
        inner = "/" + scope["path"].split("/", 2)[2]

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await self._app({**scope, "path": inner, "raw_path": inner.encode()}, receive, with_headers)

    def _admits(self, scope: Scope) -> bool:
        headers = Headers(scope=scope)
        hosts, origins, sites = map(headers.getlist, ("host", "origin", "sec-fetch-site"))
        parts = scope["path"].split("/", 2)
        given = parts[1].encode() if len(parts) == 3 else b""
        return (
            len(hosts) == 1
            and hosts[0] in self._hosts
            and set(origins) <= {f"http://{hosts[0]}"}
            and set(sites) <= {"same-origin", "none"}
            and secrets.compare_digest(given, self._token)
        )


class TooLarge(ValueError):
    """The page sent more than the studio takes."""

    status = 413


@dataclass(frozen=True)
class Asked:
    """What the page sent: the body, the name of the file (for messages only), parts of the path."""

    body: bytes
    file_name: str
    path: Mapping[str, str]

    @classmethod
    async def of(cls, request: Request) -> Asked:
        """Read a request, up to the largest size."""
        name = printable(unquote(request.headers.get("x-file-name", "the table")))[:80]
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > MOST_BYTES:
                most = f"{MOST_BYTES // 2**20} MB, the most that is allowed"
                raise TooLarge(f"The file is larger than {most}.")
        return cls(bytes(body), name, request.path_params)

    @property
    def json(self) -> Json:
        """The object that the body holds; an empty body is an empty object."""
        try:
            return as_object(json.loads(self.body or b"{}"))
        except (ValueError, RecursionError):  # also too deep, or a number of 5000 digits
            raise ValueError("The page sent something that is not an object of JSON.") from None


def as_object(found: object) -> Json:
    """Return an object of JSON; refuse anything else."""
    if not isinstance(found, dict):
        raise ValueError("The page sent something that is not an object.")
    return found


def _read(workspace: Workspace, asked: Asked) -> Answer:
    found = asked.json
    kinds = {name: str(kind) for name, kind in as_object(found.get("kinds", {})).items() if kind}
    return workspace.read(str(found.get("target", "")), kinds, found.get("task") or None)


def _stop(workspace: Workspace, asked: Asked) -> Answer:
    workspace.stop()
    return workspace.progress()


def _row(workspace: Workspace, asked: Asked) -> Answer:
    number = asked.path["number"]
    if not (number.isascii() and number.isdecimal() and len(number) < 10):
        raise ValueError("Rows are numbered from 1.")
    return workspace.row(int(number))


def _answer(workspace: Workspace, asked: Asked) -> Answer:
    return workspace.model_answers.answer(_values(asked.json), _costs(asked.json))


def _report(workspace: Workspace, asked: Asked) -> Answer:
    return _download(workspace.row_report(_values(asked.json), _costs(asked.json)), "row.html")


def _costs(found: Json) -> dict[str, float]:
    try:
        return {name: float(cost) for name, cost in as_object(found.get("costs", {})).items()}
    except (TypeError, ValueError):
        raise ValueError("Costs must be numbers.") from None


def _work(workspace: Workspace, asked: Asked) -> Answer:
    found = asked.json
    return workspace.start(str(found.get("what", "")), str(found.get("method", "")))


def _values(found: Json) -> dict[str, FieldValue]:
    fields = {name: as_object(of) for name, of in as_object(found.get("values", {})).items()}
    return {
        name: FieldValue(str(of.get("state", "")), str(of.get("text", "")))
        for name, of in fields.items()
    }


def _what_if(workspace: Workspace, asked: Asked) -> Answer:
    found = asked.json
    return {"answers": workspace.model_answers.what_if(_values(found), str(found.get("name", "")))}


def _download(content: bytes, name: str, kind: str = "text/html; charset=utf-8") -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=kind, headers=headers)


_CSV, _ANY = "text/csv; charset=utf-8", "application/octet-stream"
#: Method, address below that of the workspace, and handler, which runs on a thread.
WORKSPACE_PAGES: tuple[tuple[str, str, Callable[[Workspace, Asked], Answer]], ...] = (
    ("POST", "read", _read),
    ("GET", "suspects", lambda space, asked: {"cells": suspects(space.table)}),
    ("POST", "work", _work),
    ("GET", "work", lambda space, asked: space.progress()),
    ("POST", "stop", _stop),
    ("GET", "row/{number}", _row),
    ("POST", "answer", _answer),
    ("POST", "parts", lambda space, asked: space.model_answers.parts(_values(asked.json))),
    ("POST", "what-if", _what_if),
    ("POST", "batch", lambda space, asked: space.start_batch(asked.body, asked.file_name)),
    ("POST", "report", _report),
    ("GET", "batch.html", lambda space, asked: _download(space.batch_report(), "predictions.html")),
    (
        "GET",
        "batch.csv",
        lambda space, asked: _download(space.batch_csv(), "predictions.csv", _CSV),
    ),
    ("GET", "model", lambda space, asked: _download(space.model_file(), "model.absentia", _ANY)),
)


def studio_app(
    token: str, port: int, *, frame: pd.DataFrame | None = None, name: str = ""
) -> Guard:
    """Return the application that a server runs.

    ``token`` is the first part of every path, ``port`` belongs to the ``Host`` header, and
    ``frame`` is a table that the page opens at once.
    """
    spaces = Workspaces()
    opening = _Opening(spaces, frame, name)

    def inside(handler: Callable[[Workspace, Asked], Answer]) -> _Handler:
        async def with_workspace(request: Request) -> Answer:
            workspace = spaces[request.path_params["workspace"]]
            return await run_in_threadpool(handler, workspace, await Asked.of(request))

        return _answering(with_workspace)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        spaces.close()

    routes = [
        *(Route(f"/{name.replace('index.html', '')}", _file(name)) for name in _FILES),
        Route("/api/start", _answering(opening.start)),
        Route("/api/open", _answering(opening.open_table), methods=["POST"]),
        Route("/api/open-model", _answering(opening.open_model), methods=["POST"]),
        *(
            Route(f"/api/{{workspace}}/{path}", inside(handler), methods=[method])
            for method, path, handler in WORKSPACE_PAGES
        ),
    ]
    return Guard(Starlette(routes=routes, lifespan=lifespan), token, port)


@dataclass(frozen=True, eq=False)
class _Opening:
    """The addresses that open a workspace; the studio was started with the table ``frame``."""

    spaces: Workspaces
    frame: pd.DataFrame | None
    name: str

    async def start(self, request: Request) -> Answer:
        """List what can be opened without sending a file."""
        examples = [{"name": key, "title": title} for key, (title, _) in BUNDLED.items()]
        return {"examples": examples, "file": self.name if self.frame is not None else ""}

    async def open_table(self, request: Request) -> Answer:
        """Open an example, the table of the start, or one that the page sends."""
        asked, notes = request.query_params, list[str]()
        if asked.get("example"):
            key = asked["example"]
            table = await run_in_threadpool(bundled_table, key)
            workspace = Workspace(table, key, BUNDLED[key][1])
        elif asked.get("file"):
            if self.frame is None:
                raise ValueError("The studio was started without a file.")
            workspace = Workspace(self.frame, self.name)
        else:
            sent = await Asked.of(request)
            read = partial(read_bytes, most_cells=MOST_CELLS)
            table, _ = await run_in_threadpool(read, sent.body, sent.file_name, notes.append)
            workspace = Workspace(table, sent.file_name)
        summary = await run_in_threadpool(workspace.summary)
        return {
            "workspace": self.spaces.add(workspace),
            "notes": [*map(for_page, notes)],
            **summary,
        }

    async def open_model(self, request: Request) -> Answer:
        """Open a model file."""
        sent = await Asked.of(request)
        workspace = await run_in_threadpool(Workspace.of_model, sent.body, sent.file_name)
        card = await run_in_threadpool(workspace.model_card)
        return {"workspace": self.spaces.add(workspace), "model": card}


def _file(name: str) -> _Handler:
    async def serve_file(request: Request) -> Response:
        return FileResponse(_STATIC / name)

    return serve_file


def _answering(handler: _Handler) -> _Handler:
    """Return a handler whose results become JSON, and errors in the input one sentence."""

    async def answer(request: Request) -> Response:
        try:
            found = await handler(request)
        except (ValueError, OverflowError, ImportError) as error:
            said, status = for_page(printable(str(error))), getattr(error, "status", 400)
            return JSONResponse({"error": said}, status_code=status)
        except Exception:
            traceback.print_exc()
            inside = "The studio could not do that; the terminal where it was started says why."
            return JSONResponse({"error": inside}, status_code=500)
        return found if isinstance(found, Response) else JSONResponse(found)

    return answer
