"""Find the answer in a model's reply: JSON in fences, after prose, cut off, or plain.

Only whole JSON objects count. Objects that are cut off or malformed are not repaired; their
verdicts are missing, and missing verdicts are requested again. If a reply answers twice, both
answers count, so that a contradiction between them is detected.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice
from typing import Any

from fullrecall.judge.verdicts import number_of

_THOUGHTS = "think|thinking|thought|thoughts|reasoning"
_THINKING = re.compile(rf"\s*+(?:<(?:{_THOUGHTS})>|\[THINK\]|<\|channel\|>analysis)", re.IGNORECASE)
"""The opening mark of the thoughts before an answer."""
_CLOSING = re.compile(
    rf"</(?:{_THOUGHTS})>|\[/THINK\]|<\|channel\|>final[^{{\[]{{0,40}}<\|message\|>|assistantfinal",
    re.IGNORECASE,
)
"""The closing mark of the thoughts, with or without an opening mark."""
_FENCE = re.compile(r"```\w*+\s*+")
_OPENING = re.compile(r"[\[{]")
_BRACKETS = re.compile(r"[\s\[{]+")
_STRINGS_OR_COMMA = re.compile(
    r"""((?:"(?:[^"\\]++|\\.)*+"?[^",]*+)++)|,(?=\s*+[\]}])""", re.DOTALL
)
"""Strings, complete or cut off, or a comma before a closing bracket, which JSON does not allow.

Consecutive strings are one match: 95,000 matches blocked the loop for 30 to 50 ms.
"""
_READINGS = 2
"""The characters that all attempts to find answers may read, as a multiple of a reply's length.

One reading of 200,000 characters takes up to 7 ms, for a list of numbers; all readings with the
spare characters take 35 ms.
"""
_SPARE = 500_000
"""Characters that may be read in addition, since a short reply may have many brackets."""
_ATTEMPT = 1_000
"""The fixed cost of each attempt to read a value, in characters that take the same time."""
_NESTED = 100_000
"""The cost, in characters, of an attempt that fails because the nesting is too deep."""
_PLACEHOLDERS = ("…", "...")
_WRAPPERS = 3  # the most objects around an answer
_MOST_KEYS = 20  # the most keys of an object around an answer
_MOST_VERDICTS = 4_000
"""The most verdicts that are read from a reply; a reply has at most 200,000 characters."""


def verdict_objects(text: str) -> list[dict[str, Any]]:
    """Return the unchecked verdicts of a reply: objects with an `id`."""
    answers = [verdicts for value in json_values(text) if (verdicts := _verdicts(value))]
    # Equal verdicts count once; different verdicts on the same target count separately.
    told = list(islice(chain.from_iterable(answers), 2 * _MOST_VERDICTS))
    numbers = {verdict["id"] for verdict in told if type(verdict["id"]) is int}
    if len(numbers) < len(told):
        told = list({_written(verdict): verdict for verdict in told}.values())
    return told[:_MOST_VERDICTS]


def json_values(text: str) -> list[Any]:
    """Return the complete JSON objects and arrays of a reply, in order, without its thoughts."""
    return [value for _, _, value in _spans(_answer(text))]


def text_items(text: str) -> list[str] | None:
    """Return the strings of a reply that lists items; None without such a list.

    The last of several lists counts: a model that corrects itself does so at the end.
    """
    text = _answer(text).lstrip()
    listed: list[str] | None = None
    fence = _FENCE.match(text)
    bare = text.startswith("[", fence.end() if fence else 0)
    for _, _, value in _spans(text):
        items = _named(value, "items") if isinstance(value, dict) else value if bare else None
        bare = False
        if isinstance(items, list) and all(isinstance(text, str) for text in items):
            stripped = (text.strip() for text in items)
            listed = list(dict.fromkeys(s for s in stripped if any(c.isalnum() for c in s)))
    return listed


def _verdicts(value: object, depth: int = 0) -> list[dict[str, Any]]:
    """Return the verdicts in a value, which may be wrapped: `{"result": {"verdicts": […]}}`."""
    if isinstance(value, dict) and "verdicts" in value:
        value = value["verdicts"]
    if isinstance(value, dict) and "id" in value:
        value = [value]
    elif isinstance(value, dict) and value and all(map(_is_keyed, value.items())):
        value = [{"id": key, **verdict} for key, verdict in value.items()]
    listed = value if isinstance(value, list) else []
    verdicts = [verdict for verdict in listed if isinstance(verdict, dict) and "id" in verdict]
    if verdicts or len(listed) > 1 or depth == _WRAPPERS:
        return [verdict for verdict in verdicts if not _is_example(verdict)]
    wrapped: Iterable[Any] = listed
    if isinstance(value, dict):
        wrapped = islice(value.values(), _MOST_KEYS)
    elif isinstance(value, str) and _OPENING.match(value):
        wrapped = (inner for _, _, inner in _spans(value))
    return [verdict for inner in wrapped for verdict in _verdicts(inner, depth + 1)]


def _is_keyed(item: tuple[str, Any]) -> bool:
    """Return whether an item of an object is a verdict under its number: `"1": {"verdict": …}`."""
    key, value = item
    return number_of(key) is not None and isinstance(value, dict) and "id" not in value


def _named(value: object, name: str, depth: int = 0) -> object:
    """Return the value of a key of an object; None if the object does not have the key.

    Wrappers are removed: objects with a single value, such as `{"result": {…}}`.
    """
    if not isinstance(value, dict):
        return None
    if name in value or len(value) != 1 or depth == _WRAPPERS:
        return value.get(name)
    (inner,) = value.values()
    return _named(inner, name, depth + 1)


def _is_example(verdict: dict[str, Any]) -> bool:
    """Return whether a verdict copies the prompt's example."""
    texts = verdict.get("verdict"), verdict.get("begins", "…")
    return all(isinstance(text, str) and text.strip() in _PLACEHOLDERS for text in texts)


def _written(verdict: dict[str, Any]) -> str:
    return json.dumps(verdict, sort_keys=True)


def _answer(text: str) -> str:
    """Return a reply without its thoughts, which end at the last closing mark.

    A mark inside a complete JSON value is quoted from a context, and does not count. Thoughts
    without a closing mark are the whole reply: then return "".
    """
    marks = [mark.end() for mark in _CLOSING.finditer(text)]
    if not marks:
        return "" if _THINKING.match(text) else _unquoted(text)
    spans = [(start, end) for start, end, _ in _spans(text)]
    starts = [start for start, _ in spans]
    for mark in reversed(marks):
        before = bisect_left(starts, mark) - 1
        if before < 0 or mark > spans[before][1]:
            return text[mark:]
    return text


def _unquoted(text: str) -> str:
    """Return the content of a reply that is one JSON string; return any other reply unchanged."""
    with suppress(ValueError):
        if text.lstrip().startswith('"') and isinstance(inner := json.loads(text), str):
            return inner
    return text


def _spans(text: str) -> Iterator[tuple[int, int, Any]]:
    """Yield each complete JSON object or array in `text` as (start, end, value).

    Values inside another value are not yielded. The time is linear in the length of the text,
    since all attempts to read a value share a budget of characters (`_READINGS` and `_SPARE`).
    """
    # Read the whole reply first: most replies are one object.
    with suppress(ValueError, RecursionError):
        value, end = _DECODER.raw_decode(text)
        if isinstance(value, (dict, list)) and not text[end:].strip():
            yield 0, end, value
            return
    # Blank out commas before closing brackets, which JSON does not allow; offsets stay the same.
    text = _STRINGS_OR_COMMA.sub(lambda strings: strings[1] or " ", text)
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
            # An unclosed string, or a number with too many digits, was read to the end of the text.
            end = len(text)
            if isinstance(error, json.JSONDecodeError) and "Unterminated" not in error.msg:
                end = error.pos
            budget -= end - start
        else:
            yield start, position, value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a parsed object, or only its `id` if a repeated key makes the object ambiguous."""
    fields = dict(pairs)
    if len(fields) == len(pairs):
        return fields
    return {"id": fields["id"]} if "id" in fields else {}


_DECODER = json.JSONDecoder(object_pairs_hook=_object)
