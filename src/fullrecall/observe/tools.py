"""Find the documents in tools' results: search hits in lists or mappings, as values or as JSON."""

from __future__ import annotations

import ast
import re
from collections.abc import Hashable, Iterable, Mapping
from itertools import pairwise
from json import JSONDecoder
from typing import Any

from fullrecall.observe.step import Step
from fullrecall.observe.tree import Tree
from fullrecall.observe.words import words_of
from fullrecall.samples.context import Context
from fullrecall.samples.hit_fields import IDS, INNER, SCORES, TEXTS

_MAY_BE_EMPTY = ("data", "content", "kwargs")
_ENVELOPES = ("results", "documents", "hits", "matches", "structuredContent", *_MAY_BE_EMPTY)
"""Keys that hold hits in the answers of tools, MCP and LangChain.

An empty list under one of them is an empty search, except under a key in `_MAY_BE_EMPTY`.
"""
_HIT_TEXTS = (*TEXTS, "snippet")
_LINKS = ("url", "link", "href")

_OWN_SHARE = 0.7
"""The least share of the caller's word pairs in the text of a tool that only repeats its caller."""


def hits_in(value: object) -> tuple[Context, ...] | None:
    """Return the documents in a tool's result, in order; None if it is not a list of hits.

    A hit is a mapping or a Pydantic model. It has a text and one of these: an ID (or an address), a
    title, or a score. Without a text, it has two of them. An empty list counts as a search without
    hits only under a key of `_ENVELOPES` that is not in `_MAY_BE_EMPTY`.
    """
    if isinstance(value, str):
        value = _printed_in(value) or _values_in(value)
    if isinstance(value, Context):
        return (value,)
    if isinstance(value, (list, tuple)):
        parts = [hits_in(item) for item in value]
        known = [hit for part in parts if part is not None for hit in part]
        return tuple(known) if known and None not in parts else None
    if hasattr(type(value), "model_fields"):
        value = vars(value)
    return _hits_of(value) if isinstance(value, Mapping) and "role" not in value else None


def is_empty_list(result: object) -> bool:
    """Return whether a tool's result, perhaps as JSON, is an empty list or has one as "data"."""
    if isinstance(result, str):
        result = _values_in(result)
    if isinstance(result, Mapping):
        result = result.get("data")
    return isinstance(result, (list, tuple)) and not result


def _hits_of(item: Mapping[str, Any]) -> tuple[Context, ...] | None:
    """Return the hits in a mapping, or the mapping if it is a hit itself; None without hits."""
    if item.get("type") == "text":  # a block of a message
        return hits_in(item.get("text"))
    for name in _ENVELOPES:
        inside = item.get(name)
        if isinstance(inside, str) and name in TEXTS:
            continue
        hits = () if inside == [] and name not in _MAY_BE_EMPTY else hits_in(inside)
        if hits is not None:
            return hits
    hit = _hit_of(item)
    return None if hit is None else (hit,)


def _printed_in(text: str) -> list[Context | dict[str, Any]] | None:
    """Parse a printed list of Python objects, which LangChain writes into a tool's message.

    Returns contexts for Documents, and a dict of the fields of any other object; None if the text
    cannot be parsed.
    """
    if not _PRINTED.match(text):
        return None
    try:
        printed: Any = ast.parse(text, mode="eval").body
        rows: list[Any] = [
            {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
            for call in printed.elts
        ]
        if not text.startswith("[Document("):
            return rows
        return [
            Context(each["page_content"], id=each.get("id"), metadata=each.get("metadata"))
            for each in rows
        ]
    except (SyntaxError, ValueError, AttributeError, KeyError, MemoryError, RecursionError):
        return None  # metadata may contain objects of any class


_PRINTED = re.compile(r"\[[A-Z]\w*\(")
"""The beginning of a printed list of Python objects."""


def _values_in(text: str) -> object:
    """Parse a JSON text; return its value, a list of its values if it has several, or None."""
    values, at, text = [], 0, text.strip()
    try:
        while at < len(text):
            value, end = _DECODER.raw_decode(text, at)
            values.append(value)
            at = len(text) - len(text[end:].lstrip())
    except (ValueError, RecursionError):
        return None
    return values[0] if len(values) == 1 else values or None


_DECODER = JSONDecoder()


def _hit_of(item: Mapping[str, Any]) -> Context | None:
    """Return a search hit as a context; None for a table row or any other mapping."""
    holders = [item, *(item[name] for name in INNER if isinstance(item.get(name), Mapping))]
    text = _first(holders, _HIT_TEXTS, str)
    title = _first(holders, ("title",), str)
    own_id = _first(holders, (*IDS, *_LINKS), (str, int))
    score = _first(holders, SCORES, (int, float))
    marks = [mark for mark in (own_id, title, score) if mark is not None]
    if not marks or (text is None and len(marks) == 1):
        return None
    metadata = item.get("metadata")
    plain = (pair for pair in item.items() if isinstance(pair[1], (str, int, float)))
    others = {name: value for name, value in plain if value not in (text, score)}
    return Context(
        text or (title if own_id is None else None),
        id=own_id,
        score=None if score is None else float(score),
        metadata={**others, **(metadata if isinstance(metadata, Mapping) else {})},
    )


def _first(holders: Iterable[Mapping[str, Any]], names: Iterable[str], kind: Any) -> Any:
    values = (holder.get(name) for holder in holders for name in names)
    return next(
        (each for each in values if isinstance(each, kind) and not isinstance(each, bool)), None
    )


def own_words(tree: Tree) -> set[Hashable]:
    """Return the IDs of tools that returned their callers' own words: they retrieved nothing.

    An agent's plan, its notes, and an expert's answer consist of words from tools' arguments and
    from the models' earlier texts. Pairs of words are compared, since single words occur in any
    text. A tool that called a retriever is never included.
    """
    events = [(step.began, step.query) for step in tree.steps if step.kind == "tool"]
    events += [
        (step.ended, text)
        for step in tree.steps
        if step.kind == "llm" and step.ended is not None
        for text in step.texts
    ]
    ends = [(step.ended, step) for step in tree.steps if step.kind == "tool" and step.ended]
    found: set[Hashable] = set()
    written: set[tuple[str, str]] = set()
    for _, event in sorted([*events, *ends], key=lambda each: each[0]):
        if not isinstance(event, Step):
            written.update(_pairs(event or ""))
        elif not any(below.retrieves for below in tree.below(event)):
            pairs = _pairs(" ".join(event.texts))
            if pairs and sum(pair in written for pair in pairs) >= _OWN_SHARE * len(pairs):
                found.add(event.id)
    return found


def _pairs(text: str) -> list[tuple[str, str]]:
    words = words_of(text.lower())
    return list(pairwise(words))
