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

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain, islice
from math import exp, log
from typing import NamedTuple, TypeAlias

from fullrecall.diagnosis.ids.differences import IdMatch, Side
from fullrecall.diagnosis.ids.words import (
    CHUNK,
    EXTENSION,
    FEWEST,
    MANY,
    NUMBER,
    PATH,
    WHOLE,
    ComparedBy,
    IdCut,
    Template,
    Words,
    words_of,
)

CHANCE = 0.001
"""How often a hint may come of IDs that have nothing to do with each other."""

_PARTS = (CHUNK, NUMBER)
"""Ends that number the parts of a document."""

Groups: TypeAlias = Sequence[Sequence[str]]
"""The references of a sample: of each, the IDs of which any will do."""


class _RewriteRule(NamedTuple):
    """What is cut off the IDs of each side before they are compared, and what is compared.

    `fewest` distinct references must fit in their own samples before it is a rewrite.
    """

    reference: IdCut = WHOLE
    retrieved: IdCut = WHOLE
    by: ComparedBy = "words"
    fewest: int = 1

    @property
    def part(self) -> Side | None:
        """The side whose IDs name parts of a document, such as its chunks; None where none do."""
        if self.retrieved[1] in _PARTS:
            return "retrieved"
        return "reference" if self.reference[1] in _PARTS else None

    def least(self, direct: int) -> int:
        """Return how many references must fit where `direct` match as they are."""
        takes_numbers = NUMBER in (self.reference[1], self.retrieved[1])
        return self.fewest * (direct + 1 if takes_numbers else 1)


def _either(cuts: Iterable[IdCut], fewest: int) -> list[_RewriteRule]:
    """Return a rule for each cut of either side."""
    sides = ("retrieved", "reference")
    return [_RewriteRule(**{side: cut}, fewest=fewest) for cut in cuts for side in sides]  # type: ignore[arg-type]


_RULES = [
    _RewriteRule(),
    *_either([(PATH, ""), ("", CHUNK), (PATH, CHUNK)], 1),
    _RewriteRule(by="letters", fewest=FEWEST),
    _RewriteRule(by="any order", fewest=FEWEST),
    _RewriteRule(("", EXTENSION), ("", EXTENSION), fewest=FEWEST),
    *_either([("", EXTENSION), (PATH, ""), (PATH, EXTENSION), ("", NUMBER)], FEWEST),
]
"""The more certain first: a single ID shows these, since no other document has such a name."""


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
    own_lists, direct = _missing(retrieved_ids, references)
    if not own_lists:
        return {}
    # A corpus of which no ID was retrieved may have the references' spelling.
    others = dict.fromkeys(indexed)
    if retrieved.keys().isdisjoint(others):
        others = {own_id: None for own_id in others if own_id not in own_lists}
    available = _Ids({**retrieved, **others}, Template.of(retrieved, own_lists))
    missing = _Ids(own_lists, Template.of(own_lists, retrieved))
    # Words of a template are learned: what fits without them must recur as well. Of few
    # references, not even three may have been retrieved.
    of_template = min(FEWEST, len(own_lists) // MANY)
    least_certain = of_template if available.has_template or missing.has_template else 0
    matches: dict[str, list[IdMatch]] = {}
    for rule in _RULES:
        is_certain = rule.fewest == 1
        is_usual = missing.is_usual(rule.reference, own_lists)
        if not is_certain and not (is_usual and available.is_usual(rule.retrieved, retrieved)):
            continue
        # An ID that stands elsewhere as it is has not been renamed.
        settled = set() if is_certain and rule.part else matches.keys() | available.words.keys()
        added, lost = _matches_by(rule, available, missing, settled)
        fitting = sum(
            any(match.retrieved in own_lists[reference] for match in of)
            for reference, of in added.items()
        )
        least = least_certain if is_certain else rule.least(direct)
        if fitting >= least and (is_certain or lost * 4 <= lost + len(added)):
            for reference, of in added.items():
                matches.setdefault(reference, []).extend(of)
    for match in _numbered_otherwise(retrieved_ids, references, available, missing):
        matches.setdefault(match.reference, []).append(match)
    return matches


def _missing(
    retrieved_ids: Sequence[Collection[str | None]], references: Sequence[Groups]
) -> tuple[dict[str, set[str | None]], int]:
    """Return what was retrieved for each missing reference, and how many were not missing."""
    own_lists: dict[str, set[str | None]] = defaultdict(set)
    direct = 0
    for ids, groups in zip(map(set, retrieved_ids), references, strict=True):
        for group in groups:
            if not ids.isdisjoint(group):
                direct += 1
                continue
            for own_id in group:
                own_lists[own_id].update(ids)
    return own_lists, direct


_LOOKED_AT = 1_000
"""Samples from which it is told where numbers begin."""

_STEPS = range(-2, 3)
"""Numbers beside that of a target that are looked at: its own, and those of its neighbors."""


def _numbered_otherwise(
    retrieved_ids: Sequence[Collection[str | None]],
    references: Sequence[Groups],
    available: _Ids,
    missing: _Ids,
) -> Iterator[IdMatch]:
    """Yield the matches of IDs whose last number counts from 1 on one side and from 0 on the other.

    A neighbor is retrieved by chance too: where one number alone was retrieved of a target's own
    and its neighbors', it must be the next one, or the one before, in more than half of the cases
    beyond chance.
    """
    counts: Counter[int] = Counter()
    for ids, groups in islice(zip(retrieved_ids, references, strict=True), _LOOKED_AT):
        keys = {available.words[each].key for each in ids if each}
        for group in groups:
            words = [missing.words.get(each) or words_of(each) for each in group]
            steps = [s for s in _STEPS if not keys.isdisjoint(each.moved(s) for each in words)]
            if len(steps) == 1:
                counts[steps[0]] += 1
    step, count = counts.most_common(1)[0] if counts else (0, 0)
    if step not in (1, -1) or tail(count, counts.total(), 0.5) > CHANCE:
        return
    named = available.by_key(WHOLE)
    for reference, missed in missing.words.items():
        for retrieved, core in named.get(missed.moved(step), ()):
            yield IdMatch(reference, retrieved, missed, core, None)


class _Ids:
    """The IDs of one side as words, without those of their template."""

    def __init__(self, ids: Iterable[str], template: Template) -> None:
        self.has_template = template != Template()
        self.words = {own_id: template.left_out(words_of(own_id)) for own_id in ids}
        self._by_key: dict[tuple[IdCut, ComparedBy], dict[str, list[tuple[str, Words]]]] = {}

    def by_key(self, cut: IdCut, by: ComparedBy = "words") -> Mapping[str, list[tuple[str, Words]]]:
        """Return the IDs, with what a cut leaves of them, by what is compared of that."""
        if (cut, by) not in self._by_key:
            by_key = self._by_key[cut, by] = defaultdict(list)
            for own_id, words in self.words.items():
                for core in [words] if cut == WHOLE else words.cores(cut):
                    if core.keys:
                        by_key[core.compared(by)].append((own_id, core))
        return self._by_key[cut, by]

    def is_usual(self, cut: IdCut, ids: Collection[str]) -> bool:
        """Return whether half of some IDs have what is cut off, of few kinds.

        Else it may be what tells documents apart, such as the names within a module.
        """
        if cut == WHOLE:
            return True
        cores = [each for each in chain.from_iterable(self.by_key(cut).values()) if each[0] in ids]
        having = {own_id for own_id, _ in cores}
        is_few = cut[1] != EXTENSION or len({core.after for _, core in cores}) * 3 <= len(having)
        return is_few and len(having) * 2 >= len(ids)


def tail(hits: int, count: int, share: float) -> float:
    """Return Hoeffding's bound on at least `hits` of `count` events that have mean `share`."""
    seen = hits / count
    if seen <= share:
        return 1.0
    surprise = seen * log(seen / share)
    surprise += (1 - seen) * log((1 - seen) / (1 - share)) if seen < 1 else 0.0
    return exp(-count * surprise)


def _matches_by(
    rule: _RewriteRule, available: _Ids, references: _Ids, settled: AbstractSet[str]
) -> tuple[dict[str, list[IdMatch]], int]:
    """Return what a rule makes the same, by reference, and how many IDs would become one by it.

    References that are `settled` are left out.
    """
    ours = references.by_key(rule.reference, rule.by)
    theirs = available.by_key(rule.retrieved, rule.by)
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
            if own_id not in settled and (not cuts_path or {*core.core} & {"/", "."}):
                fitting_matches[own_id] += [
                    IdMatch(own_id, retrieved, core, retrieved_core, rule.part)
                    for retrieved, retrieved_core in named.items()
                ]
    for own_id in fitting_matches.keys() & lost:
        del fitting_matches[own_id]
    return fitting_matches, len(lost)
