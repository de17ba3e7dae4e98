"""The protocol of judges, which split texts into targets and attribute targets to contexts."""

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

    A completion is stored if `accepts` returns True: it has at least part of an answer. With None,
    each completion without a failure is stored. `known` is the completion if the caller already has
    it; the drivers (`flow`) then send no request.
    """

    model: ChatModel
    request: ChatRequest
    accepts: Callable[[Completion], bool] | None = None
    known: Completion | None = None


Flow: TypeAlias = Generator[Sequence[Ask], Sequence[Completion], T]
"""Scoring logic without I/O: it yields batches of requests and receives completions in order.
The flow of a judge without a model never yields.
"""

VerdictLabel: TypeAlias = Literal["supported", "partial", "not_supported", "contradicted"]
"""The decision of a judge. "contradicted" means that the contexts state the opposite, which needs
another fix than a claim that no context states. Only "supported" and "partial" can earn credit.
"""

LABELS: tuple[VerdictLabel, ...] = get_args(VerdictLabel)
"""All labels, from best to worst."""


class Citation(NamedTuple):
    """Evidence from a judge: the 0-based index of a context, and a quote from it."""

    context: int
    quote: str


@dataclass(frozen=True, slots=True)
class Verdict(NoTruth):
    """A judge's verdict on one target.

    - `label`: None if there is no valid verdict; `problem` is then the reason.
    - `together`: True if the target needs all cited contexts at once, False if each is enough.
    - `agreement`: the share of a panel's judges that gave this label, or the most common label if
      `label` is None; None for a single judge.
    - `others`: further supporting verdicts on the target, from other parts of the contexts.
    - `votes`: a panel's verdicts, one for each judge; the credit at a rank is their median.
    - `contested`: says that suspect contexts may have changed the verdict, or were left out; or "".
    - `verified`: whether the model, shown only the target and the quotes, finds that the quotes
      support the target; None if the model was not asked.
    - `facts`: the verdicts on the facts of a compound claim, each with its text as `fact`. The
      claim's credit is the share of supported facts.
    - `support`: the probability that the contexts support the target; None if not estimated.
    - `referred`: True if the second judge of a cascade decided.
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
        """Whether the verdict can earn credit: the target is fully or partly supported."""
        return self.label in ("supported", "partial")


def compound(facts: Sequence[Verdict]) -> Verdict:
    """Return the verdict on a claim from the verdicts on its facts.

    It is undecided if any fact has no label. Otherwise, it is supported if all facts are, partial
    if any fact `helps`, and else not supported.
    """
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
        support=min(supports, default=None),  # The claim is as certain as its least certain fact.
        referred=any(fact.referred for fact in facts),
    )


SplitKind: TypeAlias = Literal["claims", "questions"]
"""The parts into which a text is split: claims of an answer, or sub-questions of a question."""

Relation: TypeAlias = Literal["claim", "question"]
"""The kind of a target: a claim, which contexts may state, or a question, which they may answer."""


class Judge(Protocol):
    """Splits texts into targets and attributes targets to contexts."""

    @property
    def name(self) -> str:
        """The identity of the judge: kind, model, prompt version."""
        ...

    def split(
        self, text: str, *, kind: SplitKind, question: str | None = None
    ) -> Flow[Sequence[str]]:
        """Split an answer into claims, or a question into sub-questions.

        `question` is the question that the text answers: "In 1889." is unclear without it.
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
        """Return one verdict per context: whether it helps to answer the question."""
        ...


class JudgeRequest(NamedTuple):
    """The arguments of `Judge.attribute`."""

    targets: Sequence[str]
    contexts: Sequence[str]
    question: str | None = None
    relation: Relation = "claim"


class FactByFact(ABC):
    """A judge that judges compound claims fact by fact; subclasses judge the facts."""

    def attribute(
        self,
        targets: Sequence[str],
        contexts: Sequence[str],
        *,
        question: str | None = None,
        relation: Relation = "claim",
    ) -> Flow[Sequence[Verdict]]:
        """Return one verdict per target, in order; a compound claim is judged fact by fact."""
        asked = JudgeRequest(targets, contexts, question, relation)
        if relation != "claim":
            return (yield from self._judged(asked))
        facts_of = [list(dict.fromkeys(facts)) for facts in map(language().facts, targets)]
        facts = list(dict.fromkeys(chain.from_iterable(facts_of)))
        judged = yield from self._judged(asked._replace(targets=facts))
        verdict_of = dict(zip(facts, judged, strict=True))
        return [
            verdict_of[own[0]]
            if len(own) == 1
            else compound([replace(verdict_of[fact], fact=fact) for fact in own])
            for own in facts_of
        ]

    @abstractmethod
    def _judged(self, asked: JudgeRequest) -> Flow[Sequence[Verdict]]:
        """Return one verdict per fact, or per question, in order."""
