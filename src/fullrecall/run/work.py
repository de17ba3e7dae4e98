"""One sample of a run: the results it has, and the flows that still ask for theirs.

Nothing here asks: scores that take no model are made without an event loop, and without loading
what asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fullrecall.corpus import LABELS, CorpusIndex, stale_label
from fullrecall.result import Result, Status
from fullrecall.sample import Sample
from fullrecall.scorers.scorer import INTERRUPTED, LATE, FindingScorer, Scorer
from fullrecall.table.row import Row

if TYPE_CHECKING:
    import asyncio

    from fullrecall.judges.judge import Ask, Flow


@dataclass(frozen=True, slots=True)
class Begun:
    """A flow that asked something: where it stands, and where its result belongs."""

    index: int
    scorer: Scorer
    flow: Flow[Result]
    asked: Sequence[Ask]


@dataclass(slots=True)
class Work:
    """A sample on its way: the results that it has, the flows that still ask."""

    position: int
    sample: Sample
    results: list[Result | None]
    begun: list[Begun] = field(default_factory=list)
    task: asyncio.Task[None] | None = None

    def row(self, scorers: Sequence[Scorer]) -> Row:
        """Return the row; a result that is not there was interrupted."""
        results = (
            result or unscored(scorer, INTERRUPTED)
            for scorer, result in zip(scorers, self.results, strict=True)
        )
        return Row(self.position, self.sample, tuple(results))


def prepared(
    position: int,
    sample: Sample,
    scorers: Sequence[Scorer],
    corpus: CorpusIndex | None = None,
) -> Work:
    """Return a sample with all that takes no model: its flows are begun, other scores are made.

    A score that depends on a label which is stale in `corpus` is not made.
    """
    work = Work(position, sample, [None] * len(scorers))
    for index, scorer in enumerate(scorers):
        make = getattr(scorer, "flow", None)
        stale = _stale(scorer, sample, corpus)
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
    labels = scorer.labels_read(sample) if isinstance(scorer, FindingScorer) else LABELS
    stale = stale_label(sample, corpus, labels)
    return None if stale is None else unscored(scorer, stale)


def _begin(work: Work, index: int, scorer: Scorer, make: Callable[[Sample], Flow[Result]]) -> None:
    """Run a flow up to its first requests, or to its result where it asks nothing."""
    from fullrecall.judges.flow import Done, advance

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


def late(position: int, sample: Sample, scorers: Sequence[Scorer]) -> Work:
    """Return a sample that comes after the run's deadline: nothing of it is measured."""
    return Work(position, sample, [unscored(scorer, LATE) for scorer in scorers])


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
    from fullrecall.models.failures import shortened

    message = shortened(f"{type(error).__name__}: {error}")
    return unscored(scorer, f"{scorer.method.name} raised {message}")


def unscored(scorer: Scorer, why: str) -> Result:
    """Return a result without a score, and why."""
    return Result(scorer.method, Status.UNSCORED, note=why)
