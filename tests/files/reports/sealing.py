"""A digest that fits a saved report after an edit, as a forger would compute it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any


def sealed(rows: Sequence[Any], stopped: str | None = None) -> str:
    """Return the lines of a report of JSON Lines: a head and rows, as texts or plain values."""
    lines = [one if isinstance(one, str) else json.dumps(one) for one in rows]
    body = "".join(f"{line}\n" for line in lines)
    foot = {"kind": "end of fullrecall report", "samples": len(lines) - 1, "stopped": stopped}
    digest = sha256(body.encode() + json.dumps(foot, ensure_ascii=False).encode()).hexdigest()
    return body + json.dumps({**foot, "sha256": digest}) + "\n"


def seal(path: Path) -> None:
    """Give an edited file the digest and the count that fit its lines."""
    *lines, _ = path.read_text("utf-8").splitlines()
    path.write_text(sealed(lines), "utf-8")
