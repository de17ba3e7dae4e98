"""The rules: each looks at one case and names one cause, or passes it on.

They are tried in the order of `RULES`, which goes from what the report itself proves to what
only the corpus or another search can tell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from fullrecall.context import Context
from fullrecall.diagnosis.case import Case
from fullrecall.diagnosis.causes import Cause
from fullrecall.judges.evidence import locate
from fullrecall.retrieval import Stage

FINAL = "the final list"

_NUMBERED = re.compile(r"[\W_]+(?:[^\W\d_]+[\W_]*)?\d+")
"""How chunkers number: `#3`, `_12`, `:chunk-7`, `/p2`."""


class Explained(NamedTuple):
    """A cause with the sentence that says what it was told by; see `Diagnosed`."""

    cause: Cause
    detail: str
    rank: int | None = None


Rule: TypeAlias = Callable[[Case], Explained | None]


def ranked_too_low(case: Case) -> Explained | None:
    """The list itself has it, further down."""
    rank = case.finding.rank
    if rank is None or case.k is None:
        return None
    detail = f"at rank {rank} of the list, beyond k = {case.k}"
    for stage in case.row.sample.stages:
        before = case.find(stage.contexts)
        if before is not None and before <= case.k:
            detail += f"; {stage.name} had it at rank {before}"
            break
    return Explained(Cause.BEYOND_K, detail, rank)


def contradicted(case: Case) -> Explained | None:
    """A judge found the opposite stated."""
    if not case.judged or case.finding.verdict != "contradicted":
        return None
    cited = [item.rank for item in case.finding.evidence if case.k is None or item.rank <= case.k]
    where = f"the context at rank {min(cited)}" if cited else "what was retrieved"
    detail = f"the judge finds the opposite stated in {where}"
    return Explained(Cause.CONTRADICTED, detail, min(cited, default=None))


def judged_unsupported(case: Case) -> Explained | None:
    """A judge denied what was there."""
    if not case.judged:
        return None
    cited = [item for item in case.finding.evidence if case.k is None or item.rank <= case.k]
    false = [item for item in cited if item.verified is False]
    if cited and len(false) == len(cited):
        rank = false[0].rank
        return Explained(
            Cause.JUDGED_UNSUPPORTED,
            f"the judge cites the context at rank {rank}, and its quote does not stand there",
            rank,
        )
    if case.finding.verdict == "partial":
        detail = "the judge finds it supported in part only"
        return Explained(Cause.JUDGED_UNSUPPORTED, detail, cited[0].rank if cited else None)
    claim = case.finding.target.any_of[0]
    for rank, context in enumerate(case.within_k, start=1):
        if context.text and locate(claim, context.text, least=1.0) is not None:
            return Explained(
                Cause.JUDGED_UNSUPPORTED,
                f"its very words stand in the context at rank {rank}, and the judge said no",
                rank,
            )
    at = None if case.judged_without_item else _rank(case, case.within_k)
    if at is None:
        return None
    return Explained(
        Cause.JUDGED_UNSUPPORTED,
        f"the reference context that supports it was retrieved at rank {at}, and the judge said no",
        at,
    )


def wrong_id_level(case: Case) -> Explained | None:
    """A context of the document, or the document of the chunk, was retrieved under its own ID."""
    wanted = case.item.id
    if wanted is None or (case.corpus is not None and case.corpus.get(wanted) is not None):
        return None
    for rank, context in enumerate(case.retrieved, start=1):
        for name, value in _other_ids(context).items():
            if str(value) == wanted:
                return Explained(
                    Cause.WRONG_ID_LEVEL,
                    f"the context at rank {rank} has it as its {name}, and {context.id!r} as its "
                    "ID",
                    rank,
                )
    # That one ID begins with another proves nothing where IDs are known to be of one level.
    if case.same_level:
        return None
    holding = case.item.parts_in(case.retrieved, case.limits.min_run)
    for rank, context in enumerate(case.retrieved, start=1):
        rest = _rest(context.id or "", wanted)
        if rest and (rank in holding or _NUMBERED.fullmatch(rest)):
            return Explained(
                Cause.WRONG_ID_LEVEL,
                f"{context.id!r} was retrieved at rank {rank}, and no expected ID ever was",
                rank,
            )
    return None


def dropped_by_stage(case: Case) -> Explained | None:
    """A stage had it, and the next one on its way had not."""
    stages = case.row.sample.stages
    had = {stage.name: case.find(stage.contexts) for stage in stages}
    last = next((stage for stage in reversed(stages) if had[stage.name] is not None), None)
    if last is None:
        return None
    by = _next(last, stages)
    return Explained(
        Cause.DROPPED_BY_STAGE,
        f"{last.name} had it at rank {had[last.name]}, {by} has it no more",
        had[last.name],
    )


def near_duplicate(case: Case) -> Explained | None:
    """A text that is nearly the item's own was retrieved within k."""
    text = case.item.text
    if not text.strip():
        return None
    from rapidfuzz import fuzz, utils

    best, rank = 0.0, 0
    for position, context in enumerate(case.within_k, start=1):
        similarity = fuzz.ratio(
            text,
            context.text or "",
            processor=utils.default_process,
            score_cutoff=100 * case.limits.near_duplicate,
        )
        if similarity > best:
            best, rank = similarity, position
    if not rank:
        return None
    twin = case.within_k[rank - 1].id
    named = f", {twin!r}," if twin else ""
    return Explained(
        Cause.NEAR_DUPLICATE,
        f"the context{named} at rank {rank} has nearly its text (similarity {best / 100:.2f})",
        rank,
    )


def split_across_chunks(case: Case) -> Explained | None:
    """No chunk holds the text whole, and several hold it together."""
    item, limits = case.item, case.limits
    here = item.parts_in(case.within_k, limits.min_run)
    if case.corpus is None or not case.corpus.has_texts:
        if len(here) > 1 and item.share_of(here.values()) == 1.0:
            return Explained(
                Cause.SPLIT_ACROSS_CHUNKS,
                f"all of it was retrieved, in parts, at ranks {_listed(here)}",
                max(here),
            )
        return None
    if item.passage is None or (item.id is not None and case.corpus.get(item.id) is not None):
        return None
    held, together = case.held, case.share_in_corpus
    if together < limits.near_duplicate:  # phrases in common are no parts of it
        return None
    shares = [item.share_of([holder.overlap]) for holder in held]
    if len(held) < 2 or together <= max(shares):  # noqa: PLR2004 - two halves
        return None
    missing = [h.context for h in held if not any(_same(h.context, c) for c in case.within_k)]
    share = item.share_of(here.values())
    retrieved = f"{share:.0%} of it was retrieved (rank {_listed(here)})" if here else "no part was"
    names = ", ".join(repr(context.id or _short(context.label)) for context in missing[:3])
    rest = f"; not retrieved: {names}" if missing else ""
    return Explained(
        Cause.SPLIT_ACROSS_CHUNKS,
        f"it stands in {len(held)} chunks of the corpus, none of which has more than "
        f"{max(shares):.0%} of it; {retrieved}{rest}",
        min(here, default=None),
    )


def not_in_corpus(case: Case) -> Explained | None:
    """The corpus has neither the ID nor the text."""
    corpus, item = case.corpus, case.item
    if corpus is None or case.judged_without_item:
        return None
    if item.id is not None and corpus.has_ids:
        if corpus.get(item.id) is not None:
            return None
        return Explained(Cause.NOT_IN_CORPUS, f"no context of the corpus has the ID {item.id!r}")
    if item.passage is None or not corpus.has_texts:
        return None
    share = case.share_in_corpus
    if share == 1.0:
        return None
    some = f"only {share:.0%}" if share else "none"
    return Explained(Cause.NOT_IN_CORPUS, f"{some} of its text stands in the corpus")


def found_deeper(case: Case) -> Explained | None:
    """The retriever brings it when it is asked for more."""
    if case.deeper is None:
        return None
    rank = case.find(case.deeper())
    if rank is None:
        return None
    return Explained(
        Cause.BEYOND_K, f"at rank {rank} when {case.limits.deep_k} are asked for", rank
    )


def in_the_corpus(case: Case) -> Explained | None:
    """The corpus has it, and the retriever did not bring it."""
    if case.corpus is None or not _is_in_corpus(case):
        return None
    if case.deeper is not None:
        return Explained(
            Cause.BEYOND_K,
            f"in the corpus, and not among the {case.limits.deep_k} that were asked for",
        )
    return Explained(
        Cause.BEYOND_K,
        f"in the corpus, and not among the {len(case.retrieved)} retrieved; retrieve deeper to "
        "learn its rank: retriever=",
    )


def unknown(case: Case) -> Explained:
    """Say what would tell."""
    wanting = []
    if case.judged_without_item:
        wanting.append("scorers=[…], to ask which reference context supports it")
    if case.corpus is None:
        wanting.append("corpus=")
    elif case.item.id is not None and not case.corpus.has_ids:
        wanting.append("a corpus with IDs")
    if case.deeper is None:
        wanting.append("retriever=")
    share = case.item.share_in(case.within_k, case.limits.min_run)
    part = f"{share:.0%} of its text was retrieved; " if share else ""
    told = f"to tell, give {' and '.join(wanting)}" if wanting else "nothing given has it"
    return Explained(Cause.UNKNOWN, f"{part}{told}")


RULES: tuple[Rule, ...] = (
    ranked_too_low,
    contradicted,
    judged_unsupported,
    wrong_id_level,
    dropped_by_stage,
    near_duplicate,
    split_across_chunks,
    not_in_corpus,
    found_deeper,
    in_the_corpus,
)


def explained(case: Case) -> Explained:
    """Return the first cause that a rule finds."""
    for rule in RULES:
        found = rule(case)
        if found is not None:
            return found
    return unknown(case)


def _rank(case: Case, contexts: tuple[Context, ...]) -> int | None:
    for rank, context in enumerate(contexts, start=1):
        if case.item.is_in(context, case.limits.min_run):
            return rank
    return None


def _other_ids(context: Context) -> dict[str, object]:
    """Return what else could name a context: its source, and the IDs in its metadata."""
    found: dict[str, object] = {}
    if context.source is not None:
        found["source"] = context.source
    for name, value in context.metadata.items():
        if isinstance(value, (str, int)) and not isinstance(value, bool):
            found[f"metadata[{name!r}]"] = value
    return found


def _rest(one: str, other: str) -> str:
    """Return what one ID has behind a mark when the other is its beginning; else nothing."""
    longer, shorter = (one, other) if len(one) > len(other) else (other, one)
    rest = longer.removeprefix(shorter)
    return rest if shorter and rest != longer and rest and not rest[0].isalnum() else ""


def _next(stage: Stage, stages: tuple[Stage, ...]) -> str:
    names = [other.name for other in stages]
    return stage.into if stage.into in names and stage.into else FINAL


def _same(one: Context, other: Context) -> bool:
    if one.id is not None and other.id is not None:
        return one.id == other.id
    return one.text is not None and one.text == other.text


def _is_in_corpus(case: Case) -> bool:
    item, corpus = case.item, case.corpus
    if corpus is None:
        return False
    if item.id is not None and corpus.has_ids:
        return corpus.get(item.id) is not None
    return case.share_in_corpus == 1.0


def _listed(parts: Mapping[int, object]) -> str:
    return ", ".join(map(str, sorted(parts)))


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"  # noqa: PLR2004 - a line's worth
