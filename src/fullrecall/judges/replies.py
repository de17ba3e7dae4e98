"""Finding the answer in what a model wrote: JSON in fences, behind prose, cut off, or plain.

Only whole JSON objects count. What is cut off or malformed is not guessed at: the verdicts it
held are missing, and missing verdicts are asked for again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_THINKING = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_UNCLOSED_THINKING = re.compile(r"^\s*<(think|thinking|reasoning)>(?!.*</\1>).*", re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[\]}])', re.DOTALL)
_DECODER = json.JSONDecoder()


def verdict_objects(text: str) -> list[dict[str, Any]]:
    """Return the verdicts of a reply as they are: each an object with an `id`.

    Of several whole answers the last counts: a model that corrects itself does so at the end.
    """
    whole: list[dict[str, Any]] | None = None
    loose: list[dict[str, Any]] = []
    for value in _values(_cleaned(text)):
        found = _listed(value, "verdicts")
        if found is not None:
            whole = [item for item in found if isinstance(item, dict)]
        elif isinstance(value, dict) and "id" in value:
            loose.append(value)
    return loose if whole is None else whole


def text_items(text: str) -> list[str] | None:
    """Return the strings of a reply that lists items; None where it holds no such list."""
    for value in _values(_cleaned(text)):
        found = _listed(value, "items")
        if found is not None and all(isinstance(item, str) for item in found):
            return list(dict.fromkeys(item.strip() for item in found if item.strip()))
    return None


def _listed(value: object, name: str) -> list[Any] | None:
    if isinstance(value, dict) and isinstance(value.get(name), list):
        found: list[Any] = value[name]
        return found
    if isinstance(value, list):
        return value
    return None


def _cleaned(text: str) -> str:
    text = _UNCLOSED_THINKING.sub("", _THINKING.sub("", text))
    return _TRAILING_COMMA.sub(lambda match: match[1] or "", text)


def _values(text: str) -> Iterator[Any]:
    """Yield the JSON objects and arrays in `text`, outermost first where they are whole."""
    position = 0
    while True:
        starts = [at for at in (text.find("{", position), text.find("[", position)) if at >= 0]
        if not starts:
            return
        start = min(starts)
        try:
            value, position = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            position = start + 1
        else:
            yield value
