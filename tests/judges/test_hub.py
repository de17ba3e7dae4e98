"""A model fetched by the hub's own client, as `docs/judges.md` says; the hub is on loopback."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.judges.tiny_nli import build

from fullrecall.judges.cross_encoder import CrossEncoderJudge
from fullrecall.judges.flow import run

REPOSITORY = "someone/tiny-nli"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
TEXTS = ["Ada built it.", "Rome fell."]


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[str]:
    """Serve a model's files as the hub does: its list of files, and each file."""
    folder = build(tmp_path / "served", TEXTS, at="onnx/model.onnx")
    files = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    files["pytorch_model.bin"] = b"not wanted"

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def _answer(self, *, body: bool) -> None:
            path = self.path.partition("?")[0]
            name = path.partition("/resolve/")[2].partition("/")[2]
            if path.startswith("/api/models/"):
                content = self._listed(path)
            elif name in files:
                content = files[name]
            else:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("ETag", json.dumps(hashlib.sha256(content).hexdigest()))
            self.send_header("X-Repo-Commit", COMMIT)
            self.end_headers()
            if body:
                self.wfile.write(content)

        def _listed(self, path: str) -> bytes:
            if "/tree/" in path:
                entries = [
                    {"type": "file", "path": name, "size": len(content), "oid": COMMIT}
                    for name, content in files.items()
                ]
                return json.dumps(entries).encode()
            siblings = [{"rfilename": name} for name in files]
            about = {"id": REPOSITORY, "sha": COMMIT, "siblings": siblings}
            return json.dumps(about).encode()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_named_model_is_fetched_and_judges(hub: str, tmp_path: Path) -> None:
    """`snapshot_download` with the three files that are read; the folder is then the model."""
    pytest.importorskip("huggingface_hub", reason="comes with tokenizers")
    program = """
import sys
from huggingface_hub import snapshot_download
snapshot_download(sys.argv[1], local_dir=sys.argv[2],
                  allow_patterns=["onnx/model.onnx", "tokenizer.json", "config.json"])
"""
    folder = tmp_path / "models" / "tiny-nli"
    told = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    told |= {
        "HF_ENDPOINT": hub,
        "HF_HOME": str(tmp_path / "home"),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
    }
    subprocess.run(
        [sys.executable, "-c", program, REPOSITORY, str(folder)], env=told, check=True, timeout=120
    )
    assert not (folder / "pytorch_model.bin").exists()
    judge = CrossEncoderJudge(str(folder))
    verdicts, _ = run(judge.attribute(TEXTS, TEXTS[:1]))
    assert verdicts[0].label == "supported"
