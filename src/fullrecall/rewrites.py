"""Reference IDs that were retrieved under another ID: what all IDs of a run tell of each other.

References name `faq-7` and the index has `docs/FAQ_007.md`: recall is 0 although every document was
found. Some ways to write an ID are known for certain, such as another letter case, a longer path,
or the number of a chunk. Others count only if they recur: several references must fit so in their
own samples, and no two IDs of a side may become one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from math import exp, log
from typing import Literal, NamedTuple, TypeAlias

from fullrecall.id_forms import (
    CHUNK,
    EXTENSION,
    NUMBER,
    PATH,
    WHOLE,
    Cut,
    Words,
    end_named,
    spelling,
    words_of,
)

_FEWEST = 3
"""So many distinct references must fit before what is not certain is a rewrite."""

_CHANCE = 0.001
"""How often a hint may come of IDs that have nothing to do with each other."""

_FEW_SAMPLES = 10
"""Below so many samples a count tells little: there it is enough that every reference fits."""

_LONG_NUMBER = 5
"""Digits from which on a number alone names a document."""

_PARTS = (CHUNK, NUMBER)
"""Ends that number the parts of a document."""

_SHOWN = 20
"""Matches that are looked at to say in what IDs differ."""

Groups: TypeAlias = Sequence[Sequence[str]]
"""The references of a sample: of each, the IDs of which any will do."""

Side: TypeAlias = Literal["retrieved", "reference"]

Ends: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
"""Words that all IDs of a side begin and end by."""


class Match(NamedTuple):
    """A reference ID and another one that stands for it, each with the words that they share.

    `part` is the side whose ID names a part of what the other names; None where both are the same.
    """

    reference: str
    retrieved: str
    reference_core: Words
    retrieved_core: Words
    part: Side | None


class _Rule(NamedTuple):
    """What is cut off the IDs of each side before they are compared, or that letters are.

    `fewest` distinct references must fit in their own samples before it is a rewrite.
    """

    reference: Cut = WHOLE
    retrieved: Cut = WHOLE
    by_letters: bool = False
    fewest: int = 1

    @property
    def part(self) -> Side | None:
        """The side whose IDs name parts of a document, such as its chunks; None where none do."""
        if self.retrieved[1] in _PARTS:
            return "retrieved"
        return "reference" if self.reference[1] in _PARTS else None


def _either(cuts: Iterable[Cut], fewest: int) -> list[_Rule]:
    """Return a rule for each cut of either side."""
    sides = ("retrieved", "reference")
    return [_Rule(**{side: cut}, fewest=fewest) for cut in cuts for side in sides]  # type: ignore[arg-type]


_RULES = [
    _Rule(),
    *_either([(PATH, ""), ("", CHUNK), (PATH, CHUNK)], 1),
    _Rule(by_letters=True, fewest=_FEWEST),
    _Rule(("", EXTENSION), ("", EXTENSION), fewest=_FEWEST),
    *_either([("", EXTENSION), (PATH, ""), (PATH, EXTENSION), ("", NUMBER)], _FEWEST),
]
"""The more certain first: a single ID shows these, since no other document has such a name."""


@dataclass(frozen=True, repr=False)
class Rewrite:
    """What makes the IDs of both sides alike: `what` names it in a few words.

    `pairs` are the references that were retrieved under another ID in their own sample, once each.
    `gain` is the mean recall by ID that it brings, in [0, 1], over the samples that have
    references. `matches` has the IDs that stand for each reference, whether its own sample
    retrieved them or not; those of the more certain rules first.
    """

    pairs: tuple[Match, ...]
    gain: float
    matches: Mapping[str, Sequence[Match]]
    is_chance: bool = field(default=False, compare=False)
    """Whether so many references could fit the lists of other samples as well."""

    def __repr__(self) -> str:
        return f"Rewrite({self.sentence})" if self.pairs else "Rewrite()"

    @property
    def what(self) -> str:
        """In what the IDs of both sides differ."""
        return differences(self.pairs)

    @property
    def sentence(self) -> str:
        """The rewrite with an example, its gain, and how to make it."""
        first = self.pairs[0]
        return (
            f"IDs differ in {self.what}: {first.reference!r} was retrieved as "
            f"{first.retrieved!r} ({len(self.pairs):,} references, recall {self.gain:+.3f}); "
            "to make them equal, pass id_key= a function that returns IDs as the references do"
        )


def differences(matches: Sequence[Match]) -> str:
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
    is not certain must recur for at least three references, a bare number behind IDs for more than
    match as they are.
    """
    lists = [tuple(dict.fromkeys(filter(None, ids))) for ids in retrieved_ids]
    samples = list(zip(lists, references, strict=True))
    direct += sum(not set(ids).isdisjoint(group) for ids, groups in samples for group in groups)
    own_lists: dict[str, set[str]] = defaultdict(set)
    for ids, groups in samples:
        for group in groups:
            if set(ids).isdisjoint(group):
                for own_id in group:
                    own_lists[own_id].update(ids)
    if not own_lists:
        return None
    matches = _matches(lists, references, own_lists, dict.fromkeys(indexed), direct)
    return _rewrite(lists, references, matches) if matches else None


class _Ids:
    """The IDs of one side as words, without the words that all of them, and few others, have."""

    def __init__(self, ids: Iterable[str], ends: Ends = ((), ())) -> None:
        self.words = {own_id: _without(words_of(own_id), *ends) for own_id in ids}
        self._by_key: dict[tuple[Cut, bool], dict[str, list[tuple[str, Words]]]] = {}

    def by_key(self, cut: Cut, *, letters: bool) -> Mapping[str, list[tuple[str, Words]]]:
        """Return the IDs, with what a cut leaves of them, by what is compared of that."""
        if (cut, letters) not in self._by_key:
            by_key = self._by_key[cut, letters] = defaultdict(list)
            for own_id, words in self.words.items():
                for core in [words] if cut == WHOLE else words.cores(cut):
                    if core.keys:
                        by_key[core.letters if letters else core.key].append((own_id, core))
        return self._by_key[cut, letters]

    def is_usual(self, cut: Cut) -> bool:
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
    others = [set(words_of(own_id).keys) for own_id in theirs]
    if len(own) < _FEWEST or len(others) < _FEWEST:
        return (), ()
    most = min(map(len, own)) - 1  # a word of each ID must be left to compare

    def shared(columns: Iterable[tuple[str, ...]]) -> list[str]:
        words: list[str] = []
        for column in islice(columns, max(0, most)):
            word = column[0]
            is_rare = sum(word in keys for keys in others) * 10 <= len(others)
            if word.isdigit() or set(column) != {word} or not is_rare:
                break
            words.append(word)
        return words

    first = shared(zip(*own, strict=False))
    last = shared(zip(*(keys[::-1] for keys in own), strict=False))
    return tuple(first), tuple(last[: most - len(first)][::-1])


def _matches(
    lists: Sequence[Sequence[str]],
    references: Sequence[Groups],
    own_lists: Mapping[str, set[str]],
    indexed: Mapping[str, None],
    direct: int,
) -> dict[str, list[Match]]:
    """Return the IDs that stand for missing references, the more certain rules first.

    `own_lists` are these with what their own samples retrieved; `direct` references were
    retrieved as they are.
    """
    retrieved = dict.fromkeys(chain.from_iterable(lists))
    expected = dict.fromkeys(
        own_id for groups in references for group in groups for own_id in group
    )
    of_retrieved, of_expected = _ends(retrieved, expected), _ends(expected, retrieved)
    available = _Ids({**retrieved, **indexed}, of_retrieved)
    missing = _Ids(own_lists, of_expected)
    ours, theirs = _Ids(expected, of_expected), _Ids(retrieved, of_retrieved)
    matches: dict[str, list[Match]] = {}
    for rule in _RULES:
        is_certain = rule.fewest == 1
        if not is_certain and not (
            ours.is_usual(rule.reference) and theirs.is_usual(rule.retrieved)
        ):
            continue
        fitting_matches, lost = _matches_by(rule, available, missing)
        if not (is_certain and rule.part):
            # An ID that stands elsewhere as it is has not been renamed.
            settled = matches.keys() | available.words.keys()
            fitting_matches = {
                own_id: added for own_id, added in fitting_matches.items() if own_id not in settled
            }
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


def _matches_by(
    rule: _Rule, available: _Ids, references: _Ids
) -> tuple[dict[str, list[Match]], int]:
    """Return what a rule makes the same, by reference, and how many IDs would become one by it."""
    ours = references.by_key(rule.reference, letters=rule.by_letters)
    theirs = available.by_key(rule.retrieved, letters=rule.by_letters)
    matches_of: dict[str, list[Match]] = defaultdict(list)
    lost: set[str] = set()
    for key in filter(theirs.__contains__, ours):
        mine, others = dict(ours[key]), dict(theirs[key])
        if (len(mine) > 1 and rule.part != "reference") or (len(others) > 1 and not rule.part):
            lost.update(mine)
            continue
        # What both share must look like a path, or the name of a file, if nothing else shows it.
        cuts_path = PATH in (rule.reference[0], rule.retrieved[0]) and rule.fewest == 1
        for own_id, core in mine.items():
            if not cuts_path or {*core.core} & {"/", "."}:
                matches_of[own_id] += [
                    Match(own_id, other, core, other_core, rule.part)
                    for other, other_core in others.items()
                ]
    for own_id in lost & matches_of.keys():
        del matches_of[own_id]
    return matches_of, len(lost)


def _rewrite(
    lists: Sequence[Sequence[str]], references: Sequence[Groups], matches_of: dict[str, list[Match]]
) -> Rewrite:
    """Return the rewrite with what it brings."""
    stands_for: dict[str, set[str]] = defaultdict(set)
    for match in chain.from_iterable(matches_of.values()):
        stands_for[match.retrieved].add(match.reference)
    standing = [
        {*ids, *chain.from_iterable(stands_for.get(own_id, ()) for own_id in ids)} for ids in lists
    ]
    pairs: dict[str, Match] = {}
    gains: list[float] = []
    for ids, standing_ids, groups in zip(lists, standing, references, strict=True):
        if not groups:
            continue
        gains.append(share_found(groups, standing_ids) - share_found(groups, ids))
        for reference in chain.from_iterable(groups):
            if reference in standing_ids and reference not in ids and reference not in pairs:
                match = next(m for m in matches_of[reference] if m.retrieved in ids)
                pairs[reference] = match
    gain = sum(gains) / max(len(gains), 1)
    return Rewrite(tuple(pairs.values()), gain, matches_of, is_chance(standing, references))


def share_found(groups: Groups, ids: Iterable[str]) -> float:
    """Return the share of references of which an ID is among these."""
    id_set = set(ids)
    return sum(not id_set.isdisjoint(group) for group in groups) / len(groups)


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
