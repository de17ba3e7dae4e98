"""Lists of words and other data in the files of a package."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def lines(name: str, package: str) -> Sequence[str]:
    """Return the lines of a package's file that do not begin with "#"."""
    text = files(package).joinpath(name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if not line.startswith("#")]


@cache
def table(name: str, package: str) -> dict[str, Any]:
    """Return the object in a package's JSON file."""
    text = files(package).joinpath(name).read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded
