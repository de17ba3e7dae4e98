"""What a judge is: it splits texts into targets, and attributes targets to contexts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import ClassVar, Literal, NamedTuple, Protocol, TypeAlias, TypeVar, get_args

from fullrecall._util.truth import NoTruth
from fullrecall.judge.language import language
from fullrecall.judge.models.chat import ChatModel, ChatRequest, Completion

T = TypeVar("T")


class Ask(NamedTuple):
    """One request to one model.

    `accepts` says of a completion whether it holds something of an answer: no other is ever
    stored. None accepts every completion without a failure.
    `known` is the completion where whoever asks has it already: drivers send nothing then.
    """

    model: ChatModel
    request: ChatRequest
    accepts: Callable[[Completion], bool] | None = None
    known: Completion | None = None


Flow: TypeAlias = Generator[Sequence[Ask], Sequence[Completion], T]
"""Scoring logic that does no I/O: it yields batches of requests, receives completions in order.

A judge that needs no model never yields.
"""

VerdictLabel: TypeAlias = Literal["supported", "partial", "not_supported", "contradicted"]
"""What a judge decides. Only the first two can earn credit; "contradicted" says that the contexts
state the opposite, which another fix mends than what is merely not there."""

LABELS: tuple[VerdictLabel, ...] = get_args(VerdictLabel)
"""All labels, the best first."""


class Citation(NamedTuple):
    """Evidence that a judge names: the context by its 0-based index, and its words."""

    context: int
    quote: str


@dataclass(frozen=True, slots=True)
class Verdict(NoTruth):
    """A judge's word on one target.

    `label` is None where there is no valid verdict, and `problem` says why. `together` says
    whether the cited contexts are needed all at once or each is enough alone. `agreement` is the
    share of judges that gave this label, None for a single judge. `others` are verdicts on the
    same target that help too, from other windows or contexts: each stands by itself. `votes` are
    the verdicts of a panel, one for each judge: credit at a rank is then their median.
    `contested` says which contexts moved the verdicts, where some did. `verified` says whether
    the model, shown its quotes and the target alone, found that they support it; None where it was
    not asked. `facts` are the verdicts on the facts of a compound claim, each with its text as
    `fact`: the credit is then their share. `support` is the probability that the contexts support
    the target, from judges that know one. `referred` says that the second judge of a cascade
    decided.
    """

    read: ClassVar[str] = ".label"

    label: VerdictLabel | None
    citations: tuple[Citation, ...] = ()
    together: bool = False
    problem: str = ""
    agreement: float | None = None
    others: tuple[Verdict, ...] = ()
    votes: tuple[Verdict, ...] = ()
    contested: str = ""
    verified: bool | None = None
    facts: tuple[Verdict, ...] = ()
    fact: str = ""
    support: float | None = None
    referred: bool = False

    @property
    def helps(self) -> bool:
        """Whether it can earn credit: it says that the target is supported, if in part."""
        return self.label in ("supported", "partial")


def compound(facts: Sequence[Verdict]) -> Verdict:
    """Return the verdict on a claim of several facts; None of a label without one on each fact."""
    problem = next((fact.problem for fact in facts if fact.label is None), None)
    if problem is not None:
        return Verdict(None, problem=problem)
    helping = [fact.helps for fact in facts]
    label: VerdictLabel = "partial" if any(helping) else "not_supported"
    supports = [fact.support for fact in facts if fact.support is not None]
    agreements = [fact.agreement for fact in facts if fact.agreement is not None]
    return Verdict(
        "supported" if all(fact.label == "supported" for fact in facts) else label,
        tuple(dict.fromkeys(citation for fact in facts for citation in fact.citations)),
        agreement=min(agreements, default=None),
        contested=next((fact.contested for fact in facts if fact.contested), ""),
        facts=tuple(facts),
        support=min(supports, default=None),  # as sure as its least sure fact
        referred=any(fact.referred for fact in facts),
    )


SplitKind: TypeAlias = Literal["claims", "questions"]
"""What a text is split into: the claims of an answer, the sub-questions of a question, …"""

Relation: TypeAlias = Literal["claim", "question"]
"""What is asked of a target: is it stated, can it be answered, does it occur."""


class Judge(Protocol):
    """Splits texts into targets and attributes targets to contexts."""

    @property
    def name(self) -> str:
        """What identifies the judge: kind, model, prompt version."""
        ...

    def split(
        self, text: str, *, kind: SplitKind, question: str | None = None
    ) -> Flow[Sequence[str]]:
        """Return the claims of an answer, or the sub-questions of a question.

        `question` is what the text answers: "In 1889." says little without it.
        """
        ...

    def attribute(
        self,
        targets: Sequence[str],
        contexts: Sequence[str],
        *,
        question: str | None = None,
        relation: Relation = "claim",
    ) -> Flow[Sequence[Verdict]]:
        """Return one verdict per target, in order."""
        ...

    def relevance(
        self, contexts: Sequence[str], *, question: str | None, reference: str | None
    ) -> Flow[Sequence[Verdict]]:
        """Return one verdict per context: does it help to answer the question?"""
        ...


class FactByFact(ABC):
    """A judge of compound claims, fact by fact; subclasses judge the facts."""

    def attribute(
        self,
        targets: Sequence[str],
        contexts: Sequence[str],
        *,
        question: str | None = None,
        relation: Relation = "claim",
    ) -> Flow[Sequence[Verdict]]:
        """Return one verdict per target, in order; a compound claim is judged fact by fact."""
        if relation != "claim":
            return (yield from self._judged(targets, contexts, question, relation))
        facts_of = [list(dict.fromkeys(facts)) for facts in map(language().facts, targets)]
        facts = list(dict.fromkeys(chain.from_iterable(facts_of)))
        judged = yield from self._judged(facts, contexts, question, relation)
        verdict_of = dict(zip(facts, judged, strict=True))
        return [
            verdict_of[own[0]]
            if len(own) == 1
            else compound([replace(verdict_of[fact], fact=fact) for fact in own])
            for own in facts_of
        ]

    @abstractmethod
    def _judged(
        self,
        targets: Sequence[str],
        contexts: Sequence[str],
        question: str | None,
        relation: Relation,
    ) -> Flow[Sequence[Verdict]]:
        """Return one verdict per fact, or per question, in order."""
