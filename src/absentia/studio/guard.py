"""Access control of the studio: only a page with its token, on this machine.

The server listens on 127.0.0.1, which every program and every web page on the machine can reach.
So each request must name this server as its host (a page elsewhere that had its name resolve to
127.0.0.1 cannot), come from no other origin, and carry the random token in its address.
"""

from __future__ import annotations

import secrets

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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


class Guard:
    """Middleware that answers 403 to requests without the token or from elsewhere.

    Parameters
    ----------
    app : ASGI application
        Sees paths without the token.
    token : str
    port : int
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
                added = [(k.lower().encode(), v.encode()) for k, v in _HEADERS.items()]
                message["headers"] = [*message.get("headers", []), *added]
            await send(message)

        await self._app({**scope, "path": inner, "raw_path": inner.encode()}, receive, with_headers)

    def _admits(self, scope: Scope) -> bool:
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name, []).append(value)
        hosts = [value.decode("latin-1") for value in headers.get(b"host", [])]
        origins = {value.decode("latin-1") for value in headers.get(b"origin", [])}
        sites = set(headers.get(b"sec-fetch-site", []))
        parts = scope["path"].split("/", 2)
        given = parts[1].encode() if len(parts) == 3 else b""
        return (
            len(hosts) == 1
            and hosts[0] in self._hosts
            and origins <= {f"http://{hosts[0]}"}
            and sites <= {b"same-origin", b"none"}
            and secrets.compare_digest(given, self._token)
        )
