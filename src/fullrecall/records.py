"""The saved form of samples' results: what a file holds is checked here before it is believed.

A report, a store and a batch's column hold these records as JSON. Whatever no run can give, such
as a credit above 1 or a score that its findings do not come to, raises `ReportError` with the
field. pydantic is loaded with this module, which is loaded when something is read or written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import isclose, isfinite
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from fullrecall.errors import FullrecallError, ReportError
from fullrecall.findings import Evidence, Finding, Step, Target
from fullrecall.identifiers import shown
from fullrecall.measures import parse
from fullrecall.result import Method, Result, Status
from fullrecall.sample import Sample
from fullrecall.usage import Usage

Rank = Annotated[int, Field(ge=1)]
Offset = Annotated[int, Field(ge=0)]
Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Credit = Annotated[float, Field(gt=0, le=1)]
Positive = Annotated[float, Field(gt=0)]
Text = Annotated[str, Field(min_length=1)]

_ROUNDING = 1e-9
"""How far a saved score may be from the one that its findings give."""


class Record(BaseModel):
    """Base of all records: no field more, no value of another type, nothing infinite."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    @classmethod
    def read(cls, plain: object) -> Self:
        """Return the record of plain JSON values; `ReportError` names the field that is wrong."""
        try:
            return cls.model_validate(plain)
        except ValidationError as error:
            raise ReportError(_problem(error)) from None


class EvidenceRecord(Record):
    """One `Evidence`."""

    rank: Rank
    start: Offset | None = None
    end: Offset | None = None
    target_start: Offset | None = None
    target_end: Offset | None = None
    similarity: Share | None = None
    quote: str | None = None
    verified: bool | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        for start, end in ((self.start, self.end), (self.target_start, self.target_end)):
            if start is not None and end is not None and end < start:
                raise ValueError(f"an end must not lie before its start, got {start} to {end}")
        return self


class FindingRecord(Record):
    """One `Finding`."""

    target: Annotated[list[str], Field(min_length=1)]
    grade: Positive = 1.0
    size: Positive = 1.0
    steps: list[Annotated[list[int | float], Field(min_length=2, max_length=2)]]
    ranks: list[Rank]
    evidence: list[EvidenceRecord] = []
    verdict: str = ""
    agreement: Share | None = None
    judge: str = ""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        for rank, credit in self.steps:
            if type(rank) is not int or rank not in self.ranks or not 0 < credit <= 1:
                raise ValueError(
                    "each step must have a rank among ranks and a credit above 0 and at most 1, "
                    f"got {[rank, credit]}"
                )
        for before, after in pairwise(self.steps):
            if before[0] >= after[0] or before[1] >= after[1]:
                raise ValueError(f"the ranks and credits of steps must rise, got {self.steps}")
        if any(before >= after for before, after in pairwise(self.ranks)):
            raise ValueError(f"ranks must rise, got {self.ranks}")
        return self

    @property
    def finding(self) -> Finding:
        """The finding that was saved."""
        return Finding(
            Target(tuple(self.target), self.grade, self.size),
            tuple(Step(int(rank), float(credit)) for rank, credit in self.steps),
            tuple(self.ranks),
            tuple(Evidence(**dict(item)) for item in self.evidence),
            self.verdict,
            self.agreement,
            self.judge,
        )


class UsageRecord(Record):
    """One `Usage`."""

    calls: Count = 0
    prompt_tokens: Count = 0
    completion_tokens: Count = 0


class ResultRecord(Record):
    """One `Result`, without its method."""

    status: str
    score: Share | None = None
    targets: str = ""
    retrieved: Count = 0
    findings: list[FindingRecord] = []
    note: str = ""
    unmeasured: list[Annotated[list[str], Field(min_length=2, max_length=2)]] = []
    usage: UsageRecord = UsageRecord()
    ranks: list[Rank] | None = None

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.status not in set(Status):
            raise ValueError(f"status must be one of {', '.join(Status)}, got {self.status!r}")
        if self.status == Status.SCORED and not self.findings:
            raise ValueError("a scored result must have findings")
        if self.status == Status.UNDEFINED and (self.findings or self.unmeasured):
            raise ValueError("an undefined result must have no targets")
        if self.status != Status.SCORED and not self.note:
            raise ValueError(f"an {self.status} result must have a note with the reason")
        places = [rank for finding in self.findings for rank in finding.ranks[-1:]]
        places += [item.rank for finding in self.findings for item in finding.evidence]
        if places and max(places) > self.retrieved:
            raise ValueError(
                f"a rank must be at most retrieved={self.retrieved}, got {max(places)}"
            )
        if self.ranks is not None and (
            len(self.ranks) != self.retrieved or self.ranks != sorted(self.ranks)
        ):
            raise ValueError(f"ranks must be {self.retrieved} ranks, ascending, got {self.ranks}")
        names = [tuple(finding.target) for finding in self.findings]
        if len(set(names)) < len(names):
            raise ValueError("each target must have one finding")
        return self

    def result(self, method: Method) -> Result:
        """Return the result that was saved; `ReportError` where its score is not its findings'."""
        result = Result(
            method,
            Status(self.status),
            tuple(record.finding for record in self.findings),
            self.retrieved,
            self.note,
            tuple((target, why) for target, why in self.unmeasured),
            Usage(**dict(self.usage)),
            None if self.ranks is None else tuple(self.ranks),
        )
        if self.targets and self.targets != result.digest:
            raise ReportError(f"targets must be {result.digest}, got {self.targets}")
        if self.score != result.score and not (
            self.score is not None
            and result.score is not None
            and isclose(self.score, result.score, abs_tol=_ROUNDING)
        ):
            raise ReportError(
                f"score must be {result.score}, as its findings give, got {self.score}"
            )
        return result


class MethodRecord(Record):
    """One `Method`."""

    name: Text
    parameters: dict[str, Any] = {}
    headline: str = "recall"

    @property
    def method(self) -> Method:
        """The method that was saved; `ReportError` for a measure that is not known here."""
        try:
            return Method(self.name, self.parameters, parse(self.headline))
        except FullrecallError as error:
            raise ReportError(f"headline: {error}") from None


class RowRecord(Record):
    """One sample with its results."""

    sample: dict[str, Any]
    results: list[ResultRecord]

    def content(self, methods: Sequence[Method]) -> tuple[Sample, tuple[Result, ...]]:
        """Return what was saved; `ReportError` for what is no row of these methods."""
        if len(self.results) != len(methods):
            raise ReportError(
                f"results must be {len(methods)}, one per score, got {len(self.results)}"
            )
        sample = Sample(**self.sample)
        check_plain(sample, "sample")
        results = []
        for number, (record, method) in enumerate(zip(self.results, methods, strict=True)):
            try:
                results.append(record.result(method))
            except ReportError as error:
                raise ReportError(f"results[{number}].{error}") from None
            _check_retrieved(sample, results[-1], number)
        return sample, tuple(results)


def plain_method(method: Method) -> dict[str, Any]:
    """Return a method as plain JSON values that `MethodRecord` reads."""
    return {
        "name": method.name,
        "parameters": dict(method.parameters),
        "headline": method.headline.name,
    }


def plain_finding(finding: Finding) -> dict[str, Any]:
    """Return a finding as plain JSON values that `FindingRecord` reads."""
    target = finding.target
    plain: dict[str, Any] = {"target": list(target.any_of)}
    if target.grade != 1.0:
        plain["grade"] = target.grade
    if target.size != 1.0:
        plain["size"] = target.size
    plain["steps"] = [list(step) for step in finding.steps]
    plain["ranks"] = list(finding.ranks)
    if finding.evidence:
        plain["evidence"] = [
            {name: value for name, value in item._asdict().items() if value is not None}
            for item in finding.evidence
        ]
    given = {"verdict": finding.verdict, "agreement": finding.agreement, "judge": finding.judge}
    return plain | {name: value for name, value in given.items() if value not in ("", None)}


def plain_result(result: Result) -> dict[str, Any]:
    """Return a result as plain JSON values that `ResultRecord` reads."""
    plain: dict[str, Any] = {"status": str(result.status)}
    if result.status is Status.SCORED:
        plain |= {"score": result.score, "targets": result.digest}
    if result.retrieved or len(result.findings):
        plain["retrieved"] = result.retrieved
    if len(result.findings):
        plain["findings"] = [plain_finding(finding) for finding in result.findings]
    if result.note:
        plain["note"] = result.note
    if result.unmeasured:
        plain["unmeasured"] = [list(item) for item in result.unmeasured]
    if any(result.usage):
        plain["usage"] = result.usage._asdict()
    if result.ranks is not None:
        plain["ranks"] = list(result.ranks)
    return plain


def plain_row(
    sample: Sample,
    results: Sequence[Result],
    *,
    default: Callable[[Any], Any] | None = None,
) -> dict[str, Any]:
    """Return a row as plain JSON values that `RowRecord` reads.

    Raises `ReportError` for metadata that JSON would change or cannot hold, unless a `default`
    makes plain values of it.
    """
    if default is None:
        check_plain(sample, "sample")
    return {
        "sample": sample.to_dict(),
        "results": [plain_result(result) for result in results],
    }


def check_plain(sample: Sample, what: str) -> None:
    """Raise `ReportError` for metadata of a sample, or of a context of it, that is not plain."""
    _check(sample.metadata, f"{what}.metadata")
    listed = {
        "retrieved_contexts": sample.retrieved_contexts or (),
        "reference_contexts": [c for group in sample.reference_contexts or () for c in group],
    }
    calls = () if sample.retrieval is None else sample.retrieval.calls
    for call in (each for root in calls for each in root.walk()):
        listed[f"retrieval.calls[{call.source!r}]"] = call.contexts or ()
    for name, contexts in listed.items():
        for position, context in enumerate(contexts):
            if context.metadata:
                _check(context.metadata, f"{what}.{name}[{position}].metadata")


def _check(value: object, where: str) -> None:
    kind = type(value)
    if kind is dict:
        for key, item in value.items():  # type: ignore[attr-defined]
            if type(key) is not str:
                raise ReportError(f"{where} must have keys that are str, got {shown(key)}")
            _check(item, f"{where}[{key!r}]")
    elif kind is list:
        for position, item in enumerate(value):  # type: ignore[arg-type]
            _check(item, f"{where}[{position}]")
    elif not (
        value is None or kind in (str, int, bool) or (kind is float and isfinite(value))  # type: ignore[arg-type]
    ):
        raise ReportError(
            f"{where} must be a value that JSON keeps as it is, got {shown(value)}: convert it, or "
            "pass default=str to save it as text"
        )


def _check_retrieved(sample: Sample, result: Result, number: int) -> None:
    ids = sample.retrieved_context_ids
    if ids is not None and result.retrieved > len(ids):
        raise ReportError(
            f"results[{number}].retrieved must be at most {len(ids)}, the contexts of the sample, "
            f"got {result.retrieved}"
        )
    if not sample.has_retrieval and result.retrieved:
        raise ReportError(f"results[{number}].retrieved must be 0: the sample has no retrieval")


def _problem(error: ValidationError) -> str:
    """Return the first problem that pydantic found, as our messages say it."""
    first = error.errors(include_url=False)[0]
    where = "".join(
        f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]
    ).lstrip(".")
    kind, message = first["type"], first["msg"]
    if kind == "extra_forbidden":
        return f"{where} is not a field of it"
    if kind == "missing":
        return f"{where} is missing"
    if kind == "value_error":
        message = message.removeprefix("Value error, ")
        return f"{where}: {message}" if where else message
    expected = message.replace("Input should be", "must be")
    return f"{where or 'it'} {expected}, got {shown(first['input'])}"
