"""What rewrites the IDs of one side into those of the other, induced from the IDs themselves.

References name `faq-7` and the index has `docs/FAQ_007.md`: recall is 0 although every document was
found. The two sides are aligned word by word and number by number, sample by sample. What then
stands before and after the common core, or is spelled otherwise within it, is a rewrite if it
recurs in several samples and never joins two IDs of one side: only then is it named.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice, pairwise
from math import exp, log
from typing import Literal, NamedTuple, TypeAlias
from urllib.parse import unquote

_WORD = re.compile(r"\d+|[^\W\d_]+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,5}")
_QUERY = re.compile(r"[#?@;]|::")

_FEWEST = 3
"""So many distinct references must fit before what stands around a core is a rewrite."""

_LONGEST = 512
"""Characters of an ID that are looked at: longer ones are texts, and compared as they are."""

_MOST_WORDS = 32

_CHANCE = 0.001
"""How often a hint may come of IDs that have nothing to do with each other."""

Affix: TypeAlias = tuple[str, ...]
"""The kind of what stands before or after a core, and what tells it apart from others."""


class Words(NamedTuple):
    """An ID read word by word: `keys` are compared, `spans` say where each stands in `text`."""

    text: str
    keys: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]


class Pair(NamedTuple):
    """A reference ID and the retrieved one that is the same by a rewrite."""

    reference: str
    retrieved: str


@dataclass(frozen=True)
class Rewrite:
    """What makes the IDs of both sides alike: `what` names it in a few words.

    `pairs` are the references that were retrieved under another ID in their own sample, once each.
    `recall` is the mean recall by ID as it is, `rewritten` that with these IDs taken for the same,
    over the samples that have references. `side` says whose IDs are longer.
    """

    what: str
    side: Literal["retrieved", "reference", "neither"]
    pairs: tuple[Pair, ...]
    recall: float
    rewritten: float
    same: Mapping[str, frozenset[str]]
    """The retrieved IDs that stand for each reference ID."""
    rule: _Rule = field(repr=False, compare=False)
    joins: bool = False
    """Whether the longer IDs are those of parts: several of them stand for one of the others."""

    def matched(self, references: Iterable[str], ids: Iterable[str]) -> dict[str, frozenset[str]]:
        """Return which of other IDs, such as those of a corpus, stand for which references."""
        found: dict[str, set[str]] = defaultdict(set)
        wanted = set(references)
        index = _Index(wanted, self.rule.trimmed, reference=True)
        for pair, key in _matches(tuple(ids), wanted, self.rule.trimmed, index):
            if key == self.rule.key and pair.reference not in self.rule.lost:
                found[pair.reference].add(pair.retrieved)
        return {one: frozenset(of_it) for one, of_it in found.items()}

    def is_chance(
        self, retrieved_ids: Sequence[Iterable[str]], reference_ids: Sequence[Iterable[str]]
    ) -> bool:
        """Return whether so many references could fit the lists of other samples as well.

        If lists and references had nothing to do with each other, those of one sample would fit as
        often as a list drawn from all. That is rejected at 0.1%, by the bound on sums of
        independent events of Hoeffding, "On the distribution of the number of successes in
        independent trials", 1956; so of four samples nothing is told.
        """
        holders: dict[str, set[int]] = defaultdict(set)
        for number, ids in enumerate(retrieved_ids):
            for one in ids:
                holders[one].add(number)
        same = self.matched((one for wanted in reference_ids for one in wanted), holders)
        count, fitting, share = len(reference_ids), 0, 0.0
        for number, wanted in enumerate(reference_ids):
            ids = [other for one in wanted for other in same.get(one, ())]
            lists = set().union(*(holders[other] for other in ids))
            fitting += number in lists
            share += len(lists | {number}) / count**2
        if fitting <= share * count:
            return True
        seen = fitting / count
        surprise = seen * log(seen / share)
        surprise += (1 - seen) * log((1 - seen) / (1 - share)) if seen < 1 else 0.0
        return exp(-count * surprise) > _CHANCE

    @property
    def gain(self) -> float:
        """The recall that the rewrite brings, in [0, 1]."""
        return self.rewritten - self.recall

    @property
    def sentence(self) -> str:
        """The rewrite with an example and its gain."""
        reference, retrieved = self.pairs[0]
        return (
            f"IDs differ in {self.what}: {reference!r} was retrieved as {retrieved!r} "
            f"({len(self.pairs):,} references, recall {self.gain:+.3f})"
        )


def rewrites(
    retrieved_ids: Sequence[Sequence[str | None]],
    reference_ids: Sequence[Sequence[str]],
    *,
    direct: int = 0,
) -> Rewrite | None:
    """Return what rewrites retrieved IDs into reference IDs, or the other way; None if nothing.

    Both have the IDs of each sample, in the same order; `direct` counts references of further
    samples that were retrieved as they are. Work is bounded: linear in the IDs, with at
    most 64 words of each. What fits by chance is not named: what stands around the core of IDs must
    recur for at least three references, a bare number behind it for more than match as they are.
    """
    samples = [
        (tuple(dict.fromkeys(one for one in found if one)), tuple(dict.fromkeys(wanted)))
        for found, wanted in zip(retrieved_ids, reference_ids, strict=True)
    ]
    known = {one for found, _ in samples for one in found}
    direct += sum(one in found for found, wanted in samples for one in wanted)
    # An ID that stands elsewhere as it is has not been renamed.
    missing = [
        (found, tuple(one for one in wanted if one not in known)) for found, wanted in samples
    ]
    taken = {one for _, wanted in samples for one in wanted}
    trimmed = _Trimmed(known, taken)
    best: _Candidate | None = None
    for candidate in sorted(_candidates(missing, trimmed), key=lambda one: one.rank, reverse=True):
        longer = taken if candidate.side == "reference" else known
        candidate.lose_ambiguous(set(candidate.fits), known, trimmed)
        if candidate.is_trusted(direct) and candidate.is_typical(longer, trimmed):
            best = candidate
            break
    if best is None:
        return None
    best.known = known
    return best.rewrite(samples, trimmed)


class _Rule(NamedTuple):
    """What a rewrite applies: how IDs are trimmed, how they differ, and where it would join two."""

    trimmed: _Trimmed
    key: _Key
    lost: frozenset[str]


class _Trimmed:
    """The words of IDs without what all IDs of their side, and none of the other, begin or end by.

    An ID may then be shorter on both sides: `docs/faq-7` and `faq-7.md`.
    """

    def __init__(self, known: set[str], wanted: set[str]) -> None:
        self._ends = tuple(
            (_common(ours, theirs, first=True), _common(ours, theirs, first=False))
            for ours, theirs in ((known, wanted), (wanted, known))
        )

    def words(self, given: str, *, reference: bool) -> Words:
        """Return the words of an ID of one side."""
        text, keys, spans = words_of(given)
        before, after = self._counts(keys, reference=reference)
        stop = len(keys) - after
        return Words(text, keys[before:stop], spans[before:stop])

    def described(self, given: str, *, reference: bool) -> list[str]:
        """Return what is left out of such an ID."""
        whole = words_of(given)
        before, after = self._counts(whole.keys, reference=reference)
        parts = []
        if before:
            parts.append(_described_start(whole.text[: whole.spans[before][0]]))
        if after:
            parts.append(_described_end(whole.text[whole.spans[-after - 1][1] :]))
        return parts

    def _counts(self, keys: tuple[str, ...], *, reference: bool) -> tuple[int, int]:
        """Return how many words of such an ID are left out in front and at its end."""
        first, last = self._ends[reference]
        fits = keys[: len(first)] == first and keys[len(keys) - len(last) :] == last
        return (len(first), len(last)) if fits else (0, 0)


def _common(ours: set[str], theirs: set[str], *, first: bool) -> tuple[str, ...]:
    """Return the words that all of `ours` begin, or end, by, and hardly any of `theirs` has."""
    if len(ours) < _FEWEST or len(theirs) < _FEWEST:
        return ()
    own = [words_of(one).keys for one in ours]
    other = [words_of(one).keys for one in theirs]
    shortest = min(map(len, own))
    count = 0
    while count < shortest - 1:
        at = count if first else -count - 1
        word = own[0][at]
        if word.isdigit() or any(keys[at] != word for keys in own):
            break
        if sum(word in keys for keys in other) * 10 > len(other):
            break
        count += 1
    return own[0][:count] if first else own[0][len(own[0]) - count :]


@lru_cache(maxsize=65_536)
def words_of(given: str) -> Words:
    """Return the words and numbers of an ID: lower case, without zeros in front."""
    text = unicodedata.normalize("NFKC", unquote(given[:_LONGEST])).strip()
    keys: list[str] = []
    spans: list[tuple[int, int]] = []
    for match in islice(_WORD.finditer(text), _MOST_WORDS):
        start = match.start()
        for part in _HUMP.split(match[0]):
            keys.append(part.lstrip("0") or "0" if part.isdigit() else part.casefold())
            spans.append((start, start + len(part)))
            start += len(part)
    return Words(text, tuple(keys), tuple(spans))


@dataclass
class _Candidate:
    """One way to rewrite, with the references that it fits: each with its retrieved ID."""

    side: Literal["retrieved", "reference", "neither"]
    before: Affix
    after: Affix
    fits: dict[str, str]
    lost: set[str]
    """References that it would join with another of their side."""
    known: set[str] = field(default_factory=set)
    """All retrieved IDs: a reference that is one of them was not renamed."""

    def is_trusted(self, direct: int) -> bool:
        """Return whether it recurs, and is more than chance."""
        fitting = self.fits.keys() - self.lost
        if not fitting or len(self.lost) * 4 > len(self.fits):
            return False
        if not self.before and not self.after:
            return True
        numbers = [_kind_of_end(one) for one in self.before[1:] + self.after[1:]]
        is_bare = ("part", "#") in (self.after, self.before, *numbers)
        return len(fitting) >= max(_FEWEST, is_bare * (direct + 1))

    @property
    def joins(self) -> bool:
        """Whether it takes off what numbers the parts of a document: several are then one."""
        kinds = [self.before[:1], self.after[:1]]
        kinds += [_kind_of_end(one)[:1] for one in self.before[1:] + self.after[1:]]
        return ("part",) in kinds or ("fragment",) in kinds

    def lose_ambiguous(self, references: set[str], known: Iterable[str], trimmed: _Trimmed) -> None:
        """Give up references for which several retrieved IDs stand that are no parts of them."""
        if self.joins:
            return
        found: dict[str, set[str]] = defaultdict(set)
        index = _Index(references, trimmed, reference=True)
        for pair, key in _matches(tuple(known), references, trimmed, index):
            if key == (self.side, self.before, self.after):
                found[pair.reference].add(pair.retrieved)
        self.lost |= {one for one, others in found.items() if len(others) > 1}

    def is_typical(self, ids: Iterable[str], trimmed: _Trimmed) -> bool:
        """Return whether half of the IDs of the longer side have what is taken off.

        Else it may be what tells documents apart, such as the names within a module. A word that
        numbers parts, as in `Abs. 3`, is none of these.
        """
        if self.after[:1] == ("part",) and self.after[1] != "#":
            return True
        sides = list(ids)
        ends: set[str] = set()
        having = 0
        for one in sides:
            words = trimmed.words(one, reference=self.side == "reference")
            has_start = not self.before or any(
                _carries(self.before, words.text[: span[0]], _kinds_of_start)
                for span in words.spans[1:]
            )
            after = [
                words.text[span[1] :]
                for span in words.spans[:-1]
                if self.after and _carries(self.after, words.text[span[1] :], _kinds_of_end)
            ]
            having += has_start and (not self.after or bool(after))
            ends.update(after)
        if self.after == ("extension",) and len(ends) * _FEWEST > having:
            return False
        return having * 2 >= len(sides)

    @property
    def rank(self) -> tuple[int, int, int]:
        """Better ones fit more references, leave less to chance, and are shorter."""
        kinds = [affix[0] for affix in (self.before, self.after) if affix]
        exact = sum(kind in {"prefix", "suffix"} for kind in kinds)
        return len(self.fits), 2 * exact - 2 * len(kinds), -len(self.before) - len(self.after)

    def rewrite(
        self, samples: Iterable[tuple[Sequence[str], Sequence[str]]], trimmed: _Trimmed
    ) -> Rewrite:
        """Return the rewrite with what it brings."""
        index = _Index((one for _, wanted in samples for one in wanted), trimmed, reference=True)
        same: dict[str, set[str]] = defaultdict(set)
        before: list[float] = []
        after: list[float] = []
        for found, wanted in samples:
            if not wanted:
                continue
            hits = set(found) & set(wanted)
            gone = set(wanted) - self.known
            before.append(len(hits) / len(wanted))
            for pair, key in _matches(found, gone, trimmed, index):
                if key == (self.side, self.before, self.after) and pair.reference not in self.lost:
                    same[pair.reference].add(pair.retrieved)
                    hits.add(pair.reference)
            after.append(len(hits) / len(wanted))
        pairs = tuple(Pair(one, self.fits[one]) for one in self.fits if one in same)
        return Rewrite(
            self._named(pairs, trimmed),
            self.side,
            pairs,
            sum(before) / len(before),
            sum(after) / len(after),
            {one: frozenset(found) for one, found in same.items()},
            _Rule(trimmed, (self.side, self.before, self.after), frozenset(self.lost)),
            self.joins,
        )

    def _named(self, pairs: Sequence[Pair], trimmed: _Trimmed) -> str:
        parts: dict[str, None] = {}
        for pair in pairs[:20]:
            parts |= dict.fromkeys(trimmed.described(pair.retrieved, reference=False))
            parts |= dict.fromkeys(trimmed.described(pair.reference, reference=True))
            parts |= dict.fromkeys(_spelling(pair, trimmed))
        affixes = [_described(affix) for affix in (self.before, self.after) if affix]
        return ", ".join([*affixes, *parts]) or "spelling"


class _Index:
    """IDs by their words, and by their characters without what separates them."""

    def __init__(self, ids: Iterable[str], trimmed: _Trimmed, *, reference: bool) -> None:
        self.by_words: dict[tuple[str, ...], set[str]] = defaultdict(set)
        self.by_letters: dict[str, set[str]] = defaultdict(set)
        for one in dict.fromkeys(ids):
            words = trimmed.words(one, reference=reference)
            self.by_words[words.keys].add(one)
            self.by_letters[_letters(words)].add(one)

    def equal_to(self, words: Words) -> set[str]:
        """Return the IDs of the same words, or of the same characters."""
        by_words = self.by_words.get(words.keys, set())
        return by_words | self.by_letters.get(_letters(words), set()) if words.keys else set()


def _candidates(
    samples: Iterable[tuple[Sequence[str], Sequence[str]]], trimmed: _Trimmed
) -> Iterable[_Candidate]:
    """Return every way in which some missing reference fits a retrieved ID of its sample."""
    samples = list(samples)
    index = _Index((one for _, wanted in samples for one in wanted), trimmed, reference=True)
    found: dict[_Key, _Candidate] = {}
    for retrieved, missing in samples:
        for pair, key in _matches(retrieved, set(missing), trimmed, index):
            candidate = found.setdefault(key, _Candidate(*key, {}, set()))
            candidate.fits.setdefault(pair.reference, pair.retrieved)
    # Two references of one spelling cannot be told apart by it.
    for candidate in found.values():
        for one in candidate.fits:
            if len(index.by_words[trimmed.words(one, reference=True).keys]) > 1:
                candidate.lost.add(one)
    return found.values()


_Key: TypeAlias = tuple[Literal["retrieved", "reference", "neither"], Affix, Affix]
"""How two IDs differ: whose is longer, and by what before and after the core."""


def _matches(
    retrieved: Sequence[str], missing: set[str], trimmed: _Trimmed, index: _Index
) -> Iterator[tuple[Pair, _Key]]:
    """Yield the references that are the same as a retrieved ID, each with how they differ."""
    if not missing:
        return
    shorter = _Index(retrieved, trimmed, reference=False)
    for one in retrieved:
        words = trimmed.words(one, reference=False)
        for reference in sorted(index.equal_to(words) & missing):
            yield Pair(reference, one), ("neither", (), ())
        for reference, affixes in _within(words, index, missing):
            yield Pair(reference, one), ("retrieved", *affixes)
    for reference in sorted(missing):
        words = trimmed.words(reference, reference=True)
        for one, affixes in _within(words, shorter, set(retrieved)):
            yield Pair(reference, one), ("reference", *affixes)


def _within(
    words: Words, index: _Index, wanted: set[str]
) -> Iterator[tuple[str, tuple[Affix, Affix]]]:
    """Yield the wanted IDs that are a part of another one, with what stands around them."""
    for before, core, after in _cuts(words):
        for one in sorted(index.by_words.get(core, set()) & wanted):
            for affixes in _affixes(before, after):
                yield one, affixes


def _cuts(words: Words) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield an ID as what stands before a shorter core, the core, and what stands after it.

    Something is left of the ID on one side only, or a directory before and an end after it.
    """
    text, keys, spans = words
    size = len(keys)
    for first in range(size):
        before = text[: spans[first][0]] if first else ""
        for last in range(size, first, -1):
            if first == 0 and last == size:
                continue
            after = text[spans[last - 1][1] :] if last < size else ""
            if (
                first
                and last < size
                and not (before.endswith(("/", "\\", ":")) and _kind_of_end(after)[0] != "suffix")
            ):
                continue
            if first and text[spans[first - 1][1] : spans[first][0]] == "":
                continue  # within a word and its number
            if last < size and text[spans[last - 1][1] : spans[last][0]] == "":
                continue
            yield before, keys[first:last], after


def _affixes(before: str, after: str) -> Iterator[tuple[Affix, Affix]]:
    """Yield what recurs of both: the very characters, or their kind alone."""
    for first in _kinds_of_start(before):
        for last in _kinds_of_end(after):
            yield first, last


def _kinds_of_start(before: str) -> Iterator[Affix]:
    if not before:
        yield ()
        return
    yield "prefix", before
    if before.endswith(("/", "\\")):
        yield ("URL",) if "://" in before else ("directory",)
    elif any(character.isdigit() for character in before):
        yield "part", _shape(before)


def _kinds_of_end(after: str) -> Iterator[Affix]:
    if not after:
        yield ()
        return
    yield "suffix", after
    kind = _kind_of_end(after)
    if kind[0] != "suffix":
        yield kind


def _kind_of_end(after: str) -> Affix:
    if _EXTENSION.fullmatch(after):
        return ("extension",)
    if _QUERY.match(after):
        return ("fragment",)
    if any(character.isdigit() for character in after):
        return "part", _shape(after)
    return "suffix", after


def _carries(affix: Affix, text: str, kinds: Callable[[str], Iterator[Affix]]) -> bool:
    """Return whether a text is of the kind of an affix."""
    return bool(text) and affix in kinds(text)


def _shape(text: str) -> str:
    """Return a text with `#` for each number, without what separates, such as `chunk #`."""
    return " ".join("#" if key.isdigit() else key for key in words_of(text).keys)


def _described(affix: Affix) -> str:
    kind, *told = affix
    if kind == "suffix":
        return _described_end(told[0])
    if kind == "prefix":
        return _described_start(told[0])
    if kind == "part":
        return f"what numbers parts ({told[0]})"
    return kind


def _described_start(before: str) -> str:
    if before.endswith(("/", "\\")):
        return f"{'URL' if '://' in before else 'directory'} {before!r}"
    return f"prefix {before!r}"


def _described_end(after: str) -> str:
    kind = _kind_of_end(after)[0]
    return f"{'suffix' if kind == 'part' else kind} {after!r}"


def _letters(words: Words) -> str:
    return "".join(words.text[start:end] for start, end in words.spans).casefold()


def _spelling(pair: Pair, trimmed: _Trimmed) -> Iterator[str]:
    """Yield in what the common words of two IDs are written differently."""
    ours = trimmed.words(pair.reference, reference=True)
    theirs = trimmed.words(pair.retrieved, reference=False)
    if any(unquote(one) != one for one in pair):
        yield "percent encoding"
    if any(unicodedata.normalize("NFKC", one) != one for one in pair):
        yield "Unicode form"
    if any(one != one.strip() for one in pair):
        yield "white space"
    yield from _leading_mark(ours, theirs)
    first, second = _aligned(ours, theirs)
    if [one.lstrip("0") for one in first] != [one.lstrip("0") for one in second]:
        yield "letter case" if _folded(first) == _folded(second) else "separators"
    if any(one != two for one, two in zip(first, second, strict=False) if one.isdigit()):
        yield "zero padding"
    if _separators(ours, first) != _separators(theirs, second):
        yield "separators"


def _leading_mark(ours: Words, theirs: Words) -> Iterator[str]:
    """Yield what stands before the first word of one of two IDs of the same words: `./`."""
    if len(ours.keys) != len(theirs.keys):
        return
    marks = {words.text[: words.spans[0][0]] for words in (ours, theirs) if words.spans}
    if len(marks) > 1 and not any(map(_WORD.search, marks)):
        yield f"prefix {max(marks, key=len)!r}"


def _folded(parts: Iterable[str]) -> list[str]:
    return [part.lstrip("0").casefold() for part in parts]


def _aligned(ours: Words, theirs: Words) -> tuple[list[str], list[str]]:
    """Return the words that both have in common, as each of them writes them."""
    shorter, longer = sorted((ours, theirs), key=lambda words: len(words.keys))
    size = len(shorter.keys)
    start = next(
        (
            at
            for at in range(len(longer.keys) - size + 1)
            if longer.keys[at : at + size] == shorter.keys
        ),
        0,
    )

    def written(words: Words, first: int) -> list[str]:
        return [words.text[begin:end] for begin, end in words.spans[first : first + size]]

    if shorter is ours:
        return written(ours, 0), written(theirs, start)
    return written(ours, start), written(theirs, 0)


def _separators(words: Words, parts: Sequence[str]) -> list[str]:
    """Return what stands between the words that both have in common."""
    whole = words.text
    start = whole.find(parts[0]) if parts else 0
    between = []
    for left, right in pairwise(parts):
        end = start + len(left)
        start = whole.find(right, end)
        between.append(whole[end:start])
    return between
