"""`diagnose`: a report in; what to change, and a cause for each miss, out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fullrecall.context import Context
from fullrecall.diagnosis.bounds import BOUNDED, Miss, bounds, reading
from fullrecall.diagnosis.case import Case, Find, Item, Limits, retrieved
from fullrecall.diagnosis.causes import Cause, Diagnosed
from fullrecall.diagnosis.corpus import Corpus, CorpusLike
from fullrecall.diagnosis.diagnosis import Diagnosis
from fullrecall.diagnosis.effects import Baseline, recall_at
from fullrecall.diagnosis.id_evidence import IdEvidence, Lookup
from fullrecall.diagnosis.id_proposals import id_proposals
from fullrecall.diagnosis.likeness import Repeated
from fullrecall.diagnosis.proposals import Proposer
from fullrecall.diagnosis.rescoring import rescoring
from fullrecall.diagnosis.rules import Explained, beyond, beyond_budget, explained
from fullrecall.diagnosis.trials import Prove, Trials, by_kind
from fullrecall.errors import ParameterError
from fullrecall.findings import Finding
from fullrecall.measures import Budget, Recall
from fullrecall.measures.budgets import Cut, check_cut
from fullrecall.parameters import check_k, check_share
from fullrecall.report.report import Report, check_report
from fullrecall.result import Method, Result, Status
from fullrecall.run.inquiry import Inquiry
from fullrecall.run.retrievers import RetrieverLike
from fullrecall.scorers.passages import Passage, label_of
from fullrecall.scorers.scorer import Scorer
from fullrecall.table.row import Row


def diagnose(
    report: Report,
    *,
    k: Cut | None = None,
    corpus: CorpusLike | None = None,
    retriever: RetrieverLike | None = None,
    exact: RetrieverLike | None = None,
    deep_k: int = 100,
    scorers: Sequence[Scorer] | Scorer = (),
    near_duplicate: float = 0.9,
    min_run: int = 32,
    at_most: int = 20_000,
    prove: Prove = False,
) -> Diagnosis:
    """Return what to change, by the recall that it would bring, and why each target was missed.

    Changes are computed from the record, sample by sample: a larger k, lists of other stages,
    their fusion, IDs written in one way or read at another level, lists without duplicates. What
    the record cannot tell is not promised; what it bounds is marked `at_most`.

    Of causes there is one for each miss, with its evidence. What the report holds is looked at
    first: ranks beyond k, the judge's evidence, the stages of each recorded retrieval, the IDs
    and texts of what was retrieved. Everything else adds to both:

    - `k`: a target beyond rank k, or beyond a budget such as `calls(3)`, is missed; None, one
      that was not retrieved at all.
    - `corpus`: what is indexed, as contexts or as a mapping from IDs to contexts or texts.
    - `retriever`: whatever `evaluate` takes, asked once for each sample that misses something; for
      `deep_k` contexts where it takes a `k`. Where it fails, that is the cause that is named.
    - `exact`: a second search, without an approximate index or a filter, asked in the same way. It
      splits what was never retrieved into what is ranked low and what the index or a filter lost.
    - `scorers`: those that made the report. What they call found is then found in deeper lists
      and stages too, judged ones are asked again there, and first of all which reference contexts
      support a claim. Without them an item is known by its ID, or by all of its characters.
    - `near_duplicate`: the similarity, in [0, 1], from which two texts count as the same item
      twice: RapidFuzz's `ratio` of the texts in lower case without punctuation. At 0.9 one
      character in ten may differ. Texts that differ in a number, a name or a negation never
      count. A text whose chunks together hold less than this share of it was not split: the rest
      is not in the corpus.
    - `min_run`: the shortest run of equal characters that is no chance, as in `SpanRecall`.
    - `at_most`: how many samples are diagnosed of a report that `Report.open` reads from a
      directory: so many, drawn at random, where it has more. All of any other report are.
    - `prove`: carry the changes out with every question, so that what they gain stands beside what
      was predicted. True: those that the retrievers given can make, which are a larger k, other
      IDs, no duplicates, and `exact` in place of `retriever`. A mapping has, by the kind of a
      change, a retriever that makes it: `{"skip_stages": partial(search, rerank=False)}`.

    Only scored samples and scorers that measure recall are diagnosed. Of an any-of group, the
    alternative that came nearest decides. A retriever that fails is not asked again for that
    sample.

    Raises `ParameterError` for values out of range and `InputError` for a corpus of another form.
    """
    check_report(report, "diagnose")
    _check_counts(k=k, deep_k=deep_k, min_run=min_run, at_most=at_most)
    check_share(near_duplicate, "near_duplicate")
    changed = by_kind(prove)
    if prove is True and retriever is None and exact is None:
        raise ParameterError("prove=True tries changes through a retriever: pass retriever=")
    by_name = _by_name(scorers, report)
    every = len(report)
    if every > at_most:
        report = report.drawn(at_most)
    indexed = Corpus(corpus) if corpus is not None else None
    search = _Search(
        indexed,
        None if retriever is None else Inquiry(retriever, deep_k),
        None if exact is None else Inquiry(exact, deep_k),
        by_name,
        Limits(near_duplicate, min_run, deep_k),
        _id_evidence(report, indexed),
        {method.name: _label(method, k) for method in report.methods},
        Repeated(near_duplicate),
    )
    misses: list[Diagnosed] = []
    bounded: list[Miss] = []
    deep_lists: dict[int, Sequence[Context]] = {}
    exactly: dict[int, Sequence[Context]] = {}
    by_recall = [p for p, method in enumerate(report.methods) if method.headline == Recall]
    for position, row in enumerate(report.rows):
        missing = [each for p in by_recall for each in _missing(p, row, k)]
        if not missing:
            continue
        looking = _Looking(position, row, search)
        for score_index, nth, finding, is_found in missing:
            diagnosed = _diagnosed(looking, row.results[score_index], finding, k, is_found=is_found)
            if diagnosed is None:
                continue
            misses.append(diagnosed)
            if diagnosed.cause in BOUNDED:
                bounded.append(Miss(position, score_index, nth, diagnosed))
        if looking.deep:
            deep_lists[position] = looking.deep
        by_exact = looking.exactly()
        if by_exact:
            exactly[position] = by_exact
    search.close()
    baseline = Baseline(report, k)
    rescored = rescoring(report, by_name)
    proposer = Proposer(baseline, rescored, deep_lists, exactly, search.repeated)
    proposals = [
        *proposer.proposals(),
        *id_proposals(baseline, rescored, search.ids),
        *bounds(baseline, bounded, corpus_known=indexed is not None),
        *reading(baseline, bounded),
    ]
    trials = Trials(baseline, rescored, retriever, exact, changed) if prove else None
    changes = baseline.changes(proposals, None if trials is None else trials.values)
    return Diagnosis(
        tuple(misses),
        tuple(baseline.label(score_index) for score_index in baseline.score_indices),
        len(report),
        changes,
        every,
    )


def _check_counts(k: Cut | None, **counts: int) -> None:
    if k is not None:
        check_cut(k)
    for name, count in counts.items():
        check_k(count, name)


def _by_name(scorers: Sequence[Scorer] | Scorer, report: Report) -> dict[str, Scorer]:
    """Return the scorers by their names; raise `ParameterError` for one that the report lacks."""
    listed = (scorers,) if isinstance(scorers, Scorer) else tuple(scorers)
    by_name = {scorer.method.name: scorer for scorer in listed}
    unknown = by_name.keys() - {method.name for method in report.methods}
    if unknown:
        raise ParameterError(
            f"the report has no score {min(unknown)!r}: pass the scorers that made it"
        )
    return by_name


@dataclass
class _Search:
    """What a diagnosis may look into."""

    corpus: Corpus | None
    retriever: Inquiry | None
    exact: Inquiry | None
    scorers: Mapping[str, Scorer]
    limits: Limits
    ids: IdEvidence
    labels: Mapping[str, str]
    repeated: Repeated

    def close(self) -> None:
        """End what retrievers were asked in."""
        for inquiry in (self.retriever, self.exact):
            if inquiry is not None:
                inquiry.close()


class _Looking:
    """One sample that misses something, with what was looked up for it: each list once.

    `references` are the reference contexts, those of any-of groups one by one, and `by_label` the
    same by the labels of their passages, as scorers name targets. `groups` are the any-of groups
    of the reference IDs. `retrieved` is the whole list, IDs alone made contexts.
    """

    def __init__(self, position: int, row: Row, search: _Search) -> None:
        sample = row.sample
        self.position = position
        self.row = row
        self.label = row.label
        self.search = search
        self.references = [c for group in sample.reference_contexts or () for c in group]
        self.by_label = {label_of(context): context for context in self.references}
        self.groups = {reference.any_of for reference in sample.reference_context_ids or ()}
        self.retrieved = retrieved(row)
        self.stages = sample.stages
        self._lists: dict[str, Sequence[Context] | None] = {}
        self.problem = ""
        self.scored: dict[tuple[str, int], Mapping[tuple[str, ...], Finding]] = {}
        self.lists: list[Sequence[Context]] = []

    def repeated(self) -> frozenset[int]:
        """Return the 0-based indices of duplicates in the list."""
        return self.search.repeated(self.position, self.retrieved)

    @property
    def deep(self) -> Sequence[Context] | None:
        """What the retriever returned when it was asked for more; None if it was not, or failed."""
        return self._lists.get("the retriever")

    def deeper(self) -> Sequence[Context] | None:
        """Return what the retriever returns when it is asked for more; None if it fails."""
        return self._answer(self.search.retriever, "the retriever")

    def exactly(self) -> Sequence[Context] | None:
        """Return what the exact search returns; None if it fails."""
        return self._answer(self.search.exact, "the exact search")

    def _answer(self, inquiry: Inquiry | None, name: str) -> Sequence[Context] | None:
        """Return what is retrieved for the sample, asked once; None with the `problem` if it fails.

        A list that some calls did not add to is no answer to what was retrieved.
        """
        if name not in self._lists:
            self._lists[name] = None
            if inquiry is not None and self.row.sample.user_input is not None:
                retrieval = inquiry.ask(self.row.sample)
                if retrieval.contexts is None or retrieval.error is not None:
                    self.problem = f"{name} failed: {retrieval.error or 'it returned nothing'}"
                else:
                    self._lists[name] = retrieval.contexts[: self.search.limits.deep_k]
        return self._lists[name]

    def findings(self, name: str, contexts: Sequence[Context]) -> Mapping[tuple[str, ...], Finding]:
        """Return what the scorer `name` finds in a list, by target; nothing where it fails."""
        nth = next(
            (n for n, contexts_scored in enumerate(self.lists) if contexts_scored is contexts), None
        )
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


def _missing(score_index: int, row: Row, k: Cut | None) -> Iterator[tuple[int, int, Finding, bool]]:
    """Yield each finding of a score to look into: its index, its number, and whether it is found.

    What was found is looked into where it is known what of the list was read.
    """
    result = row.results[score_index]
    measure = recall_at(k)
    if result.status is not Status.SCORED or result[measure] is None:
        return
    record = row.sample.retrieval
    is_read_known = record is not None and record.read is not None
    paid = result.paid(measure)
    for nth, (finding, ranked) in enumerate(zip(result.findings, paid, strict=True)):
        is_found = ranked.found_at(measure.top)
        if is_read_known or not is_found:
            yield score_index, nth, finding, is_found


def _diagnosed(
    looking: _Looking, result: Result, finding: Finding, k: Cut | None, *, is_found: bool
) -> Diagnosed | None:
    """Return why a target was missed; None where it was found, and read as far as is known."""
    row = looking.row
    if is_found:
        unread = _unread(row, finding)
        if unread is None:
            return None
        cause, detail, rank = unread
    else:
        cause, detail, rank = _nearest(looking, result, finding, k)
    label = looking.search.labels[result.method.name]
    return Diagnosed(
        looking.label, row.sample.user_input, label, finding.target.label, cause, detail, rank
    )


def _unread(row: Row, finding: Finding) -> Explained | None:
    """Return that a model's prompt had nothing of what supports a target; None where it had."""
    record = row.sample.retrieval
    if record is None or record.read is None or not finding.ranks:
        return None
    if any(record.read[position - 1] != "no" for position in finding.ranks):
        return None
    position = finding.ranks[0]
    rank = position if record.ranks is None else record.ranks[position - 1]
    return Explained(
        Cause.NOT_IN_PROMPT, f"at rank {rank} of the list; the model's prompt had none of it", rank
    )


def _label(method: Method, k: Cut | None) -> str:
    return method.label(method.headline if k is None else method.headline @ k)


def _nearest(looking: _Looking, result: Result, finding: Finding, k: Cut | None) -> Explained:
    """Return the cause of the item that came nearest; of items needed together, the farthest."""
    search, name = looking.search, result.method.name
    judged = bool(finding.verdict or result.method.parameters.get("judge"))
    rank = finding.rank
    if isinstance(k, Budget):
        if finding.found_at():
            return beyond_budget(finding, looking.row.sample, k)
        k = None  # no budget would have paid for it
    if rank is not None and k is not None and not judged and not looking.stages:
        # What else there is to know of the item would change nothing.
        return beyond(rank, k, looking.row.sample.ranks is None, looking.repeated)
    items, together = _items(finding, name, looking, judged=judged)
    explanations = []
    for item in items:
        by_scorer = name in search.scorers and len(items) == 1 and not (judged and item.passage)
        case = Case(
            looking.row,
            result,
            finding,
            k,
            item,
            judged,
            _finder(name, finding, looking) if by_scorer else _matcher(item, search.limits),
            search.corpus,
            looking.deeper if search.retriever is not None else None,
            None if item.id is None else search.ids.alias(looking.position, item.id),
            looking.retrieved,
            looking.repeated,
            looking.stages,
            search.limits,
            name in search.scorers,
            None if search.exact is None else looking.exactly,
            lambda: looking.problem,
        )
        explanations.append((explained(case), item))
    if len(explanations) == 1:
        return explanations[0][0]
    best, item = (max if together else min)(
        explanations,
        key=lambda pair: (_ORDER[pair[0].cause], pair[0].rank is None, pair[0].rank or 0),
    )
    return best._replace(detail=f"{item.label!r}: {best.detail}")


_ORDER = {cause: nth for nth, cause in enumerate(Cause)}


def _finder(name: str, finding: Finding, looking: _Looking) -> Find:
    """Return the function that finds at which rank a list holds a target: the scorer itself."""

    def find(contexts: Sequence[Context]) -> int | None:
        there = looking.findings(name, contexts).get(finding.target.any_of)
        return None if there is None else there.rank

    return find


def _matcher(item: Item, limits: Limits) -> Find:
    """Return the function that finds at which rank a list holds an item: its ID or all its text."""

    def find(contexts: Sequence[Context]) -> int | None:
        ranked = enumerate(contexts, start=1)
        return next((rank for rank, c in ranked if item.is_in(c, limits.min_run)), None)

    return find


def _items(
    finding: Finding, name: str, looking: _Looking, *, judged: bool
) -> tuple[list[Item], bool]:
    """Return what would have served for a target, and whether all of it is needed together."""
    if judged:
        return _supporting(finding, name, looking)
    names, by_label = finding.target.any_of, looking.by_label
    if names in looking.groups and by_label.keys().isdisjoint(names):
        return [_by_id(own_id, looking) for own_id in names], False
    return [
        Item(text, None, Passage.of(by_label[text]), by_label[text].id)
        if text in by_label
        else Item(text, None, Passage(text, text))
        for text in names
    ], False


def _by_id(own_id: str, looking: _Looking) -> Item:
    """Return the item of an ID, with its text where the references or the corpus have it."""
    corpus = looking.search.corpus
    for context in looking.references:
        if context.id == own_id and context.text:
            return Item(own_id, own_id, Passage.of(context))
    indexed = corpus.get(own_id) if corpus is not None else None
    if indexed is None or indexed.text is None:
        return Item(own_id, own_id)
    return Item(own_id, own_id, Passage.of(indexed))


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


def _id_evidence(report: Report, corpus: Corpus | None) -> IdEvidence:
    """Return what the IDs of the whole report tell of expected IDs that were not retrieved."""
    lookups: dict[int, Lookup] = {}
    retrieved_ids: set[str | None] = set()
    direct = 0
    for position, row in enumerate(report.rows):
        ids = set(row.sample.retrieved_context_ids or ())
        retrieved_ids |= ids
        single = row.sample.single_ids
        missing: list[str] = []
        if single is not None:
            missing = [own_id for own_id in single.names if own_id not in ids]
            direct += len(single.ids) - len(missing)
        else:
            for reference in row.sample.reference_context_ids or ():
                if ids.isdisjoint(reference.any_of):
                    missing += reference.any_of
                else:
                    direct += 1
        if missing:
            lookups[position] = Lookup(missing, retrieved(row))
    return IdEvidence(
        lookups, {own_id for own_id in retrieved_ids if own_id is not None}, direct, corpus
    )
