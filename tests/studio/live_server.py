"""The studio on a port of this machine, and a client that sends exactly what it is told."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any

import uvicorn

from absentia.studio.pages import studio_app

TOKEN = "a-secret"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    content: bytes

    def json(self) -> Any:
        return json.loads(self.content)


@dataclass(frozen=True)
class Client:
    port: int

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def send(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """Send a request for a whole path; names of headers have _ for -."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=120)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, named)
        response = connection.getresponse()
        found = {name.lower(): value for name, value in response.getheaders()}
        answer = Answer(response.status, found, response.read())
        connection.close()
        return answer

    def get(self, path: str, **headers: str) -> Answer:
        return self.send("GET", f"/{TOKEN}/{path}", **headers)

    def post(self, path: str, body: Any = b"", **headers: str) -> Answer:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.send("POST", f"/{TOKEN}/{path}", content, **headers)


@contextmanager
def running_studio() -> Iterator[Client]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(studio_app(TOKEN, port), log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        try:
            yield Client(port)
        finally:
            server.should_exit = True
            thread.join(timeout=30)
