"""How an ID is written: its words, and what stands before and after those that two IDs share.

Two IDs are compared word by word and number by number, whatever separates these and whatever case
they are in. What only one of two IDs has is cut off: a directory, an extension, what numbers the
chunks of a document.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from typing import NamedTuple, TypeAlias
from urllib.parse import unquote

_WORD = re.compile(r"\d+|[^\W\d_]+")
# A bar stays between two numbers alone: "1-23" and "12-3" are two documents.
_NEEDLESS = re.compile(r"(?<!\d)\||\|(?!\d)")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SCHEME = re.compile(r"(?:[a-z][a-z0-9+.-]*://(?:www\.)?|www\.|file:)", re.IGNORECASE)
_FRACTION = re.compile(r"\d+(\.0+)")
_PART = (
    "chunk|part|page|section|sec|seg|segment|node|split|passage|paragraph|para|block|piece|"
    "sentence|row|slide|window|line|p|c|s|l|abs|absatz|art|artikel|seite|teil|zeile|partie|parte|"
    "article|artículo|página|párrafo|pagina"
)
_SLASHES = ("/", "\\")

_LONGEST = 512
"""Characters of an ID that are looked at: longer ones are texts, and compared as they are."""

_MOST_WORDS = 32

PATH, CHUNK, EXTENSION, NUMBER = "path", "chunk", "extension", "number"

# Possessive (`++`): a part without a number would else be tried at every length, quadratically.
_ENDS = {
    CHUNK: re.compile(
        rf"(?:[^\w#?]*?(?:#|\?|::).+|[\W_]++(?:{_PART})[\W_]*+\d++(?:[\W_]++\d++)*+)",
        re.IGNORECASE | re.DOTALL,
    ),
    EXTENSION: re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,5}"),
    NUMBER: re.compile(r"[\W_]++\d++"),
}
"""How IDs go on behind that of their document: `#3`, `/chunk-7`, `_p2`; `.md`; `-3`."""

IdCut: TypeAlias = tuple[str, str]
"""What is cut off before and after the words of an ID: "path", then an end; "" for nothing."""

WHOLE: IdCut = ("", "")


class Words(NamedTuple):
    """An ID read word by word: `keys` are compared, `spans` say where each stands in `text`."""

    text: str
    keys: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]

    def part(self, first: int, last: int) -> Words:
        """Return some of the words, in the same text."""
        return Words(self.text, self.keys[first:last], self.spans[first:last])

    @property
    def before(self) -> str:
        """What stands in the text before the first word."""
        return self.text[: self.spans[0][0]] if self.spans else ""

    @property
    def after(self) -> str:
        """What stands in the text after the last word."""
        return self.text[self.spans[-1][1] :] if self.spans else ""

    @property
    def core(self) -> str:
        """The text from the first word to the last."""
        return self.text[len(self.before) : len(self.text) - len(self.after)]

    @property
    def key(self) -> str:
        """What is compared of the words: two numbers stay two, whatever separates them."""
        return _NEEDLESS.sub("", "|".join(self.keys))

    @property
    def letters(self) -> str:
        """The words without what separates them, such as a UUID without its dashes."""
        return "".join(self.text[start:end] for start, end in self.spans).casefold()

    def cores(self, cut: IdCut) -> Iterator[Words]:
        """Yield what is left without what a cut takes off; nothing where the ID has none of it."""
        before, after = cut
        size = len(self.keys)
        starts, ends = [0], [size]
        if before:
            starts = [
                at for at in range(1, size) if self.text[: self.spans[at][0]].endswith(_SLASHES)
            ]
        if after:
            ends = [
                at
                for at, (_, end) in enumerate(self.spans[:-1], start=1)
                if end < self.spans[at][0] and _ENDS[after].fullmatch(self.text, end)
            ]
        for first in starts:
            for last in ends:
                if first < last:
                    yield self.part(first, last)


@lru_cache(maxsize=65_536)  # every rule asks for the same IDs again
def words_of(own_id: str) -> Words:
    """Return the words and numbers of an ID: lower case, without zeros in front, nor a scheme."""
    text = own_id[:_LONGEST]
    if "%" in text:
        text = unquote(text)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    text = text.strip()
    scheme, fraction = _SCHEME.match(text), _FRACTION.fullmatch(text)
    begin = scheme.end() if scheme else 0
    end = fraction.start(1) if fraction else len(text)
    keys: list[str] = []
    spans: list[tuple[int, int]] = []
    for match in islice(_WORD.finditer(text, begin, end), _MOST_WORDS):
        word, start = match[0], match.start()
        if word.isdigit():
            keys.append(word.lstrip("0") or "0")
            spans.append(match.span())
            continue
        for part in (word,) if word.islower() or word.isupper() else _HUMP.split(word):
            keys.append(part.casefold())
            spans.append((start, start + len(part)))
            start += len(part)
    return Words(text, tuple(keys), tuple(spans))


_SPELLINGS: dict[str, Callable[[str], str]] = {
    "percent encoding": unquote,
    "Unicode form": lambda text: unicodedata.normalize("NFKC", text),
    "white space": str.strip,
    "letter case": str.casefold,
    "zero padding": lambda text: re.sub(r"(?<!\d)0+(?=\d)", "", text),
    "separators": lambda text: re.sub(r"(?<=\w)[\W_]+(?=\w)|_", "", text),
}


def spelling(ours: str, theirs: str) -> Iterator[str]:
    """Yield in what two IDs, or what they have in common, are written differently."""
    for name in _SPELLINGS:
        texts = [ours, theirs]
        for other, normalize in _SPELLINGS.items():
            if other != name:
                texts = [normalize(text) for text in texts]
        if texts[0] != texts[1]:
            yield name


def end_named(text: str, *, before: bool) -> tuple[str, str]:
    """Return the kind of what stands before or after what two IDs share, and how it is written."""
    if before:
        kind = "directory" if text.endswith(_SLASHES) else "prefix"
        return ("URL" if "://" in text else kind), repr(text)
    if _ENDS[EXTENSION].fullmatch(text):
        return "extension", repr(text)
    words = words_of(text).keys
    if not text.startswith(("#", "?", "::")) and any(map(str.isdigit, words)):
        shape = " ".join("#" if word.isdigit() else word for word in words)
        return f"what numbers parts ({shape})", ""
    return ("fragment" if _ENDS[CHUNK].fullmatch(text) else "suffix"), repr(text)
