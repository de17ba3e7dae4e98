"""A question that was written for a test set, with its evidence and what was found wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from fullrecall.context import Context
from fullrecall.sample import Claim, Sample
from fullrecall.testset.seeds import Passage

QuestionKind: TypeAlias = Literal[
    "one_fact", "several_facts", "across_documents", "keywords", "conversational", "unanswerable"
]
"""What a question asks for, or how it is put."""

KINDS: tuple[QuestionKind, ...] = get_args(QuestionKind)


def difficulty_of(rank: int | None) -> str:
    """Return how far down BM25 ranks a passage: easy at 1, medium to 10, hard below or at None."""
    if rank == 1:
        return "easy"
    return "medium" if rank is not None and rank <= 10 else "hard"  # noqa: PLR2004 - as documented


ABSTAINS = "The documents do not say."
"""The reference answer of an unanswerable question."""


class Defect(StrEnum):
    """Why a draft was rejected."""

    FORM = "incomplete draft"
    QUOTE = "quote not in the document"
    COPIED = "copied words"
    POINTS = "points at the text"
    UNCLEAR = "does not stand alone"
    UNANSWERED = "not answered by the document"
    DIFFERENT = "another answer in the document"
    SEVERAL = "several answers in the document"
    UNSUPPORTED = "claim not supported by its quote"
    SINGLE = "one document is enough"
    ANSWERABLE = "the documents answer it"
    UNCHECKED = "no verdict"
    DUPLICATE = "duplicate question"
    SURPLUS = "more than wanted"


class Backed(NamedTuple):
    """A claim of the reference answer with its evidence.

    `elsewhere` are other places where the same words stand and, by a verdict on the question, the
    claim and that place, answer it: each serves as well.
    """

    claim: str
    quote: Passage
    elsewhere: tuple[Passage, ...] = ()


class Rejection(NamedTuple):
    """A defect, and what exactly was found."""

    defect: Defect
    detail: str = ""


@dataclass(frozen=True)
class Draft:
    """One question as the model wrote it and the checks left it.

    `made_from` names the documents of its seed. `flags` are hints for a reviewer that reject
    nothing. `rank` is where BM25 finds its first passage in the collection, None where it does
    not.
    """

    question: str
    kind: QuestionKind
    answer: str = ""
    claims: tuple[Backed, ...] = ()
    made_from: tuple[str, ...] = ()
    rejection: Rejection | None = None
    flags: tuple[str, ...] = ()
    rank: int | None = None

    @property
    def id(self) -> str:
        """The same for the same question about the same documents."""
        text = "\n".join((self.question, *self.made_from))
        return f"q-{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"

    def sample(self, made_by: Mapping[str, Any]) -> Sample:
        """Return the question as a sample; `made_by` goes into its metadata."""
        groups = [(backed.quote, *backed.elsewhere) for backed in self.claims]
        origin: dict[str, Any] = {"kind": self.kind, **made_by}
        if self.kind != "unanswerable":
            origin |= {"difficulty": difficulty_of(self.rank), "bm25_rank": self.rank}
        if self.flags:
            origin["flags"] = list(self.flags)
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
            answerable=False if self.kind == "unanswerable" else None,
            group=self.made_from[0] if self.made_from else None,
            metadata={"testset": origin},
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values: those of its sample, and why it was rejected."""
        values = self.sample({}).to_dict()
        if self.rejection is not None:
            values |= {"rejected": str(self.rejection.defect), "detail": self.rejection.detail}
        return values
