"""A proxy that can drop a server's answers: the request arrives, its answer does not."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Self


class Dropping:
    """Forwards connections to a port on loopback; `drop` breaks them when an answer comes."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._drops = 0
        self._about = b""
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.dropped = self.accepted = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def drop(self, times: int = 1, about: bytes = b"") -> None:
        """Drop the answers to the next `times` requests with these bytes, and close each time."""
        with self._lock:
            self._drops, self._about = times, about

    def calm(self) -> None:
        """Stop dropping answers."""
        with self._lock:
            self._drops = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
                self.accepted += 1
                server = socket.create_connection(("127.0.0.1", self._to))
            except ConnectionRefusedError:
                client.close()
                continue
            except OSError:
                return
            doomed = threading.Event()
            for ends in ((client, server, None), (server, client, doomed)):
                arguments = (*ends, doomed)
                threading.Thread(target=self._forward, args=arguments, daemon=True).start()

    def _forward(
        self,
        source: socket.socket,
        target: socket.socket,
        until: threading.Event | None,
        doomed: threading.Event,
    ) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                if until is not None and until.is_set():
                    break
                if until is None and self._is_dropped(data):
                    doomed.set()
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _is_dropped(self, data: bytes) -> bool:
        with self._lock:
            dropped = self._drops > 0 and self._about in data
            self._drops -= dropped
            self.dropped += dropped
        return dropped
