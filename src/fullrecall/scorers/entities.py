"""Recall of the entities that a reference names."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar

from fullrecall.findings import Evidence, Finding, Step, Target
from fullrecall.judges.judge import Flow
from fullrecall.sample import Sample
from fullrecall.scorers.entity_rule import find_entities
from fullrecall.scorers.judged import JudgedScorer
from fullrecall.scorers.scorer import Found, Unmeasured, retrieved_texts


@dataclass(frozen=True, kw_only=True)
class EntityRecall(JudgedScorer):
    """Of the entities that the reference names, how many occur in the retrieved contexts?

    Targets are `reference_entities` where the sample has them; otherwise they are found in
    `reference`, or in `reference_contexts` where that is missing.

    Without a judge, they are found by the rule that `fullrecall.scorers.entity_rule` states, and
    occur where they stand in a context as whole words, letter case and white space aside; other
    names of the same thing ("NYC") do not count. With a `judge`, it lists the entities of the
    reference, once, and tells which the contexts mention under whatever name.
    """

    kind: ClassVar[str] = "entity_recall"
    always_judged: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_without_judge()

    def labels_read(self, sample: Sample) -> Collection[str]:
        """Return "reference_contexts" where the entities are those of its texts."""
        is_named = sample.reference_entities is not None or sample.reference is not None
        return () if is_named else ("reference_contexts",)

    def _judged(self, sample: Sample) -> Flow[Found]:
        texts = retrieved_texts(sample)
        if self.judge is None:
            listed = _Texts(texts)
            return Found([listed.finding(entity) for entity in _entities(sample)], len(texts))
        is_named = sample.reference_entities is not None or not _source(sample).strip()
        if is_named or not any(text.strip() for text in texts):
            entities: Sequence[str] = _entities(sample)
        else:
            entities = yield from self.judge.split(_source(sample), kind="entities")
        targets = [Target((entity,)) for entity in entities]
        return (yield from self._attributed(targets, sample, relation="entity"))


def _entities(sample: Sample) -> Sequence[str]:
    if sample.reference_entities is not None:
        return list({entity.casefold(): entity for entity in sample.reference_entities}.values())
    return find_entities(_source(sample))


def _source(sample: Sample) -> str:
    """Return the text whose entities are wanted."""
    if sample.reference is not None:
        return sample.reference
    if sample.reference_contexts is not None:
        texts = [context.text for group in sample.reference_contexts for context in group]
        return "\n".join(text for text in texts if text)
    raise Unmeasured("reference_entities, reference and reference_contexts are all missing")


class _Texts:
    """Retrieved texts in which entities are looked for."""

    def __init__(self, texts: Sequence[str]) -> None:
        # An exact duplicate brings nothing a second time.
        self._rank_of = dict(zip(reversed(texts), range(len(texts), 0, -1), strict=True))
        ranked = sorted(self._rank_of, key=self._rank_of.__getitem__)
        self._lowered = [(text, text.lower() if text.isascii() else None) for text in ranked]

    def finding(self, entity: str) -> Finding:
        """Return where an entity stands: in each text, the first place."""
        words = entity.split()
        pattern: re.Pattern[str] | None = None
        evidence = []
        for text, lowered in self._lowered:
            if lowered is not None and not _may_hold(lowered, words):
                continue  # a pattern takes longer to make than to search with
            pattern = pattern or _pattern(entity)
            match = pattern.search(text)
            if match:
                evidence.append(Evidence(self._rank_of[text], match.start(), match.end()))
        ranks = tuple(item.rank for item in evidence)
        steps = (Step(ranks[0], 1.0),) if ranks else ()
        return Finding(Target((entity,)), steps, ranks, tuple(evidence))


def _may_hold(lowered: str, words: Sequence[str]) -> bool:
    """Whether an ASCII text may hold words, whatever their case; it is lowered already."""
    return all(word.lower() in lowered for word in words if word.isascii())


def _pattern(entity: str) -> re.Pattern[str]:
    # A number inside a longer one is another number: 12 in 12,345, 1 in 1.5.
    before = r"(?<!\d[.,:/-])" if entity[0].isdigit() else ""
    after = r"(?![.,:/-]\d)" if entity[-1].isdigit() else ""
    spaced = r"\s++".join(map(re.escape, entity.split()))
    return re.compile(rf"(?<!\w){before}{spaced}(?!\w){after}", re.IGNORECASE)
