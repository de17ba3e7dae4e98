"""The first lines of a page: a verdict with what it costs, and how its reports came about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from fullrecall.counts import counted
from fullrecall.results.bounds import CONFIDENCE
from fullrecall.results.question_cost import cost_change, question_cost
from fullrecall.usage import Usage
from fullrecall.views.comparisons import change_sentence, verdict_of
from fullrecall.views.sheet import Emphasis
from fullrecall.views.summaries import named_leaks
from fullrecall.views.text import between, shown

if TYPE_CHECKING:
    from fullrecall.report.report import Report
    from fullrecall.results.summary import Estimate, Summary
    from fullrecall.table.row import Row
    from fullrecall.views.page.census import Turns
    from fullrecall.views.page.choices import Subject

_NAMED = 4
"""Sources of retrieval, or scores, that are named."""

_LOOKED_AT = 10_000
"""Samples from which costs and sources are taken."""


class Said(NamedTuple):
    """One line of a verdict: a word that stands out, and a sentence."""

    word: str
    emphasis: Emphasis
    sentence: str


def verdict(subject: Subject, summary: Summary | None, choice: int, turns: Turns) -> list[Said]:
    """Return what a page of some reports comes to by a choice: of one, or of a change."""
    labels, measures = subject.labels(choice), subject.choices[choice].measures
    if summary is not None:
        estimates = [score[measure] for score, measure in zip(summary, measures, strict=True)]
        return _of_one(dict(zip(labels, estimates, strict=True)), turns)
    verdicts = []
    for label, column, measure in zip(labels, subject.columns, measures, strict=True):
        changes = subject.changes(column.method.name, measure)
        for name, change in zip(subject.names[1:], changes, strict=True):
            word = verdict_of(change)
            sentence = change_sentence(label, change, subject.confidence)
            whose = f"{name}: " if len(changes) > 1 else ""
            verdicts.append(Said(word.text, word.emphasis, f"{whose}{sentence}"))
    return verdicts[:_NAMED]


def leak_verdicts(subject: Subject) -> list[Said]:
    """Return what leaked in each report that leaks: it comes before all else."""
    verdicts = []
    for name, report in subject.reports.items():
        contexts = report.leaked()
        if contexts:
            leaking = counted(len({each.sample for each in contexts}), "question")
            where = f" {name}" if name else ""
            verdicts.append(Said(f"LEAK{where}", "bad", f"in {leaking}: {named_leaks(contexts)}"))
    return verdicts


def _of_one(estimates: Mapping[str, Estimate], turns: Turns) -> list[Said]:
    verdicts = []
    for label, estimate in estimates.items():
        questions = counted(estimate.samples, "question")
        over = f"over {questions} ({CONFIDENCE:.0%} interval {between(estimate.interval)})"
        sentence = f"{label} {over}" if estimate.samples else f"{label}: no question has a score"
        verdicts.append(Said(shown(estimate.mean), "strong", sentence))
    missing = f"{turns.missing:,} of {turns.scored:,} questions miss something"
    if verdicts and turns.scored:
        verdicts[0] = verdicts[0]._replace(sentence=f"{verdicts[0].sentence}; {missing}")
    return verdicts[:_NAMED]


def cost_sentence(reports: Mapping[str, Report]) -> str:
    """Return what a question costs in each report; empty where it is not known."""
    costs = {name: question_cost(report.table) for name, report in reports.items()}
    if len(costs) == 2:  # noqa: PLR2004 - before and after
        cost = cost_change(*costs.values())
    else:
        stated = {name: each for name, each in costs.items() if each is not None}
        cost = "; ".join(f"{each}{name and f' in {name}'}" for name, each in stated.items())
    return f"A question costs {cost}." if cost else ""


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
                yield name.capitalize(), _parameter_text(method.parameters[name])


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


def _parameter_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_parameter_text(item)}" for name, item in value.items())
    return str(value)
