"""Cheaper judging: what one judge can settle for nothing is not asked of the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from fullrecall.errors import JudgeError
from fullrecall.judges.judge import Flow, Kind, Relation, Verdict
from fullrecall.judges.panel import SeveralJudges


@dataclass(frozen=True)
class Cascade(SeveralJudges):
    """Asks judges one after another, each about what those before it did not find supported.

        Cascade([CrossEncoderJudge("models/nli", threshold=0.98), LLMJudge(model)])

    Each judge but the last settles what it finds supported, and its name stands in the findings
    (`Finding.judge`), so that a report says how much was settled without the last one. What none
    of them finds supported is the last judge's to decide, which also splits texts, judges
    relevance and answers questions. A request is saved where nothing is left to ask about.

    What a first judge wrongly finds supported, nobody corrects: recall can only come out higher
    than the last judge's. It cites the contexts that it found itself, so precision, and recall at
    a small k, may come out lower. Measure the first judge on your labels (`judge examine`) and
    set its threshold by what may be wrong. The built-in judge is wrong too often at any threshold
    that settles something.
    """

    kind: ClassVar[str] = "cascade"

    def split(self, text: str, *, kind: Kind, question: str | None = None) -> Flow[Sequence[str]]:
        """Return what the last judge makes of the text."""
        return self.judges[-1].split(text, kind=kind, question=question)

    def attribute(
        self,
        targets: Sequence[str],
        contexts: Sequence[str],
        *,
        question: str | None = None,
        relation: Relation = "claim",
    ) -> Flow[Sequence[Verdict]]:
        """Return one verdict per target, in order."""
        settled: dict[int, Verdict] = {}
        left = list(range(len(targets)))
        for judge in self.judges:
            if not left:
                break
            open_targets = [targets[number] for number in left]
            try:
                verdicts = yield from judge.attribute(
                    open_targets, contexts, question=question, relation=relation
                )
            except JudgeError:
                if judge is self.judges[-1]:
                    raise
                continue  # this judge cannot tell such targets: it settles none
            if len(verdicts) != len(open_targets):
                raise JudgeError(
                    f"the judge {judge.name} returned {len(verdicts)} verdicts, expected "
                    f"{len(open_targets)}, one per target in order"
                )
            for number, verdict in zip(left, verdicts, strict=True):
                if judge is self.judges[-1]:
                    settled[number] = verdict
                elif verdict.label == "supported" and verdict.citations:
                    settled[number] = replace(verdict, judge=judge.name)
            left = [number for number in left if number not in settled]
        return [settled[number] for number in range(len(targets))]

    def relevance(
        self, contexts: Sequence[str], *, question: str | None, reference: str | None
    ) -> Flow[Sequence[Verdict]]:
        """Return the last judge's verdicts."""
        return self.judges[-1].relevance(contexts, question=question, reference=reference)
