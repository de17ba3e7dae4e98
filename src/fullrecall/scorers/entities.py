"""Recall of the entities that a reference names."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import ClassVar

from fullrecall._util.parameters import listed
from fullrecall._util.pieces import paused
from fullrecall.judge.language import language
from fullrecall.measures.findings import CreditStep, Evidence, Finding, Target
from fullrecall.samples.sample import Sample
from fullrecall.scorers.scorer import (
    DeterministicScorer,
    Found,
    first_ranks,
    require,
    retrieved_texts,
)


@dataclass(frozen=True, kw_only=True)
class EntityRecall(DeterministicScorer):
    """The share of the reference's entities that occur in the retrieved contexts.

    Targets are `reference_entities`; those that differ only in letter case are one target. An
    entity occurs if a context has it as a whole name, in any letter case and white space; a name of
    up to three letters ("US", "May") keeps its case. In scripts without spaces (Chinese, Japanese,
    Thai, Lao, Khmer, Burmese), whole names cannot be recognized, so any place counts. In Korean,
    any continuation counts, since particles follow names. A number, an amount, or a date may have
    another notation: `10 km` and `10km`, `$4.2 billion` and `$4.2B`, `4 March 2023` and `March 4,
    2023`.

    `aliases` are lists of names for one thing, `[["EU", "European Union"]]`; any of them counts.
    Other names do not count; use `ClaimRecall` to have a judge decide.
    """

    aliases: Sequence[Sequence[str]] | None = None

    kind: ClassVar[str] = "entity_recall"
    labels: ClassVar[Collection[str]] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.aliases is None:
            return
        such = "lists of names, [['EU', 'European Union']]"
        groups = listed(self.aliases, "aliases", (list, tuple, AbstractSet), such)
        aliases = tuple(tuple(listed(group, "aliases", str, "names")) for group in groups)
        object.__setattr__(self, "aliases", aliases)

    def _find(self, sample: Sample) -> Found:
        texts = retrieved_texts(sample)
        named = require(sample.reference_entities, "reference_entities")
        entities = {entity.casefold(): entity for entity in named}
        names_of = {name.casefold(): tuple(group) for group in self.aliases or () for name in group}
        # Two names of one thing are one target; its label is the first name in the reference.
        targets: dict[tuple[str, ...], tuple[str, ...]] = {}
        for key, entity in entities.items():
            group = names_of.get(key, (entity,))
            targets.setdefault(group, tuple(dict.fromkeys((entity, *group))))
        ranks = first_ranks(texts)
        found = [_finding(names, ranks) for names in paused(targets.values(), 10)]
        return Found(found, len(texts))


def _finding(names: tuple[str, ...], ranks: Mapping[str, int]) -> Finding:
    """Return the finding of an entity, with the first place of any of its names in each text."""
    patterns = [(name, _pattern(name)) for name in names]
    places = [(rank, _first_place(patterns, text)) for text, rank in ranks.items()]
    evidence = tuple(Evidence(rank, *place) for rank, place in places if place)
    steps = (CreditStep(evidence[0].rank, 1.0),) if evidence else ()
    return Finding(Target(names), steps, tuple(item.rank for item in evidence), evidence)


def _first_place(
    patterns: Sequence[tuple[str, re.Pattern[str]]], text: str
) -> tuple[int, int] | None:
    places = [match.span() for _, pattern in patterns if (match := pattern.search(text))]
    places += [place for name, _ in patterns for place in language().mentions(name, text)]
    return min(places, default=None)


_SHORT = 3  # a name of up to this many letters keeps its case: "US" is not "us"


def _pattern(entity: str) -> re.Pattern[str]:
    # A number inside a longer one is another number: 12 in 12,345, 1 in 1.5.
    before = r"(?<!\d[.,:/-])" if entity[0].isdigit() else ""
    after = r"(?![.,:/-]\d)" if entity[-1].isdigit() else ""
    # The repeats are possessive: with backtracking, a page of blanks would take quadratic time.
    spaced = r"\s++".join(map(re.escape, entity.split()))
    keeps_case = len(entity) <= _SHORT and not entity.islower()
    case = "" if keeps_case else "(?i)"
    if not re.match(f"[{_UNSPACED}]", entity):
        before = rf"(?<![^\W{_UNSPACED}]){before}"
    if not re.match(f"[{_UNSPACED}{_HANGUL}]", entity[-1]):
        after = rf"(?![^\W{_UNSPACED}{_HANGUL}]|[+#]){after}"  # C is not C++
    return re.compile(f"{case}{before}{spaced}{after}")


_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # The letters of Thai and Lao, Burmese, and Khmer.
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
"""Letters of scripts without spaces between words; the second line is Chinese and Japanese."""

_HANGUL = "\uac00-\ud7a3"
