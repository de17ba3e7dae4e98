"""`diagnose`: find the changes to make, and a cause for each miss of a report.

Two kinds of evidence come from all retrieved lists together: documents that no list has, and texts
that the index changed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import chain
from math import log

from fullrecall._util.garbage import uncollected
from fullrecall._util.parameters import check_k
from fullrecall.diagnosis.case import Case, Examined, SearchScope, Wanted
from fullrecall.diagnosis.causes import Cause, Diagnosed, Explained
from fullrecall.diagnosis.corpus import Corpus, IndexedContexts
from fullrecall.diagnosis.diagnosis import Diagnosis, described
from fullrecall.diagnosis.effects import Baseline, ChangeKind, Proposal, proposals, recall_at
from fullrecall.diagnosis.ids.evidence import id_evidence, id_proposals
from fullrecall.diagnosis.inquiry import Inquiry
from fullrecall.diagnosis.rules import beyond_budget, explained
from fullrecall.measures import CutBudget
from fullrecall.measures.budgets import Cut, check_cut
from fullrecall.measures.findings import Finding
from fullrecall.run.retrievers import RetrieverLike, takes_k
from fullrecall.samples.context import Context
from fullrecall.samples.prompts import squeezed
from fullrecall.scorers.result import Result
from fullrecall.scorers.spans import Passage
from fullrecall.stats.evaluation import Evaluation, check_evaluation

_FALSE_ALARMS = 0.01
"""The largest expected number of groups that are in no list only by chance."""

_NAMED = 3
"""The most groups of documents that a change names."""

_COMPARED = 500
"""The most retrieved texts that are compared with those of the corpus."""

_ALIKE = 50.0
"""The least similarity, in percent, of two versions of a text with the same ID."""

_BEGINNING = "are the beginning of their text"
_PART = "are a later part of their text"

_BORDER = re.compile(r"[/\\#?]|::")

_REPLACED = frozenset({Cause.NEVER_RETRIEVED, Cause.LOOKALIKE, Cause.NEAR_DUPLICATE})
"""Causes that `NOT_SEARCHED` replaces if no list has anything of the document."""


def change_of_texts(corpus: Corpus, lists: Iterable[Sequence[Context] | None]) -> str:
    """Describe how most retrieved texts differ from the texts with the same IDs in the corpus.

    Returns "" unless most retrieved texts differ in the same way.
    """
    texts: dict[str, set[str]] = {}
    for context in chain.from_iterable(each or () for each in lists):
        if context.id in corpus.by_id and context.text and corpus.by_id[context.id].text:
            texts.setdefault(str(context.id), set()).add(context.text)
            if len(texts) == _COMPARED:
                break
    single = [(own_id, *of) for own_id, of in texts.items() if len(of) == 1]
    hows = Counter(_change(corpus, own_id, text) for own_id, text in single)
    # If some texts are later parts, the index splits texts into chunks. A beginning is then the
    # first chunk of a text, not a text that was cut off.
    if hows.pop(_PART, 0):
        del hows[_BEGINNING]
    how, count = hows.most_common(1)[0] if hows else ("", 0)
    if not how or count * 2 < len(texts):
        return ""
    return f"{count:,} of {len(texts):,} retrieved texts {how} in the corpus"


def _change(corpus: Corpus, own_id: str, text: str) -> str:
    from rapidfuzz import fuzz

    letters, indexed = squeezed(text), squeezed(corpus.by_id[own_id].text or "")
    if letters == indexed or corpus.of_text(text) is not None:
        return ""  # The text is unchanged, or it belongs to another ID.
    if indexed.startswith(letters):
        return _BEGINNING
    if letters in indexed:
        return _PART
    return "are another version of their text" if fuzz.ratio(letters, indexed) >= _ALIKE else ""


def groups_of(context: Context) -> Iterator[str]:
    """Yield the groups of a context.

    They are its document, its folders, and the values of metadata fields that a filter may use.
    """
    own_id = context.id or ""
    yield from (own_id[: border.end()] for border in _BORDER.finditer(own_id))
    if context.source is not None and context.source != own_id:
        yield context.source
    for name, value in context.metadata.items():
        if isinstance(value, str | bool | int):
            yield f"{name}: {value}"
    yield own_id


def not_searched(corpus: Corpus, lists: Iterable[Sequence[Context] | None]) -> dict[str, str]:
    """Return the largest unsearched group of each document, by the document's ID.

    A group is unsearched if no list has any of its documents and chance does not explain this.
    """
    if not corpus.by_id:
        return {}
    # Copies of a document in one list count once.
    found = Counter(
        chain.from_iterable(
            {str(context.id) for context in each or ()} & corpus.by_id.keys() for each in lists
        )
    )
    groups = {own_id: list(groups_of(context)) for own_id, context in corpus.by_id.items()}
    sizes = Counter(chain.from_iterable(groups.values()))
    reached = {group for own_id in found for group in groups[own_id]}
    share = found.total() / len(corpus.by_id)
    enough = log(len(sizes) / _FALSE_ALARMS)
    missing = {
        group: size
        for group, size in sizes.items()
        if group not in reached and size * share >= enough
    }
    return {
        own_id: max(absent, key=lambda group: (missing[group], group))
        for own_id, of in groups.items()
        if (absent := [group for group in of if group in missing])
    }


def with_unsearched(misses: Sequence[Diagnosed], groups: Mapping[str, str]) -> list[Diagnosed]:
    """Return the misses, with `NOT_SEARCHED` as the cause for documents in unsearched groups.

    It replaces only the causes in `_REPLACED`.

    `groups` has the unsearched group of each document; see `not_searched`.
    """
    return [
        miss._replace(
            cause=Cause.NOT_SEARCHED,
            detail=f"in the corpus, but no list has anything of {groups[miss.target]!r}",
            rank=None,
        )
        if miss.cause in _REPLACED and miss.target in groups
        else miss
        for miss in misses
    ]


def index_proposals(
    baseline: Baseline, misses: Iterable[Diagnosed], groups: Mapping[str, str]
) -> Iterator[Proposal]:
    """Yield the proposal to search the documents that no retrieved list has.

    The record does not show the ranks that these documents would have. The proposal assumes that
    they would be found as often as the other targets.
    """
    absent: dict[str, Counter[str]] = {}
    names: Counter[str] = Counter()
    for miss in misses:
        if miss.cause is Cause.NOT_SEARCHED:
            absent.setdefault(miss.score, Counter())[miss.sample] += 1
            names[groups[miss.target]] += 1
    after = {}
    for score_index, values in baseline.values.items():
        lost = absent.get(baseline.labels[score_index], Counter())
        others = [
            value
            for value, row in zip(values, baseline.rows, strict=True)
            if value is not None and not lost[row.label]
        ]
        rate = sum(others) / len(others) if others else 0.0
        if lost and rate:
            after[score_index] = [
                value
                if value is None or not lost[row.label]
                else value + rate * lost[row.label] / len(row.results[score_index].targets)
                for value, row in zip(values, baseline.rows, strict=True)
            ]
    if after:
        listed = [repr(name) for name, _ in names.most_common(_NAMED)]
        rest = ["…"] if len(names) > _NAMED else []
        sources = ", ".join([*listed, *rest])
        action = f"search the sources that no list has: {sources} (gain: as other targets)"
        yield Proposal(ChangeKind.SEARCH_ALL, action, after)


def diagnose(
    report: Evaluation,
    *,
    k: Cut | None = None,
    corpus: IndexedContexts | None = None,
    retriever: RetrieverLike | None = None,
    deep_k: int = 100,
) -> Diagnosis:
    """Return the changes to make, by gain and cost, and the cause of each missed target.

    Changes are computed from the record, sample by sample: a larger k, IDs in one spelling or at
    another level, lists without duplicates, the list of an earlier stage. Only one change is an
    estimate, marked as such: searching the documents that no retrieved list has. It assumes that
    these documents would be found as often as the other targets.

    Each miss has one cause, with its evidence. Evidence in the report is used first: ranks beyond
    k, the judge's quotes, the stages of each recorded retrieval, the retrieved IDs and texts. Each
    option adds changes and causes:

    - `k`: a target is missed if it ranks beyond k, or beyond a budget such as `calls(3)`. None: a
      target is missed only if it was not retrieved at all.
    - `corpus`: the indexed contexts, or a mapping from IDs to contexts or texts.
    - `retriever`: any retriever that `evaluate` takes, asked once for each sample with a miss, for
      `deep_k` contexts if it accepts a `k`. If it fails, the failure is the cause.

    Only scored samples and scorers that measure recall are diagnosed. If there are more than 20,000
    samples, 20,000 of them are drawn at random. In the lists of stages and of `retriever`, an item
    is matched by its ID, or by all of its characters, without a judge. For an any-of group, the
    nearest alternative decides. If the retriever fails for a sample, it is not asked again for that
    sample.

    Raises `ParameterError` for values out of range and `InputError` for a corpus of another form.
    """
    check_evaluation(report, "diagnose")
    if k is not None:
        check_cut(k)
    check_k(deep_k, "deep_k")
    size, of = len(report), described(report)
    # 20,000 samples estimate the share of each cause within 0.7 percentage points (95% CI).
    if size > _MOST:
        report = report.drawn(_MOST)
    inquiry = None if retriever is None else Inquiry(retriever, deep_k)
    # Only a retriever may leave reference cycles behind, so without one, switch garbage collection
    # off.
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
"""The most samples that are diagnosed."""


def _misses(baseline: Baseline, search: SearchScope) -> Iterator[Diagnosed]:
    """Yield all misses, row by row."""
    measure = recall_at(baseline.k)
    for position, row in enumerate(baseline.rows):
        examined = Examined(position, row, search)
        for score_index, score in baseline.labels.items():
            result = row.results[score_index]
            if result[measure] is None:
                continue
            for finding, paid in zip(result.findings, result.paid(measure), strict=True):
                if not paid.found_at(measure.top):
                    explained_by = _nearest(examined, result, finding, measure.k)
                    target = finding.target.label
                    question = row.sample.user_input
                    yield Diagnosed(row.label, question, score, target, *explained_by)


def _nearest(examined: Examined, result: Result, finding: Finding, k: Cut | None) -> Explained:
    """Return the cause of the item that came nearest to a match."""
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
    """Return the item with this ID, and with a text if the references or the corpus have one."""
    indexed = examined.search.corpus.by_id.get(own_id)
    contexts = examined.references if indexed is None else [*examined.references, indexed]
    passages = [Passage.of(each) for each in contexts if each.id == own_id and each.text]
    return Wanted(own_id, own_id, passages[0] if passages else None)
