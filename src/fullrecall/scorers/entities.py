"""Recall of the entities that a reference names."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import ClassVar

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
    """Of the entities that the reference names, how many occur in the retrieved contexts?

    Targets are `reference_entities`, each once whatever its letter case. One occurs where it stands
    in a context as whole words, letter case and white space aside. Other names of the same thing
    ("NYC") do not count; `ClaimRecall` has a judge decide.
    """

    kind: ClassVar[str] = "entity_recall"
    labels: ClassVar[Collection[str]] = ()

    def _find(self, sample: Sample) -> Found:
        texts = retrieved_texts(sample)
        named = require(sample.reference_entities, "reference_entities")
        entities = {entity.casefold(): entity for entity in named}.values()
        ranks = first_ranks(texts)
        return Found([_finding(entity, ranks) for entity in entities], len(texts))


def _finding(entity: str, ranks: Mapping[str, int]) -> Finding:
    """Return where an entity stands: in each text, the first place."""
    pattern = _pattern(entity)
    matches = [(rank, pattern.search(text)) for text, rank in ranks.items()]
    evidence = tuple(Evidence(rank, *match.span()) for rank, match in matches if match)
    steps = (CreditStep(evidence[0].rank, 1.0),) if evidence else ()
    return Finding(Target((entity,)), steps, tuple(item.rank for item in evidence), evidence)


def _pattern(entity: str) -> re.Pattern[str]:
    # A number inside a longer one is another number: 12 in 12,345, 1 in 1.5.
    before = r"(?<!\d[.,:/-])" if entity[0].isdigit() else ""
    after = r"(?![.,:/-]\d)" if entity[-1].isdigit() else ""
    # Possessive: given back, a page of blanks would cost the square of its length.
    spaced = r"\s++".join(map(re.escape, entity.split()))
    return re.compile(rf"(?<!\w){before}{spaced}(?!\w){after}", re.IGNORECASE)
