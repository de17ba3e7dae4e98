"""The first lines of a page: a verdict with what it costs, and how its reports came about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from fullrecall.counts import counted
from fullrecall.results.bounds import CONFIDENCE
from fullrecall.table.costs import CHARACTERS_PER_TOKEN
from fullrecall.usage import Usage
from fullrecall.views.comparisons import verdict_of
from fullrecall.views.sheet import Emphasis
from fullrecall.views.summaries import named_leaks
from fullrecall.views.text import between, shown, signed, signed_between

if TYPE_CHECKING:
    from fullrecall.report.report import Report
    from fullrecall.results.difference import Difference
    from fullrecall.results.summary import Estimate, Summary
    from fullrecall.table.row import Row
    from fullrecall.views.page.census import Turns
    from fullrecall.views.page.choices import Subject

_NAMED = 4
"""Sources of retrieval, or scores, that are named."""

_LOOKED_AT = 10_000
"""Samples from which costs and sources are taken."""

_text = attrgetter("text")

_AS_MUCH = 0.01
"""Costs that differ by less than this share are told as one."""


class Said(NamedTuple):
    """One line of a verdict: a word that stands out, and a sentence."""

    word: str
    emphasis: Emphasis
    sentence: str


class Cost(NamedTuple):
    """What a question costs in mean: contexts, and their tokens where the texts are known."""

    contexts: float
    tokens: float | None

    def __str__(self) -> str:
        contexts = f"{self.contexts:.3g} contexts"
        return contexts if self.tokens is None else f"{contexts}, about {self.tokens:,.0f} tokens"


def verdict(subject: Subject, summary: Summary | None, choice: int, turns: Turns) -> list[Said]:
    """Return what a page of some reports comes to by a choice: of one, or of a change."""
    labels, measures = subject.labels(choice), subject.choices[choice].measures
    if summary is not None:
        estimates = [score[measure] for score, measure in zip(summary, measures, strict=True)]
        return _of_one(dict(zip(labels, estimates, strict=True)), turns)
    said = []
    for label, column, measure in zip(labels, subject.columns, measures, strict=True):
        change = subject.changes(column.method.name, measure)[-1]
        word = verdict_of(change)
        said.append(Said(word, word.emphasis, _changed(label, change, subject.confidence)))
    return said[:_NAMED]


def leak_verdicts(subject: Subject) -> list[Said]:
    """Return what leaked in each report that leaks: it comes before all else."""
    said = []
    for name, report in subject.reports.items():
        contexts = report.leaked()
        if contexts:
            leaking = counted(len({each.sample for each in contexts}), "question")
            where = f" {name}" if name else ""
            said.append(Said(f"LEAK{where}", "bad", f"in {leaking}: {named_leaks(contexts)}"))
    return said


def _of_one(estimates: Mapping[str, Estimate], turns: Turns) -> list[Said]:
    said = []
    for label, one in estimates.items():
        questions = counted(one.samples, "question")
        over = f"over {questions} ({CONFIDENCE:.0%} interval {between(one.interval)})"
        known = f"{label} {over}" if one.samples else f"{label}: no question has a score"
        said.append(Said(shown(one.mean), "strong", known))
    missing = f"{turns.missing:,} of {turns.scored:,} questions miss something"
    if said and turns.scored:
        said[0] = said[0]._replace(sentence=f"{said[0].sentence}; {missing}")
    return said[:_NAMED]


def _changed(label: str, change: Difference, confidence: float) -> str:
    if change.difference is None:
        return f"{label}: no question was compared"
    way = "rose" if change.difference > 0 else "fell" if change.difference < 0 else "stayed"
    ends = f"from {shown(change.before)} to {shown(change.after)}"
    interval = f"{100 * confidence:g}% interval {signed_between(change.interval)}"
    questions = counted(change.samples, "question")
    return f"{label} {way} {ends}: {signed(change.difference)} ({interval}, {questions})"


def cost_sentence(reports: Mapping[str, Report]) -> str:
    """Return what a question costs in the first and the last report; empty where not known."""
    every = list(reports.values())
    last = _cost(every[-1])
    first = _cost(every[0]) if len(every) > 1 else last
    if first is None or last is None:
        return ""
    if len(reports) == 1 or _alike(first, last):
        same = "the same before and after: " if len(reports) > 1 else ""
        return f"Cost of a question: {same}{last}."
    before = first.tokens or first.contexts
    factor = (last.tokens or last.contexts) / before if before else 0.0
    return f"Cost of a question: {first} before; {last} after ({factor:.2g} times)."


def _alike(first: Cost, last: Cost) -> bool:
    pairs = ((first.contexts, last.contexts), (first.tokens or 0.0, last.tokens or 0.0))
    return all(abs(one - other) <= _AS_MUCH * max(one, other) for one, other in pairs)


def _cost(report: Report) -> Cost | None:
    """Return what a question costs, from the samples whose contexts are known."""
    samples = texts = contexts = characters = 0
    for row in islice(report.rows, _LOOKED_AT):
        if row.sample.retrieved_contexts is not None:
            known = list(map(_text, row.sample.retrieved_contexts))
            if None not in known:
                texts, characters = texts + 1, characters + sum(map(len, known))
            samples, contexts = samples + 1, contexts + len(known)
        elif row.sample.retrieved_context_ids is not None:
            samples, contexts = samples + 1, contexts + len(row.sample.retrieved_context_ids)
    if not samples:
        return None
    tokens = characters / CHARACTERS_PER_TOKEN / samples if texts == samples else None
    return Cost(contexts / samples, tokens)


def about(report: Report) -> list[tuple[str, str]]:
    """Return what is known of how a report was made, as terms with their text."""
    facts = [*_sources(report.rows), *_judges(report), *_spent(report)]
    return list(dict.fromkeys(facts))


def _sources(rows: Iterable[Row]) -> Iterator[tuple[str, str]]:
    sources: dict[str, None] = {}
    for row in islice(rows, _LOOKED_AT):
        if row.sample.retrieval is not None and len(sources) <= _NAMED:
            stages = [stage.name for stage in row.sample.stages]
            called = [call.source for call in row.sample.retrieval.calls]
            sources |= dict.fromkeys([*stages, *called])
    if sources:
        more = ["…"] if len(sources) > _NAMED else []
        yield "Retrieval", ", ".join([*list(sources)[:_NAMED], *more])


def _judges(report: Report) -> Iterator[tuple[str, str]]:
    for method in report.methods:
        for name in ("judge", "model", "prompts", "prompt"):
            if method.parameters.get(name):
                yield name.capitalize(), _plain(method.parameters[name])


def _spent(report: Report) -> Iterator[tuple[str, str]]:
    spent = report.spent
    if spent is not None and spent.calls:
        cost = [] if spent.cost is None else [f"{spent.cost:,.2f} at the prices given"]
        tokens = spent.prompt_tokens + spent.completion_tokens
        parts = [f"{spent.calls:,} requests", f"{tokens:,} tokens", *cost]
        yield "Cost of this run", ", ".join(parts)
        return
    usage = Usage()
    if len(report) <= _LOOKED_AT:  # of more it would take as long as reading them all
        for row in report.rows:
            for result in row.results:
                if result.usage[0]:
                    usage = usage.plus(result.usage)
    if usage.calls:
        tokens = usage.prompt_tokens + usage.completion_tokens
        yield "Rests on", f"{usage.calls:,} judge requests, {tokens:,} tokens"


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_plain(one)}" for name, one in value.items())
    return str(value)
