"""One sample of a run: the results it has, and the flows that still ask for theirs.

Nothing here asks: scores that take no model are made without an event loop, and without loading
what asks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fullrecall._util.pieces import watched
from fullrecall.judge.usage import Spent
from fullrecall.run.budget import checked
from fullrecall.run.interruption import Interruption
from fullrecall.run.limits import Limits
from fullrecall.samples.corpus import LABELS, CorpusIndex, stale_label
from fullrecall.samples.sample import Sample
from fullrecall.scorers.result import Result, Status
from fullrecall.scorers.scorer import INTERRUPTED, LATE, FindingScorer, Scorer, Unmeasured
from fullrecall.table.row import Row

if TYPE_CHECKING:
    import asyncio

    from fullrecall.judge.judge import Ask, Flow
    from fullrecall.samples.retrieval import Retriever, View


@dataclass(frozen=True, slots=True)
class Begun:
    """A flow that asked something: where it stands, and where its result belongs."""

    index: int
    scorer: Scorer
    flow: Flow[Result]
    asks: Sequence[Ask]


@dataclass(slots=True)
class Work:
    """A sample on its way: the results that it has, the flows that still ask.

    `is_retrieved` says whether a retriever was asked, if there is one; before that there are none.
    """

    position: int
    sample: Sample
    results: list[Result | None] = field(default_factory=list)
    begun: list[Begun] = field(default_factory=list)
    is_retrieved: bool = True
    task: asyncio.Task[None] | None = None

    @property
    def asks(self) -> bool:
        """Whether anything is still to be asked for it."""
        return bool(self.begun) or not self.is_retrieved

    @property
    def is_done(self) -> bool:
        """Whether all its results are there, or given up."""
        return self.is_retrieved and (self.task.done() if self.task else not self.begun)

    def take(self, prepared: Work) -> None:
        """Go on as the same sample, retrieved and prepared."""
        self.sample, self.results, self.begun = prepared.sample, prepared.results, prepared.begun
        self.is_retrieved = True

    def row(self, scorers: Sequence[Scorer]) -> Row:
        """Return the row; a result that is not there was interrupted."""
        results = (
            result or unscored(scorer, INTERRUPTED)
            for scorer, result in zip(scorers, self.results, strict=True)
        )
        return Row(self.position, self.sample, tuple(results))


@dataclass
class Run:
    """One run: what is scored how, within which limits, and what it has spent."""

    scorers: Sequence[Scorer]
    limits: Limits = field(default_factory=Limits)
    corpus: CorpusIndex | None = None
    """What labels are held against: a score that depends on a stale one is not made."""
    interruption: Interruption = field(default_factory=Interruption)
    view: View = "contexts"
    """Which list of each record is scored."""
    collapse: bool = False
    """Whether retrieved contexts of one ID are one."""
    first: int = 1
    """The position of the first sample to score; those before it are rows already."""
    retriever: Retriever | None = None
    """What is asked for each sample's retrieval; None where samples have theirs."""
    is_given_up: bool = field(default=False, init=False)
    """Whether nobody takes its rows any more."""

    def __post_init__(self) -> None:
        self.budget = checked(self.limits.budget, self.scorers)
        self.spent = Spent(cost=0.0 if self.budget.prices else None)
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """How long the run has taken so far."""
        return time.monotonic() - self._began

    def seconds_left(self) -> float | None:
        """Return the seconds until the deadline, not below 0; None without one."""
        if self.limits.deadline is None:
            return None
        return max(0.0, self.limits.deadline - self.seconds)

    @property
    def asks_nobody(self) -> bool:
        """Whether nothing can be sent, kept, or looked up."""
        flows = any(hasattr(scorer, "flow") for scorer in self.scorers)
        return self.limits.store is None and not flows

    def work(self, position: int, sample: Sample) -> Work:
        """Return a sample as it is to be worked on: prepared, unless it is to be retrieved for."""
        if self.retriever is not None:
            return Work(position, sample, is_retrieved=False)
        return self.prepared(position, sample)

    def prepared(self, position: int, sample: Sample) -> Work:
        """Return a sample with all that takes no model: flows are begun, other scores are made.

        A sample that comes after the deadline is not measured, and a score that depends on a label
        which is stale in the corpus is not made.
        """
        sample = sample.in_view(self.view)
        if self.collapse:
            sample = sample.collapsed()
        with watched(self.check):
            return self._prepared(position, sample)

    def check(self) -> None:
        """Raise `Unmeasured` once the deadline has passed, or the run is to end."""
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
            stale = _stale(scorer, sample, self.corpus)
            if stale is not None or make is None:
                work.results[index] = stale or score_one(scorer, sample)
            else:
                _begin(work, index, scorer, make)
        return work


def score_alone(scorer: Scorer, sample: Sample, corpus: CorpusIndex | None = None) -> Result:
    """Return the result of a sample outside of a run; raises nothing, as a run does."""
    return _stale(scorer, sample, corpus) or score_one(scorer, sample)


async def ascore_alone(scorer: Scorer, sample: Sample, corpus: CorpusIndex | None = None) -> Result:
    """Return the same by the scorer's `ascore`; without one, by its `score` in a thread."""
    import asyncio

    stale = _stale(scorer, sample, corpus)
    if stale is not None:
        return stale
    ascore = getattr(scorer, "ascore", None)
    try:
        # A scorer of the user's own may have `score` alone, and wait for a model in it.
        scoring = ascore(sample) if ascore else asyncio.to_thread(scorer.score, sample)
        result: Result = await scoring
    except Exception as error:  # noqa: BLE001 - whatever a user's judge or scorer raises
        return raised(scorer, error)
    return result


def _stale(scorer: Scorer, sample: Sample, corpus: CorpusIndex | None) -> Result | None:
    """Return the result where the score depends on a label that is stale; None where it is not."""
    if corpus is None:
        return None
    # All labels, where a user's scorer does not say on which its score depends.
    labels = scorer.labels if isinstance(scorer, FindingScorer) else LABELS
    stale = stale_label(sample, corpus, labels)
    return None if stale is None else unscored(scorer, stale)


def _begin(work: Work, index: int, scorer: Scorer, make: Callable[[Sample], Flow[Result]]) -> None:
    """Run a flow up to its first requests, or to its result where it asks nothing."""
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


def score_one(
    scorer: Scorer, sample: Sample, score: Callable[[Sample], Result] | None = None
) -> Result:
    """Return the scorer's result; "unscored", with the exception as its reason, if it raises.

    `score` is another way of the scorer to make it.
    """
    try:
        return (score or scorer.score)(sample)
    except Exception as error:  # noqa: BLE001 - whatever a user's similarity or scorer raises
        return raised(scorer, error)


def raised(scorer: Scorer, error: Exception) -> Result:
    """Return what an exception inside a scorer makes of its result: it ends no run."""
    from fullrecall.judge.models.failures import shortened

    message = shortened(f"{type(error).__name__}: {error}")
    return unscored(scorer, f"{scorer.method.name} raised {message}")


def unscored(scorer: Scorer, why: str) -> Result:
    """Return a result without a score, and why."""
    return Result(scorer.method, Status.UNSCORED, note=why)
