"""What the scorers that ask a judge share: flows, and the way from verdicts to findings."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, get_args

from fullrecall.errors import JudgeError, ParameterError
from fullrecall.findings import Evidence, Finding, Step, Target
from fullrecall.judges.evidence import Folded, locate
from fullrecall.judges.flow import arun, run
from fullrecall.judges.protocols import ChatModel, Flow, Judge, Label, Verdict
from fullrecall.parameters import check_k, check_share
from fullrecall.result import Method, Result
from fullrecall.sample import Sample
from fullrecall.scorers.scorer import (
    FindingScorer,
    Found,
    Unmeasured,
    as_sample,
    retrieved_texts,
    within,
)

if TYPE_CHECKING:
    from fullrecall.judges.protocols import Relation


@dataclass(frozen=True, kw_only=True)
class JudgedScorer(FindingScorer):
    """Base of the scorers that ask a judge; subclasses say what they ask.

    - `judge`: who decides; None is the built-in `LexicalJudge`, which needs no model.
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

    always_judged: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share(self.partial_credit, "partial_credit")
        check_share(self.min_measured, "min_measured")
        if self.depth is not None:
            check_k(self.depth, "depth")
        if self.judge is not None:
            _check_judge(self.judge)

    def score(self, sample: Sample | None = None, /, **sample_fields: Any) -> Result:
        """Return the result for a sample, or for the fields of one given by name.

        Blocks while models answer, in a running event loop too. Raises `InputError` where the
        fields make no sample; what could not be judged is "unscored", with the reason.
        """
        result, usage = run(self.flow(as_sample(sample, sample_fields)))
        return replace(result, usage=usage)

    async def ascore(self, sample: Sample | None = None, /, **sample_fields: Any) -> Result:
        """Return the same as `score`, the model's requests side by side where they can be."""
        result, usage = await arun(self.flow(as_sample(sample, sample_fields)))
        return replace(result, usage=usage)

    def flow(self, sample: Sample) -> Flow[Result]:
        """Return the scoring of a sample as a flow: it asks models through whoever drives it.

        The result has no usage yet: it is the driver that knows what the answers cost.
        """
        try:
            found = yield from self._judged(sample)
        except (Unmeasured, JudgeError) as why:
            return self._unscored(why)
        total = len(found.findings) + len(found.unmeasured)
        measured = len(found.findings)
        if found.unmeasured and (not measured or measured / total < self.min_measured):
            reasons = "; ".join(sorted({why for _, why in found.unmeasured}))
            return replace(
                self._unscored(
                    Unmeasured(f"{len(found.unmeasured)} of {total} not judged: {reasons}")
                ),
                findings=tuple(found.findings),
                retrieved=found.retrieved,
                unmeasured=found.unmeasured,
            )
        return self._outcome(found, sample)

    @abstractmethod
    def _judged(self, sample: Sample) -> Flow[Found]:
        """Return what was found; raises `Unmeasured` where it cannot tell."""

    @cached_property
    def _method(self) -> Method:
        """How this scorer scores; names the judge that is asked where none is given."""
        told = super()._method
        if self.judge is not None or not self.always_judged:
            return told
        return replace(told, parameters={**told.parameters, "judge": self._asked.name})

    def _refuse_without_judge(self) -> None:
        """Raise `ParameterError` for an option that only a judge could take."""
        if self.judge is not None:
            return
        for own in fields(JudgedScorer):
            if own.name in ("partial_credit", "require_evidence", "depth", "min_measured"):
                value = getattr(self, own.name)
                if value != own.default:
                    raise ParameterError(f"{own.name}={value!r} needs a judge: give judge=…")

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
        texts = retrieved_texts(sample)[: within(sample, self.depth)]
        contexts = Contexts(texts)
        if not targets or not contexts.unique:
            return Found([Finding(target) for target in targets], len(texts))
        verdicts = yield from self._asked.attribute(
            [target.label for target in targets],
            contexts.unique,
            question=question,
            relation=relation,
        )
        return self._found(targets, verdicts, contexts)

    def _found(
        self, targets: Sequence[Target], verdicts: Sequence[Verdict], contexts: Contexts
    ) -> Found:
        """Return the findings of targets with a valid verdict, and the others with why not."""
        if len(verdicts) != len(targets):
            raise JudgeError(
                f"the judge {self._asked.name} gave {len(verdicts)} verdicts for "
                f"{len(targets)} targets: it owes one for each, in order"
            )
        findings = []
        unmeasured = []
        for target, verdict in zip(targets, verdicts, strict=True):
            problem = verdict.problem if verdict.label is None else contexts.problem_of(verdict)
            if verdict.label is None or problem:
                unmeasured.append((target.label, problem or "the judge gave no verdict"))
            else:
                findings.append(self._finding(target, verdict, contexts))
        note = f"{len(unmeasured)} not judged" if unmeasured else ""
        return Found(findings, contexts.count, note, tuple(unmeasured))

    def _finding(self, target: Target, verdict: Verdict, contexts: Contexts) -> Finding:
        """Return the finding; of several verdicts that help, each earns credit at its own rank."""
        evidence: list[Evidence] = []
        ranks: set[int] = set()
        earned: dict[int, float] = {}
        for part in (verdict, *verdict.others):
            cited = [contexts.evidence(index, quote) for index, quote in part.citations]
            evidence += [item for item in cited if item not in evidence]
            counted = [item.rank for item in cited if item.verified or not self.require_evidence]
            credit = {"supported": 1.0, "partial": self.partial_credit}.get(part.label or "", 0.0)
            if not credit or not counted or (part.together and len(counted) < len(cited)):
                continue
            rank = max(counted) if part.together else min(counted)
            earned[rank] = max(credit, earned.get(rank, 0.0))
            ranks.update(counted)
        steps: list[Step] = []
        for rank in sorted(earned):
            if not steps or earned[rank] > steps[-1].credit:
                steps.append(Step(rank, earned[rank]))
        return Finding(
            target,
            tuple(steps),
            tuple(sorted(ranks)),
            tuple(sorted(evidence, key=lambda item: item.rank)),
            verdict.label or "",
            verdict.agreement,
            verdict.judge,
        )


def _check_judge(judge: object) -> None:
    if isinstance(judge, type):
        raise ParameterError(f"judge is an instance, got the class {judge.__name__}")
    if isinstance(judge, ChatModel):
        raise ParameterError(
            f"a chat model is no judge: wrap it, LLMJudge({type(judge).__name__}…)"
        )
    for method in ("split", "attribute", "relevance"):
        if not callable(getattr(judge, method, None)) or isinstance(judge, str):
            raise ParameterError(
                f"judge has split, attribute and relevance, as LLMJudge(model) does; got {judge!r}"
            )


class Contexts:
    """The retrieved texts as a judge sees them: each once, with the rank where it first stands."""

    def __init__(self, texts: Sequence[str]) -> None:
        first: dict[str, int] = {}
        for rank, text in enumerate(texts, start=1):
            if text.strip():
                first.setdefault(text, rank)
        self.count = len(texts)
        self.unique = list(first)
        self._ranks = list(first.values())
        self._folded: dict[int, Folded] = {}

    def rank(self, index: int) -> int:
        """Return the rank of a text by its 0-based index among the unique ones."""
        return self._ranks[index]

    def problem_of(self, verdict: Verdict) -> str:
        """Return what breaks the contract in a judge's verdict; empty where nothing does."""
        for part in (verdict, *verdict.others):
            if part.label not in get_args(Label):
                return f"the judge's verdict {part.label!r} is none of {get_args(Label)}"
            if part.label == "supported" and not part.citations:
                return "the judge cites no context for its verdict"
            for index, _ in part.citations:
                if not 0 <= index < len(self.unique):
                    return f"the judge cites context {index}, which is not there"
        return ""

    def evidence(self, index: int, quote: str) -> Evidence:
        """Return a citation as evidence, its quote looked up in the context that it names."""
        if index not in self._folded:
            self._folded[index] = Folded(self.unique[index])
        found = locate(quote, self._folded[index])
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
