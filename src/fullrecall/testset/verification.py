"""What a model says of drafts that it has not written: each needs a verdict to be accepted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from fullrecall.judges.evidence import locate
from fullrecall.judges.judge import Ask, Flow
from fullrecall.judges.replies import json_values
from fullrecall.models.chat import ChatModel, ChatRequest, Completion
from fullrecall.testset import instructions
from fullrecall.testset.draft import Backed, Defect, Draft, Quote, Rejection
from fullrecall.testset.seeds import Passage

_REASKS = 1
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


class Check(NamedTuple):
    """What is asked about the drafts of one seed, and how the reply is read.

    Statements are in an order of their own, so that none shows which question it belongs to.
    """

    drafts: Sequence[Draft]
    passages: Sequence[Passage]
    statements: Sequence[tuple[int, Backed]]

    @classmethod
    def of(cls, drafts: Sequence[Draft], passages: Sequence[Passage]) -> Check:
        """Return the check of these drafts against these passages."""
        pairs = [(n, backed) for n, draft in enumerate(drafts) for backed in draft.claims]
        return cls(drafts, passages, sorted(pairs, key=lambda pair: pair[1].claim))

    @property
    def request(self) -> ChatRequest:
        """What the model is asked."""
        return instructions.checking(
            [passage.text for passage in self.passages],
            [draft.question for draft in self.drafts],
            [(backed.claim, backed.quote.text) for _, backed in self.statements],
        )

    def missing(self, text: str) -> int:
        """Return how many of the drafts a reply has no whole verdict for."""
        read = _Read.of(text, len(self.drafts), len(self.statements))
        return sum(read.lacks(n, self._own(n)) for n in range(len(self.drafts)))

    def verdicts(self, text: str) -> list[Draft]:
        """Return the drafts with what the reply makes of them; no verdict accepts nothing."""
        read = _Read.of(text, len(self.drafts), len(self.statements))
        return [self._verdict(n, draft, read) for n, draft in enumerate(self.drafts)]

    def _own(self, number: int) -> list[int]:
        return [at for at, (n, _) in enumerate(self.statements) if n == number]

    def _verdict(self, number: int, draft: Draft, read: _Read) -> Draft:
        rejection = self._rejection(number, draft, read)
        return draft if rejection is None else replace(draft, rejection=rejection)

    def _rejection(self, number: int, draft: Draft, read: _Read) -> Rejection | None:
        own = self._own(number)
        if read.lacks(number, own):
            return Rejection(Defect.UNCHECKED, "the model's reply lacks it")
        verdict = read.questions[number]
        if not verdict["stands_alone"]:
            return Rejection(Defect.UNCLEAR)
        if draft.kind == "unanswerable":
            evidence = self._evidence(verdict)
            answers = verdict["answerable"] and evidence
            return Rejection(Defect.ANSWERABLE, evidence[0].text) if answers else None
        if not verdict["answerable"]:
            return Rejection(Defect.UNANSWERED)
        if verdict["several"]:
            return Rejection(Defect.SEVERAL, str(verdict["answer"])[:200])
        return self._of_statements(own, read, draft) or self._of_answer(verdict, draft)

    def _of_statements(self, own: Sequence[int], read: _Read, draft: Draft) -> Rejection | None:
        sets = []
        for at in own:
            verdict = read.statements[at]
            if not verdict["supported"]:
                return Rejection(Defect.UNSUPPORTED, self.statements[at][1].claim)
            sets.append({n for n in verdict["documents"] if isinstance(n, int)})
        if draft.kind == "across_documents" and (alone := set.intersection(*sets)):
            return Rejection(Defect.SINGLE, self.passages[min(alone) - 1].source)
        return None

    def _of_answer(self, verdict: Mapping[str, Any], draft: Draft) -> Rejection | None:
        """Compare the model's own answer with the draft's: their quotes must meet, and numbers."""
        evidence = self._evidence(verdict)
        if draft.claims and not any(
            _meet(quote, backed.quote) for quote in evidence for backed in draft.claims
        ):
            return Rejection(Defect.DIFFERENT, str(verdict["answer"])[:200])
        ours, theirs = set(_NUMBER.findall(draft.answer)), set(_NUMBER.findall(verdict["answer"]))
        if ours and theirs and not ours & theirs:
            return Rejection(Defect.DIFFERENT, str(verdict["answer"])[:200])
        return None

    def _evidence(self, verdict: Mapping[str, Any]) -> list[Quote]:
        """Return where the quotes of the model's own answer stand."""
        quoted = [item for item in verdict["quotes"] if isinstance(item, Mapping)]
        quotes = [
            located(item.get("quote"), item.get("document"), self.passages) for item in quoted
        ]
        return [quote for quote in quotes if quote is not None]


def located(quoted: object, number: object, passages: Sequence[Passage]) -> Quote | None:
    """Return where a quote stands in the passage of a 1-based number; None where it does not.

    Of a single passage the number says nothing.
    """
    if not isinstance(quoted, str) or not quoted.strip():
        return None
    if len(passages) == 1:
        number = 1
    if not isinstance(number, int) or not 1 <= number <= len(passages):
        return None
    passage = passages[number - 1]
    span = locate(quoted, passage.text)
    if span is None:
        return None
    start, end = passage.start + span.start, passage.start + span.end
    return Quote(passage.source, start, end, passage.text[span.start : span.end])


def _meet(evidence: Quote, quote: Quote) -> bool:
    return (
        evidence.source == quote.source
        and evidence.start < quote.end
        and quote.start < evidence.end
    )


class _Read(NamedTuple):
    """The verdicts of a reply by position; those that are there twice or lack a part are not."""

    questions: Mapping[int, Mapping[str, Any]]
    statements: Mapping[int, Mapping[str, Any]]

    @classmethod
    def of(cls, text: str, questions: int, statements: int) -> _Read:
        return cls(
            _by_number(items_in(text, "questions"), _QUESTION, questions),
            _by_number(items_in(text, "statements"), _STATEMENT, statements),
        )

    def lacks(self, question: int, statements: Iterable[int]) -> bool:
        return question not in self.questions or any(s not in self.statements for s in statements)


_QUESTION = {
    "stands_alone": bool,
    "answerable": bool,
    "answer": str,
    "quotes": list,
    "several": bool,
}
_STATEMENT = {"supported": bool, "documents": list}


def items_in(text: str, name: str) -> list[Mapping[str, Any]]:
    """Return the objects of a reply's last list of a name: before it a model may have thought."""
    objects = [value for value in json_values(text) if isinstance(value, Mapping)]
    lists = [value[name] for value in objects if isinstance(value.get(name), list)]
    return [item for items in lists[-1:] for item in items if isinstance(item, Mapping)]


def _by_number(
    items: Sequence[Mapping[str, Any]], parts: Mapping[str, type], count: int
) -> dict[int, Mapping[str, Any]]:
    """Return verdicts by 0-based position; a reply that numbers otherwise has none at all."""
    numbers = [item.get("id") for item in items]
    numbers_known = range(1, count + 1)
    if any(type(number) is not int or number not in numbers_known for number in numbers):
        return {}
    return {
        number - 1: item  # type: ignore[operator]
        for number, item in zip(numbers, items, strict=True)
        if numbers.count(number) == 1
        and all(isinstance(item.get(name), kind) for name, kind in parts.items())
    }


def reply(model: ChatModel, request: Any, whole: Any) -> Flow[tuple[str, str]]:
    """Ask until a reply is whole, twice at most; return its text, or why there is none.

    A reply with a part of what was asked for is taken in the end: the rest has no verdict.
    """
    text = problem = ""
    for again in range(_REASKS + 1):
        again_request = replace(request, again=again) if again else request
        (completion,) = yield [
            Ask(model, again_request, lambda reply_completion: _is_kept(reply_completion, whole))
        ]
        problem = completion.problem
        text = completion.text or text
        if completion.failure is not None and completion.failure.is_final:
            return "", problem
        if completion.failure is None and whole(completion.text):
            return completion.text, ""
    if json_values(text):
        return text, ""
    return "", problem or "the model's reply holds no JSON"


def _is_kept(completion: Completion, whole: Any) -> bool:
    return completion.failure is None and whole(completion.text)


def values_by_number(text: str, name: str, part: str, kind: type) -> dict[int, Any]:
    """Return one part of the objects of a reply's last list of a name, by the number of each."""
    return {
        item["id"]: item[part]
        for item in items_in(text, name)
        if type(item.get("id")) is int and isinstance(item.get(part), kind)
    }


def same_verdicts(text: str) -> dict[int, bool]:
    """Return what a reply says of each context or question, by its number."""
    return values_by_number(text, "contexts", "same", bool)
