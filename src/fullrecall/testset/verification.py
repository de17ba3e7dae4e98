"""Check drafts by machine, and by a model that does not see their answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from fullrecall._util.vocabulary import words
from fullrecall.judge.evidence import locate
from fullrecall.judge.judge import Ask, Flow
from fullrecall.judge.models.chat import ChatModel, ChatRequest, Completion
from fullrecall.judge.replies import json_values
from fullrecall.testset import instructions
from fullrecall.testset.content import REJECTED_RUN, Problem, longest_run, numbers_in, pointing
from fullrecall.testset.draft import KINDS, Backed, Draft, QuestionKind, Rejection
from fullrecall.testset.seeds import Seed, SeedPassage

VerdictReply: TypeAlias = Mapping[str, Any]
"""A model's verdict on one question or one statement."""

Statements: TypeAlias = Sequence[tuple[Backed, VerdictReply]]
"""The claims of a draft, each with a model's verdict."""


def checked(
    drafts: Sequence[Draft], passages: Sequence[SeedPassage], model: ChatModel
) -> Flow[list[Draft]]:
    """Ask a model to check drafts from the same passages; return them, some rejected.

    A draft without a verdict is rejected.
    """
    pairs = [(number, backed) for number, draft in enumerate(drafts) for backed in draft.claims]
    # Sort statements by claim, so that the order does not reveal to which question they belong.
    pairs.sort(key=lambda pair: pair[1].claim)
    request = instructions.checking(
        [passage.text for passage in passages],
        [draft.question for draft in drafts],
        [(backed.claim, backed.quote.text) for _, backed in pairs],
    )

    def verdicts_in(text: str) -> Iterator[tuple[VerdictReply, Statements] | None]:
        """Yield the verdicts on each question and its statements; None if any is missing."""
        questions = _by_position(text, "check", "questions", len(drafts))
        verdicts = _by_position(text, "check", "statements", len(pairs))
        for number in range(len(drafts)):
            own = [(b, verdicts.get(at, {})) for at, (n, b) in enumerate(pairs) if n == number]
            is_whole = number in questions and all(verdict for _, verdict in own)
            yield (questions[number], own) if is_whole else None

    text, problem = yield from reply(model, request, lambda text: None not in [*verdicts_in(text)])
    unchecked = Rejection(Problem.UNCHECKED, problem or "the model's reply lacks it")
    return [
        replace(draft, rejection=_rejection(draft, *verdicts, passages) if verdicts else unchecked)
        for draft, verdicts in zip(drafts, verdicts_in(text), strict=True)
    ]


def _rejection(
    draft: Draft, verdict: VerdictReply, statements: Statements, passages: Sequence[SeedPassage]
) -> Rejection | None:
    if not verdict["stands_alone"]:
        return Rejection(Problem.UNCLEAR)
    if not verdict["answerable"]:
        return Rejection(Problem.UNANSWERED)
    if verdict["several"]:
        return Rejection(Problem.SEVERAL, verdict["answer"][:200])
    if (rejection := _of_statements(draft, statements, passages)) is not None:
        return rejection
    # A quote of the model's own answer must overlap a quote of the draft. If both answers have
    # numbers, they must share one.
    quotes = (quote for quote in verdict["quotes"] if isinstance(quote, Mapping))
    evidence = [located(q.get("quote"), q.get("document"), passages) for q in quotes]
    meet = any(q and q.meets(backed.quote) for q in evidence for backed in draft.claims)
    ours, theirs = (set(numbers_in(text)) for text in (draft.answer, verdict["answer"]))
    if (draft.claims and not meet) or (ours and theirs and not ours & theirs):
        return Rejection(Problem.DIFFERENT, verdict["answer"][:200])
    return None


def _of_statements(
    draft: Draft, statements: Statements, passages: Sequence[SeedPassage]
) -> Rejection | None:
    for backed, statement in statements:
        if not statement["supported"]:
            return Rejection(Problem.UNSUPPORTED, backed.claim)
    if draft.kind == "across_documents":
        documents = [{n for n in s["documents"] if isinstance(n, int)} for _, s in statements]
        if sufficient := set.intersection(*documents):
            return Rejection(Problem.SINGLE, passages[min(sufficient) - 1].source)
    return None


def located(quoted: object, number: object, passages: Sequence[SeedPassage]) -> SeedPassage | None:
    """Return the part of a passage that a quote matches; None if the passage lacks the quote.

    `number` selects the passage, counted from 1. It is ignored if there is only one passage.
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
    text = passage.text[span.start : span.end]
    return SeedPassage(passage.source, passage.start + span.start, text)


def items_in(text: str, name: str) -> list[Mapping[str, Any]]:
    """Return the objects of a reply's last list of this name; earlier lists may be reasoning."""
    values = json_values(text)
    named = [value.get(name) for value in values if isinstance(value, Mapping)]
    # Some models return only the list.
    lists = [value for value in named if isinstance(value, list)] or [
        value for value in values if isinstance(value, list)
    ]
    return [item for items in lists[-1:] for item in items if isinstance(item, Mapping)]


def _by_position(text: str, instruction: str, name: str, count: int) -> dict[int, VerdictReply]:
    """Return the verdicts in a reply to an instruction, by 0-based position.

    Verdicts are left out if they lack a field, or if several have the same number. A reply with a
    number out of range gives {}.
    """
    items, (form,) = items_in(text, name), instructions.form_of(instruction)[name]
    numbers = [item.get("id") for item in items]
    known = range(1, count + 1)
    # A model that counts from 0 would assign its verdicts to the wrong questions. Compare the type,
    # since True is an int.
    if any(type(number) is not int or number not in known for number in numbers):
        return {}
    return {
        item["id"] - 1: item
        for item in items
        if numbers.count(item["id"]) == 1
        and all(isinstance(item.get(part), type(value)) for part, value in form.items())
    }


def reply(
    model: ChatModel, request: ChatRequest, whole: Callable[[str], bool]
) -> Flow[tuple[str, str]]:
    """Ask until a reply is complete, at most twice; return its text and the problem, if any.

    A second reply is used even if it is incomplete; the missing items then have no verdict.
    """

    def is_whole(completion: Completion) -> bool:
        return completion.failure is None and whole(completion.text)

    text = problem = ""
    # `again` is part of the store's key; without it, a store would return the first reply again.
    for again in (0, 1):
        (completion,) = yield [Ask(model, replace(request, again=again), is_whole)]
        problem = completion.problem
        text = completion.text or text
        if completion.failure is not None and completion.failure.is_final:
            return "", problem
        if is_whole(completion):
            return completion.text, ""
    if json_values(text):
        return text, ""
    return "", problem or "the model's reply holds no JSON"


def same_verdicts(
    model: ChatModel, request: ChatRequest, count: int
) -> Flow[dict[int, VerdictReply]]:
    """Return a model's verdict on each context, by its 0-based position."""

    def read(text: str) -> dict[int, VerdictReply]:
        return _by_position(text, "elsewhere", "contexts", count)

    text, _ = yield from reply(model, request, lambda text: len(read(text)) == count)
    return read(text)


def inspected(item: Mapping[str, Any], planned_kind: QuestionKind, seed: Seed) -> Draft:
    """Return a model's question as a draft, rejected with the reason if it is defective."""
    written_kind: Any = item.get("kind")
    # For one passage, take the kind that the model states. A question from two passages is always
    # of the kind "across_documents".
    is_single = written_kind in KINDS and written_kind != "across_documents"
    kind: QuestionKind = written_kind if is_single and len(seed.passages) == 1 else planned_kind
    sources = tuple(dict.fromkeys(passage.source for passage in seed.passages))
    draft = Draft(_text(item, "question"), kind, _text(item, "answer"), (), sources)
    claims: Any = item.get("claims")
    if not _is_whole(draft, claims):
        return replace(draft, rejection=Rejection(Problem.FORM))
    backed: dict[Backed, None] = {}
    for claim in claims:
        quote = located(claim.get("quote"), claim.get("document"), seed.passages)
        if quote is None:
            return replace(draft, rejection=Rejection(Problem.QUOTE, _text(claim, "quote")[:200]))
        backed[Backed(_text(claim, "claim"), quote)] = None
    draft = replace(draft, claims=tuple(backed))
    return replace(draft, rejection=_of_words(draft, seed))


def _text(item: Mapping[str, Any], name: str) -> str:
    value = item.get(name)
    return " ".join(value.split()) if isinstance(value, str) else ""


def _is_whole(draft: Draft, claims: Any) -> bool:
    """Return whether a draft has a question, an answer and claims in the right form."""
    if not 2 <= len(words(draft.question)) <= 80:  # noqa: PLR2004 - one word asks nothing
        return False
    whole = isinstance(claims, list) and all(isinstance(claim, Mapping) for claim in claims)
    return bool(draft.answer and whole and claims and all(_text(c, "claim") for c in claims))


def _of_words(draft: Draft, seed: Seed) -> Rejection | None:
    """Return the rejection of a draft for its quotes or its wording; None if both are good."""
    cited = {backed.quote.source for backed in draft.claims}
    if draft.kind == "across_documents" and len(cited) == 1:
        return Rejection(Problem.SINGLE, f"all quotes are from {min(cited)}")
    # Copied words favor lexical retrievers: BM25's lead in hit@5 over static vectors was +.03 for
    # people's questions on Cranfield, and +.30 for copied ones.
    texts = [passage.text for passage in seed.passages]
    run = longest_run(draft.question, texts)
    if len(run) >= REJECTED_RUN:
        return Rejection(Problem.COPIED, " ".join(run))
    if points := pointing(draft.question):
        return Rejection(Problem.POINTS, points)
    return None
