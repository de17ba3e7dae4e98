"""A question that was written for a test set, with its evidence and its rejection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from fullrecall.samples.context import Context
from fullrecall.samples.sample import Claim, Sample
from fullrecall.testset.content import Problem
from fullrecall.testset.seeds import SeedPassage

QuestionKind: TypeAlias = Literal[
    "one_fact", "several_facts", "across_documents", "keywords", "conversational"
]
"""The kind of a question, by the facts that it asks for or by its wording."""

KINDS: tuple[QuestionKind, ...] = get_args(QuestionKind)


class Backed(NamedTuple):
    """A claim of the reference answer with its evidence.

    `elsewhere` are the other places that have the same words and, by a model's verdict, also answer
    the question.
    """

    claim: str
    quote: SeedPassage
    elsewhere: tuple[SeedPassage, ...] = ()


class Rejection(NamedTuple):
    """The problem for which a draft is rejected, with its details."""

    problem: Problem
    detail: str = ""


@dataclass(frozen=True)
class Draft:
    """A question that a model wrote, with the results of the checks.

    `made_from` names the documents from which it was written.
    """

    question: str
    kind: QuestionKind
    answer: str = ""
    claims: tuple[Backed, ...] = ()
    made_from: tuple[str, ...] = ()
    rejection: Rejection | None = None

    @property
    def id(self) -> str:
        """An ID that is the same for the same question on the same documents."""
        text = "\n".join((self.question, *self.made_from))
        return f"q-{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"

    def sample(self, made_by: Mapping[str, Any]) -> Sample:
        """Return the question as a sample; `made_by` becomes metadata."""
        groups = [(backed.quote, *backed.elsewhere) for backed in self.claims]
        origin: dict[str, Any] = {"kind": self.kind, **made_by}
        return Sample(
            id=self.id,
            user_input=self.question,
            reference=self.answer,
            reference_claims=[Claim(backed.claim) for backed in self.claims],
            reference_contexts=[
                [Context(q.text, source=q.source, start=q.start, end=q.end) for q in group]
                for group in groups
            ],
            reference_context_ids=[
                list(dict.fromkeys(quote.source for quote in group)) for group in groups
            ],
            # Questions on one document succeed and fail together, so they form a group.
            group=self.made_from[0] if self.made_from else None,
            metadata={"testset": origin},
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the draft's sample as plain JSON values, with the reason if it was rejected."""
        values = self.sample({}).to_dict()
        if self.rejection is not None:
            values |= {"rejected": str(self.rejection.problem), "detail": self.rejection.detail}
        return values
