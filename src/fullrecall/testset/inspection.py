"""What a machine can tell of a draft before a model is asked about it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fullrecall.testset import leak
from fullrecall.testset.draft import ABSTAINS, KINDS, Backed, Defect, Draft, QuestionKind, Rejection
from fullrecall.testset.seeds import Passage, Seed
from fullrecall.testset.verification import located
from fullrecall.testset.vocabulary import words

_LONGEST_QUESTION = 80


def inspected(
    written: Sequence[Mapping[str, Any]], kinds: Sequence[QuestionKind], seed: Seed
) -> list[Draft]:
    """Return what a model wrote as drafts; those with a defect are rejected with the reason."""
    return [
        _inspected(item, kinds[min(position, len(kinds) - 1)], seed)
        for position, item in enumerate(written)
    ]


def _inspected(item: Mapping[str, Any], planned_kind: QuestionKind, seed: Seed) -> Draft:
    kind_written = item.get("kind")
    # A pair makes questions across its documents and no others.
    free = kind_written in KINDS and kind_written != "across_documents" and len(seed.passages) == 1
    kind: QuestionKind = kind_written if free and kind_written is not None else planned_kind
    sources = tuple(dict.fromkeys(passage.source for passage in seed.passages))
    draft = Draft(_text(item, "question"), kind, _text(item, "answer"), (), sources)
    problem = _form(draft, item)
    if problem:
        return replace(draft, rejection=Rejection(Defect.FORM, problem))
    if kind == "unanswerable":
        return _worded(replace(draft, answer=ABSTAINS), seed)
    backed = _backed(item["claims"], seed.passages)
    if isinstance(backed, Rejection):
        return replace(draft, rejection=backed)
    draft = replace(draft, claims=backed)
    if kind == "across_documents" and len({b.quote.source for b in backed}) == 1:
        detail = f"all quotes are from {backed[0].quote.source}"
        return replace(draft, rejection=Rejection(Defect.SINGLE, detail))
    return _worded(draft, seed)


def _text(item: Mapping[str, Any], name: str) -> str:
    value = item.get(name)
    return " ".join(value.split()) if isinstance(value, str) else ""


def _form(draft: Draft, item: Mapping[str, Any]) -> str:
    """Return what the draft lacks; empty where it lacks nothing."""
    count = len(words(draft.question))
    if not 2 <= count <= _LONGEST_QUESTION:  # noqa: PLR2004 - one word asks nothing
        return f"a question of {count} words"
    claims = item.get("claims")
    if draft.kind == "unanswerable":
        return "an unanswerable question with an answer" if draft.answer or claims else ""
    if not draft.answer:
        return "no answer"
    whole = isinstance(claims, list) and all(isinstance(claim, Mapping) for claim in claims)
    if not whole or not claims or not all(_text(claim, "claim") for claim in claims):
        return "no claims"
    return ""


def _backed(
    claims: Sequence[Mapping[str, Any]], passages: Sequence[Passage]
) -> tuple[Backed, ...] | Rejection:
    backed = []
    for claim in claims:
        quoted = claim.get("quote")
        quote = located(quoted, claim.get("document"), passages)
        if quote is None:
            shown = quoted if isinstance(quoted, str) else ""
            return Rejection(Defect.QUOTE, shown[:200])
        backed.append(Backed(_text(claim, "claim"), quote))
    return tuple(dict.fromkeys(backed))


def _worded(draft: Draft, seed: Seed) -> Draft:
    """Return the draft, rejected where its wording tells why."""
    texts = [passage.text for passage in seed.passages]
    run = leak.longest_run(draft.question, texts)
    if len(run) >= leak.REJECTED_RUN:
        return replace(draft, rejection=Rejection(Defect.COPIED, " ".join(run)))
    points = leak.pointing(draft.question)
    if points:
        return replace(draft, rejection=Rejection(Defect.POINTS, points))
    if scripts := leak.other_script(draft.question, "\n".join(texts)):
        return replace(draft, rejection=Rejection(Defect.SCRIPT, scripts))
    return draft
