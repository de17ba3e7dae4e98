"""`diagnose`: from a report to the changes to make, and a cause for each miss."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

from fullrecall._util.garbage import uncollected
from fullrecall._util.parameters import check_k
from fullrecall.diagnosis.case import Case, Examined, SearchScope, Wanted
from fullrecall.diagnosis.causes import Cause, Diagnosed, Explained
from fullrecall.diagnosis.corpus import Corpus, IndexedContexts
from fullrecall.diagnosis.diagnosis import Diagnosis, described
from fullrecall.diagnosis.effects import Baseline, proposals, recall_at
from fullrecall.diagnosis.ids.evidence import id_evidence, id_proposals
from fullrecall.diagnosis.indexing import (
    change_of_texts,
    index_proposals,
    not_searched,
    with_unsearched,
)
from fullrecall.diagnosis.rules import beyond_budget, explained
from fullrecall.measures import CutBudget
from fullrecall.measures.budgets import Cut, check_cut
from fullrecall.measures.findings import Finding
from fullrecall.run.drivers import Inquiry
from fullrecall.run.retrievers import RetrieverLike, takes_k
from fullrecall.samples.context import Context
from fullrecall.scorers.passages import Passage
from fullrecall.scorers.result import Result, Status
from fullrecall.stats.evaluation import Evaluation, check_evaluation


def diagnose(
    report: Evaluation,
    *,
    k: Cut | None = None,
    corpus: IndexedContexts | None = None,
    retriever: RetrieverLike | None = None,
    deep_k: int = 100,
) -> Diagnosis:
    """Return the changes to make, by gain for cost, and the cause of each missed target.

    Changes are computed from the record, sample by sample: a larger k, IDs in one spelling or at
    another level, lists without duplicates, the list of an earlier stage. Only one change is an
    estimate, and says so: searching the documents that no list has. It assumes that their targets
    are found as often as the other targets.

    Each miss has one cause, with its evidence. The report itself is searched first: ranks beyond
    k, the judge's evidence, the stages of each recorded retrieval, the retrieved IDs and texts.
    Each option adds changes and causes:

    - `k`: a target beyond rank k, or beyond a budget such as `calls(3)`, is missed; with None, a
      target that was not retrieved at all.
    - `corpus`: the indexed contexts, or a mapping from IDs to contexts or texts.
    - `retriever`: any retriever that `evaluate` takes, asked once for each sample with a miss, for
      `deep_k` contexts if it takes a `k`. If it fails, the failure is the cause.

    Only scored samples and scorers that measure recall are diagnosed; of more than 20,000 samples,
    20,000 are drawn at random. In other lists an item is matched by its ID, or by all of its
    characters, without a judge. The nearest alternative of an any-of group decides. A retriever
    that fails is not asked again for that sample.

    Raises `ParameterError` for values out of range and `InputError` for a corpus of another form.
    """
    check_evaluation(report, "diagnose")
    if k is not None:
        check_cut(k)
    check_k(deep_k, "deep_k")
    size, of = len(report), described(report)
    # Causes are shares, and a sample of 20,000 estimates them within 0.7 points (95%).
    if size > _MOST:
        report = report.drawn(_MOST)
    inquiry = None if retriever is None else Inquiry(retriever, deep_k)
    # A retriever may leave cycles behind; everything else here makes none.
    with nullcontext() if inquiry else uncollected():
        indexed = Corpus(() if corpus is None else corpus)
        search = SearchScope(
            indexed,
            inquiry,
            deep_k,
            id_evidence(report, indexed),
            takes_k=retriever is None or takes_k(retriever),
        )
        baseline = Baseline(report, k)
        search.texts = change_of_texts(indexed, baseline.lists)
        misses = list(_misses(baseline, search))
        if inquiry is not None:
            inquiry.close()
        absent = {}
        if not search.texts and not search.ids.in_lists:
            whole = [*baseline.lists_at(None), *search.deep_lists.values()]
            absent = not_searched(indexed, whole)
        misses = with_unsearched(misses, absent)
        proposed = [
            *proposals(baseline, search.deep_lists),
            *id_proposals(baseline, search.ids, indexed),
            *index_proposals(baseline, misses, absent),
        ]
        scores, changes = tuple(baseline.labels.values()), baseline.changes(proposed)
    return Diagnosis(tuple(misses), scores, len(report), changes, size, of)


_MOST = 20_000
"""Samples that are diagnosed of a report that has more."""


def _misses(baseline: Baseline, search: SearchScope) -> Iterator[Diagnosed]:
    """Yield all misses, row by row."""
    measure = recall_at(baseline.k)
    for position, row in enumerate(baseline.rows):
        examined = Examined(position, row, search)
        for score_index, score in baseline.labels.items():
            result = row.results[score_index]
            if result.status is not Status.SCORED or result[measure] is None:
                continue
            for finding, paid in zip(result.findings, result.paid(measure), strict=True):
                if not paid.found_at(measure.top):
                    explained_by = _nearest(examined, result, finding, measure.k)
                    target = finding.target.label
                    question = row.sample.user_input
                    yield Diagnosed(row.label, question, score, target, *explained_by)


def _nearest(examined: Examined, result: Result, finding: Finding, k: Cut | None) -> Explained:
    """Return the cause of the item that came nearest."""
    judged = bool(finding.verdict or result.method.parameters.get("judge"))
    if isinstance(k, CutBudget):
        if finding.found_at():
            return beyond_budget(finding, examined.row.sample, k)
        k = None  # No budget would have been enough for this item.
    explanations = [
        (explained(Case(examined, result, finding, k, wanted, judged)), wanted)
        for wanted in _wanted(finding, examined, judged=judged)
    ]
    if len({explanation for explanation, _ in explanations}) == 1:
        return explanations[0][0]
    best, wanted = min(
        explanations,
        key=lambda pair: (_ORDER[pair[0].cause], pair[0].rank is None, pair[0].rank or 0),
    )
    return best._replace(detail=f"{wanted.label!r}: {best.detail}")


_ORDER = {cause: nth for nth, cause in enumerate(Cause)}


def _wanted(finding: Finding, examined: Examined, *, judged: bool) -> list[Wanted]:
    """Return the items that would have matched a target; for a claim, only its label."""
    if judged:
        return [Wanted(finding.target.label)]
    names, by_label = finding.target.any_of, examined.by_label
    if names in examined.groups and by_label.keys().isdisjoint(names):
        return [_by_id(own_id, examined) for own_id in names]
    contexts = {text: by_label.get(text) or Context(text) for text in names}
    return [Wanted(text, None, Passage.of(each), each.id) for text, each in contexts.items()]


def _by_id(own_id: str, examined: Examined) -> Wanted:
    """Return the item of an ID, with its text if the references or the corpus have it."""
    indexed = examined.search.corpus.by_id.get(own_id)
    contexts = examined.references if indexed is None else [*examined.references, indexed]
    passages = [Passage.of(each) for each in contexts if each.id == own_id and each.text]
    return Wanted(own_id, own_id, passages[0] if passages else None)
