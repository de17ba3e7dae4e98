"""Finding the answer in what a model wrote: JSON in fences, behind prose, cut off, or plain.

Only whole JSON objects count. What is cut off or malformed is not guessed at: the verdicts it
held are missing, and missing verdicts are asked for again. Where a reply answers twice, both
answers count, so that a contradiction shows as one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

# At the start only: the same tags inside a quote are the context's words.
_THINKING = re.compile(r"<(think|thinking|reasoning)>", re.IGNORECASE)
# By itself: one pattern for a tag and its end would search to the end from every tag.
_CLOSING = re.compile(r"</(think|thinking|reasoning)>\s*+", re.IGNORECASE)
_FENCE = re.compile(r"```\w*+\s*+")
_OPENING = re.compile(r"[\[{]")
_BRACKETS = re.compile(r"[\s\[{]+")
_STRINGS_OR_COMMA = re.compile(
    r"""((?:"(?:[^"\\]++|\\.)*+"?[^",]*+)++)|,(?=\s*+[\]}])""", re.DOTALL
)
"""Strings, whole or cut off, or a comma before a closing bracket, which JSON does not allow.

Strings in a row are one match: 95,000 of them took 30 to 50 ms of the loop."""
_READINGS = 2
"""How often the length of a reply is read in search of answers, all attempts together.

Of 200,000 characters one reading takes up to 7 ms, where numbers stand in a list: with what is
spare, 35 ms.
"""
_SPARE = 500_000
"""Characters that may be read besides, so that a short reply may have many brackets."""
_ATTEMPT = 1_000
"""Characters that are read in the time that it takes to begin, and to find a value or none."""
_NESTED = 100_000
"""Characters that an attempt is taken to have read where nesting is too deep to be read."""
_PLACEHOLDERS = ("…", "...")
_WRAPPERS = 3  # objects around an answer
_MOST_KEYS = 20  # of such an object
_MOST_VERDICTS = 4_000
"""Of a reply: its bound on characters has room for fewer that say anything."""


def verdict_objects(text: str) -> list[dict[str, Any]]:
    """Return the verdicts of a reply as they are: each an object with an `id`."""
    answers = [verdicts for value in json_values(text) if (verdicts := _verdicts(value))]
    objects, *others = answers or [[]]
    # The same verdict in a second answer is no second verdict; another one is.
    known = set(map(_written, objects[:_MOST_VERDICTS])) if others else set()
    for verdict in islice(chain.from_iterable(others), _MOST_VERDICTS):
        if (written := _written(verdict)) not in known:
            known.add(written)
            objects.append(verdict)
    return objects[:_MOST_VERDICTS]


def json_values(text: str) -> list[Any]:
    """Return the whole JSON objects and arrays of a reply, in order, thoughts left out."""
    return list(_values(_answer(text)))


def text_items(text: str) -> list[str] | None:
    """Return the strings of a reply that lists items; None where it holds no such list.

    Of several lists the last counts: a model that corrects itself does so at the end.
    """
    text = _answer(text)
    listed: list[str] | None = None
    fence = _FENCE.match(text)
    bare = text.startswith("[", fence.end() if fence else 0)
    for value in _values(text):
        items = _named(value, "items") if isinstance(value, dict) else value if bare else None
        bare = False
        if isinstance(items, list) and all(isinstance(text, str) for text in items):
            stripped = (text.strip() for text in items)
            listed = list(dict.fromkeys(s for s in stripped if any(c.isalnum() for c in s)))
    return listed


def _verdicts(value: object, depth: int = 0) -> list[dict[str, Any]]:
    """Return the verdicts in a value, which may be wrapped: `{"result": {"verdicts": […]}}`."""
    if isinstance(value, dict):
        if "verdicts" in value:
            value = value["verdicts"]
        elif "id" in value:
            return [] if _is_example(value) else [value]
        elif depth < _WRAPPERS:
            inner = islice(value.values(), _MOST_KEYS)
            return [verdict for wrapped in inner for verdict in _verdicts(wrapped, depth + 1)]
    if not isinstance(value, list):
        return []
    if depth < _WRAPPERS and len(value) == 1 and isinstance(value[0], dict):
        return _verdicts(value[0], depth + 1)
    verdicts = (verdict for verdict in value if isinstance(verdict, dict) and "id" in verdict)
    return [verdict for verdict in verdicts if not _is_example(verdict)]


def _named(value: object, name: str, depth: int = 0) -> object:
    """Return what stands under a name in an object, or in the only one that it wraps."""
    if not isinstance(value, dict):
        return None
    if name in value or len(value) != 1 or depth == _WRAPPERS:
        return value.get(name)
    (inner,) = value.values()
    return _named(inner, name, depth + 1)


def _is_example(verdict: dict[str, Any]) -> bool:
    """Whether a verdict is the prompt's example, repeated."""
    texts = verdict.get("verdict"), verdict.get("begins", "…")
    return all(isinstance(text, str) and text.strip() in _PLACEHOLDERS for text in texts)


def _written(verdict: dict[str, Any]) -> str:
    return json.dumps(verdict, sort_keys=True)


def _answer(text: str) -> str:
    """Return the reply without the thoughts that it begins with."""
    at = len(text) - len(text.lstrip())
    while opened := _THINKING.match(text, at):
        tag = opened[1].lower()
        closing = (end for end in _CLOSING.finditer(text, opened.end()) if end[1].lower() == tag)
        closed = next(closing, None)
        if closed is None:
            return ""
        at = closed.end()
    return text[at:]


def _values(text: str) -> Iterator[Any]:
    """Yield the whole JSON objects and arrays in `text`, outermost first where they are whole.

    Time is linear in the length of the text, whatever stands in it: every attempt is paid from a
    budget of some readings of the whole.
    """
    text = _STRINGS_OR_COMMA.sub(lambda strings: strings[1] or "", text)
    budget = _READINGS * len(text) + _SPARE
    position = 0
    while budget > 0 and (opened := _OPENING.search(text, position)):
        start = opened.start()
        budget -= _ATTEMPT
        try:
            value, position = _DECODER.raw_decode(text, start)
        except RecursionError:
            brackets = _BRACKETS.match(text, start)
            position = brackets.end() if brackets else opened.end()
            budget -= _NESTED
        except ValueError as error:
            position = opened.end()
            # What has no end, a string or a number of too many digits, was read to the end.
            end = len(text)
            if isinstance(error, json.JSONDecodeError) and "Unterminated" not in error.msg:
                end = error.pos
            budget -= end - start
        else:
            budget -= position - start
            yield value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; one that says a thing twice keeps its `id` and says nothing."""
    fields = dict(pairs)
    if len(fields) == len(pairs):
        return fields
    return {"id": fields["id"]} if "id" in fields else {}


_DECODER = json.JSONDecoder(object_pairs_hook=_object)
