"""A local page for people who do not program: open a table, train, ask about one row."""

from __future__ import annotations

import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from typing import TYPE_CHECKING

from absentia.optional_imports import optional_import

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["serve"]


def serve(
    *,
    frame: pd.DataFrame | None = None,
    name: str = "",
    port: int = 0,
    browser: bool = True,
    say: Callable[[str], None] = print,
) -> None:
    """Serve the studio on 127.0.0.1 until Ctrl-C, to whoever has its address.

    The page opens ``frame`` at once. Port 0 takes a free one. ``say`` is given the address, token
    included, once the server listens.
    """
    optional_import("starlette", "studio", "The studio")
    uvicorn = optional_import("uvicorn", "studio", "The studio")
    from absentia.studio.pages import studio_app

    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", port))
        except OSError as error:
            raise ValueError(
                f"Port {port} cannot be used ({error.strerror}): give another --port, or none."
            ) from error
        listening.listen()
        number = listening.getsockname()[1]
        token = secrets.token_urlsafe(24)
        address = f"http://127.0.0.1:{number}/{token}/"
        app = studio_app(token, number, frame=frame, name=name)
        # Its own log would repeat the token for every request.
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=2,
        )
        say(address)
        if browser:
            threading.Timer(0.3, webbrowser.open, [address]).start()
        try:
            uvicorn.Server(config).run(sockets=[listening])
        except KeyboardInterrupt:
            # Uvicorn has shut down in order, and raises what it caught: this is how one leaves.
            return
