"""The command prints one address, answers there, and ends in order."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from absentia.studio import serve
from studio.tables_of_mine import mixed_table

SOURCE = Path(__file__).resolve().parents[2] / "src"


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent by another way there")
def test_the_command_prints_its_address_and_stops_on_ctrl_c(tmp_path):
    file = tmp_path / "mine.csv"
    mixed_table().to_csv(file, index=False)
    process = subprocess.Popen(
        [sys.executable, "-m", "absentia", "studio", str(file), "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
    )
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        assert address.endswith("/")
        for path, expected in (("", b"absentia"), ("api/start", b'"file":"mine"')):
            with urlopen(address + path, timeout=60) as response:
                assert expected in response.read()
        with pytest.raises(HTTPError) as refused:
            urlopen(address[:-2] + "/", timeout=60)
        refused.value.close()
        assert refused.value.code == 403
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, out, err) == (0, "", "")


def test_a_port_in_use_is_named():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(ValueError, match=f"Port {port} cannot be used"):
            serve(port=port, browser=False)
