"""`complete`: judge the unlabeled contexts, and estimate how complete the references are.

The judged pairs are divided into strata. People label a sample of each stratum. Completeness is
estimated from their labels.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from fullrecall._util.parameters import check_k
from fullrecall.errors import InputError, ParameterError
from fullrecall.files.rows import in_file
from fullrecall.files.sheets import sheet_rows
from fullrecall.judge.flow import side_by_side
from fullrecall.judge.judge import Flow, Judge
from fullrecall.judge.models.retries import Retries
from fullrecall.judge.usage import MOST, Spent
from fullrecall.run.address import StoreLike
from fullrecall.run.budget import Budget, models_of
from fullrecall.run.drivers import retrieved
from fullrecall.run.evaluate import EvaluateOptions, as_samples
from fullrecall.run.limits import Limits
from fullrecall.run.retrievers import RetrieverLike
from fullrecall.samples.context import Context
from fullrecall.samples.corpus import origin_of
from fullrecall.samples.sample import Reference, Sample, SampleLike
from fullrecall.show import spreadsheet
from fullrecall.testset.completeness import (
    KINDS,
    WIDTH,
    Figure,
    Stratum,
    completeness,
    drawn,
    labels_needed,
    missing,
    strata_of,
)
from fullrecall.testset.execution import Plan, carried_out
from fullrecall.testset.pool import Pool, PooledPair, Targets

RIGHT = 0.8
"""The least share of the judge's finds (the pairs that it found relevant) that people must confirm;
below it, only the pairs that people labeled relevant are added.
"""

_WORDS = {"relevant": True, "not_relevant": False, "true": True, "false": False}


class PairToLabel(NamedTuple):
    """A question and a context; people fill in `label` with `relevant` or `not_relevant`.

    A context is relevant if it answers the question. If there are claims, it is also relevant if
    it supports at least one of them. `item` identifies the pair.
    """

    label: str
    question: str
    claims: str
    context: str
    item: str


PairLabels: TypeAlias = str | Path | Mapping[str, Any]
"""The file that `CompletedSet.to_label` wrote, or a mapping from items to labels."""


class CompletenessEstimate(NamedTuple):
    """The completeness of references, among the texts that retrievers return within `depth` ranks.

    `complete` is the completeness of the original references; if the labels do not suffice, it is
    None, and `refused` is the reason. `needed` is the approximate number of labels for an interval
    0.2 wide. `right` is the estimated share of relevant pairs among the pairs that the judge found
    relevant; None if there are no such pairs, or without an estimate.
    """

    complete: Figure | None
    refused: str = ""
    needed: int = 0
    right: Figure | None = None


@dataclass(frozen=True)
class CompletedSet:
    """The contexts found beyond the references, and how complete the references are.

    Without people's labels, no context is added and completeness is unknown. `to_label` draws the
    pairs to label, and `with_labels` takes the labels. `second` are the labels of a second person.
    `error` is the share of one person's labels that may be wrong.
    """

    parsed: Sequence[Sample]
    pool: Pool
    depth: int
    names: Sequence[str]
    seed: int = 0
    labels: Mapping[str, bool] = field(default_factory=dict)
    second: Mapping[str, bool] = field(default_factory=dict)
    error: float = 0.0
    spent: Spent = field(default_factory=Spent)

    @cached_property
    def judged(self) -> list[PooledPair]:
        """All pooled pairs that the references do not name."""
        return [pair for pairs in self.pool.pairs for pair in pairs if not pair.named]

    @property
    def problems(self) -> dict[str, int]:
        """The number of contexts that have a text but no verdict of the judge, by reason."""
        silent = [pair for pair in self.judged if pair.is_open and pair.relevant is None]
        return dict(Counter(pair.problem for pair in silent))

    def to_label(
        self, n: int = 300, path: str | Path | None = None, *, second: bool = False
    ) -> list[PairToLabel]:
        """Draw pairs for people to label, and write them to a new `.csv` file.

        `n` pairs are drawn, at least ten of each stratum. The strata divide the pairs by the
        judge's verdict (relevant, not relevant, or none) and by their ranks. The file hides the
        verdicts. Label all of its pairs; labels that this completion already has are filled in.
        With `second`, the pairs are those that one person found relevant and the judge did not, for
        another person to confirm. Raises `ParameterError` for arguments out of range, and for a
        file that exists.
        """
        check_k(n, "n")
        if second:
            chosen = [
                pair for pair in self._labeled if self.labels[pair.item] and not pair.relevant
            ]
        else:
            chosen = [self._with_text[at] for at in drawn(self._members, n, self.seed)]
        labels = self.second if second else self.labels
        pairs = [
            PairToLabel(
                _word_of(labels.get(pair.item)),
                self.parsed[pair.question].user_input or "",
                "\n".join(f"- {claim}" for claim in self.pool.targets[pair.question].claims),
                pair.context.label,
                pair.item,
            )
            # The order by item does not reveal the verdict.
            for pair in sorted(chosen, key=lambda pair: pair.item)
        ]
        if path is not None:
            spreadsheet.write_new(path, [PairToLabel._fields, *pairs])
        return pairs

    def with_labels(
        self, labels: PairLabels, *, second: PairLabels | None = None, error: float = 0.05
    ) -> CompletedSet:
        """Return this completion with people's labels: files of `to_label`, or mappings.

        `second` has another person's labels of the pairs that the first person found relevant and
        the judge did not; such a pair does not count if the second person finds it not relevant.
        `error` is the largest share, 0 to 0.3, of one person's labels that may be wrong; the
        interval holds for all shares up to it. Without `second`, no second label confirms the pairs
        that only the first person found relevant. Up to this share of their labels may then be
        wrong, which makes the interval wide.

        Raises `InputError` for an unknown label, and for labels of another completion, and
        `ParameterError` for an error that is not from 0 to 0.3.
        """
        if not isinstance(error, (int, float)) or not 0 <= error <= 0.3:  # noqa: PLR2004 - f < g
            raise ParameterError(f"must be from 0 to 0.3, got {error!r}", "error")
        known = {**self.labels, **self._own(_read(labels))}
        known_second = {**self.second, **self._own(_read(second or {}))}
        return replace(self, labels=known, second=known_second, error=float(error))

    def _own(self, labels: dict[str, bool]) -> dict[str, bool]:
        """Return the labels; raise `InputError` if this completion lacks one of their pairs."""
        foreign = labels.keys() - {pair.item for pair in self.judged}
        if foreign:
            raise InputError(
                f"{len(foreign):,} of {len(labels):,} labels are of pairs that this completion "
                "does not have: use the same samples, retrievers, depth and seed"
            )
        return labels

    @cached_property
    def samples(self) -> list[Sample]:
        """The samples with the accepted contexts as references; metadata lists all judged contexts.

        If the targets are claims, a context joins the any-of group of each claim that it supports.
        Otherwise, a context that is nearly equal to a referenced text joins its group, and any
        other context becomes a new reference.
        """
        known = [p for p in self.judged if p.relevant is not None or p.item in self.labels]
        return extended(self.parsed, self.pool, self.accepted, known, self.labels)

    @cached_property
    def accepted(self) -> list[PooledPair]:
        """The pairs to add, found relevant by people or a reliable judge; none without labels."""
        right = self.estimate.right
        trusted = right is not None and right.value >= RIGHT
        accepted = []
        for pair in self.judged:
            relevant = (
                self.relevance_of(pair) if pair.item in self.labels else trusted and pair.relevant
            )
            targets = self.pool.targets[pair.question]
            if relevant and (not targets.are_claims or targets.joined_by(pair)):
                accepted.append(pair)
        return accepted

    def relevance_of(self, pair: PooledPair) -> bool | None:
        """Return whether people find a pair relevant; None if they did not label it."""
        first = self.labels.get(pair.item)
        if not first or pair.relevant:
            return first
        # Very few pairs with the verdict "no" are relevant. If people mislabel only 1 % of these
        # pairs, half of the labels "relevant" are wrong. Therefore such a label does not count if
        # a second person disagrees.
        return self.second.get(pair.item, True)

    @cached_property
    def estimate(self) -> CompletenessEstimate:
        """The completeness of the references, or the reason why it cannot be estimated."""
        named = [pair for pairs in self.pool.pairs for pair in pairs if pair.named]
        known = sum(bool(pair.context.text) for pair in named)
        needed = labels_needed([len(members) for members in self._members], known)
        if refused := self._refusal:
            return CompletenessEstimate(None, refused, needed)
        share = completeness(known, missing(self._strata, self.error))
        if share.width > WIDTH:  # The width falls with the square root of the number of labels.
            needed = max(needed, round(len(self._labeled) * (share.width / WIDTH) ** 2))
        needed = min(needed, len(self._with_text))
        finds = [stratum for stratum in self._strata if stratum.kind == "yes" and stratum.size]
        size = sum(stratum.size for stratum in finds)
        right = Figure(*(hits / size for hits in missing(finds, self.error))) if size else None
        return CompletenessEstimate(share, "", needed, right)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    @cached_property
    def _with_text(self) -> list[PooledPair]:
        return [pair for pair in self.judged if pair.is_open]

    @cached_property
    def _members(self) -> list[list[int]]:
        """The indices in `_with_text` of the pairs in each stratum."""
        pairs = self._with_text
        return strata_of([pair.kind for pair in pairs], [pair.nearness for pair in pairs])

    @cached_property
    def _labeled(self) -> list[PooledPair]:
        return [pair for pair in self._with_text if pair.item in self.labels]

    @cached_property
    def _strata(self) -> list[Stratum]:
        strata = []
        for kind, members in zip(KINDS, self._members, strict=True):
            pairs = [self._with_text[at] for at in members]
            labeled = [pair for pair in pairs if pair.item in self.labels]
            relevant = sum(bool(self.relevance_of(pair)) for pair in labeled)
            twice = all(pair.item in self.second for pair in labeled if self.labels[pair.item])
            strata.append(Stratum(kind, len(pairs), len(labeled), relevant, twice))
        return strata

    @property
    def _refusal(self) -> str:
        """The reason why completeness cannot be estimated; "" if it can."""
        if not any(self.pool.pairs):
            return "no retriever returned anything"
        if self._with_text and not self.labels:
            return "no pair is labeled"
        if not self._with_text and self.judged:
            return "no context has a text that could be judged"
        # Without labels of pairs with the verdict "no", the share that the judge overlooks is
        # unknown. Counting these pairs as not relevant would make any references look complete.
        unlabeled = [s.kind for s in self._strata if s.size and not s.labeled]
        if unlabeled:
            kind, way = unlabeled[0], "use to_label or --to-label"
            return f"no pair with the verdict {kind!r} is labeled: {way}"
        return ""

    def _lines(self) -> Iterator[str]:
        """Yield the lines of the summary: counts of judged contexts, failures, and completeness."""
        counts = Counter(pair.kind if pair.is_open else "no text" for pair in self.judged)
        summary = ", ".join(f"{counts[kind]:,} {kind}" for kind in counts)
        yield (
            f"{len(self.parsed):,} questions, {len(self.names)} retrievers: "
            f"{len(self.judged):,} contexts among their first {self.depth} that nobody had labeled"
            f"{summary and f': {summary}'}"
        )
        if self.pool.problems:
            yield f"  {len(self.pool.problems):,} questions on which a retriever failed"
        for why, count in self.problems.items():
            yield f"  {count:,} contexts without a verdict: {why}"
        yield from self._of_completeness()

    def _of_completeness(self) -> Iterator[str]:
        estimate = self.estimate
        advice = f"about {estimate.needed:,} labels make the interval {WIDTH:g} wide"
        if estimate.complete is None:
            yield f"  completeness: not known: {estimate.refused}; {advice}"
        else:
            share = estimate.complete
            limitation = " with a text" if len(self._with_text) < len(self.judged) else ""
            yield (
                f"  references {share.value:.0%} complete {_range(share)} among each retriever's "
                f"first {self.depth}{limitation}, by {len(self._labeled):,} labels"
                f"{f'; {advice}' if share.width > WIDTH else ''}"
            )
        if not self.labels:
            yield "  nothing is added without labels"
            return
        count = sum(pair.item in self.labels for pair in self.accepted)
        yield f"  {len(self.accepted):,} added, {count:,} of them confirmed by people"
        unconfirmed = len(self.to_label(1, second=True)) - len(self.second)
        if unconfirmed > 0 and self.error:
            way = "to_label(second=True), or --to-confirm, draws them"
            yield f"  {unconfirmed:,} need a second label: {way}"
        if estimate.right is not None:
            right = estimate.right
            few = ": only confirmed ones are added" if right.value < RIGHT else ""
            yield f"  {right.value:.0%} {_range(right)} of the judge's finds are right{few}"


def _range(share: Figure) -> str:
    return f"[{share.low:.0%}, {share.high:.0%}]"


def _word_of(label: bool | None) -> str:  # noqa: FBT001 - a label
    """Return a label as people write it; "" for None, a missing label."""
    return next((word for word, relevant in _WORDS.items() if relevant is label), "")


def _read(labels: PairLabels) -> dict[str, bool]:
    """Return labels by their item: True for relevant. Pairs without a label are left out."""
    if isinstance(labels, Mapping):
        rows = ({"item": item, "label": label} for item, label in labels.items())
        return dict(_judgments(enumerate(rows, start=1)))
    rows_of_sheet = sheet_rows(labels, (("label",), ("item",)))
    return dict(in_file(str(labels), _judgments(rows_of_sheet), kind=""))


def _judgments(rows: Iterable[tuple[int, Mapping[str, Any]]]) -> Iterator[tuple[str, bool]]:
    """Yield items, and whether people labeled them relevant."""
    known: dict[str, bool] = {}
    for line, row in rows:
        item, label = str(row.get("item")), row.get("label")
        word = "" if label is None else str(label).strip().lower().replace(" ", "_")
        if not word:
            continue
        if word not in _WORDS:
            choices = "relevant, not_relevant"
            raise InputError(f"unknown label {label!r}: choose one of {choices}", line=line)
        if known.setdefault(item, _WORDS[word]) != _WORDS[word]:
            raise InputError(f"item {item} has two labels: keep one", line=line)
        yield item, _WORDS[word]


def complete(
    samples: Iterable[SampleLike],
    retrievers: Mapping[str, RetrieverLike],
    judge: Judge,
    *,
    depth: int = 20,
    seed: int = 0,
    max_concurrency: int = 16,
    timeout: float | None = 60.0,
    deadline: float | None = None,
    retries: Retries | int = MOST,
    store: StoreLike | None = None,
    budget: Budget | None = None,
    progress: bool = True,
) -> CompletedSet:
    """Judge the contexts that several retrievers return, to find missing references.

    `retrievers` maps names to retrievers that `evaluate` takes: functions of the question, or
    `observed` chains, graphs and engines; they are asked for `depth` contexts if they accept a `k`.
    Include every retriever that you compare. All of their first `depth` contexts that have a text
    are judged, each with its question. If people label a sample of these pairs of question and
    context, the labels show how complete the references are. Contexts that no retriever returns
    within `depth` ranks are not counted.

    - `judge`: an `LLMJudge`, or any other judge.
    - `max_concurrency`, `timeout`, `deadline`, `retries`, `store`, `budget`, `progress`: those of
      `evaluate`. With a store, repeating the same call costs nothing: repeat it when the labels are
      available.

    Raises `ParameterError` for arguments out of range, and `InputError` for an invalid sample.
    """
    limits = Limits(max_concurrency, timeout, deadline, retries, store, budget)
    options = EvaluateOptions(limits, progress=progress)
    check_k(depth, "depth")
    if not all(hasattr(judge, method) for method in ("attribute", "relevance")):
        raise ParameterError(f"judge: expected a Judge, got {type(judge).__name__}")
    if not isinstance(retrievers, Mapping) or not retrievers:
        raise ParameterError('retrievers: expected a mapping, such as {"bm25": search}')
    parsed = list(as_samples(samples))
    answered = [
        list(retrieved(parsed, retriever, depth, max_concurrency, timeout))
        for retriever in retrievers.values()
    ]
    # The overlap of retrievers does not show the contexts that all of them miss: on Cranfield, a
    # capture-recapture estimate of completeness was .93, and the true value .57. So all pairs are
    # judged, and people label a sample.
    plan = _judged(parsed, Pool.of(parsed, answered, depth), judge)
    pool, spent = carried_out(plan, models_of(judge), options)
    return CompletedSet(parsed, pool, depth, tuple(retrievers), seed, spent=spent)


def _judged(samples: Sequence[Sample], pool: Pool, judge: Judge) -> Plan[list[PooledPair], Pool]:
    """Judge all pooled pairs, question by question; return the pool with the verdicts."""
    to_judge = [[pair for pair in pairs if pair.is_open] for pairs in pool.pairs]
    questions = [number for number, pairs in enumerate(to_judge) if pairs]
    outcomes = yield [
        _assessed(judge, samples[number], pool.targets[number].claims, to_judge[number])
        for number in questions
    ]
    for number, outcome in zip(questions, outcomes, strict=True):
        without_verdict = [replace(pair, problem=outcome.problem) for pair in to_judge[number]]
        to_judge[number] = outcome.value or without_verdict
    pairs = []
    for own, judged in zip(pool.pairs, map(iter, to_judge), strict=True):
        pairs.append([next(judged) if pair.is_open else pair for pair in own])
    return replace(pool, pairs=pairs)


def _assessed(
    judge: Judge, sample: Sample, claims: Sequence[str], pairs: Sequence[PooledPair]
) -> Flow[list[PooledPair]]:
    """Return pairs, each with the verdict on its text.

    First, all texts are judged together, by relevance. If the question has claims, each text that
    may be relevant is then judged alone, and counts if it supports a whole claim.
    """
    texts = [pair.context.text or "" for pair in pairs]
    reference = sample.reference or " ".join(claims) or None
    question = sample.user_input
    screened = yield from judge.relevance(texts, question=question, reference=reference)
    near = [at for at, verdict in enumerate(screened) if verdict.helps and claims]
    # Judge each text alone: together, a text would get credit for claims that only several texts
    # support.
    attributed = yield from side_by_side(
        [judge.attribute(claims, [texts[at]], question=question) for at in near]
    )
    assessed = []
    for pair, verdict in zip(pairs, screened, strict=True):
        relevant = None if verdict.label is None else verdict.label == "supported"
        assessed.append(replace(pair, relevant=relevant, problem=verdict.problem))
    for at, verdicts in zip(near, attributed, strict=True):
        supported = frozenset(
            n for n, verdict in enumerate(verdicts) if verdict.label == "supported"
        )
        problems = [verdict.problem for verdict in verdicts if verdict.label is None]
        is_silent = bool(problems) and not supported
        assessed[at] = replace(
            pairs[at],
            relevant=None if is_silent else bool(supported),
            claims=supported,
            problem=problems[0] if is_silent else "",
        )
    return assessed


def extended(
    parsed_samples: Sequence[Sample],
    pool: Pool,
    accepted: Sequence[PooledPair],
    looked_at: Sequence[PooledPair],
    confirmed: Container[str],
) -> list[Sample]:
    """Return samples with the contexts of the accepted pairs as references.

    `looked_at` has the pairs with a verdict or a label. The metadata lists the contexts of these
    pairs as judged, and the contexts that were added. `confirmed` are the items that people
    labeled.
    """
    named = {n for s in parsed_samples for r in s.reference_context_ids or () for n in r.any_of}
    contexts = [pair.context for pairs in pool.pairs for pair in pairs]
    ids: Any = {context.id for context in contexts}
    # True if the references' IDs are of documents, and the retrievers return chunks of them.
    by_source = not named & ids and bool(named & {context.source for context in contexts})
    added_to, judged_of = _by_question(accepted), _by_question(looked_at)
    samples = []
    # Rebuild samples without additions too, since `unjudged` reads their judged contexts.
    for number, (sample, targets) in enumerate(zip(parsed_samples, pool.targets, strict=True)):
        added, judged = added_to.get(number, []), judged_of.get(number, [])
        seen = [c.id or c.text or "" for pair in judged for c in (pair.context, *pair.also)]
        origin = {**origin_of(sample), "judged": list(dict.fromkeys(seen))}
        fields = sample.to_dict()
        if added:
            fields |= _references(sample, targets, added, by_source=by_source)
            origin["added"] = [
                {"id": pair.context.id, "confirmed": pair.item in confirmed} for pair in added
            ]
        fields["metadata"] = {**sample.metadata, "testset": origin}
        samples.append(Sample(**fields))
    return samples


def _by_question(pairs: Iterable[PooledPair]) -> dict[int, list[PooledPair]]:
    by_question: defaultdict[int, list[PooledPair]] = defaultdict(list)
    for pair in pairs:
        by_question[pair.question].append(pair)
    return by_question


def _references(
    sample: Sample, targets: Targets, added: Sequence[PooledPair], *, by_source: bool
) -> dict[str, Any]:
    """Return the reference fields of a sample, with the added contexts."""
    groups = [list(group) for group in sample.reference_contexts or ()]
    ids = [(list(r.any_of), r.grade) for r in sample.reference_context_ids or ()]
    if targets.are_claims and len(groups) == targets.count and 0 < len(ids) != targets.count:
        # If claims share the ID of their document, there are fewer IDs than claims. Give each claim
        # its own IDs: those of the contexts that support it.
        ids = [(_ids_of(group, by_source=by_source), 1.0) for group in groups]
    # Nearly equal texts are one target. Otherwise an index without copies would look worse than one
    # with copies. A fifth of Cranfield was copied three times. With copies as separate targets,
    # removing the copies lowered recall@10 from .308 to .276; with copies as one target, it raised
    # recall@10 from .311 to .393.
    own_targets: defaultdict[Any, list[Context]] = defaultdict(list)
    for pair in added:
        alike = [pair.context, *pair.also]
        joined = targets.joined_by(pair)
        for target in sorted(joined):
            if len(groups) == targets.count:
                groups[target] += alike
            if len(ids) == targets.count:
                ids[target][0].extend(
                    name
                    for name in _ids_of(alike, by_source=by_source)
                    if name not in ids[target][0]
                )
        if not joined:
            own_targets[pair.item if pair.twin is None else pair.twin] += alike
    has_groups, has_ids = bool(groups) or not ids, bool(ids) or not sample.reference_contexts
    for contexts in own_targets.values():
        groups += [contexts] if has_groups else []
        ids += [(_ids_of(contexts, by_source=by_source), 1.0)] if has_ids else []
    return {
        "reference_contexts": groups or None,
        "reference_context_ids": [Reference(tuple(n), grade) for n, grade in ids if n] or None,
    }


def _ids_of(contexts: Sequence[Context], *, by_source: bool) -> list[str]:
    names = [context.source if by_source else context.id or context.source for context in contexts]
    return list(dict.fromkeys(name for name in names if name))


def unjudged(samples: Iterable[Sample], k: int) -> float | None:
    """Return the share of unjudged contexts among the first `k` contexts of completed samples.

    If the share is above 0.1, true recall may be higher than measured. If it is above 0.2, do not
    compare the recall, but run `complete` with this retriever. The contexts that `complete` judged
    are in the samples' metadata; contexts that the references name count as judged. Samples that
    were never completed, or have no retrieval, are left out. Returns None if no sample is left.
    """
    holes: list[bool] = []
    for sample in as_samples(samples):
        judged = origin_of(sample).get("judged")
        if isinstance(judged, list) and sample.retrieved_contexts is not None:
            targets = Targets(sample)
            for context in sample.retrieved_contexts[:k]:
                is_known = context.id in judged or context.text in judged
                holes.append(not is_known and not targets.named_by(context))
    return sum(holes) / len(holes) if holes else None
