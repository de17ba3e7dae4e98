"""One sample of a run: its results, and the flows (judgments) that wait for models' answers.

This module sends no requests, and does not load the modules that do, since scores without a model
need no event loop.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from fullrecall._util.pieces import watched
from fullrecall.judge.usage import Spent
from fullrecall.run.interruption import Interruption
from fullrecall.run.limits import Limits
from fullrecall.samples.fields import LABELS
from fullrecall.samples.sample import Sample
from fullrecall.scorers.result import Result, Status
from fullrecall.scorers.scorer import INTERRUPTED, LATE, FindingScorer, Scorer, Unmeasured
from fullrecall.table.row import Row

if TYPE_CHECKING:
    import asyncio

    from fullrecall.judge.judge import Ask, Flow
    from fullrecall.run.budget import Budget
    from fullrecall.samples.corpus import CorpusIndex
    from fullrecall.samples.retrieval import Retriever, View


_AFTER_DEADLINE = 0.5
"""The seconds after the deadline in which samples are still read, to be reported as unscored."""


class Overdue(Exception):  # noqa: N818 - it ends a run that returns its report
    """The deadline has passed, and reading the other samples would take too long."""

    def __init__(self) -> None:
        super().__init__("the deadline passed before all samples were read")


@dataclass(slots=True, eq=False, repr=False)
class Begun:
    """A flow that waits for the answers to its requests, and the index of its result."""

    index: int
    scorer: Scorer
    flow: Flow[Result]
    asks: Sequence[Ask]


@dataclass(slots=True, eq=False, repr=False)
class Work:
    """A sample in progress: its results so far, and its flows that still wait for answers.

    `is_retrieved` is False until the retriever, if there is one, was asked. Until then the sample
    has neither results nor flows.
    """

    position: int
    sample: Sample
    results: list[Result | None] = field(default_factory=list)
    begun: list[Begun] = field(default_factory=list)
    is_retrieved: bool = True
    task: asyncio.Task[None] | None = None

    @property
    def asks(self) -> bool:
        """Whether the retriever or a model still has to be asked."""
        return bool(self.begun) or not self.is_retrieved

    @property
    def is_done(self) -> bool:
        """Whether all results of the sample are complete or given up."""
        return self.is_retrieved and (self.task.done() if self.task else not self.begun)

    def take(self, prepared: Work) -> None:
        """Take over the results and flows of the same sample, which now has its retrieval."""
        self.sample, self.results, self.begun = prepared.sample, prepared.results, prepared.begun
        self.is_retrieved = True

    def row(self, scorers: Sequence[Scorer]) -> Row:
        """Return the row; a missing result counts as interrupted."""
        results = (
            result or unscored(scorer, INTERRUPTED)
            for scorer, result in zip(scorers, self.results, strict=True)
        )
        return Row(self.position, self.sample, results)


@dataclass(eq=False, repr=False)
class Run:
    """One run: its scorers, limits, settings, and spending."""

    scorers: Sequence[Scorer]
    limits: Limits = field(default_factory=Limits)
    corpus: CorpusIndex | None = None
    """The corpus with which labels are compared; a score with a stale label is unscored."""
    interruption: Interruption = field(default_factory=Interruption)
    view: View = "contexts"
    """Which list of each retrieval record is scored: "contexts", "retrieved" or "read"."""
    collapse: bool = False
    """Whether retrieved contexts with the same ID count as one."""
    first: int = 1
    """The position of the first sample to score; earlier samples already have rows."""
    retriever: Retriever | None = None
    """The retriever that is asked for each sample; None if samples have retrieved contexts."""
    is_given_up: bool = field(default=False, init=False)
    """Whether no caller reads the run's rows any more."""

    def __post_init__(self) -> None:
        is_priced = self.limits.budget is not None and bool(self.budget.prices)
        self.spent = Spent(cost=0.0 if is_priced else None)
        self._began = time.monotonic()

    @cached_property
    def budget(self) -> Budget:
        """The run's budget, unbounded by default."""
        from fullrecall.run.budget import checked  # not loaded if no scorer asks a model

        return checked(self.limits.budget, self.scorers)

    @property
    def seconds(self) -> float:
        """The seconds since the run began."""
        return time.monotonic() - self._began

    @property
    def reading_seconds(self) -> float | None:
        """The seconds left to read samples, until shortly after the deadline; None without one."""
        left = self.seconds_left()
        return None if left is None else left + _AFTER_DEADLINE

    def seconds_left(self) -> float | None:
        """Return the seconds until the deadline, at least 0; None without a deadline."""
        if self.limits.deadline is None:
            return None
        return max(0.0, self.limits.deadline - self.seconds)

    @property
    def makes_no_requests(self) -> bool:
        """Whether the run needs neither a model nor a store."""
        flows = any(hasattr(scorer, "flow") for scorer in self.scorers)
        return self.limits.store is None and not flows

    def work(self, position: int, sample: Sample) -> Work:
        """Return the work of a sample; it is prepared later if a retriever must be asked first."""
        if self.retriever is not None:
            return Work(position, sample, is_retrieved=False)
        return self.prepared(position, sample)

    def prepared(self, position: int, sample: Sample) -> Work:
        """Return the work of a sample, with its flows run up to their first requests.

        All scores that need no model are complete. A sample after the deadline is unscored, and so
        is a score that depends on a label that is stale in the corpus.
        """
        sample = sample.in_view(self.view)
        if self.collapse:
            sample = sample.collapsed()
        with watched(self.check):
            return self._prepared(position, sample)

    def check(self) -> None:
        """Raise `Unmeasured` after the deadline, after Ctrl-C, or if no caller reads the rows."""
        if self.interruption.is_asked or self.is_given_up:
            raise Unmeasured(INTERRUPTED)
        if self.seconds_left() == 0:
            raise Unmeasured(LATE)

    def _prepared(self, position: int, sample: Sample) -> Work:
        if self.seconds_left() == 0:
            return Work(position, sample, [unscored(scorer, LATE) for scorer in self.scorers])
        work = Work(position, sample, [None] * len(self.scorers))
        for index, scorer in enumerate(self.scorers):
            make = getattr(scorer, "flow", None)
            stale = stale_result(scorer, sample, self.corpus)
            if stale is not None or make is None:
                work.results[index] = stale or score_one(scorer, sample)
            else:
                _begin(work, index, scorer, make)
        return work


def stale_result(scorer: Scorer, sample: Sample, corpus: CorpusIndex | None) -> Result | None:
    """Return an unscored result if the score depends on a stale label; otherwise None."""
    if corpus is None:
        return None
    from fullrecall.samples.corpus import stale_label

    # Use all labels if a user's scorer does not name the labels on which its score depends.
    labels = scorer.labels if isinstance(scorer, FindingScorer) else LABELS
    stale = stale_label(sample, corpus, labels)
    return None if stale is None else unscored(scorer, stale)


def _begin(work: Work, index: int, scorer: Scorer, make: Callable[[Sample], Flow[Result]]) -> None:
    """Run a flow up to its first requests; if it makes none, set its result."""
    from fullrecall.judge.flow import Done, advance

    try:
        flow = make(work.sample)
        step = advance(flow, None)
    except Exception as error:  # noqa: BLE001 - whatever a user's judge or scorer raises
        work.results[index] = raised(scorer, error)
    else:
        if isinstance(step, Done):
            work.results[index] = step.value
        else:
            work.begun.append(Begun(index, scorer, flow, step))


def score_one(scorer: Scorer, sample: Sample) -> Result:
    """Return the scorer's result; an exception gives an unscored result with its message."""
    try:
        return scorer.score(sample)
    except Exception as error:  # noqa: BLE001 - whatever a user's similarity or scorer raises
        return raised(scorer, error)


def raised(scorer: Scorer, error: Exception) -> Result:
    """Return an unscored result whose reason is an exception that a scorer raised."""
    from fullrecall.judge.models.failures import shortened

    message = shortened(f"{type(error).__name__}: {error}")
    return unscored(scorer, f"{scorer.method.name} raised {message}")


def unscored(scorer: Scorer, why: str) -> Result:
    """Return an unscored result, with its reason."""
    return Result(scorer.method, Status.UNSCORED, note=why)
