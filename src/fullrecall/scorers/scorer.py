"""The base of all scorers: their parameters, and the steps from a sample to a result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import islice
from operator import length_hint
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar, runtime_checkable

from fullrecall._util.pieces import pause, paused
from fullrecall._util.value_object import ValueObject
from fullrecall.errors import InputError, ParameterError
from fullrecall.measures import Measure, Recall
from fullrecall.measures.findings import Findings
from fullrecall.samples.context import Context
from fullrecall.samples.fields import LABELS
from fullrecall.samples.sample import Sample
from fullrecall.scorers.result import Method, Result, Status

T = TypeVar("T")

UNOBSERVED = "no retrieval observed"
"""The beginning of the reason if a sample has no list of contexts, not even an empty one."""

NO_REFERENCES = "no reference items"
"""The note of a result without targets, unless the scorer has its own note."""

LATE = "the run's deadline passed before it was judged"
INTERRUPTED = "the run was interrupted before it was judged"
BAD_ROW = "bad row"
"""Reasons why a run, not its scorer, left a sample unscored; `BAD_ROW` only begins one."""

NOT_JUDGED = "not judged"
"""The words in a reason that mean that targets have no verdict."""

OVER_BUDGET = "the budget of"
"""The beginning of the reason if a run's budget did not allow further requests to models."""


@runtime_checkable
class Scorer(Protocol):
    """A scorer for `evaluate`: any object that has a `method` and scores samples."""

    @property
    def method(self) -> Method:
        """How this scorer scores: its name and parameters."""
        ...

    def score(self, sample: Sample, /) -> Result:
        """Return the result for one sample."""
        ...


class Found(NamedTuple):
    """The findings of a scorer; without findings, the sample has no targets.

    `retrieved` is the number of contexts, `note` is added to the result's reason, and `unmeasured`
    has the targets that could not be judged, each with its reason.
    """

    findings: Findings
    retrieved: int
    note: str = ""
    unmeasured: tuple[tuple[str, str], ...] = ()


class Unmeasured(Exception):  # noqa: N818 - a signal between a scorer and its driver, no error
    """An exception inside a scorer: this sample cannot be measured, for a stated reason."""


class Missing(Unmeasured):
    """An exception inside a scorer: a field is missing."""


class Unanswerable(Exception):  # noqa: N818 - as above
    """An exception inside a scorer: no document answers the question, so recall is undefined."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FindingScorer(ValueObject, ABC):
    """Base of the scorers that make findings; measures count them.

    - `name`: the score's name in reports; by default the kind of scorer ("id_recall").
    """

    name: str | None = None

    kind: ClassVar[str]
    headline: ClassVar[Measure] = Recall
    """The measure of `Result.score`."""

    labels: ClassVar[Collection[str]] = LABELS
    """The fields, of "reference_context_ids" and "reference_contexts", on which the score depends:
    if a label in one of them is stale, `evaluate(corpus=…)` does not score the sample.
    """

    def __post_init__(self) -> None:
        if self.name is not None and (not isinstance(self.name, str) or not self.name.strip()):
            raise ParameterError(f"must be a str that is not blank, got {self.name!r}", "name")

    @abstractmethod
    def score(self, sample: Sample | None = None, /, **sample_fields: Any) -> Result:
        """Return the result for a sample, which may also be given by its fields' names.

        Raises `InputError` for fields that do not make a sample. A sample that cannot be measured
        is not an error: its result has `status="unscored"` and a reason.
        """

    @abstractmethod
    async def ascore(self, sample: Sample | None = None, /, **sample_fields: Any) -> Result:
        """Return the same as `score`, without blocking the event loop."""

    @property
    def method(self) -> Method:
        """How this scorer scores: its name and parameters."""
        return self._method  # cached below; pyright needs a property here, as in `Scorer`

    @cached_property
    def _method(self) -> Method:
        own = (each for each in fields(self) if each.name != "name")
        parameters = {each.name: _described(getattr(self, each.name)) for each in own}
        # "" for a subclass that declares no kind, since it may find targets differently
        own_kind = vars(type(self)).get("kind", "")
        return Method(self.name or self.kind, parameters, self.headline, own_kind)

    def _outcome(self, found: Found, sample: Sample) -> Result:
        findings, retrieved, note, unmeasured = found
        if not findings:
            note = note or NO_REFERENCES
            return Result(self._method, Status.UNDEFINED, retrieved=retrieved, note=note)
        record = sample.retrieval
        if record is not None:
            note = "; ".join(filter(None, (note, record.line)))
        return Result(
            self._method,
            Status.SCORED,
            tuple(findings),
            retrieved,
            note,
            unmeasured,
            ranks=None if sample.ranks is None else sample.ranks[:retrieved],
        )

    def _without_score(self, reason: Exception, sample: Sample) -> Result:
        """Return a result without a score, with the reason."""
        retrieved = len(sample.retrieved_context_ids or ())
        lacks = isinstance(reason, Missing) and sample.has_retrieval
        # A leak rate needs no references, so a sample that only forbids contexts lacks no field.
        if (lacks and sample.forbids) or isinstance(reason, Unanswerable):
            return Result(self._method, Status.UNDEFINED, retrieved=retrieved, note=str(reason))
        if lacks and sample.judged is False:
            note = "judged=False: no relevance judgment"
            return Result(self._method, Status.UNJUDGED, retrieved=retrieved, note=note)
        return self._unscored(reason)

    def _unscored(self, reason: Exception) -> Result:
        return Result(self._method, Status.UNSCORED, note=str(reason))


class DeterministicScorer(FindingScorer):
    """Base of the scorers without a judge; subclasses only define how targets are found."""

    def score(
        self, sample: Sample | None = None, /, *others: object, **sample_fields: Any
    ) -> Result:
        """Return the result for a sample, which may also be given by its fields' names.

        Raises `InputError` for fields that do not make a sample. A sample that cannot be measured
        is not an error: its result has `status="unscored"` and a reason.
        """
        if others:
            raise InputError(
                "score takes one sample, or its fields by name: "
                "score(retrieved_ids=['d1'], expected_ids=['d1'])"
            )
        # The usual call, with a `Sample`, costs only one comparison.
        if type(sample) is not Sample or sample_fields:
            sample = as_sample(sample, sample_fields)
        return self._scored(sample)

    def _scored(self, sample: Sample) -> Result:
        try:
            require_answerable(sample)
            return self._outcome(self._find(sample), sample).asked_of(sample)
        except (Unmeasured, Unanswerable) as reason:
            return self._without_score(reason, sample).asked_of(sample)

    async def ascore(self, sample: Sample | None = None, /, **sample_fields: Any) -> Result:
        """Return the same as `score`; it never waits."""
        return self.score(sample, **sample_fields)

    @abstractmethod
    def _find(self, sample: Sample) -> Found:
        """Return the findings; raises `Unmeasured` for a sample that cannot be measured."""


def as_sample(
    sample: Sample | Mapping[str, Any] | None, sample_fields: Mapping[str, Any]
) -> Sample:
    """Return the sample, given as a `Sample`, a mapping, or fields.

    Raises `TypeError` if both a sample and fields are given, and `InputError` for another type.
    """
    if sample is None:
        return Sample(**sample_fields)
    if isinstance(sample, Mapping) and not sample_fields:
        return Sample(**sample)
    if sample_fields:
        raise TypeError("score takes a Sample or the fields of one, not both")
    if not isinstance(sample, Sample):
        raise InputError(
            f"score takes a Sample, or its fields by name, got {type(sample).__name__}"
        )
    return sample


_SHOWN = 8
"""The most fields of a sample's metadata that a reason names."""


def require_retrieval(sample: Sample) -> None:
    """Raise `Unmeasured` unless a retrieval was observed, empty or not."""
    if sample.retrieval is not None and sample.retrieval.error is not None:
        raise Unmeasured(f"no retrieval: {sample.retrieval.error}")
    if not sample.has_retrieval:
        others = [name for name, value in sample.metadata.items() if isinstance(value, (str, list))]
        having = f"; other fields: {', '.join(map(repr, others[:_SHOWN]))}" if others else ""
        raise Unmeasured(
            f"{UNOBSERVED}: the sample has neither retrieved_contexts nor retrieved_context_ids"
            f"{having}"
        )


def require_answerable(sample: Sample) -> None:
    """Raise `Unanswerable` for a sample with `answerable=False` and an observed retrieval.

    Raises `Unmeasured` for a sample with `answerable=False` and without a retrieval.
    """
    if sample.answerable is False:
        require_retrieval(sample)
        raise Unanswerable("answerable=False: nothing answers the question")


def retrieved_contexts(sample: Sample) -> Sequence[Context]:
    """Return the retrieved contexts, best first.

    Raises `Unmeasured` if no retrieval was observed, or if only the IDs of its contexts are known.
    """
    require_retrieval(sample)
    if sample.retrieved_contexts is None and sample.retrieved_context_ids:
        raise Unmeasured("retrieved_contexts is missing: IDs alone have no text to compare")
    return sample.retrieved_contexts or ()


def retrieved_texts(sample: Sample) -> list[str]:
    """Return the retrieved texts, best first, with an empty one for a context without text.

    Raises `Unmeasured` if no retrieval was observed, or if it has contexts but none with a text.
    """
    contexts = retrieved_contexts(sample)
    if contexts and all(context.text is None for context in contexts):
        raise Unmeasured("none of the retrieved contexts has a text")
    return [context.text or "" for context in contexts]


_PIECE = 50_000
"""The number of values that are processed between two pauses."""


def first_ranks(values: Iterable[T]) -> dict[T, int]:
    """Return each value with the 1-based rank of its first occurrence."""
    rank_of: dict[T, int] = {}
    for rank, value in enumerate(paused(values, _PIECE), start=1):
        rank_of.setdefault(value, rank)
    return rank_of


def first_positions(row: Sequence[str | None], names: Iterable[str]) -> dict[str | None, int]:
    """Return the 1-based position of each name's first occurrence in a row, or 0 if there is none.

    Names keep their order. If the row has "" or None, their first positions are added.
    """
    position_of: dict[str | None, int] = dict.fromkeys(names, 0)
    wanted, size, rest = {"", None, *position_of}, len(row), iter(row)
    # The iterator of a list or a tuple knows how many items are left, which gives the position.
    left: Callable[[], int] = rest.__length_hint__  # type: ignore[attr-defined]
    for piece in (rest,) if size < _PIECE else _pieces(rest):
        # Most items of a row are not wanted: `isdisjoint`, which is C code, skips them.
        while not wanted.isdisjoint(piece):
            position = size - left()
            name = row[position - 1]
            wanted.remove(name)
            position_of[name] = position
    return position_of


def _pieces(rest: Iterator[T]) -> Iterator[Iterator[T]]:
    while length_hint(rest):
        pause()
        yield islice(rest, _PIECE)


def require(value: T | None, name: str) -> T:
    """Return the value of the sample's field `name`; raise `Unmeasured` if it is None."""
    if value is None:
        raise Missing(f"{name} is missing")
    return value


def _described(value: object) -> object:
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, tuple):
        return list(map(_described, value))
    # Show a judge or model by its name; its `repr` may contain prompts, addresses, or secrets.
    name = getattr(value, "name", None)
    if isinstance(name, str):
        return name
    qualified = getattr(value, "__qualname__", None)
    # Name a function with its module: a user's function may have the name of a built-in similarity.
    return f"{value.__module__}.{qualified}" if qualified else type(value).__qualname__
