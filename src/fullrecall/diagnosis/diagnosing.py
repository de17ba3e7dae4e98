"""`diagnose`: a report in, a cause for each miss out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from fullrecall.context import Context, ContextLike, as_context
from fullrecall.diagnosis.case import Case, Find, Item, Limits, retrieved
from fullrecall.diagnosis.causes import Cause, Diagnosed
from fullrecall.diagnosis.corpus import Corpus, CorpusLike
from fullrecall.diagnosis.diagnosis import Diagnosis
from fullrecall.diagnosis.effects import Baseline
from fullrecall.diagnosis.proposals import larger_k
from fullrecall.diagnosis.rules import Explained, explained
from fullrecall.errors import ParameterError
from fullrecall.findings import Finding
from fullrecall.measures import Recall
from fullrecall.parameters import check_k, check_share
from fullrecall.report.report import Report
from fullrecall.report.row import Row
from fullrecall.result import Method, Result, Status
from fullrecall.scorers.passages import Passage
from fullrecall.scorers.scorer import Scorer

Retriever: TypeAlias = Callable[[str, int], Sequence[ContextLike]]
"""Takes a question and how many contexts to bring, and returns them, best first."""


def diagnose(
    report: Report,
    *,
    k: int | None = None,
    corpus: CorpusLike | None = None,
    retriever: Retriever | None = None,
    deep_k: int = 100,
    scorers: Sequence[Scorer] | Scorer = (),
    near_duplicate: float = 0.9,
    min_run: int = 32,
) -> Diagnosis:
    """Return why each target of a report was missed: one cause for each, with what told it.

    What the report holds is looked at first: ranks beyond k, the judge's evidence, the stages of
    each recorded retrieval, the IDs and texts of what was retrieved. Everything else adds to it:

    - `k`: a target beyond rank k is missed; None, one that was not retrieved at all.
    - `corpus`: what is indexed, as contexts or as a mapping from IDs to contexts or texts.
    - `retriever`: called with a question and `deep_k`, once for each sample that misses something.
    - `scorers`: those that made the report. What they call found is then found in deeper lists
      and stages too, judged ones are asked again there, and first of all which reference contexts
      support a claim. Without them an item is known by its ID, or by all of its characters.
    - `near_duplicate`: the similarity, in [0, 1], from which two texts count as the same item
      twice: RapidFuzz's `ratio` of the texts in lower case without punctuation. At 0.9 one
      character in ten may differ. A text whose chunks together hold less than this share of it
      was not split: the rest is not in the corpus.
    - `min_run`: the shortest run of equal characters that is no chance, as in `SpanRecall`.

    Only scored samples and scorers that measure recall are diagnosed. Of an any-of group, the
    alternative that came nearest decides. A retriever that raises is not asked again for that
    sample, and the cause's detail says so.

    Raises `ParameterError` for values out of range and `InputError` for a corpus of another form.
    """
    if k is not None:
        check_k(k)
    check_k(deep_k, "deep_k")
    check_k(min_run, "min_run")
    check_share(near_duplicate, "near_duplicate")
    given = (scorers,) if isinstance(scorers, Scorer) else tuple(scorers)
    search = _Search(
        Corpus(corpus) if corpus is not None else None,
        retriever,
        {scorer.method.name: scorer for scorer in given},
        Limits(near_duplicate, min_run, deep_k),
        _ids_meet(report),
    )
    unknown = search.scorers.keys() - {method.name for method in report.methods}
    if unknown:
        raise ParameterError(
            f"the report has no score {min(unknown)!r}: scorers are those that made it"
        )
    misses = tuple(miss for row in report.rows for miss in _of_row(row, k, search))
    recalls = (method for method in report.methods if method.headline == Recall)
    baseline = Baseline(report, k)
    changes = baseline.changes(list(larger_k(baseline)))
    return Diagnosis(misses, tuple(_label(method, k) for method in recalls), len(report), changes)


@dataclass
class _Search:
    """What a diagnosis may look into."""

    corpus: Corpus | None
    retriever: Retriever | None
    scorers: Mapping[str, Scorer]
    limits: Limits
    same_level: bool


@dataclass
class _Looking:
    """One sample with what was looked up for it: each list once."""

    row: Row
    search: _Search
    deep: tuple[Context, ...] | None = None
    problem: str = ""
    scored: dict[tuple[str, int], Mapping[tuple[str, ...], Finding]] = field(default_factory=dict)
    lists: list[Sequence[Context]] = field(default_factory=list)

    @cached_property
    def references(self) -> tuple[Context, ...]:
        """The reference contexts, those of any-of groups one by one."""
        return tuple(c for group in self.row.sample.reference_contexts or () for c in group)

    def deeper(self) -> tuple[Context, ...]:
        """Return what the retriever brings when it is asked for more; nothing if it raises."""
        if self.deep is None:
            self.deep = ()
            question = self.row.sample.user_input
            if self.search.retriever is None or question is None:
                return self.deep
            try:
                found = self.search.retriever(question, self.search.limits.deep_k)
                self.deep = tuple(map(as_context, found))
            except Exception as error:  # noqa: BLE001 - whatever a user's retriever raises
                self.problem = f"the retriever raised {type(error).__name__}: {error}"
        return self.deep

    def findings(self, name: str, contexts: Sequence[Context]) -> Mapping[tuple[str, ...], Finding]:
        """Return what the scorer `name` finds in a list, by target; nothing if it cannot tell."""
        nth = next((n for n, known in enumerate(self.lists) if known is contexts), None)
        if nth is None:
            nth = len(self.lists)
            self.lists.append(contexts)
        if (name, nth) not in self.scored:
            result = self.search.scorers[name].score(self.row.sample.with_retrieval(contexts))
            self.scored[name, nth] = {
                finding.target.any_of: finding
                for finding in result.findings
                if result.status is Status.SCORED
            }
        return self.scored[name, nth]


def _of_row(row: Row, k: int | None, search: _Search) -> Iterator[Diagnosed]:
    looking = _Looking(row, search)
    for result in row.results:
        if result.status is not Status.SCORED or result.method.headline != Recall:
            continue
        for finding, ranked in zip(result.findings, result.ranked, strict=True):
            if ranked.found_at(k):
                unread = _unread(row, finding)
                if unread is None:
                    continue
                cause, detail, rank = unread
            else:
                cause, detail, rank = _nearest(row, result, finding, k, looking)
            if cause is Cause.UNKNOWN and looking.problem:
                detail = f"{looking.problem}; {detail}"
            yield Diagnosed(
                row.label,
                row.sample.user_input,
                _label(result.method, k),
                finding.target.label,
                cause,
                detail,
                rank,
            )


def _unread(row: Row, finding: Finding) -> Explained | None:
    """Return that a model's prompt had nothing of what supports a target; None where it had."""
    record = row.sample.retrieval
    if record is None or record.read is None or not finding.ranks:
        return None
    if any(record.read[place - 1] != "no" for place in finding.ranks):
        return None
    place = finding.ranks[0]
    rank = place if record.ranks is None else record.ranks[place - 1]
    return Explained(
        Cause.NOT_IN_PROMPT, f"at rank {rank} of the list; the model's prompt had none of it", rank
    )


def _label(method: Method, k: int | None) -> str:
    return method.label(method.headline if k is None else method.headline @ k)


def _nearest(
    row: Row, result: Result, finding: Finding, k: int | None, looking: _Looking
) -> Explained:
    """Return the cause of the item that came nearest; of items needed together, the farthest."""
    search, name = looking.search, result.method.name
    judged = bool(finding.verdict or result.method.parameters.get("judge"))
    items, together = _wanted(finding, name, looking, judged=judged)
    found = []
    for item in items:
        by_scorer = name in search.scorers and len(items) == 1 and not (judged and item.passage)
        case = Case(
            row,
            result,
            finding,
            k,
            item,
            judged,
            _finder(name, finding, looking) if by_scorer else _matcher(item, search.limits),
            search.corpus,
            looking.deeper if search.retriever is not None else None,
            search.same_level,
            search.limits,
        )
        found.append((explained(case), item))
    order = list(Cause)
    best, item = (max if together else min)(
        found,
        key=lambda pair: (order.index(pair[0].cause), pair[0].rank is None, pair[0].rank or 0),
    )
    if len(items) > 1:
        return best._replace(detail=f"{item.label!r}: {best.detail}")
    return best


def _finder(name: str, finding: Finding, looking: _Looking) -> Find:
    """Return what tells at which rank a list holds a target: the scorer itself."""

    def find(contexts: Sequence[Context]) -> int | None:
        there = looking.findings(name, contexts).get(finding.target.any_of)
        return None if there is None else there.rank

    return find


def _matcher(item: Item, limits: Limits) -> Find:
    """Return what tells at which rank a list holds an item: its ID, or all of its text."""

    def find(contexts: Sequence[Context]) -> int | None:
        ranked = enumerate(contexts, start=1)
        return next((rank for rank, c in ranked if item.is_in(c, limits.min_run)), None)

    return find


def _wanted(
    finding: Finding, name: str, looking: _Looking, *, judged: bool
) -> tuple[list[Item], bool]:
    """Return what would have served for a target, and whether all of it is needed together."""
    if judged:
        return _supporting(finding, name, looking)
    sample, names = looking.row.sample, finding.target.any_of
    groups = [reference.any_of for reference in sample.reference_context_ids or ()]
    if names in groups and not any(Passage.of(c).label in names for c in looking.references):
        return [_by_id(wanted, looking) for wanted in names], False
    known = {Passage.of(context).label: context for context in looking.references}
    return [
        Item(text, None, Passage.of(known[text]) if text in known else Passage(text, text))
        for text in names
    ], False


def _by_id(wanted: str, looking: _Looking) -> Item:
    """Return the item of an ID, with its text where the references or the corpus have it."""
    given = [context for context in looking.references if context.id == wanted and context.text]
    corpus = looking.search.corpus
    known = given[0] if given else (corpus.get(wanted) if corpus is not None else None)
    if known is None or known.text is None:
        return Item(wanted, wanted)
    return Item(wanted, wanted, Passage.of(known))


def _supporting(finding: Finding, name: str, looking: _Looking) -> tuple[list[Item], bool]:
    """Return the reference contexts that support a claim, as the judge finds when asked."""
    unknown = [Item(finding.target.label)]
    if not looking.references or name not in looking.search.scorers:
        return unknown, False
    there = looking.findings(name, looking.references).get(finding.target.any_of)
    if there is None or there.rank is None:
        return unknown, False
    contexts = [looking.references[rank - 1] for rank in there.ranks]
    # Credit that comes later than the first rank cited needs more than that one context.
    return [Item(c.label, c.id, Passage.of(c)) for c in contexts], there.rank > there.ranks[0]


def _ids_meet(report: Report) -> bool:
    """Return whether any reference ID of the report was ever retrieved."""
    for row in report.rows:
        ids = {context.id for context in retrieved(row)} - {None}
        if any(ids & set(reference.any_of) for reference in row.sample.reference_context_ids or ()):
            return True
    return False
