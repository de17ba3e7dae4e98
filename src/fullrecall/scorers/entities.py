"""Recall of the entities that a reference names."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from fullrecall.findings import Evidence, Finding, Step, Target
from fullrecall.judges.judge import Flow
from fullrecall.sample import Sample
from fullrecall.scorers.judged import JudgedScorer
from fullrecall.scorers.scorer import Found, Unmeasured, require, retrieved_texts
from fullrecall.scorers.text import first_ranks


@dataclass(frozen=True, kw_only=True)
class EntityRecall(JudgedScorer):
    """Of the entities that the reference names, how many occur in the retrieved contexts?

    Targets are `reference_entities`. Where the sample has none, a `judge` lists those of
    `reference`, or of `reference_contexts` where that is missing, too.

    Without a judge, an entity occurs where it stands in a context as whole words, letter case and
    white space aside; other names of the same thing ("NYC") do not count. A `judge` tells which
    entities the contexts mention under whatever name.
    """

    kind: ClassVar[str] = "entity_recall"
    always_judged: ClassVar[bool] = False

    def labels_read(self, sample: Sample) -> Collection[str]:
        """Return "reference_contexts" where the entities are those of its texts."""
        is_named = sample.reference_entities is not None or sample.reference is not None
        return () if self.judge is None or is_named else ("reference_contexts",)

    def _judged(self, sample: Sample) -> Flow[Found]:
        texts = retrieved_texts(sample)
        if self.judge is None:
            named = require(
                sample.reference_entities, "reference_entities (or a judge that lists them)"
            )
            ranks = first_ranks(texts)
            return Found([_finding(entity, ranks) for entity in _each_once(named)], len(texts))
        if sample.reference_entities is not None:
            entities: Sequence[str] = _each_once(sample.reference_entities)
        else:
            entities = yield from self._listed(_source(sample), texts)
        targets = [Target((entity,)) for entity in entities]
        return (yield from self._attributed(targets, sample, relation="entity"))

    def _listed(self, source: str, texts: Sequence[str]) -> Flow[Sequence[str]]:
        """Return the entities that the judge lists; with nothing retrieved, the text for them."""
        if not source.strip():
            return ()
        if self.judge is None or not any(text.strip() for text in texts):
            return (source,)
        return (yield from self.judge.split(source, kind="entities"))


def _each_once(entities: Sequence[str]) -> Sequence[str]:
    return list({entity.casefold(): entity for entity in entities}.values())


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
