"""A page read as HTML: its elements, tables, and blocks of data."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any


class Parsed(HTMLParser):
    """A page as a browser's parser sees it: its elements, and the content of its scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str, str] = {}
        self.code: list[str] = []
        self.styles: list[str] = []
        self.text: list[str] = []
        self._open = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep an element with its attributes."""
        self.tags.append((tag, dict(attrs)))
        self._open = tag
        self._id = dict(attrs).get("id") if tag == "script" else None

    def handle_data(self, data: str) -> None:
        """Append a text to the element, script, or style that it is in."""
        if self._open == "script" and self._id:
            self.scripts[self._id] = self.scripts.get(self._id, "") + data
        elif self._open == "script":
            self.code.append(data)
        elif self._open == "style":
            self.styles.append(data)
        else:
            self.text.append(data)

    def handle_endtag(self, tag: str) -> None:
        """Leave an element."""
        self._open = ""


def block(page: str, name: str) -> Any:
    """Return one block of a page's data."""
    return json.loads(Parsed(page).scripts[name])


def items_of(page: str, name: str) -> list[Any]:
    """Return all details, contexts, or texts of a page, of all its blocks."""
    blocks = [each for each in Parsed(page).scripts if each.startswith(f"{name}-")]
    return [item for nth in range(len(blocks)) for item in block(page, f"{name}-{nth}")]


def cells_of(page: str, side: int = 0) -> dict[str, list[list[Any]]]:
    """Return each sample's cells on one side: status, value and misses by each choice."""
    index = block(page, "index")
    return {entry["l"]: entry["v"][side] for entry in index["samples"]}


def rows_of(page: str) -> list[tuple[str, list[str]]]:
    """Return the lines of the overview that each choice shows: its number, and each line's text."""
    found = []
    for body in re.findall(r'<tbody role="rowgroup" data-choice.*?</tbody>', page, re.DOTALL):
        number = re.search(r'data-choice="(\d+)"', body)
        assert number is not None
        lines = re.findall(r"<tr.*?</tr>", body, re.DOTALL)
        texts = [" ".join(" ".join(Parsed(line).text).split()) for line in lines]
        found.append((number[1] + (" hidden" if " hidden>" in body[:80] else ""), texts))
    return found
