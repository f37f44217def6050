"""The web application: routes of the page, its files, and responses as JSON."""

from __future__ import annotations

import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from absentia.reports.safe_text import printable
from absentia.studio.bundled import BUNDLED, bundled_table
from absentia.studio.guard import Guard
from absentia.studio.workspace_pages import (
    WORKSPACE_PAGES,
    Answer,
    TooLarge,
    body_of,
    file_name_of,
)
from absentia.studio.workspaces import Gone, Workspace, Workspaces
from absentia.tables.files.formats import read_bytes

if TYPE_CHECKING:
    import pandas as pd


_STATIC = Path(__file__).parent / "static"
#: All files that are served; no part of a request is used as a path.
_FILES = {
    "": "index.html",
    "studio.js": "studio.js",
    "charts.js": "charts.js",
    "studio.css": "studio.css",
}

_Handler = Callable[[Request], Awaitable[Answer]]


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
        The name of the table.
    """
    spaces = Workspaces()
    opening = _Opening(spaces, frame, name)

    def inside(handler: Callable[[Workspace, Request], Awaitable[Answer]]) -> _Handler:
        async def with_workspace(request: Request) -> Answer:
            return await handler(spaces[request.path_params["workspace"]], request)

        return _answering(with_workspace)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        spaces.close()

    routes = [
        *(Route(f"/{path}", _file(file)) for path, file in _FILES.items()),
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
    """The addresses that open a workspace.

    Attributes
    ----------
    spaces : Workspaces
        The open workspaces.
    frame : pandas.DataFrame or None
        The table that the studio was started with.
    name : str
        The name of that table.
    """

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
            label = file_name_of(request)
            content = await body_of(request)
            table, _ = await run_in_threadpool(read_bytes, content, label, notes.append)
            workspace = Workspace(table, label)
        summary = await run_in_threadpool(workspace.summary)
        return {"workspace": self.spaces.add(workspace), "notes": notes, **summary}

    async def open_model(self, request: Request) -> Answer:
        """Open a model file."""
        workspace = await run_in_threadpool(
            Workspace.of_model, await body_of(request), file_name_of(request)
        )
        return {"workspace": self.spaces.add(workspace), "model": workspace.model_card()}


def _file(name: str) -> _Handler:
    async def serve_file(request: Request) -> Response:
        return FileResponse(_STATIC / name)

    return serve_file


def _answering(handler: _Handler) -> _Handler:
    """Return a handler whose results become JSON, and errors in the input one sentence."""

    async def answer(request: Request) -> Response:
        try:
            found = await handler(request)
        except TooLarge as error:
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
