"""What the scorers that ask a judge share: flows, and the way from verdicts to findings."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fullrecall.errors import ParameterError
from fullrecall.finding import Evidence, Finding, Step, Target
from fullrecall.judges.evidence import locate
from fullrecall.judges.flow import arun, run
from fullrecall.judges.protocols import Flow, Judge, JudgeError, Verdict
from fullrecall.result import Result, check_k
from fullrecall.sample import Sample
from fullrecall.scorers.scorer import (
    FindingScorer,
    Found,
    Unmeasured,
    as_sample,
    check_share,
    retrieved_texts,
)

if TYPE_CHECKING:
    from fullrecall.judges.protocols import Relation


@dataclass(frozen=True, kw_only=True)
class JudgedScorer(FindingScorer):
    """Base of the scorers that ask a judge; subclasses say what they ask.

    - `judge`: who decides; None is the embedded judge, which needs no model and no key.
    - `partial_credit`: what a target earns that is supported in part, in [0, 1]; 0.0 is strict.
    - `require_evidence`: deny credit to what the judge cites but does not quote verbatim.
    - `depth`: judge the first `depth` contexts only, as if no more had been retrieved.
    - `min_measured`: the share of targets that need a valid verdict. Below it the sample is
      unscored; at 1.0, the default, one target without a verdict is enough. Where it is lower,
      the score is over the measured targets, and `result.unmeasured` names the others.
    """

    judge: Judge | None = None
    partial_credit: float = 0.0
    require_evidence: bool = False
    depth: int | None = None
    min_measured: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share(self.partial_credit, "partial_credit")
        check_share(self.min_measured, "min_measured")
        if self.depth is not None:
            check_k(self.depth, "depth")
        if self.judge is not None and isinstance(self.judge, type):
            raise ParameterError(f"judge is an instance, got the class {self.judge.__name__}")

    def score(self, sample: Sample | None = None, /, **sample_fields: Any) -> Result:
        """Return the result for a sample, or for the fields of one given by name.

        Blocks while models answer, in a running event loop too. Raises `InputError` where the
        fields make no sample; what could not be judged is "unscored", with the reason.
        """
        result, usage = run(self._scored(as_sample(sample, sample_fields)))
        return replace(result, usage=usage)

    async def ascore(self, sample: Sample | None = None, /, **sample_fields: Any) -> Result:
        """Return the same as `score`, the model's requests side by side where they can be."""
        result, usage = await arun(self._scored(as_sample(sample, sample_fields)))
        return replace(result, usage=usage)

    def _scored(self, sample: Sample) -> Flow[Result]:
        try:
            found = yield from self._judged(sample)
        except (Unmeasured, JudgeError) as why:
            return self._unscored(why)
        total = len(found.findings) + len(found.unmeasured)
        if found.unmeasured and len(found.findings) < max(1, self.min_measured * total):
            reasons = "; ".join(sorted({why for _, why in found.unmeasured}))
            return replace(
                self._unscored(
                    Unmeasured(f"{len(found.unmeasured)} of {total} not judged: {reasons}")
                ),
                unmeasured=found.unmeasured,
            )
        return self._outcome(found)

    @abstractmethod
    def _judged(self, sample: Sample) -> Flow[Found]:
        """Return what was found; raises `Unmeasured` where it cannot tell."""

    @property
    def _asked(self) -> Judge:
        if self.judge is not None:
            return self.judge
        from fullrecall.judges.lexical import LexicalJudge

        return LexicalJudge()

    def _attributed(
        self,
        targets: Sequence[Target],
        sample: Sample,
        *,
        question: str | None = None,
        relation: Relation = "claim",
    ) -> Flow[Found]:
        """Return the findings of `targets` in the sample's retrieved contexts."""
        texts = retrieved_texts(sample)[: self.depth]
        contexts = Contexts(texts)
        if not targets or not contexts.unique:
            return Found([Finding(target) for target in targets], len(texts))
        verdicts = yield from self._asked.attribute(
            [target.label for target in targets],
            contexts.unique,
            question=question,
            relation=relation,
        )
        findings = []
        unmeasured = []
        for target, verdict in zip(targets, verdicts, strict=True):
            if verdict.label is None:
                unmeasured.append((target.label, verdict.problem))
            else:
                findings.append(self._finding(target, verdict, contexts))
        note = f"{len(unmeasured)} not judged" if unmeasured else ""
        return Found(findings, len(texts), note, tuple(unmeasured))

    def _finding(self, target: Target, verdict: Verdict, contexts: Contexts) -> Finding:
        evidence = sorted(
            (contexts.evidence(index, quote) for index, quote in verdict.citations),
            key=lambda item: item.rank,
        )
        counted = [item for item in evidence if item.verified or not self.require_evidence]
        credit = {"supported": 1.0, "partial": self.partial_credit}.get(verdict.label or "", 0.0)
        if verdict.together and len(counted) < len(evidence):
            counted = []
        ranks = tuple(dict.fromkeys(item.rank for item in counted)) if credit else ()
        steps = (Step(ranks[-1] if verdict.together else ranks[0], credit),) if ranks else ()
        return Finding(
            target, steps, ranks, tuple(evidence), verdict.label or "", verdict.agreement
        )


class Contexts:
    """The retrieved texts as a judge sees them: each once, with the rank where it first stands."""

    def __init__(self, texts: Sequence[str]) -> None:
        first: dict[str, int] = {}
        for rank, text in enumerate(texts, start=1):
            if text.strip():
                first.setdefault(text, rank)
        self.unique = list(first)
        self._ranks = list(first.values())

    def rank(self, index: int) -> int:
        """Return the rank of a text by its 0-based index among the unique ones."""
        return self._ranks[index]

    def evidence(self, index: int, quote: str) -> Evidence:
        """Return a citation as evidence, its quote looked up in the context that it names."""
        found = locate(quote, self.unique[index])
        if found is None:
            return Evidence(self.rank(index), quote=quote, verified=False)
        return Evidence(
            self.rank(index),
            found.start,
            found.end,
            similarity=found.similarity,
            quote=quote,
            verified=True,
        )
