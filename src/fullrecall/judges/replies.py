"""Finding the answer in what a model wrote: JSON in fences, behind prose, cut off, or plain.

Only whole JSON objects count. What is cut off or malformed is not guessed at: the verdicts it
held are missing, and missing verdicts are asked for again. Where a reply answers twice, both
answers count, so that a contradiction shows as one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

# At the start only: the same tags inside a quote are the context's words.
_THINKING = re.compile(r"\s*<(think|thinking|reasoning)>", re.IGNORECASE)
_FENCE = re.compile(r"\s*```\w*\s*")
_OPENING = re.compile(r"[\[{]")
_BRACKETS = re.compile(r"[\s\[{]+")
_TRAILING_COMMA = re.compile(r",\s*[\]}]")
_MOST_STARTS = 5_000
"""How many brackets of a reply are tried as the beginning of an answer."""


def verdict_objects(text: str) -> list[dict[str, Any]]:
    """Return the verdicts of a reply as they are: each an object with an `id`."""
    given: list[dict[str, Any]] = []
    for value in _values(_answer(text)):
        answer = _verdicts(value)
        # The same verdict in a second answer is no second verdict; another one is.
        given += [item for item in answer if item not in given] if given else answer
    return given


def json_values(text: str) -> list[Any]:
    """Return the whole JSON objects and arrays of a reply, in order, thoughts left out."""
    return list(_values(_answer(text)))


def text_items(text: str) -> list[str] | None:
    """Return the strings of a reply that lists items; None where it holds no such list.

    Of several lists the last counts: a model that corrects itself does so at the end.
    """
    text = _answer(text)
    found: list[str] | None = None
    bare = _FENCE.sub("", text, count=1).startswith("[")
    for value in _values(text):
        items = value.get("items") if isinstance(value, dict) else value if bare else None
        bare = False
        if isinstance(items, list) and all(isinstance(item, str) for item in items):
            stripped = (item.strip() for item in items)
            found = list(dict.fromkeys(s for s in stripped if any(c.isalnum() for c in s)))
    return found


def _verdicts(value: object) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        if "id" in value:
            return [value]
        value = value.get("verdicts")
    if not isinstance(value, list):
        return []
    return [item for item in value if isinstance(item, dict) and "id" in item]


def _answer(text: str) -> str:
    """Return the reply without the thoughts that it begins with."""
    while opened := _THINKING.match(text):
        closing = f"</{opened[1].lower()}>"
        end = text.lower().find(closing, opened.end())
        text = "" if end < 0 else text[end + len(closing) :]
    return text.lstrip()


def _values(text: str) -> Iterator[Any]:
    """Yield the whole JSON objects and arrays in `text`, outermost first where they are whole."""
    text = _without_trailing_commas(text)
    decoder = json.JSONDecoder(object_pairs_hook=_object)
    position = 0
    for _ in range(_MOST_STARTS):
        opened = _OPENING.search(text, position)
        if opened is None:
            return
        try:
            value, position = decoder.raw_decode(text, opened.start())
        except RecursionError:
            brackets = _BRACKETS.match(text, opened.start())
            position = brackets.end() if brackets else opened.end()
        except ValueError:
            position = opened.end()
        else:
            yield value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; one that says a thing twice keeps its `id` and says nothing."""
    plain = dict(pairs)
    if len(plain) == len(pairs):
        return plain
    return {"id": plain["id"]} if "id" in plain else {}


def _without_trailing_commas(text: str) -> str:
    """Return `text` without commas before a closing bracket; strings stay as they are."""
    if _TRAILING_COMMA.search(text) is None:
        return text
    kept: list[str] = []
    quoted = escaped = False
    for character in text:
        if quoted:
            quoted = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            quoted = True
        elif character in "]}":
            last = len(kept) - 1
            while last >= 0 and kept[last].isspace():
                last -= 1
            if last >= 0 and kept[last] == ",":
                del kept[last]
        kept.append(character)
    return "".join(kept)
