"""The findings of one scorer on one sample, and every measure of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import cached_property
from math import isnan
from typing import TYPE_CHECKING, Any

from fullrecall._util.value_object import ValueObject
from fullrecall.errors import ParameterError
from fullrecall.judge.usage import Usage
from fullrecall.measures import CutBudget, Measure, Recall
from fullrecall.measures.findings import Finding, Findings, Target, by_rank

if TYPE_CHECKING:
    from fullrecall.measures.found import FoundColumns
    from fullrecall.samples.sample import Sample

_NAMED = 5
"""The most missed targets that a printed result names."""

_LONGEST = 120
"""The most characters of a text in a printed result."""


class Status(StrEnum):
    """Whether a sample has a score, and if not, why not."""

    SCORED = "scored"
    UNDEFINED = "undefined"
    """The sample has no targets, so its recall is undefined."""
    UNSCORED = "unscored"
    """The sample could not be scored: for example, a field is missing, or a call failed."""
    UNJUDGED = "unjudged"
    """The sample has no relevance judgment (`judged=False`), so it has no reference."""


@dataclass(frozen=True, eq=False, repr=False)
class Method(ValueObject):
    """How findings were computed: the scorer's name, kind and parameters, with its judge's name.

    `headline` is the measure that the score gives, which is recall for most scorers. `kind` names
    the scorer's class ("id_recall"), even if the score has another name; it is empty for a user's
    own scorer. `quotes_by_rules` is true if rules alone decide whether a quote is verified, and
    false if the judge may decide it.
    """

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    headline: Measure = Recall
    kind: str = ""
    quotes_by_rules: bool = False

    def label(self, measure: Measure) -> str:
        """Return the name of a score: `id_recall`, `id_recall@5`, `id_recall.ndcg@10`."""
        if measure.whole == self.headline:
            return self.name if measure.k is None else f"{self.name}@{measure.k}"
        return f"{self.name}.{measure.name}"


_NOTHING = Usage()


class ResultSource(ABC):
    """The results of rows, which are computed when they are read.

    A `Result` that reads its measures from a source is called a view of one row.
    """

    def __init__(self) -> None:
        self.values: dict[Measure, Sequence[float | None]] = {}
        """For each measure read so far, its value for each row; None for a row without one."""

    @abstractmethod
    def read(self, measure: Measure) -> Sequence[float | None]:
        """Return the value of a measure for each row; None for a row without one."""

    @abstractmethod
    def made(self, row: int) -> Result:
        """Return the result of a row with its findings."""

    @abstractmethod
    def sample(self, row: int) -> Sample:
        """Return the sample of a row."""


@dataclass(frozen=True, eq=False, repr=False)
class Result(ValueObject):
    """The findings of one scorer on one sample: `result[Recall @ 5]` is a measure of them.

    `findings` has one item per target, `retrieved` is the number of contexts. `note` is the reason
    why there is no score, or a remark on the score. If the contexts of several calls were merged,
    `ranks` has the rank of each context in its own call, ascending, and findings name contexts by
    their 1-based position in the merged list. If `ranks` is None, the position is the rank.
    `unmeasured` names the targets that could not be judged, each with the reason, and `usage` is
    the cost of judging. An unscored result keeps the findings made before it failed.
    """

    method: Method
    status: Status
    # A default would become a class attribute, which Python finds before it calls `__getattr__`.
    # A factory does not, so `__getattr__` can create the fields of a view.
    findings: Sequence[Finding] = field(default_factory=tuple)
    retrieved: int = field(default_factory=int)
    note: str = field(default_factory=str)
    unmeasured: tuple[tuple[str, str], ...] = field(default_factory=tuple)
    usage: Usage = field(default_factory=lambda: _NOTHING)
    ranks: tuple[int, ...] | None = field(default_factory=lambda: None)
    _source: ResultSource | None = field(default=None, init=False, compare=False)
    """The source from which a view reads its measures; None if they are computed here."""
    _row: int = field(default=0, init=False, compare=False)
    _sample: Any = field(default_factory=lambda: None, kw_only=True, compare=False)
    """The scored sample, for measures that read it; `dataclasses.replace` keeps it."""

    if not TYPE_CHECKING:  # With `__getattr__`, type checkers would accept any attribute.

        def __getattr__(self, name: str) -> Any:
            """Create the fields of a view when one of them is first read."""
            source = self._source
            if source is None or name not in _LATE:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            if name == "_sample":
                self.__dict__["_sample"] = source.sample(self._row)
            else:
                made = source.made(self._row)
                own = {each: getattr(made, each) for each in _LATE if each != "_sample"}
                self.__dict__.update(own)
            return self.__dict__[name]

    def __getitem__(self, measure: Measure) -> float | None:
        """Return a measure's value in [0, 1]; None if it is undefined or the sample is unscored.

        Raises `ParameterError` for anything but a measure.
        """
        source = self._source
        if source is not None:
            try:  # an earlier read of another row has usually computed the values
                return source.values[measure][self._row]
            except (KeyError, TypeError):
                pass
        if not isinstance(measure, Measure):
            raise ParameterError(
                f"expected a measure such as Recall @ 5 of fullrecall.measures, got {measure!r}"
            )
        if source is None:
            return self.counted(measure)
        values = source.values[measure] = source.read(measure)
        return values[self._row]

    def counted(self, measure: Measure) -> float | None:
        """Return a measure's value, computed from the findings, or None if it is undefined."""
        if self.status is Status.UNSCORED and not measure.of_sample:
            return None
        value = float(measure.values(self._outcomes)[0])
        return None if isnan(value) else value

    @cached_property
    def _outcomes(self) -> FoundColumns:
        """The findings as columns of one row."""
        from fullrecall.measures.found import FoundColumns
        from fullrecall.measures.of_samples import OneSample

        status = tuple(Status).index(self.status)
        columns = FoundColumns.of([self.findings], [self.retrieved], [self.ranks], [status])
        samples = None if self._sample is None else OneSample(self._sample)
        return replace(columns, samples=samples, findings=lambda _: self.ranked)

    def __getstate__(self) -> dict[str, Any]:
        # Leave out a view's source: with it, pickling one result would pickle its whole table.
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**state, "_source": None, "_row": 0, "_sample": None}

    def asked_of(self, sample: Sample) -> Result:
        """Attach the scored sample to this result; return the result."""
        object.__setattr__(self, "_sample", sample)
        return self

    def viewed(self, source: ResultSource, row: int) -> Result:
        """Return this result, which from now on reads its measures from a row of `source`."""
        self.__dict__.update(_source=source, _row=row)
        return self

    @property
    def score(self) -> float | None:
        """The headline measure over all retrieved contexts; None without a score, see `status`."""
        return None if self.status is not Status.SCORED else self[self.method.headline]

    @property
    def ranked(self) -> Findings:
        """The findings by rank; in a merged list, a context has the rank within its own call."""
        return self.findings if self.ranks is None else by_rank(self.findings, self.ranks)

    def paid(self, measure: Measure) -> Findings:
        """Return the findings as if only the contexts within a measure's budget were retrieved.

        Returns all findings, by rank, for a measure without a budget, or if costs are unknown.
        """
        if isinstance(measure.k, CutBudget) and self._sample is not None:
            from fullrecall.measures.paid import findings_of, within

            left, is_known = within(self._outcomes, measure.k)
            if is_known[0]:
                return findings_of(left, 0, self.findings)
        return self.ranked

    @property
    def is_judged(self) -> bool:
        """Whether a judge was asked about any target."""
        judged = bool(self.unmeasured) or any(self.usage)
        return judged or any(finding.verdict for finding in self.findings)

    @property
    def missed(self) -> tuple[str, ...]:
        """The targets not found in full, as text or IDs."""
        return tuple(finding.target.label for finding in self.findings if not finding.found_at())

    @property
    def targets(self) -> tuple[Target, ...]:
        """The targets in order, without those that could not be judged."""
        return tuple(finding.target for finding in self.findings)

    @property
    def reason(self) -> str:
        """One sentence for a person: why there is no score, or how many targets were found."""
        return self._reason(self.findings, None, f"{self.retrieved} retrieved")

    def reason_within(self, measure: Measure) -> str:
        """Return the `reason`, counting only the targets found within a measure's k or budget."""
        if measure.k is None:
            return self.reason
        scope = str(measure.k)
        if measure.unit is None:
            ranks = range(1, self.retrieved + 1) if self.ranks is None else self.ranks
            within = sum(measure.top is None or rank <= measure.top for rank in ranks)
            scope = f"{within} retrieved"
        return self._reason(self.paid(measure), measure.top, scope)

    def _reason(self, findings: Findings, k: int | None, scope: str) -> str:
        if self.status is not Status.SCORED or not len(findings):
            return self.note
        found_count = sum(finding.found_at(k) for finding in findings)
        partly = any(0 < finding.credit_at(k) < 1 for finding in findings)
        sentence = (
            f"{found_count} of {len(findings)} found{' in full' if partly else ''} in {scope}"
        )
        return f"{sentence}; {self.note}" if self.note else sentence

    @property
    def named_score(self) -> str:
        """The score and its name, "0.500 id_recall"; without a score, the status and the name."""
        score = str(self.status) if self.score is None else f"{self.score:.3f}"
        return f"{score} {self.method.name}"

    def __repr__(self) -> str:
        return f"Result({self.named_score}: {_short(self.reason)})"

    def __str__(self) -> str:
        missed = [_short(target) for target in self.missed] if self.score is not None else []
        named = [*missed[:_NAMED], *([f"{len(missed) - _NAMED:,} more"] * (len(missed) > _NAMED))]
        lost = f"; missed: {', '.join(named)}" if named else ""
        return f"{self.named_score}: {_short(self.reason)}{lost}"


def result_view(
    source: ResultSource, row: int, method: Method, status: Status, retrieved: int
) -> Result:
    """Return a row of `source` as a result whose findings are created when first read."""
    result = object.__new__(Result)
    own = result.__dict__
    own["method"], own["status"], own["retrieved"] = method, status, retrieved
    own["_source"], own["_row"] = source, row
    return result


_LATE = frozenset(each.name for each in fields(Result)) - {"method", "status", "_source", "_row"}
"""The fields of a view that are created when one of them is first read."""


def _short(text: str) -> str:
    """Return a text as one line of printable characters, shortened if it is long."""
    # Cut the text first, since a target may be a whole document.
    start = text[: 4 * _LONGEST]
    line = " ".join("".join(c if c.isprintable() else " " for c in start).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
