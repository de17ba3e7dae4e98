"""The first lines of a page: a verdict with what it costs, and how its reports came about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from fullrecall.counts import counted
from fullrecall.results.bounds import CONFIDENCE
from fullrecall.results.question_cost import cost_change, question_cost
from fullrecall.views.comparisons import change_sentence, verdict_of
from fullrecall.views.sheet import Emphasis
from fullrecall.views.summaries import named_leaks
from fullrecall.views.text import between, shown

if TYPE_CHECKING:
    from fullrecall.report.report import Report
    from fullrecall.results.summary import Estimate, Summary
    from fullrecall.views.page.census import Turns
    from fullrecall.views.page.choices import Subject

_NAMED = 4
"""Scores that are named."""


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
            sentence = change_sentence(label, change)
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


def cost_sentence(subject: Subject) -> str:
    """Return what a question costs in each report, where it is known, and what else differs."""
    costs = {name: question_cost(report.table) for name, report in subject.reports.items()}
    if len(costs) == 2:  # noqa: PLR2004 - before and after
        cost = cost_change(*costs.values())
    else:
        stated = {name: each for name, each in costs.items() if each is not None}
        cost = "; ".join(f"{each}{name and f' in {name}'}" for name, each in stated.items())
    drift = [f"{sentence[0].upper()}{sentence[1:]}." for sentence in subject.drift]
    return " ".join([*([f"A question costs {cost}."] if cost else []), *drift])


def about(report: Report) -> list[tuple[str, str]]:
    """Return who judged a report, and what the run cost, as terms with their text."""
    facts: dict[tuple[str, str], None] = {}
    for method in report.methods:
        for name in ("judge", "model", "prompts", "prompt"):
            if method.parameters.get(name):
                facts[name.capitalize(), _parameter_text(method.parameters[name])] = None
    spent = report.spent
    if spent is not None and spent.calls:
        cost = "" if spent.cost is None else f", {spent.cost:,.2f} at the prices given"
        tokens = spent.prompt_tokens + spent.completion_tokens
        facts["Cost of this run", f"{spent.calls:,} requests, {tokens:,} tokens{cost}"] = None
    return list(facts)


def _parameter_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_parameter_text(item)}" for name, item in value.items())
    return str(value)
