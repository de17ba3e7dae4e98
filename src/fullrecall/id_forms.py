"""How an ID is written: its words, and what stands before and after those that two IDs share.

Two IDs are compared word by word and number by number, whatever separates these and whatever case
they are in. An affix is what only one of two IDs has: a directory, an extension, what numbers the
chunks of a document.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from typing import Literal, NamedTuple, TypeAlias
from urllib.parse import unquote

_WORD = re.compile(r"\d+|[^\W\d_]+")
_NEEDLESS = re.compile(r"(?<!\d)\||\|(?!\d)")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SCHEME = re.compile(r"(?:[a-z][a-z0-9+.-]*://(?:www\.)?|www\.|file:)", re.IGNORECASE)
_FRACTION = re.compile(r"\d+(\.0+)")
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,5}")
_FRAGMENT = re.compile(r"[#?@;]|::")
_PART = (
    "chunk|part|page|section|sec|seg|segment|node|split|passage|paragraph|para|block|piece|"
    "sentence|row|slide|window|p|c|s"
)
_CHUNK = re.compile(
    rf"(?:[^\w#]*?(?:#|::).+|[\W_]++(?:{_PART})[\W_]*+\d++(?:[\W_]++\d++)*+)",
    re.IGNORECASE | re.DOTALL,
)
"""How chunk IDs go on behind that of their document: `#3`, `::7`, `/chunk-7`, `_p2`."""

_SLASHES = ("/", "\\")

_LONGEST = 512
"""Characters of an ID that are looked at: longer ones are texts, and compared as they are."""

_MOST_WORDS = 32

_MOST_PLACES = 4
"""Where in a longer ID a shorter one is looked for: hostile ones repeat a word thirty times."""

Affix: TypeAlias = tuple[str, ...]
"""The kind of what stands before or after a core, and what tells it apart from others of its kind;
empty where nothing stands there."""

Side: TypeAlias = Literal["retrieved", "reference", "neither"]

PATH: Affix = ("path",)
CHUNK: Affix = ("chunk",)


class Words(NamedTuple):
    """An ID read word by word: `keys` are compared, `spans` say where each stands in `text`."""

    text: str
    keys: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]

    def part(self, first: int, last: int) -> Words:
        """Return some of the words, in the same text."""
        return Words(self.text, self.keys[first:last], self.spans[first:last])

    def is_border(self, at: int) -> bool:
        """Return whether something separates a word from the one before it."""
        return not 0 < at < len(self.spans) or self.spans[at - 1][1] < self.spans[at][0]

    @property
    def before(self) -> str:
        """What stands in the text before the first word."""
        return self.text[: self.spans[0][0]] if self.spans else ""

    @property
    def after(self) -> str:
        """What stands in the text after the last word."""
        return self.text[self.spans[-1][1] :] if self.spans else ""

    @property
    def written(self) -> list[str]:
        """The words as they are written."""
        return [self.text[start:end] for start, end in self.spans]

    @property
    def separators(self) -> list[str]:
        """What stands between the words."""
        return [self.text[left[1] : right[0]] for left, right in pairwise(self.spans)]

    @property
    def key(self) -> str:
        """What is compared of the words: two numbers stay two, whatever separates them."""
        return _NEEDLESS.sub("", "|".join(self.keys))

    @property
    def letters(self) -> str:
        """The words without what separates them, such as a UUID without its dashes."""
        return "".join(self.written).casefold()


@lru_cache(maxsize=65_536)
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


class Rule(NamedTuple):
    """What one side's IDs have more than the other's; `longer` says which side's."""

    longer: Side
    before: Affix = ()
    after: Affix = ()

    @property
    def is_certain(self) -> bool:
        """Whether a single ID shows it, since no other document would be named like that."""
        return self.before in ((), PATH) and self.after in ((), CHUNK)

    @property
    def joins(self) -> bool:
        """Whether it takes off what numbers the parts of a document: several are then one."""
        return not {kind[0] for kind in self._kinds}.isdisjoint(("part", "fragment", "chunk"))

    @property
    def takes_bare_numbers(self) -> bool:
        """Whether it takes off numbers without a word, which may be a chunk's or a year."""
        return ("part", "#") in self._kinds

    @property
    def _kinds(self) -> list[Affix]:
        texts = self.before[1:] + self.after[1:]
        return [affix for affix in (self.before, self.after, *map(_kind_of_end, texts)) if affix]

    def cores(self, words: Words) -> Iterator[Words]:
        """Yield what an ID of the longer side may be on the other one."""
        size = len(words.keys)
        firsts, lasts = range(1), range(size, size + 1)
        inner = [at for at in range(1, size) if words.is_border(at)]
        starts = [at for at in inner if self._is_start(words, at)] if self.before else firsts
        ends = [at for at in inner if self._is_end(words, at)] if self.after else lasts
        for first in starts:
            for last in ends:
                if first < last:
                    yield words.part(first, last)

    def _is_start(self, words: Words, first: int) -> bool:
        """Return whether what stands before a word is what the rule takes off."""
        text = words.text[: words.spans[first][0]]
        match self.before:
            case ("prefix", characters):
                return text == characters
            case ("part", shape):
                return not text.endswith(_SLASHES) and _shape(words.keys[:first]) == shape
        return text.endswith(_SLASHES) and (self.before == PATH or self.before == _directory(text))

    def _is_end(self, words: Words, last: int) -> bool:
        """Return whether what stands behind the words before `last` is what the rule takes off."""
        text = words.text[words.spans[last - 1][1] :]
        match self.after:
            case ("suffix", characters):
                return text == characters
            case ("chunk",):
                return _CHUNK.fullmatch(text) is not None
        return self.after == _kind_of_end(text, words.keys[last:])

    def may_apply(self, text: str) -> bool:
        """Return False for IDs without what the rule takes off, in less time than `cores`."""
        if self.before in (PATH, ("directory",), ("URL",)) and not {*_SLASHES} & set(text):
            return False
        return self.after != CHUNK or text[-1:].isdigit() or "#" in text or "::" in text


EQUAL = Rule("neither")
"""The same words."""

JOINED = Rule("neither", ("separators",))
"""The same letters, which are other words where nothing separates them: `4-5` and `45`."""

_CHUNKS = Rule("neither", (), CHUNK)


def document_of(own_id: str) -> str:
    """Return the ID of the document that a chunk's ID names; any other one as it is."""
    core = next(_CHUNKS.cores(words_of(own_id)), None)
    return own_id if core is None else core.text[: core.spans[-1][1]]


def rules_between(longer: Words, shorter: Words, side: Side) -> Iterator[Rule]:
    """Yield the rules by which one ID is a part of another; `side` is that of the longer one.

    Something is left of the longer ID on one side only, or a directory before and an end after.
    """
    size = len(shorter.keys)
    firsts = (
        first
        for first in range(len(longer.keys) - size + 1)
        if longer.keys[first : first + size] == shorter.keys
    )
    for first in islice(firsts, _MOST_PLACES):
        last = first + size
        if not (longer.is_border(first) and longer.is_border(last)):
            continue
        starts = list(_kinds_before(longer, first))
        ends = list(_kinds_after(longer, last))
        is_directory = longer.text[: longer.spans[first][0]].endswith((*_SLASHES, ":"))
        if first and last < len(longer.keys) and not (is_directory and len(ends) > 1):
            continue
        for start in starts:
            for end in ends:
                yield Rule(side, start, end)


def _kinds_before(words: Words, first: int) -> Iterator[Affix]:
    """Yield what other IDs may have before the same word: these very characters, or their kind."""
    if not first:
        yield ()
        return
    text = words.text[: words.spans[first][0]]
    yield "prefix", text
    if text.endswith(_SLASHES):
        yield PATH
        yield _directory(text)
    elif any(map(str.isdigit, words.keys[:first])):
        yield "part", _shape(words.keys[:first])


def _kinds_after(words: Words, last: int) -> Iterator[Affix]:
    """Yield what other IDs may have behind the words before `last`: the same two ways."""
    if last == len(words.keys):
        yield ()
        return
    text = words.text[words.spans[last - 1][1] :]
    yield "suffix", text
    if _CHUNK.fullmatch(text):
        yield CHUNK
    kind = _kind_of_end(text, words.keys[last:])
    if kind[0] != "suffix":
        yield kind


def _directory(text: str) -> Affix:
    return ("URL",) if "://" in text else ("directory",)


def _kind_of_end(text: str, keys: Sequence[str] | None = None) -> Affix:
    """Return the kind of what stands at the end of an ID, whose words may be known."""
    if _EXTENSION.fullmatch(text):
        return ("extension",)
    if _FRAGMENT.match(text):
        return ("fragment",)
    keys = words_of(text).keys if keys is None else keys
    return ("part", _shape(keys)) if any(map(str.isdigit, keys)) else ("suffix", text)


def _shape(keys: Sequence[str]) -> str:
    """Return words with `#` for each number, such as `chunk #`."""
    return " ".join(["#" if key.isdigit() else key for key in keys])


def named_start(before: str, *, exactly: bool = True) -> str:
    """Return what stands before a core in words, with the very characters or without."""
    kind = "directory" if before.endswith(_SLASHES) else "prefix"
    kind = "URL" if "://" in before else kind
    return f"{kind} {before!r}" if exactly else kind


def named_end(after: str, *, exactly: bool = True) -> str:
    """Return what stands after a core in words."""
    kind = _kind_of_end(after)
    if kind[0] == "part":
        return f"what numbers parts ({kind[1]})"
    return f"{kind[0]} {after!r}" if exactly else kind[0]
