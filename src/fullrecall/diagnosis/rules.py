"""The rules: each examines one case, and returns one cause or None.

They are tried in the order of `RULES`: first for causes that the report itself proves, then for
those that only the corpus or another search can show.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from fullrecall._util.counts import counted
from fullrecall._util.naming import parameter
from fullrecall.diagnosis.case import Case
from fullrecall.diagnosis.causes import Cause, Explained
from fullrecall.judge.evidence import locate
from fullrecall.lexical import NEAR_DUPLICATE, abstains, duplicates
from fullrecall.measures import CutBudget
from fullrecall.measures.costs import Costs
from fullrecall.measures.findings import Finding
from fullrecall.measures.of_samples import rank_at
from fullrecall.samples.calls import failures
from fullrecall.samples.context import Context
from fullrecall.samples.sample import Sample
from fullrecall.show.text import one_line

_ALIKE_ENOUGH = 0.5
"""The least similarity of two texts with one ID; below it, they are two chunks of one document."""


def reference_abstains(case: Case) -> Explained | None:
    """Return a cause if the reference states that there is no answer."""
    if not case.judged or not abstains(case.finding.target.label):
        return None
    detail = "it says that there is no answer, which no context supports"
    return Explained(Cause.REFERENCE_ABSTAINS, detail)


def ranked_too_low(case: Case) -> Explained | None:
    """Return a cause if the item ranks beyond k.

    The cause is duplicates before the item, a stage that moved it beyond k, or else its rank.
    """
    rank, k, sample = case.finding.rank, case.k, case.examined.row.sample
    if rank is None or k is None:
        return None
    detail = f"at rank {rank} of the list, beyond k = {k}"
    found = Explained(Cause.BEYOND_K, detail, rank)
    if sample.ranks is None:  # `copies` are positions, which are not ranks in merged lists
        found = _behind_copies(case, found, case.examined.copies)
    for stage in sample.stages if found.cause is Cause.BEYOND_K else ():
        stage_rank = case.wanted.rank_in(stage.contexts)
        if stage_rank is not None and stage_rank <= k:
            detail = f"{stage.name} had it at rank {stage_rank}; now it is {detail}"
            return Explained(Cause.DEMOTED_BY_STAGE, detail, rank)
    return found


def _behind_copies(case: Case, found: Explained, copies: Collection[int]) -> Explained:
    """Return `found`, the cause of an item beyond k, changed if duplicates rank before the item.

    If the item would be within k without the duplicates, they become the cause: removing them loses
    no context, while a larger k adds contexts to the prompt. Otherwise only the detail names them.
    """
    rank = found.rank or 0
    before = sum(position < rank - 1 for position in copies)
    is_crowded = 0 < rank - before <= len(case.within_k)
    detail = f"{found.detail}; {before} of the contexts before it are duplicates of others"
    cause = Cause.CROWDED_OUT if is_crowded else found.cause
    return found._replace(cause=cause, detail=detail) if before else found


def beyond_budget(finding: Finding, sample: Sample, budget: CutBudget) -> Explained:
    """Return the cause of a target that was found beyond the budget."""
    position = finding.steps[-1].rank
    rank = rank_at(sample, position)
    cost = float(getattr(Costs.of([sample]), budget.unit)[position - 1])
    spent = CutBudget(round(cost, 3), budget.unit)
    detail = f"at rank {rank} after {spent.words}, beyond {budget.words}"
    return Explained(Cause.BEYOND_K, detail, rank)


def denied(case: Case) -> Explained | None:
    """Return a cause if a judge denied the target, in full or in part, or cited false quotes."""
    if not case.judged:
        return None
    k, verdict = case.k, case.finding.verdict
    cited = [quote for quote in case.finding.evidence if k is None or quote.rank <= k]
    if verdict == "contradicted":
        at = min((quote.rank for quote in cited), default=None)
        where = "what was retrieved" if at is None else f"the context at rank {at}"
        return Explained(Cause.CONTRADICTED, f"the judge finds the opposite stated in {where}", at)
    if cited and all(quote.verified is False for quote in cited):
        at = cited[0].rank
        detail = f"the judge cites the context at rank {at}, and its quote does not occur there"
        return Explained(Cause.JUDGED_UNSUPPORTED, detail, at)
    if verdict == "partial":
        detail = "the judge finds it supported in part only"
        return Explained(Cause.PARTLY_SUPPORTED, detail, cited[0].rank if cited else None)
    claim = case.finding.target.any_of[0]
    for rank, context in enumerate(case.within_k, start=1):
        if context.text and locate(claim, context.text) is not None:
            detail = f"the context at rank {rank} has it verbatim; verdict: not supported"
            return Explained(Cause.JUDGED_UNSUPPORTED, detail, rank)
    return None


def other_id(case: Case) -> Explained | None:
    """Return a cause if the item was retrieved, or is indexed, under another ID.

    This includes the exact text of the item under another ID, or without an ID.
    """
    wanted, alias, indexed = case.wanted, case.alias, case.corpus.by_id
    if alias is not None and alias.explained is not None:
        return alias.explained
    if wanted.id is None or wanted.passage is None or wanted.id in indexed:
        return None
    for rank, context in enumerate(case.examined.retrieved, start=1):
        if context.text != wanted.text:
            continue
        if context.id is None or indexed:
            has = "and has no ID" if context.id is None else f"under the ID {context.id!r}"
            detail = f"the context at rank {rank} is its text, {has}"
            return Explained(Cause.ID_MISMATCH, detail, rank)
    return None


def dropped_by_stage(case: Case) -> Explained | None:
    """Return a cause if one stage had the item, and the next stage did not."""
    stages = case.examined.row.sample.stages
    ranks = {stage.name: case.wanted.rank_in(stage.contexts) for stage in stages}
    # Find the last stage that had the item; the next stage dropped it.
    last = next((stage for stage in reversed(stages) if ranks[stage.name] is not None), None)
    if last is None:
        return None
    by = last.into if last.into in ranks else "the final list"
    rank = ranks[last.name]
    detail = f"{last.name} had it at rank {rank}, {by} no longer has it"
    return Explained(Cause.DROPPED_BY_STAGE, detail, rank)


def text_differs(case: Case) -> Explained | None:
    """Return a cause if the context with the item's ID was retrieved, but with another text."""
    own_id = case.wanted.own_id
    of_same_id = [
        (rank, context)
        for rank, context in enumerate(case.within_k, start=1)
        if own_id is not None and context.id == own_id and context.text is not None
    ]
    if len(of_same_id) != 1:  # several chunks of one document, each with its own text
        return None
    rank, context = of_same_id[0]
    how = _other_version(case, context)
    detail = f"the context {own_id!r} at rank {rank} has {how}"
    return Explained(Cause.TEXT_DIFFERS, detail, rank) if how else None


def _other_version(case: Case, context: Context) -> str:
    """Describe how the text of a context with the same ID differs; "" if it is another chunk."""
    from rapidfuzz import fuzz

    text, other = case.wanted.text, context.text or ""
    if other.strip() and "".join(other.split()) in "".join(text.split()):
        return "a part of its text"
    return "another text" if fuzz.ratio(text, other) >= 100 * _ALIKE_ENOUGH else ""


def near_duplicate(case: Case) -> Explained | None:
    """Return a cause if a nearly identical text was retrieved within k."""
    found = _alike(case)
    return found if found is not None and found.cause is Cause.NEAR_DUPLICATE else None


def _alike(case: Case) -> Explained | None:
    """Return a cause if a retrieved text is much like the item's, perhaps with another fact."""
    if case.alike is None:
        return None
    difference, similarity, rank = case.alike
    named = f"the context {case.within_k[rank - 1].id!r} at rank {rank}".replace(" None", "")
    like = f"(similarity {similarity:.2f})"
    if difference:
        detail = f"{named} looks like it {like} and differs: {difference}"
        return Explained(Cause.LOOKALIKE, detail, rank)
    return Explained(Cause.NEAR_DUPLICATE, f"{named} has nearly its text {like}", rank)


def split_across_chunks(case: Case) -> Explained | None:
    """Return a cause if no chunk has the whole text, but several have it together."""
    wanted, has_texts = case.wanted, case.corpus.has_texts
    # A scorer that counts characters credits parts in several chunks. So its misses do not mean
    # that a text is split: a part of the text was not retrieved.
    if not has_texts and "min_run" in case.result.method.parameters:
        return None
    if wanted.passage is None or wanted.id in case.corpus.by_id:
        return None
    parts = wanted.parts_in(case.within_k)
    ranks = ", ".join(map(str, parts))
    if not has_texts:
        if len(parts) < 2 or wanted.share_of(parts.values()) < 1.0:  # noqa: PLR2004 - two halves
            return None
        detail = f"all of it was retrieved, in parts, at ranks {ranks}"
        return Explained(Cause.SPLIT_ACROSS_CHUNKS, detail, max(parts))
    most = max((wanted.share_of([holder.overlap]) for holder in case.holders), default=0.0)
    # Chunks that share only a few common phrases with the text are not parts of it.
    if case.share_in_corpus < NEAR_DUPLICATE or case.share_in_corpus <= most:
        return None
    chunks = [holder.context for holder in case.holders]
    missing = [chunk for chunk in chunks if not any(_same(chunk, c) for c in case.within_k)]
    share = wanted.share_of(parts.values())
    retrieved = f"{share:.0%} of it was retrieved (rank {ranks})" if parts else "no part was"
    names = ", ".join(repr(context.id or one_line(context.label, 60)) for context in missing[:3])
    rest = f"; not retrieved: {names}" if missing else ""
    return Explained(
        Cause.SPLIT_ACROSS_CHUNKS,
        f"it is split across {len(chunks)} chunks of the corpus, none with more than {most:.0%} of "
        f"it; {retrieved}{rest}",
        min(parts, default=None),
    )


def indexed_text_differs(case: Case) -> Explained | None:
    """Return a cause if the corpus has the item's ID, but with another text."""
    own_id = case.wanted.own_id
    indexed = case.corpus.by_id.get(own_id or "")
    if indexed is None or case.share_in_corpus == 1.0:
        return None
    how = _other_version(case, indexed)
    detail = f"the corpus has {own_id!r} with {how}"
    return Explained(Cause.TEXT_DIFFERS, detail) if how else None


def not_in_corpus(case: Case) -> Explained | None:
    """Return a cause if the corpus has neither the ID nor the text."""
    corpus, wanted = case.corpus, case.wanted
    if wanted.id is not None and corpus.by_id:
        return None if case.is_in_corpus else _without_id(case, wanted.id)
    if wanted.passage is None or not corpus.has_texts:
        return None
    share = case.share_in_corpus
    if share == 1.0:
        return None
    amount = f"only {share:.0%}" if share else "none"
    return Explained(Cause.NOT_IN_CORPUS, f"{amount} of its text is in the corpus")


def _without_id(case: Case, own_id: str) -> Explained:
    if case.examined.search.ids.is_foreign:
        detail = "the corpus has no expected ID of the report: it was chunked or named anew"
        return Explained(Cause.ID_MISMATCH, detail)
    return Explained(Cause.NOT_IN_CORPUS, f"no context of the corpus has the ID {own_id!r}")


def failed_call(case: Case) -> Explained | None:
    """Return a cause if a call of the retriever failed."""
    record = case.examined.row.sample.retrieval
    failed = failures(record.calls) if record is not None else []
    reasons = "; ".join(dict.fromkeys(f"{call.source}: {call.error}" for call in failed))
    detail = f"{counted(len(failed), 'call')} failed ({reasons})"
    return Explained(Cause.FAILED_CALL, detail) if failed else None


def nothing_retrieved(case: Case) -> Explained | None:
    """Return a cause if the list is empty."""
    if case.examined.retrieved:
        return None
    detail = "the retriever returned an empty list"
    rank = case.wanted.rank_in(case.examined.deeper or ())
    return Explained(Cause.NOTHING_RETRIEVED, detail, rank)


def texts_changed(case: Case) -> Explained | None:
    """Return a cause if the index has other texts than the corpus."""
    texts, own_id = case.examined.search.texts, case.wanted.id
    if not texts or own_id not in case.corpus.by_id or own_id is None:
        return None
    return Explained(Cause.TEXT_DIFFERS, f"the index changed its texts: {texts}")


def searched(case: Case) -> Explained | None:
    """Return a cause if a search for `deep_k` contexts found the item, or if this search failed."""
    deeper = case.examined.deeper or ()
    rank = case.wanted.rank_in(deeper)
    if rank is not None:
        detail = f"at rank {rank} when retrieving {case.examined.search.deep_k}"
        found = Explained(Cause.BEYOND_K, detail, rank)
        return _behind_copies(case, found, duplicates(deeper))
    problem = case.examined.problem
    return Explained(Cause.FAILED_CALL, problem) if problem else None


def in_the_corpus(case: Case) -> Explained | None:
    """Return a cause if the corpus has the item, but the retriever did not return it."""
    if not case.corpus.contexts or not case.is_in_corpus:
        return None
    deep, k = case.examined.deeper, case.examined.search.deep_k
    if deep is None:
        return Explained(
            Cause.NEVER_RETRIEVED,
            f"in the corpus, and not among the {len(case.examined.retrieved)} retrieved; retrieve "
            f"deeper to learn its rank: {parameter('retriever')}",
        )
    top = f"in the top {k}" if len(deep) >= k else f"among the {len(deep)} returned of {k}"
    if not case.examined.search.takes_k:
        top = f"among the {len(deep)} that the retriever returns: it takes no k to search deeper"
    return Explained(Cause.NEVER_RETRIEVED, f"in the corpus, but not {top}")


_ONLY_THE_JUDGE = (
    "the judge finds no support in what was retrieved; to find out where the support is, score "
    "reference_contexts by SpanRecall() as well"
)


def unknown(case: Case) -> Explained:
    """Return the cause `UNKNOWN`, with the options of `diagnose` that could show the true cause."""
    wanting = []
    if case.judged:
        return Explained(Cause.UNKNOWN, _ONLY_THE_JUDGE)
    if not case.corpus.contexts:
        wanting.append(parameter("corpus"))
    elif case.wanted.id is not None and not case.corpus.by_id:
        wanting.append("a corpus with IDs")
    if case.examined.search.retriever is None:
        wanting.append(parameter("retriever"))
    elif not case.examined.search.takes_k:
        wanting.append(f"{parameter('retriever')} with a function that takes k")
    share = case.finding.credit_at(case.k)
    part = f"{share:.0%} of it was retrieved; " if share else ""
    advice = (
        f"to find the cause, pass {' and '.join(wanting)}" if wanting else "nothing given has it"
    )
    return Explained(Cause.UNKNOWN, f"{part}{advice}")


RULES: tuple[Callable[[Case], Explained | None], ...] = (
    reference_abstains,
    ranked_too_low,
    denied,
    other_id,
    dropped_by_stage,
    text_differs,
    near_duplicate,
    split_across_chunks,
    indexed_text_differs,
    not_in_corpus,
    failed_call,
    nothing_retrieved,
    texts_changed,
    searched,
    _alike,
    in_the_corpus,
    unknown,
)


def explained(case: Case) -> Explained:
    """Return the first cause that a rule finds; the last rule always returns one."""
    return next(found for rule in RULES if (found := rule(case)) is not None)


def _same(first: Context, other: Context) -> bool:
    if first.id is not None and other.id is not None:
        return first.id == other.id
    return first.text is not None and first.text == other.text
