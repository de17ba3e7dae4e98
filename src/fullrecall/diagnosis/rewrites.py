"""Reference IDs that were retrieved under another ID: what all IDs of a run tell of each other.

References name `faq-7` and the index has `docs/FAQ_007.md`: recall is 0 although every document was
found. Some ways to write an ID are known for certain, such as another letter case, a longer path,
or the number of a chunk. Others count only if they recur: several references must fit so in their
own samples, and no two IDs of a side may become one.

Two IDs are compared word by word and number by number, whatever separates these and whatever case
they are in. What only one of two IDs has is cut off: a directory, an extension, what numbers the
chunks of a document.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import chain, islice, takewhile
from typing import Literal, NamedTuple, TypeAlias
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


_FEWEST = 3
"""So many distinct references must fit before what is not certain is a rewrite."""

_PARTS = (CHUNK, NUMBER)
"""Ends that number the parts of a document."""

_SHOWN = 20
"""Matches that are looked at to say in what IDs differ."""

Groups: TypeAlias = Sequence[Sequence[str]]
"""The references of a sample: of each, the IDs of which any will do."""

Side: TypeAlias = Literal["retrieved", "reference"]

Ends: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
"""Words that all IDs of a side begin and end by."""


class IdMatch(NamedTuple):
    """A reference ID and another one that stands for it, each with the words that they share.

    `part` is the side whose ID names a part of what the other names; None where both are the same.
    """

    reference: str
    retrieved: str
    reference_core: Words
    retrieved_core: Words
    part: Side | None


class _RewriteRule(NamedTuple):
    """What is cut off the IDs of each side before they are compared, or that letters are.

    `fewest` distinct references must fit in their own samples before it is a rewrite.
    """

    reference: IdCut = WHOLE
    retrieved: IdCut = WHOLE
    by_letters: bool = False
    fewest: int = 1

    @property
    def part(self) -> Side | None:
        """The side whose IDs name parts of a document, such as its chunks; None where none do."""
        if self.retrieved[1] in _PARTS:
            return "retrieved"
        return "reference" if self.reference[1] in _PARTS else None


def _either(cuts: Iterable[IdCut], fewest: int) -> list[_RewriteRule]:
    """Return a rule for each cut of either side."""
    sides = ("retrieved", "reference")
    return [_RewriteRule(**{side: cut}, fewest=fewest) for cut in cuts for side in sides]  # type: ignore[arg-type]


_RULES = [
    _RewriteRule(),
    *_either([(PATH, ""), ("", CHUNK), (PATH, CHUNK)], 1),
    _RewriteRule(by_letters=True, fewest=_FEWEST),
    _RewriteRule(("", EXTENSION), ("", EXTENSION), fewest=_FEWEST),
    *_either([("", EXTENSION), (PATH, ""), (PATH, EXTENSION), ("", NUMBER)], _FEWEST),
]
"""The more certain first: a single ID shows these, since no other document has such a name."""


def differences(matches: Sequence[IdMatch]) -> str:
    """Return in what the two IDs of each match differ, in a few words."""
    ends: dict[str, set[str]] = defaultdict(set)
    spelled: dict[str, None] = {}
    for match in matches[:_SHOWN]:
        ours, theirs = match.reference_core, match.retrieved_core
        before, after = (ours.before, theirs.before), (ours.after, theirs.after)
        for texts, is_before in ((before, True), (after, False)):
            for text in filter(None, texts if texts[0] != texts[1] else ()):
                kind, written = end_named(text, before=is_before)
                ends[kind].add(written)
        is_whole = before[0] == before[1] and after[0] == after[1]
        pair = (match.reference, match.retrieved) if is_whole else (ours.core, theirs.core)
        spelled |= dict.fromkeys(spelling(*pair))
    named = [
        f"{kind} {' and '.join(sorted(texts))}".strip() if len(texts) < _FEWEST else kind
        for kind, texts in ends.items()
    ]
    return ", ".join([*named, *spelled]) or "spelling"


def matches_of(
    retrieved_ids: Sequence[Collection[str | None]],
    references: Sequence[Groups],
    indexed: Iterable[str] = (),
) -> dict[str, list[IdMatch]]:
    """Return the IDs that stand for references of which no ID was retrieved, by these.

    Those of the more certain rules come first, whether the reference's own sample retrieved them
    or not. IDs and references have one item for each sample, in the same order; `indexed` are
    further IDs that may stand for a reference, such as those of a corpus. Work is linear in the
    IDs. What fits by chance is not named: what is not certain must recur for at least three
    references, a bare number behind IDs for more than match as they are.
    """
    retrieved = dict.fromkeys(filter(None, chain.from_iterable(retrieved_ids)))
    own_lists: dict[str, set[str | None]] = defaultdict(set)
    direct = 0  # references that were retrieved as they are
    for ids, groups in zip(map(set, retrieved_ids), references, strict=True):
        for group in groups:
            if not ids.isdisjoint(group):
                direct += 1
                continue
            for own_id in group:
                own_lists[own_id].update(ids)
    if not own_lists:
        return {}
    of_retrieved, of_missing = _ends(retrieved, own_lists), _ends(own_lists, retrieved)
    missing, theirs = _Ids(own_lists, of_missing), _Ids(retrieved, of_retrieved)
    available = _Ids({**retrieved, **dict.fromkeys(indexed)}, of_retrieved)
    matches: dict[str, list[IdMatch]] = {}
    for rule in _RULES:
        is_certain = rule.fewest == 1
        if not is_certain and not (
            missing.is_usual(rule.reference) and theirs.is_usual(rule.retrieved)
        ):
            continue
        # An ID that stands elsewhere as it is has not been renamed.
        settled = set() if is_certain and rule.part else matches.keys() | available.words.keys()
        fitting_matches, lost = _matches_by(rule, available, missing, settled)
        fitting = sum(
            any(match.retrieved in own_lists[reference] for match in added)
            for reference, added in fitting_matches.items()
        )
        takes_numbers = NUMBER in (rule.reference[1], rule.retrieved[1])
        least = rule.fewest * (direct + 1 if takes_numbers else 1)
        if is_certain or (fitting >= least and lost * 4 <= lost + len(fitting_matches)):
            for reference, added in fitting_matches.items():
                matches.setdefault(reference, []).extend(added)
    return matches


class _Ids:
    """The IDs of one side as words, without the words that all of them, and few others, have."""

    def __init__(self, ids: Iterable[str], ends: Ends = ((), ())) -> None:
        self.words = {own_id: _without(words_of(own_id), *ends) for own_id in ids}
        self._by_key: dict[tuple[IdCut, bool], dict[str, list[tuple[str, Words]]]] = {}

    def by_key(self, cut: IdCut, *, letters: bool) -> Mapping[str, list[tuple[str, Words]]]:
        """Return the IDs, with what a cut leaves of them, by what is compared of that."""
        if (cut, letters) not in self._by_key:
            by_key = self._by_key[cut, letters] = defaultdict(list)
            for own_id, words in self.words.items():
                for core in [words] if cut == WHOLE else words.cores(cut):
                    if core.keys:
                        by_key[core.letters if letters else core.key].append((own_id, core))
        return self._by_key[cut, letters]

    def is_usual(self, cut: IdCut) -> bool:
        """Return whether half of the IDs have what is cut off, of few kinds.

        Else it may be what tells documents apart, such as the names within a module.
        """
        cores = list(chain.from_iterable(self.by_key(cut, letters=False).values()))
        having = {own_id for own_id, _ in cores}
        is_few = cut[1] != EXTENSION or len({core.after for _, core in cores}) * 3 <= len(having)
        return is_few and len(having) * 2 >= len(self.words)


def _without(words: Words, first: tuple[str, ...], last: tuple[str, ...]) -> Words:
    size = len(words.keys)
    if words.keys[: len(first)] != first or words.keys[size - len(last) :] != last:
        return words
    return words.part(len(first), size - len(last))


def _ends(ours: Iterable[str], theirs: Iterable[str]) -> Ends:
    """Return the words that all of `ours` begin and end by, and hardly any of `theirs` has."""
    own = [words_of(own_id).keys for own_id in ours]
    their_words = [set(words_of(own_id).keys) for own_id in theirs]
    if len(own) < _FEWEST or len(their_words) < _FEWEST:
        return (), ()
    most = max(0, min(map(len, own)) - 1)  # a word of each ID must be left to compare

    def shared(lists: Iterable[tuple[str, ...]]) -> list[str]:
        columns = takewhile(is_shared, zip(*lists, strict=False))
        return [column[0] for column in columns][:most]

    def is_shared(column: tuple[str, ...]) -> bool:
        word = column[0]
        is_rare = sum(word in keys for keys in their_words) * 10 <= len(their_words)
        return is_rare and not word.isdigit() and set(column) == {word}

    first, last = shared(own), shared(keys[::-1] for keys in own)
    return tuple(first), tuple(last[: most - len(first)][::-1])


def _matches_by(
    rule: _RewriteRule, available: _Ids, references: _Ids, settled: AbstractSet[str]
) -> tuple[dict[str, list[IdMatch]], int]:
    """Return what a rule makes the same, by reference, and how many IDs would become one by it.

    References that are `settled` are left out.
    """
    ours = references.by_key(rule.reference, letters=rule.by_letters)
    theirs = available.by_key(rule.retrieved, letters=rule.by_letters)
    fitting_matches: dict[str, list[IdMatch]] = defaultdict(list)
    lost: set[str] = set()
    for key in filter(theirs.__contains__, ours):
        expected, named = dict(ours[key]), dict(theirs[key])
        if (len(expected) > 1 and rule.part != "reference") or (len(named) > 1 and not rule.part):
            lost.update(expected)
            continue
        # What both share must look like a path, or the name of a file, if nothing else shows it.
        cuts_path = PATH in (rule.reference[0], rule.retrieved[0]) and rule.fewest == 1
        for own_id, core in expected.items():
            if not cuts_path or {*core.core} & {"/", "."}:
                fitting_matches[own_id] += [
                    IdMatch(own_id, retrieved, core, retrieved_core, rule.part)
                    for retrieved, retrieved_core in named.items()
                ]
    for own_id in fitting_matches.keys() & (lost | settled):
        del fitting_matches[own_id]
    return fitting_matches, len(lost)
