"""Split an ID into words, and remove the words of a template."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Literal, NamedTuple, TypeAlias
from urllib.parse import unquote

ComparedBy: TypeAlias = Literal["words", "letters", "any order"]
"""The form in which two IDs are compared."""


_WORD = re.compile(r"\d+|[^\W\d_]+")
# Keep a bar only between two numbers: "1-23" and "12-3" are two documents.
_NEEDLESS = re.compile(r"(?<!\d)\||\|(?!\d)")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SCHEME = re.compile(r"(?:[a-z][a-z0-9+.-]*://(?:www\.)?|www\.|file:)", re.IGNORECASE)
_FRACTION = re.compile(r"\d+(\.0+)")
_PART = (
    "chunk|part|page|section|sec|seg|segment|node|split|passage|paragraph|para|block|piece|"
    "sentence|row|slide|window|line|p|c|s|l|abs|absatz|art|artikel|seite|teil|zeile|partie|parte|"
    "article|artículo|página|párrafo|pagina"
)
SLASHES = ("/", "\\")

_LONGEST = 512
"""The most characters of an ID that are read; a longer one is a text."""

_MOST_WORDS = 32

PATH, CHUNK, EXTENSION, NUMBER = "path", "chunk", "extension", "number"

# The repeats are possessive (`++`); otherwise a part without a number would be tried at every
# length, in quadratic time.
ENDS = {
    CHUNK: re.compile(
        rf"(?:[^\w#?]*?(?:#|\?|::).+|[\W_]++(?:{_PART})[\W_]*+\d++(?:[\W_]++\d++)*+)",
        re.IGNORECASE | re.DOTALL,
    ),
    EXTENSION: re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,5}"),
    NUMBER: re.compile(r"[\W_]++\d++"),
}
"""The text that may follow a document's ID: `#3`, `/chunk-7`, `_p2`; `.md`; `-3`."""

IdCut: TypeAlias = tuple[str, str]
"""The kinds of the parts that are cut off before and after the words of an ID; "" for none."""

WHOLE: IdCut = ("", "")


class Words(NamedTuple):
    """An ID as words: `keys` are compared, `spans` are their positions in `text`."""

    text: str
    keys: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]

    @property
    def before(self) -> str:
        """The text before the first word."""
        return self.text[: self.spans[0][0]] if self.spans else ""

    @property
    def after(self) -> str:
        """The text after the last word."""
        return self.text[self.spans[-1][1] :] if self.spans else ""

    @property
    def core(self) -> str:
        """The text from the first word to the last."""
        return self.text[len(self.before) : len(self.text) - len(self.after)]

    @property
    def spaced(self) -> str:
        """The words as written, with spaces as separators."""
        return " ".join(self.text[start:end] for start, end in self.spans)

    @property
    def inner(self) -> str:
        """The words that were left out between the first and the last word, joined by spaces."""
        kept = {start for start, _ in self.spans}
        first, last = (self.spans[0][0], self.spans[-1][0]) if self.spans else (0, 0)
        between = (span for span in words_of(self.text).spans if first < span[0] < last)
        return " ".join(self.text[start:end] for start, end in between if start not in kept)

    @property
    def key(self) -> str:
        """The words joined into one text for comparison, with a bar between adjacent numbers."""
        return _NEEDLESS.sub("", "|".join(self.keys))

    def compared(self, by: ComparedBy) -> str:
        """Return the form to compare: the key, the sorted words, or all characters of the words."""
        if by == "letters":
            return "".join(self.text[start:end] for start, end in self.spans).casefold()
        return self.key if by == "words" else "|".join(sorted(self.keys))

    def moved(self, step: int) -> str:
        """Return the key with `step` added to its last number; "" for one word or no number."""
        at = next((at for at in reversed(range(len(self.keys))) if self.keys[at].isdigit()), None)
        if at is None or len(self.keys) < 2:  # noqa: PLR2004 - a number alone counts nothing
            return ""
        number = str(int(self.keys[at]) + step)
        return self._replace(keys=(*self.keys[:at], number, *self.keys[at + 1 :])).key

    def cores(self, cut: IdCut) -> Iterator[Words]:
        """Yield the words that remain after a cut, for each place at which the cut is possible."""
        (before, after), text, spans = cut, self.text, self.spans
        starts, ends = [0], [len(spans)]
        if before:
            starts = [at for at in range(1, len(spans)) if text[spans[at][0] - 1] in SLASHES]
        if starts and after:
            matches = ENDS[after].fullmatch
            ends = [
                at
                for at in range(1, len(spans))
                if spans[at - 1][1] < spans[at][0] and matches(text, spans[at - 1][1])
            ]
        for first in starts:
            for last in ends:
                if first < last:
                    yield Words(text, self.keys[first:last], spans[first:last])


@lru_cache(maxsize=65_536)  # every rule reads the same IDs again
def words_of(own_id: str) -> Words:
    """Return the words and numbers of an ID, in lower case, without leading zeros or a scheme."""
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


Places: TypeAlias = frozenset[tuple[int, str]]
"""Words with their places in an ID."""

MANY = 10
"""The number of IDs that must have a number in one place before it belongs to their template."""

FEWEST = 3
"""The number of distinct references that an uncertain rule must match to be a rewrite."""


class Template(NamedTuple):
    """The words that all IDs of one side have, and almost no ID of the other side has.

    `first` has the places of these words, counted from the beginning of an ID; `last` has their
    places, counted from the end.
    """

    first: Places = frozenset()
    last: Places = frozenset()

    @classmethod
    def of(cls, ours: Iterable[str], theirs: Iterable[str]) -> Template:
        """Return the words that all of `ours` have in the same place, and few of `theirs` have.

        "Few" means at most a tenth; numbers have a rule of their own. The template is empty if
        either side has fewer than three IDs.
        """
        own = [words_of(own_id).keys for own_id in ours]
        other = [words_of(own_id).keys for own_id in theirs]
        if len(own) < FEWEST or len(other) < FEWEST:
            return cls()
        counts = Counter(chain.from_iterable(map(set, other)))
        has_more = len(own) >= MANY and min(map(len, own)) > min(map(len, other))

        def is_theirs(word: str) -> bool:
            # Both sides may share a number by chance. It belongs to the template only if there are
            # at least MANY own IDs, all with more words than the shortest ID of the other side.
            return not has_more if word.isdigit() else counts[word] * 10 > len(other)

        def fixed(lists: Sequence[tuple[str, ...]], others: Sequence[tuple[str, ...]]) -> Places:
            columns = enumerate(zip(*lists, strict=False))
            alike = ((at, column[0]) for at, column in columns if len(set(column)) == 1)
            return frozenset(
                (at, word)
                for at, word in alike
                if not is_theirs(word) and any(keys[at : at + 1] != (word,) for keys in others)
            )

        backwards = [keys[::-1] for keys in own], [keys[::-1] for keys in other]
        return cls(fixed(own, other), fixed(*backwards))

    def left_out(self, words: Words) -> Words:
        """Return an ID without the template's words; the whole ID if no word would remain."""
        if not self.first and not self.last:
            return words
        size = len(words.keys)
        places = enumerate(zip(words.keys, words.spans, strict=True))
        kept = [(key, span) for at, (key, span) in places if not self._has(key, at, size)]
        if not kept or len(kept) == size:
            return words
        keys, spans = zip(*kept, strict=True)
        return Words(words.text, keys, spans)

    def _has(self, key: str, at: int, size: int) -> bool:
        if at == size - 1 and key.isdigit():
            return False  # Keep a last number, even if all IDs have it: it may number a part.
        return (at, key) in self.first or (size - 1 - at, key) in self.last
