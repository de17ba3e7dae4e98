"""The text of an HTML page, with a blank line where a block ends."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_BLOCKS = frozenset(
    "address article aside blockquote body br dd div dl dt fieldset figcaption figure footer form "
    "h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section table tbody td th thead tr ul".split()
)
_UNREAD = frozenset({"script", "style", "template", "noscript", "head"})
_SPACES = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"\s*\n\s*\n\s*")


def html_text(page: str) -> str:
    """Return what a reader of the page sees; scripts, styles and the head are left out.

    A page that is cut off or badly nested loses nothing but its tags.
    """
    reader = _Reader()
    reader.feed(page)
    reader.close()
    text = _SPACES.sub(" ", "".join(reader.parts))
    return _LINES.sub("\n\n", text).strip()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._unread: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 - the base class's
        if tag in _UNREAD:
            self._unread.append(tag)
        elif tag == "body":
            self._unread.clear()  # a head that was never closed
        self._break(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._unread:
            del self._unread[self._unread.index(tag) :]
        self._break(tag)

    def handle_data(self, data: str) -> None:
        if not self._unread:
            self.parts.append(data)

    def _break(self, tag: str) -> None:
        if tag in _BLOCKS and not self._unread:
            self.parts.append("\n\n")
