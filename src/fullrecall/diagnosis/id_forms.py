"""The same ID in another form, and IDs of another level: a document's and those of its chunks."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

_SCHEME = re.compile(r"^(?:[a-z][a-z0-9+.-]*://(?:www\.)?|www\.|file:)", re.IGNORECASE)
_SLASHES = re.compile(r"[\\/]+")
_NUMBER = re.compile(r"(?:0(?=\d))*+(\d++)(?:\.0++)?")

_PLAIN = re.compile(r"[a-z][a-z0-9_]*")
"""An ID that is its own form, as most are."""


def _slashed(text: str) -> str:
    text = _SLASHES.sub("/", text)
    return text.removeprefix("./").strip("/") or text


def _unpadded(text: str) -> str:
    match = _NUMBER.fullmatch(text)
    return text if match is None else match[1]


FORMS: Mapping[str, Callable[[str], str]] = {
    "Unicode form": lambda text: unicodedata.normalize("NFKC", text),
    "white space": str.strip,
    "percent encoding": unquote,
    "URL scheme": lambda text: _SCHEME.sub("", text),
    "slashes": _slashed,
    "letter case": str.casefold,
    "zeros of numbers": _unpadded,
}
"""In what the same ID is written differently, with what makes it alike; in this order."""

_PART = (
    "chunk|part|page|section|sec|seg|segment|node|split|passage|paragraph|para|block|piece|"
    "sentence|row|slide|window|p|c|s"
)
_OF_DOCUMENT = re.compile(
    rf"(?:#|::).+$|(?<![\W_])[\W_]++(?:{_PART})[\W_]*+\d++(?:[\W_]++\d++)*+$",
    re.IGNORECASE | re.DOTALL,
)
"""How chunk IDs go on behind that of their document: `#3`, `::7`, `/chunk-7`, `_p2`."""


@lru_cache(maxsize=131_072)
def form(given: str) -> str:
    """Return the form in which an ID is compared when nothing of `FORMS` counts."""
    if _PLAIN.fullmatch(given):
        return given
    for rule in FORMS.values():
        given = rule(given)
    return given


def forms_between(one: str, other: str) -> tuple[str, ...]:
    """Return in which of `FORMS` two IDs of one `form` differ: none of them can be left out."""
    needed = list(FORMS)
    for name in FORMS:
        fewer = [kept for kept in needed if kept != name]
        if _by(one, fewer) == _by(other, fewer):
            needed = fewer
    return tuple(needed)


def _by(given: str, names: Iterable[str]) -> str:
    for name in names:
        given = FORMS[name](given)
    return given


@lru_cache(maxsize=131_072)
def document_of(given: str) -> str | None:
    """Return the ID of the document that a chunk's ID names; None where it names none."""
    match = _OF_DOCUMENT.search(given)
    return given[: match.start()] if match is not None and match.start() else None


def ends_with(longer: str, shorter: str) -> bool:
    """Return whether a path ends with another one, which is more than a bare word."""
    return ("." in shorter or "/" in shorter) and longer.endswith(f"/{shorter}")


def named_values(metadata: Mapping[str, Any], path: str = "metadata") -> Iterator[tuple[str, str]]:
    """Yield where metadata has a text or a whole number, nested ones too, and what it is."""
    for name, value in metadata.items():
        kind = type(value)
        if kind is str or kind is int:
            yield f"{path}[{name!r}]", str(value)
        elif isinstance(value, Mapping):
            yield from named_values(value, f"{path}[{name!r}]")
