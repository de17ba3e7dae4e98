"""A Redis server on loopback: started, killed and started again."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

SECONDS_TO_START = 60


class RedisServer:
    """A server on a free loopback port; with `durable`, its data survive a restart.

    Raises `FileNotFoundError` if redis-server is not installed.
    """

    def __init__(self, folder: Path, *, durable: bool = False) -> None:
        binary = shutil.which("redis-server")
        if binary is None:
            raise FileNotFoundError("-m engines needs redis-server: apt-get install redis-server")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        kept = ["--appendonly", "yes"] if durable else []
        own = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", *kept]
        self._command = [binary, *own]
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def client(self) -> Any:
        """Return a client for the test, which has to close it."""
        import redis

        return redis.Redis(port=self.port)

    def start(self, syncs: str = "always") -> None:
        """Start the server, and wait until it answers; `syncs` is Redis's `appendfsync`."""
        command = [*self._command, "--appendfsync", syncs]
        self._process = subprocess.Popen(command, cwd=self._folder, stdout=subprocess.DEVNULL)
        import redis

        until = time.monotonic() + SECONDS_TO_START
        with self.client() as client:
            while True:
                try:
                    client.ping()
                except redis.ConnectionError:
                    if time.monotonic() > until:
                        raise
                    time.sleep(0.02)
                else:
                    return

    def stop(self) -> None:
        """Kill the server, as in a crash."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
