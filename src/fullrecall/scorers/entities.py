"""Recall of the entities that a reference names."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from fullrecall.findings import Evidence, Finding, Step, Target
from fullrecall.judges.judge import Flow
from fullrecall.sample import Sample
from fullrecall.scorers.entity_rule import find_entities
from fullrecall.scorers.judged import JudgedScorer
from fullrecall.scorers.scorer import Found, Unmeasured, retrieved_texts
from fullrecall.scorers.text import first_ranks


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
            ranks = first_ranks(texts)
            return Found([_finding(entity, ranks) for entity in _entities(sample)], len(texts))
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


def _finding(entity: str, ranks: Mapping[str, int]) -> Finding:
    """Return where an entity stands: in each text, the first place."""
    pattern = _pattern(entity)
    matches = [(rank, pattern.search(text)) for text, rank in ranks.items()]
    evidence = tuple(Evidence(rank, *match.span()) for rank, match in matches if match)
    steps = (Step(evidence[0].rank, 1.0),) if evidence else ()
    return Finding(Target((entity,)), steps, tuple(item.rank for item in evidence), evidence)


def _pattern(entity: str) -> re.Pattern[str]:
    # A number inside a longer one is another number: 12 in 12,345, 1 in 1.5.
    before = r"(?<!\d[.,:/-])" if entity[0].isdigit() else ""
    after = r"(?![.,:/-]\d)" if entity[-1].isdigit() else ""
    spaced = r"\s++".join(map(re.escape, entity.split()))
    return re.compile(rf"(?<!\w){before}{spaced}(?!\w){after}", re.IGNORECASE)
