"""Reference IDs that were retrieved under another ID: what all IDs of a run tell of each other.

References name `faq-7` and the index has `docs/FAQ_007.md`: recall is 0 although every document was
found. Some ways to write an ID are known for certain, such as another letter case, a longer path,
or the number of a chunk. Others are induced: what stands before and after the words that two IDs
of one sample share is a rewrite if it recurs in several samples and never joins two IDs of a side.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from math import exp, log
from typing import NamedTuple
from urllib.parse import unquote

from fullrecall.id_forms import (
    CHUNK,
    EQUAL,
    JOINED,
    PATH,
    Affix,
    Rule,
    Words,
    named_end,
    named_start,
    rules_between,
    words_of,
)

_FEWEST = 3
"""So many distinct references must fit before what stands around a core is a rewrite."""

_CHANCE = 0.001
"""How often a hint may come of IDs that have nothing to do with each other."""

_FEW_SAMPLES = 10
"""Below so many samples a count tells little: there it is enough that every reference fits."""

_LONG_NUMBER = 5
"""Digits from which on a number alone names a document."""

_MOST_PAIRS = 100_000
"""Pairs of a reference and a retrieved ID that are aligned: they tell what recurs."""

_TYPICAL = 1_000
"""IDs of a side that are looked at to see whether most of them have an affix."""

_CERTAIN = (
    EQUAL,
    *(
        Rule(longer, *affixes)
        for affixes in ((PATH, ()), ((), CHUNK), (PATH, CHUNK))
        for longer in ("retrieved", "reference")
    ),
)

Groups = Sequence[Sequence[str]]
"""The references of a sample: of each, the IDs of which any will do."""


class Match(NamedTuple):
    """A reference ID and another one that stands for it, each with the words that they share."""

    reference: str
    retrieved: str
    rule: Rule
    reference_core: Words
    retrieved_core: Words


@dataclass(frozen=True, repr=False)
class Rewrite:
    """What makes the IDs of both sides alike: `what` names it in a few words.

    `pairs` are the references that were retrieved under another ID in their own sample, once each.
    `recall` is the mean recall by ID as it is, `rewritten` that with these IDs taken for the same,
    over the samples that have references. `matches` has the IDs that stand for each reference,
    whether its own sample retrieved them or not; those of the more certain rules first.
    """

    pairs: tuple[Match, ...]
    recall: float
    rewritten: float
    matches: Mapping[str, Sequence[Match]]
    is_chance: bool = field(default=False, compare=False)
    """Whether so many references could fit the lists of other samples as well."""

    def __repr__(self) -> str:
        return f"Rewrite({self.sentence})" if self.pairs else "Rewrite()"

    @cached_property
    def what(self) -> str:
        """In what the IDs of both sides differ."""
        return differences(self.pairs)

    @property
    def gain(self) -> float:
        """The recall that the rewrite brings, in [0, 1]."""
        return self.rewritten - self.recall

    @property
    def sentence(self) -> str:
        """The rewrite with an example, its gain, and how to make it."""
        first = self.pairs[0]
        return (
            f"IDs differ in {self.what}: {first.reference!r} was retrieved as "
            f"{first.retrieved!r} ({len(self.pairs):,} references, recall {self.gain:+.3f}); "
            "to make them equal, pass id_key= a function that returns IDs as the references do"
        )


def rewrites(
    retrieved_ids: Sequence[Sequence[str | None]],
    references: Sequence[Groups],
    *,
    indexed: Iterable[str] = (),
    direct: int = 0,
) -> Rewrite | None:
    """Return what rewrites retrieved IDs into reference IDs, or the other way; None if nothing.

    Both have one item for each sample, in the same order. `indexed` are further IDs that may stand
    for a reference, such as those of a corpus; `direct` counts references of further samples that
    were retrieved as they are. Work is linear in the IDs. What fits by chance is not named: what
    stands around the core of IDs must recur for at least three references, a bare number behind it
    for more than match as they are.
    """
    lists = [
        tuple(dict.fromkeys(own_id for own_id in ids if own_id is not None and own_id))
        for ids in retrieved_ids
    ]
    direct += sum(
        not set(ids).isdisjoint(group)
        for ids, groups in zip(lists, references, strict=True)
        for group in groups
    )
    expected = [own_id for groups in references for group in groups for own_id in group]
    missing = [
        [own_id for group in groups if set(ids).isdisjoint(group) for own_id in group]
        for ids, groups in zip(lists, references, strict=True)
    ]
    if not any(missing):
        return None
    search = _Search(lists, missing, expected, indexed)
    return _rewrite(lists, references, search.matches(direct))


def differences(matches: Sequence[Match]) -> str:
    """Return in what the two IDs of each match differ, in a few words."""
    affixes: dict[tuple[str, str], Counter[str]] = {}
    spelling: dict[str, None] = {}
    for match in matches[:20]:
        cores = {"reference": match.reference_core, "retrieved": match.retrieved_core}
        for end, texts in (
            ("before", {side: core.before for side, core in cores.items()}),
            ("after", {side: core.after for side, core in cores.items()}),
        ):
            if len(set(texts.values())) > 1:
                for side, text in texts.items():
                    affixes.setdefault((end, side), Counter())[text] += bool(text)
        spelling |= dict.fromkeys(_spelling(match))
    parts: dict[str, None] = {}
    for (end, _), counts in affixes.items():
        named = named_start if end == "before" else named_end
        named_texts = [text for text in counts if text]
        parts |= dict.fromkeys(named(text, exactly=len(named_texts) == 1) for text in named_texts)
    return ", ".join([*parts, *(name for name in spelling if name not in parts)]) or "spelling"


def _spelling(match: Match) -> Iterator[str]:
    """Yield in what the common words of two IDs are written differently."""
    pair = match.reference, match.retrieved
    if any(unquote(own_id) != own_id for own_id in pair):
        yield "percent encoding"
    if any(unicodedata.normalize("NFKC", own_id) != own_id for own_id in pair):
        yield "Unicode form"
    if any(own_id != own_id.strip() for own_id in pair):
        yield "white space"
    first, second = match.reference_core, match.retrieved_core
    if first.keys != second.keys:
        yield "separators"
        return
    both = list(zip(first.written, second.written, strict=True))
    if any(ours != theirs for ours, theirs in both if not ours.isdigit()):
        yield "letter case"
    if any(ours != theirs for ours, theirs in both if ours.isdigit()):
        yield "zero padding"
    if first.separators != second.separators:
        yield "separators"


class _Ids:
    """The IDs of one side as words, without the words that all of them, and few others, have."""

    def __init__(self, ids: Iterable[str], ends: tuple[Affix, Affix] = ((), ())) -> None:
        self.words = {own_id: _without(words_of(own_id), *ends) for own_id in ids}

    @cached_property
    def by_key(self) -> dict[str, list[str]]:
        """The IDs by what is compared of their words."""
        by_key: dict[str, list[str]] = defaultdict(list)
        for own_id, words in self.words.items():
            if words.keys:
                by_key[words.key].append(own_id)
        return by_key

    @cached_property
    def by_letters(self) -> dict[str, list[str]]:
        """The IDs by their letters."""
        by_letters: dict[str, list[str]] = defaultdict(list)
        for own_id, words in self.words.items():
            if words.keys:
                by_letters[words.letters].append(own_id)
        return by_letters


def _without(words: Words, first: Affix, last: Affix) -> Words:
    size = len(words.keys)
    if words.keys[: len(first)] != first or words.keys[size - len(last) :] != last:
        return words
    return words.part(len(first), size - len(last))


def _common(ours: Sequence[Words], theirs: Sequence[Words], *, step: int) -> Affix:
    """Return the words that all of `ours` begin (end) by, and hardly any of `theirs` has."""
    if len(ours) < _FEWEST or len(theirs) < _FEWEST:
        return ()
    shared: list[str] = []
    for column in islice(zip(*(words.keys[::step] for words in ours), strict=False), 32):
        word = column[0]
        rare = sum(word in words.keys for words in theirs) * 10 <= len(theirs)
        if word.isdigit() or set(column) != {word} or not rare:
            break
        shared.append(word)
    shortest = min(len(words.keys) for words in ours)
    return tuple(shared[: max(0, shortest - 1)][::step])


class _Search:
    """Looks for the IDs that stand for missing references."""

    def __init__(
        self,
        lists: Sequence[Sequence[str]],
        missing: Sequence[Sequence[str]],
        expected: Iterable[str],
        indexed: Iterable[str],
    ) -> None:
        self._lists, self._missing, self._expected = lists, missing, dict.fromkeys(expected)
        self._retrieved = dict.fromkeys(chain.from_iterable(lists))
        self._available = self._retrieved | dict.fromkeys(indexed)
        self._matches: dict[str, list[Match]] = {}

    def matches(self, direct: int) -> dict[str, list[Match]]:
        """Return the IDs that stand for references, by the rules in the order of their trust."""
        available = _Ids(self._available)
        missing = _Ids(dict.fromkeys(chain.from_iterable(self._missing)))
        # An ID that stands elsewhere as it is has not been renamed.
        renamed = _Ids(own_id for own_id in missing.words if own_id not in self._available)
        for rule in _CERTAIN:
            self._add(rule, available, missing if rule.joins else renamed)
        remaining = [own_id for own_id in renamed.words if own_id not in self._matches]
        if remaining:
            self._induce(remaining, direct)
        return self._matches

    def _induce(self, remaining: Sequence[str], direct: int) -> None:
        """Add what recurs in several samples."""
        theirs, ours = (list(map(words_of, ids)) for ids in (self._retrieved, self._expected))
        ends = {
            side: (_common(own, other, step=1), _common(own, other, step=-1))
            for side, own, other in (("retrieved", theirs, ours), ("reference", ours, theirs))
        }
        available, references = (
            _Ids(self._available, ends["retrieved"]),
            _Ids(remaining, ends["reference"]),
        )
        fits = self._fits(available, references)
        for rule in sorted(fits, key=lambda rule: _rank(rule, len(fits[rule])), reverse=True):
            fitting = [own_id for own_id in fits[rule] if own_id not in self._matches]
            least = max(_FEWEST, rule.takes_bare_numbers * (direct + 1))
            if len(fitting) < (1 if rule.is_certain else least):
                continue
            longer = self._expected if rule.longer == "reference" else self._retrieved
            some = islice(longer, _TYPICAL)
            if rule.is_certain or _is_typical(rule, _Ids(some, ends.get(rule.longer, ((), ())))):
                self._add(rule, available, references, fitting)

    def _fits(self, available: _Ids, references: _Ids) -> dict[Rule, dict[str, None]]:
        """Return the rules by which references are IDs of their own sample, with these."""
        fits: dict[Rule, dict[str, None]] = defaultdict(dict)
        keys = {
            own_id: frozenset(words.keys)
            for side in (available, references)
            for own_id, words in side.words.items()
        }
        pairs = (
            (own_id, reference)
            for ids, missing in zip(self._lists, self._missing, strict=True)
            for reference in missing
            if reference in references.words
            for own_id in ids
        )
        for own_id, reference in islice(pairs, _MOST_PAIRS):
            theirs, ours = available.words[own_id], references.words[reference]
            if not theirs.keys or not ours.keys:
                continue
            if theirs.key == ours.key:
                fits[EQUAL][reference] = None
            elif theirs.letters == ours.letters:
                fits[JOINED][reference] = None
            elif keys[reference] <= keys[own_id]:
                for rule in rules_between(theirs, ours, "retrieved"):
                    fits[rule][reference] = None
            elif keys[own_id] <= keys[reference]:
                for rule in rules_between(ours, theirs, "reference"):
                    fits[rule][reference] = None
        return fits

    def _add(
        self, rule: Rule, available: _Ids, references: _Ids, fitting: Sequence[str] | None = None
    ) -> None:
        """Add the matches of a rule, without those that it would join with others."""
        by_reference: dict[str, dict[str, Match]] = {}
        for match in _matches(rule, available, references):
            if match.reference not in self._matches or rule.joins:
                by_reference.setdefault(match.reference, {}).setdefault(match.retrieved, match)
        lost = {
            reference
            for reference, matches in by_reference.items()
            if len(references.by_key[references.words[reference].key]) > 1
            or (not rule.joins and len(matches) > 1)
        }
        if fitting is not None:
            kept = [own_id for own_id in fitting if own_id not in lost]
            if not kept or len(lost) * 4 > len(by_reference):
                return
        for reference, matches in by_reference.items():
            if reference not in lost:
                self._matches.setdefault(reference, []).extend(matches.values())


def _matches(rule: Rule, available: _Ids, references: _Ids) -> Iterator[Match]:
    """Yield the IDs of both sides that are the same by a rule."""
    if rule == JOINED:
        for reference, words in references.words.items():
            for own_id in available.by_letters.get(words.letters, ()):
                yield Match(reference, own_id, rule, words, available.words[own_id])
        return
    of_reference = rule.longer == "reference"
    longer, shorter = (references, available) if of_reference else (available, references)
    for own_id, words in longer.words.items():
        for core in rule.cores(words) if rule.may_apply(words.text) else ():
            for other in shorter.by_key.get(core.key, ()) if core.keys else ():
                whole = shorter.words[other]
                if rule.before == PATH and not {"/", "."} & set(whole.text):
                    continue
                if of_reference:
                    yield Match(own_id, other, rule, core, whole)
                else:
                    yield Match(other, own_id, rule, whole, core)


def _rank(rule: Rule, count: int) -> tuple[int, int, int]:
    """Better ones fit more references, leave less to chance, and are shorter."""
    kinds = [affix[0] for affix in (rule.before, rule.after) if affix]
    exact = sum(kind in {"prefix", "suffix"} for kind in kinds)
    return count, 2 * exact - 2 * len(kinds), -len(rule.before) - len(rule.after)


def _is_typical(rule: Rule, ids: _Ids) -> bool:
    """Return whether half of the IDs of the longer side have what is taken off.

    Else it may be what tells documents apart, such as the names within a module. A word that
    numbers parts, as in `Abs. 3`, is none of these.
    """
    if rule == JOINED or (rule.after[:1] == ("part",) and rule.after[1] != "#"):
        return True
    cores = [list(rule.cores(words)) for words in ids.words.values()]
    having = sum(map(bool, cores))
    ends = {core.after for each in cores for core in each}
    if rule.after == ("extension",) and len(ends) * _FEWEST > having:
        return False
    return having * 2 >= len(cores)


def _rewrite(
    lists: Sequence[Sequence[str]], references: Sequence[Groups], matches_of: dict[str, list[Match]]
) -> Rewrite | None:
    """Return the rewrite with what it brings; None where no list gains."""
    stands_for: dict[str, set[str]] = defaultdict(set)
    for match in chain.from_iterable(matches_of.values()):
        stands_for[match.retrieved].add(match.reference)
    standing = [
        {*ids, *chain.from_iterable(stands_for.get(own, ()) for own in ids)} for ids in lists
    ]
    pairs: dict[str, Match] = {}
    before: list[float] = []
    after: list[float] = []
    for ids, own, groups in zip(lists, standing, references, strict=True):
        if not groups:
            continue
        before.append(share_found(groups, ids))
        after.append(share_found(groups, own))
        for reference in chain.from_iterable(groups):
            if reference in own and reference not in ids and reference not in pairs:
                match = next(each for each in matches_of[reference] if each.retrieved in ids)
                pairs[reference] = match
    if not matches_of:
        return None
    count = max(len(before), 1)
    return Rewrite(
        tuple(pairs.values()),
        sum(before) / count,
        sum(after) / count,
        matches_of,
        is_chance(standing, references),
    )


def share_found(groups: Groups, ids: Iterable[str]) -> float:
    """Return the share of references of which an ID is among these."""
    own = set(ids)
    return sum(not own.isdisjoint(group) for group in groups) / len(groups)


def is_chance(lists: Sequence[Iterable[str]], references: Sequence[Groups]) -> bool:
    """Return whether the lists of samples may hold so many of their own references by chance.

    If lists and references had nothing to do with each other, those of one sample would fit as
    often as a list drawn from all. That is rejected at 0.1%, by the bound on sums of independent
    events of Hoeffding, "On the distribution of the number of successes in independent trials",
    1956. Of fewer than ten samples it is enough that all references are there, if they are more
    than short numbers.
    """
    samples = [(set(ids), groups) for ids, groups in zip(lists, references, strict=True) if groups]
    count, fitting, share = len(samples), 0, 0.0
    if count < _FEW_SAMPLES and all(
        any(own_id in ids and _is_telling(own_id) for own_id in group)
        for ids, groups in samples
        for group in groups
    ):
        return False
    holders: dict[str, set[int]] = defaultdict(set)
    for number, (ids, _) in enumerate(samples):
        for own_id in ids:
            holders[own_id].add(number)
    for number, (_, groups) in enumerate(samples):
        holding = [holders[own_id] for group in groups for own_id in group if own_id in holders]
        having = set().union(*holding)
        fitting += number in having
        share += len(having | {number}) / count**2
    if fitting <= share * count:
        return True
    share_seen = fitting / count
    surprise = share_seen * log(share_seen / share)
    surprise += (1 - share_seen) * log((1 - share_seen) / (1 - share)) if share_seen < 1 else 0.0
    return exp(-count * surprise) > _CHANCE


def _is_telling(own_id: str) -> bool:
    """Return whether an ID names a document and nothing else: a word, or a long number."""
    return not own_id.isdigit() or len(own_id) >= _LONG_NUMBER
