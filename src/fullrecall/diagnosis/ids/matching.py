"""Match reference IDs that were retrieved under another ID, from all IDs of a run.

For example, references name `faq-7` and the index has `docs/FAQ_007.md`, so that recall is 0
although every document was found. Some variants are certain, such as another letter case, a longer
path, or the number of a chunk. Other variants count only if several references match in this way in
their own samples, and if at most a quarter of the references become equal to others or to several
retrieved IDs.

Two IDs are compared word by word and number by number, without separators and in lower case. Parts
that only one of them has are cut off: a directory, an extension, the number of a chunk.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain, islice
from math import exp, log
from typing import Literal, NamedTuple, TypeAlias
from urllib.parse import unquote

from fullrecall.diagnosis.ids.words import (
    CHUNK,
    ENDS,
    EXTENSION,
    FEWEST,
    MANY,
    NUMBER,
    PATH,
    SLASHES,
    WHOLE,
    ComparedBy,
    IdCut,
    Template,
    Words,
    words_of,
)

Side: TypeAlias = Literal["retrieved", "reference"]


class IdMatch(NamedTuple):
    """A reference ID and another ID of the same document.

    A rule cuts parts off both IDs, such as a directory. The words that remain match:
    `reference_core` and `retrieved_core`.

    `part` is the side whose ID names only a part of the document, such as a chunk. It is None if
    both IDs name the same document, or the same part.
    """

    reference: str
    retrieved: str
    reference_core: Words
    retrieved_core: Words
    part: Side | None


_SHOWN = 20
"""The most matches that are compared to describe how IDs differ."""

_SPELLINGS: dict[str, Callable[[str], str]] = {
    "percent encoding": unquote,
    "Unicode form": lambda text: unicodedata.normalize("NFKC", text),
    "white space": str.strip,
    "letter case": str.casefold,
    "zero padding": lambda text: re.sub(r"(?<!\d)0+(?=\d)", "", text),
    "separators": lambda text: re.sub(r"(?<=\w)[\W_]+(?=\w)|_", "", text),
}


def _spelling(ours: str, theirs: str) -> Iterator[str]:
    """Yield the kinds of spelling in which two texts differ, such as their letter case.

    The texts differ in a kind if they still differ after all other kinds are normalized.
    """
    for name in _SPELLINGS:
        texts = [ours, theirs]
        for other, normalize in _SPELLINGS.items():
            if other != name:
                texts = [normalize(text) for text in texts]
        if texts[0] != texts[1]:
            yield name


def _end_named(text: str, *, before: bool) -> tuple[str, str]:
    """Return the kind of the text before or after the words that two IDs share, and its `repr`.

    The `repr` is "" for the number of a part, such as "-chunk-3", since it differs between IDs.
    """
    if before:
        kind = "directory" if text.endswith(SLASHES) else "prefix"
        return ("URL" if "://" in text else kind), repr(text)
    if ENDS[EXTENSION].fullmatch(text):
        return "extension", repr(text)
    words = words_of(text).keys
    if not text.startswith(("#", "?", "::")) and any(map(str.isdigit, words)):
        shape = " ".join("#" if word.isdigit() else word for word in words)
        return f"what numbers parts ({shape})", ""
    return ("fragment" if ENDS[CHUNK].fullmatch(text) else "suffix"), repr(text)


def differences(matches: Sequence[IdMatch]) -> str:
    """Describe in a few words how the two IDs of the matches differ."""
    ends: dict[str, set[str]] = defaultdict(set)
    spelled: dict[str, None] = {}
    for match in matches[:_SHOWN]:
        ours, theirs = match.reference_core, match.retrieved_core
        before, after = (ours.before, theirs.before), (ours.after, theirs.after)
        for texts, is_before in ((before, True), (after, False)):
            for text in filter(None, texts if texts[0] != texts[1] else ()):
                kind, written = _end_named(text, before=is_before)
                ends[kind].add(written)
        for text in {ours.inner, theirs.inner} - {""}:
            ends["infix"].add(repr(text))
        if ours.key != theirs.key:
            is_moved = sorted(ours.keys) == sorted(theirs.keys)
            spelled["order of the words" if is_moved else "numbers (from 0 or from 1)"] = None
            continue
        is_whole = before[0] == before[1] and after[0] == after[1]
        pair = (match.reference, match.retrieved) if is_whole else (ours.core, theirs.core)
        if ours.inner or theirs.inner:
            pair = ours.spaced, theirs.spaced
        spelled |= dict.fromkeys(_spelling(*pair))
    named = [
        f"{kind} {' and '.join(sorted(texts))}".strip() if len(texts) < FEWEST else kind
        for kind, texts in ends.items()
    ]
    return ", ".join([*named, *spelled]) or "spelling"


CHANCE = 0.001
"""The largest probability with which unrelated IDs give a hint."""

_PARTS = (CHUNK, NUMBER)
"""The ends of IDs that number the parts of a document."""

Groups: TypeAlias = Sequence[Sequence[str]]
"""The references of a sample, each as the IDs that match it."""


class _RewriteRule(NamedTuple):
    """A rule to match IDs: the parts to cut off on each side, and the form that is compared.

    `fewest` is the number of references that must match. It is 1 for a certain rule, whose matches
    are not due to chance. A rule that cuts off a bare number needs more; see `least`.
    """

    reference: IdCut = WHOLE
    retrieved: IdCut = WHOLE
    by: ComparedBy = "words"
    fewest: int = 1

    @property
    def part(self) -> Side | None:
        """The side whose IDs name parts of a document, such as its chunks; None for neither."""
        if self.retrieved[1] in _PARTS:
            return "retrieved"
        return "reference" if self.reference[1] in _PARTS else None

    def least(self, direct: int) -> int:
        """Return the fewest matches that prove the rule if `direct` references match unchanged."""
        takes_numbers = NUMBER in (self.reference[1], self.retrieved[1])
        return self.fewest * (direct + 1 if takes_numbers else 1)


def _either(cuts: Iterable[IdCut], fewest: int) -> list[_RewriteRule]:
    """Return two rules for each cut, one for either side."""
    sides = ("retrieved", "reference")
    return [_RewriteRule(**{side: cut}, fewest=fewest) for cut in cuts for side in sides]  # type: ignore[arg-type]


_RULES = [
    _RewriteRule(),
    *_either([(PATH, ""), ("", CHUNK), (PATH, CHUNK)], 1),
    _RewriteRule(by="letters", fewest=FEWEST),
    _RewriteRule(by="any order", fewest=FEWEST),
    *_either([("", EXTENSION), (PATH, ""), (PATH, EXTENSION), ("", NUMBER)], FEWEST),
]
"""More certain rules come first. One match proves a certain rule, since no other document has such
a name.
"""


def matches_of(
    retrieved_ids: Sequence[Collection[str | None]],
    references: Sequence[Groups],
    indexed: Iterable[str] = (),
) -> dict[str, list[IdMatch]]:
    """Return the matches of each missed reference, by reference ID.

    Each list begins with the matches by the most certain rules. The matching ID may come from any
    sample, or from `indexed`: further IDs, such as those of a corpus. `retrieved_ids` and
    `references` have one item for each sample, in the same order. The time is linear in the number
    of IDs. To exclude chance, an uncertain rule must match at least three references. A rule that
    cuts off a bare number must match more than three times as many references as match unchanged.
    """
    retrieved = dict.fromkeys(filter(None, chain.from_iterable(retrieved_ids)))
    own_lists, direct = _missing(retrieved_ids, references)
    if not own_lists:
        return {}
    # If the corpus has none of the retrieved IDs, it may spell IDs like the references. Then leave
    # the references out of the corpus's IDs, since each reference would match itself.
    others = dict.fromkeys(indexed)
    if retrieved.keys().isdisjoint(others):
        others = {own_id: None for own_id in others if own_id not in own_lists}
    available = _Ids({**retrieved, **others}, Template.of(retrieved, own_lists))
    missing = _Ids(own_lists, Template.of(own_lists, retrieved))
    # The words of a template are only guessed from the IDs. So with a template, even a certain rule
    # must match at least three references, or a tenth of the missed references if that is fewer.
    of_template = min(FEWEST, len(own_lists) // MANY)
    least_certain = of_template if available.has_template or missing.has_template else 0
    matches: dict[str, list[IdMatch]] = {}
    for rule in _RULES:
        is_certain = rule.fewest == 1
        is_usual = missing.is_usual(rule.reference, own_lists)
        if not is_certain and not (is_usual and available.is_usual(rule.retrieved, retrieved)):
            continue
        # Leave out references that an earlier rule matched. Also leave out references that occur
        # unchanged among the available IDs, since they were not renamed. But a certain rule for
        # parts of documents is applied to all references.
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
    # If numbers begin at 0 on one side and at 1 on the other, equal numbers name different
    # documents. So these matches replace those of the rules.
    numbered: dict[str, list[IdMatch]] = defaultdict(list)
    for match in _numbered_otherwise(retrieved_ids, references, available, missing):
        numbered[match.reference].append(match)
    matches |= numbered
    return matches


def _missing(
    retrieved_ids: Sequence[Collection[str | None]], references: Sequence[Groups]
) -> tuple[dict[str, set[str | None]], int]:
    """Return the IDs of missed references, and the number of found references.

    Each missed ID comes with the IDs that the samples with this reference retrieved.
    """
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
"""The number of samples from which it is decided whether numbers begin at 0 or 1."""

_STEPS = range(-2, 3)
"""The differences between a target's number and the numbers with which it is compared."""


def _numbered_otherwise(
    retrieved_ids: Sequence[Collection[str | None]],
    references: Sequence[Groups],
    available: _Ids,
    missing: _Ids,
) -> Iterator[IdMatch]:
    """Yield matches of IDs that are numbered from 0 on one side and from 1 on the other.

    A neighbor may be retrieved by chance. So the next number, or the previous one, must be
    retrieved significantly more often than the target's own number and than any other neighbor.
    """
    seen: Counter[frozenset[int]] = Counter()
    for ids, groups in islice(zip(retrieved_ids, references, strict=True), _LOOKED_AT):
        keys = {available.words[each].key for each in ids if each}
        for group in groups:
            words = [missing.words.get(each) or words_of(each) for each in group]
            steps = (s for s in _STEPS if not keys.isdisjoint(each.moved(s) for each in words))
            seen[frozenset(steps)] += 1
    step = next((step for step in (1, -1) if _is_usual_step(step, seen)), None)
    if step is None:
        return
    named = available.by_key(WHOLE)
    for reference, missed in missing.words.items():
        for retrieved, core in named.get(missed.moved(step), ()):
            yield IdMatch(reference, retrieved, missed, core, None)


def _is_usual_step(step: int, seen: Mapping[frozenset[int], int]) -> bool:
    """Return whether IDs whose number is `step` above the target's are retrieved most often.

    Most often means significantly more often than the target's own number, and than the numbers at
    all other steps.
    """
    for other in _STEPS:
        ours = sum(count for steps, count in seen.items() if step in steps and other not in steps)
        theirs = sum(count for steps, count in seen.items() if other in steps and step not in steps)
        if other != step and (not ours or tail(ours, ours + theirs, 0.5) > CHANCE):
            return False
    return True


class _Ids:
    """The IDs of one side as words, without the words of their template."""

    def __init__(self, ids: Iterable[str], template: Template) -> None:
        self.has_template = template != Template()
        self.words = {own_id: template.left_out(words_of(own_id)) for own_id in ids}
        # IDs of only letters and digits, which are frequent, have no directory or end to cut off.
        self._cuttable = {
            own_id: words for own_id, words in self.words.items() if not words.text.isalnum()
        }
        self._by_key: dict[tuple[IdCut, ComparedBy], dict[str, list[tuple[str, Words]]]] = {}

    def by_key(self, cut: IdCut, by: ComparedBy = "words") -> Mapping[str, list[tuple[str, Words]]]:
        """Return the IDs, each with its words, grouped by the text that is compared.

        `cut` names the parts that are removed from an ID first. An ID without these parts is left
        out.
        """
        if (cut, by) not in self._by_key:
            by_key = self._by_key[cut, by] = defaultdict(list)
            for own_id, words in (self.words if cut == WHOLE else self._cuttable).items():
                for core in [words] if cut == WHOLE else words.cores(cut):
                    if core.keys:
                        by_key[core.compared(by)].append((own_id, core))
        return self._by_key[cut, by]

    def is_usual(self, cut: IdCut, ids: Collection[str]) -> bool:
        """Return whether at least half of `ids` have the part that a cut removes.

        An extension must also have few different values. Otherwise it may distinguish documents,
        such as the functions `module.read` and `module.write`.
        """
        if cut == WHOLE:
            return True
        cores = [each for each in chain.from_iterable(self.by_key(cut).values()) if each[0] in ids]
        having = {own_id for own_id, _ in cores}
        is_few = cut[1] != EXTENSION or len({core.after for _, core in cores}) * 3 <= len(having)
        return is_few and len(having) * 2 >= len(ids)


def tail(hits: int, count: int, share: float) -> float:
    """Return Hoeffding's bound on the chance of at least `hits` successes in `count` trials.

    `share` is the mean probability of a success.
    """
    seen = hits / count
    if seen <= share:
        return 1.0
    surprise = seen * log(seen / share)
    surprise += (1 - seen) * log((1 - seen) / (1 - share)) if seen < 1 else 0.0
    return exp(-count * surprise)


def _matches_by(
    rule: _RewriteRule, available: _Ids, references: _Ids, settled: AbstractSet[str]
) -> tuple[dict[str, list[IdMatch]], int]:
    """Return the matches by a rule for each reference, and the number of ambiguous references.

    After the cuts, a reference is ambiguous if it equals another reference or several available
    IDs. But a rule that cuts off the number of a part, on either side, allows several available
    IDs. If it cuts this number off the references, it also allows several references. References
    that are `settled` are left out.
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
        # If a certain rule cuts a path, the shared words must look like a path or a file name.
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
