"""The first lines of a page: a verdict with what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fullrecall._util.counts import counted
from fullrecall.show.sheet import Cell, Line
from fullrecall.show.text import between, shown
from fullrecall.stats.bounds import CONFIDENCE
from fullrecall.stats.change_sheets import change_sentence, verdict_of
from fullrecall.stats.question_cost import cost_change
from fullrecall.stats.summary import named_leaks

if TYPE_CHECKING:
    from fullrecall.page.census import Turns
    from fullrecall.page.choices import Subject
    from fullrecall.stats.estimates import Estimate
    from fullrecall.stats.summary import Summary

_NAMED = 4
"""Scores that are named."""


def verdict(subject: Subject, summary: Summary | None, choice: int, turns: Turns) -> list[Line]:
    """Return what a page of some reports comes to by a choice: of one, or of a change.

    Each line is a word that stands out, and a sentence.
    """
    labels, measures = subject.labels(choice), subject.choices[choice]
    if summary is not None:
        estimates = [score[measure] for score, measure in zip(summary, measures, strict=True)]
        return _mean_verdicts(dict(zip(labels, estimates, strict=True)), turns)
    verdicts = []
    comparison = () if subject.comparison is None else subject.comparison
    for label, score, measure in zip(labels, comparison, measures, strict=True):
        change = score[measure]
        verdicts.append(Line(verdict_of(change), [change_sentence(label, change)]))
    return verdicts[:_NAMED]


def leak_verdicts(subject: Subject) -> list[Line]:
    """Return what leaked in each report that leaks: it comes before all else."""
    verdicts = []
    for name, report in subject.reports.items():
        contexts = report.leaked()
        if contexts:
            leaking = counted(len({each.sample for each in contexts}), "question")
            word = Cell(f"LEAK {name}" if name else "LEAK", "bad")
            verdicts.append(Line(word, [f"in {leaking}: {named_leaks(contexts)}"]))
    return verdicts


def _mean_verdicts(estimates: Mapping[str, Estimate], turns: Turns) -> list[Line]:
    verdicts: list[Line] = []
    missing = f"; {turns.missing:,} of {turns.scored:,} questions miss something"
    for label, estimate in estimates.items():
        questions = counted(estimate.samples, "question")
        over = f"over {questions} ({CONFIDENCE:.0%} interval {between(estimate.interval)})"
        sentence = f"{label} {over}" if estimate.samples else f"{label}: no question has a score"
        if turns.scored and not verdicts:
            sentence += missing
        verdicts.append(Line(Cell(shown(estimate.mean), "strong"), [sentence]))
    return verdicts[:_NAMED]


def cost_sentence(subject: Subject, summary: Summary | None) -> str:
    """Return what a question costs, where it is known, and what else differs between reports."""
    comparison, drift = subject.comparison, []
    cost: object = None if summary is None else summary.cost
    if comparison is not None:
        cost = cost_change(*comparison.costs)
        drift = [f"{sentence[0].upper()}{sentence[1:]}." for sentence in comparison.drift]
    return " ".join([*([f"A question costs {cost}."] if cost else []), *drift])
