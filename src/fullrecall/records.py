"""The saved form of samples' results: what a file holds is checked here before it is believed.

A report, a store and a batch's column hold these records as JSON. Whatever no run can give, such
as a credit above 1 or a score that its findings do not come to, raises `ReportError` with the
field. pydantic is loaded with this module, which is loaded when something is read or written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import isclose, isfinite
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from fullrecall.errors import FullrecallError, InputError, ReportError
from fullrecall.findings import Evidence, Finding, Part, Step, Target
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

_MOST = 10**4_000
"""Whole numbers from here on have more digits than Python reads."""

_STATUSES = frozenset(Status)

ROUNDING = 1e-9
"""How far a saved score may be from the one that its findings give."""


class Record(BaseModel):
    """Base of all records: no field more, no value of another type, nothing infinite."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    @classmethod
    def read(cls, value: object) -> Self:
        """Return the record of plain JSON values; `ReportError` names the field that is wrong."""
        try:
            return cls.model_validate(value)
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
        if self.end is not None or self.target_end is not None:
            _check_span(self.start, self.end)
            _check_span(self.target_start, self.target_end)
        return self

    @property
    def item(self) -> Evidence:
        """The evidence that was saved."""
        return Evidence(**dict(self))


class PartRecord(Record):
    """One `Part`."""

    label: str
    evidence: list[Count] = Field(default_factory=list)
    together: bool = False
    vote: Count = 0


class FindingRecord(Record):
    """One `Finding`."""

    target: Annotated[list[str], Field(min_length=1)]
    grade: Positive = 1.0
    size: Positive = 1.0
    steps: list[Annotated[list[int | float], Field(min_length=2, max_length=2)]]
    ranks: list[Rank]
    evidence: list[EvidenceRecord] = Field(default_factory=list)
    verdict: str = ""
    agreement: Share | None = None
    judge: str = ""
    unverified: Share = 0.0
    contested: str = ""
    parts: list[PartRecord] = Field(default_factory=list)

    @model_validator(mode="after")
    def _possible(self) -> Self:
        steps, ranks = self.steps, self.ranks
        for rank, credit in steps:
            if type(rank) is not int or rank not in ranks or not 0 < credit <= 1:
                raise ValueError(
                    "each step must have a rank among ranks and a credit above 0 and at most 1, "
                    f"got {[rank, credit]}"
                )
        if len(steps) > 1 and any(b[0] >= a[0] or b[1] >= a[1] for b, a in pairwise(steps)):
            raise ValueError(f"the ranks and credits of steps must rise, got {steps}")
        if len(ranks) > 1 and any(before >= after for before, after in pairwise(ranks)):
            raise ValueError(f"ranks must rise, got {ranks}")
        return self

    @property
    def finding(self) -> Finding:
        """The finding that was saved."""
        return Finding(
            Target(tuple(self.target), self.grade, self.size),
            tuple([Step(int(rank), float(credit)) for rank, credit in self.steps]),
            tuple(self.ranks),
            tuple([item.item for item in self.evidence]),
            self.verdict,
            self.agreement,
            self.judge,
            self.unverified,
            self.contested,
            tuple([Part(p.label, tuple(p.evidence), p.together, p.vote) for p in self.parts]),
        )


class UsageRecord(Record):
    """One `Usage`."""

    calls: Count = 0
    prompt_tokens: Count = 0
    completion_tokens: Count = 0


_NO_USAGE = UsageRecord()


class ResultRecord(Record):
    """One `Result`, without its method."""

    status: str
    score: Share | None = None
    retrieved: Count = 0
    findings: list[FindingRecord] = Field(default_factory=list)
    note: str = ""
    unmeasured: list[Annotated[list[str], Field(min_length=2, max_length=2)]] = Field(
        default_factory=list
    )
    usage: UsageRecord = _NO_USAGE
    ranks: list[Rank] | None = None

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.status not in _STATUSES:
            raise ValueError(f"status must be one of {', '.join(Status)}, got {self.status!r}")
        if self.status == Status.SCORED and not self.findings:
            raise ValueError("a scored result must have findings")
        if self.status == Status.UNDEFINED and (self.findings or self.unmeasured):
            raise ValueError("an undefined result must have no targets")
        if self.status != Status.SCORED and not self.note:
            raise ValueError(f"an {self.status} result must have a note with the reason")
        most = max(map(_last_position, self.findings), default=0)
        if most > self.retrieved:
            raise ValueError(f"a rank must be at most retrieved={self.retrieved}, got {most}")
        if self.ranks is not None and (
            len(self.ranks) != self.retrieved or self.ranks != sorted(self.ranks)
        ):
            raise ValueError(f"ranks must be {self.retrieved} ranks, ascending, got {self.ranks}")
        if len({tuple(finding.target) for finding in self.findings}) < len(self.findings):
            raise ValueError("each target must have one finding")
        return self

    def result(self, method: Method) -> Result:
        """Return the result that was saved; `ReportError` where its score is not its findings'."""
        result = self.as_found(method)
        score = result.score
        if self.score != score and (
            self.score is None or score is None or not isclose(self.score, score, abs_tol=ROUNDING)
        ):
            raise ReportError(f"score must be {score}, as its findings give, got {self.score}")
        return result

    def as_found(self, method: Method) -> Result:
        """Return the result that the findings make, whatever its score."""
        return Result(
            method,
            Status(self.status),
            tuple([record.finding for record in self.findings]),
            self.retrieved,
            self.note,
            tuple((target, why) for target, why in self.unmeasured),
            Usage() if self.usage is _NO_USAGE else Usage(**dict(self.usage)),
            None if self.ranks is None else tuple(self.ranks),
        )


def _check_span(start: int | None, end: int | None) -> None:
    if start is not None and end is not None and end < start:
        raise ValueError(f"an end must not lie before its start, got {start} to {end}")


def _last_position(finding: FindingRecord) -> int:
    """Return the last position that a finding names, 0 for none."""
    last = finding.ranks[-1] if finding.ranks else 0
    return max([item.rank for item in finding.evidence] + [last]) if finding.evidence else last


class MethodRecord(Record):
    """One `Method`."""

    name: Text
    parameters: dict[str, Any] = {}
    headline: str = "recall"
    kind: str = ""

    @model_validator(mode="after")
    def _check_parameters(self) -> Self:
        check_plain(self.parameters, "parameters")
        return self

    @property
    def method(self) -> Method:
        """The method that was saved; `ReportError` for a measure that is not known here."""
        try:
            return Method(self.name, self.parameters, parse(self.headline), self.kind)
        except FullrecallError as error:
            raise ReportError(f"headline: {error}") from None


ROW = frozenset({"sample", "results"})
"""The fields of a row."""


def check_row(value: object, methods: Sequence[Method]) -> None:
    """Raise `ReportError` for what is no row: a sample, and one result for each method."""
    if type(value) is not dict:
        raise ReportError(f"a row must be a mapping, got {_shown(value)}")
    for name in sorted(ROW - value.keys()):
        raise ReportError(f"{name} is missing")
    for name in value.keys() - ROW:
        raise ReportError(f"{name} is not a field of it")
    sample, results = value["sample"], value["results"]
    if type(sample) is not dict:
        raise ReportError(f"sample must be a mapping, got {_shown(sample)}")
    if type(results) is not list:
        raise ReportError(f"results must be a list, got {_shown(results)}")
    if len(results) != len(methods):
        raise ReportError(f"results must be {len(methods)}, one per score, got {len(results)}")


def row_of(row: Any, methods: Sequence[Method]) -> tuple[Sample, tuple[Result, ...]]:
    """Return the sample and the results of a row, whether or not they follow from the sample.

    Raises `ReportError` for what is no row of these methods.
    """
    check_row(row, methods)
    sample = sample_of(row)
    results = []
    for index, (saved_result, method) in enumerate(zip(row["results"], methods, strict=True)):
        try:
            results.append(ResultRecord.read(saved_result).result(method))
            check_retrieved(sample, results[-1])
        except ReportError as error:
            raise ReportError(f"results[{index}].{error}") from None
    return sample, tuple(results)


def sample_of(fields: dict[str, Any]) -> Sample:
    """Return the sample of a row; `ReportError` where it is none."""
    try:
        return Sample(**fields["sample"])
    except InputError as error:
        raise ReportError(f"sample: {error}") from None


def plain_method(method: Method) -> dict[str, Any]:
    """Return a method as plain JSON values that `MethodRecord` reads.

    Raises `ReportError` for parameters that JSON would change or cannot hold.
    """
    check_plain(method.parameters, f"{method.name}.parameters")
    return {
        "name": method.name,
        "parameters": dict(method.parameters),
        "headline": method.headline.name,
        **({"kind": method.kind} if method.kind else {}),
    }


_DEFAULTS: dict[type[Record], dict[str, Any]] = {
    record: {
        name: dict(default) if isinstance(default, Record) else default
        for name, field in record.model_fields.items()
        if not field.is_required()
        for default in [field.get_default(call_default_factory=True)]
    }
    for record in (EvidenceRecord, PartRecord, FindingRecord, ResultRecord)
}
"""What a record has of each field that is left out."""


def _saved(record: type[Record], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a record's fields without those that it has by default."""
    defaults = _DEFAULTS[record]
    return {
        name: value
        for name, value in values.items()
        if name not in defaults or value != defaults[name]
    }


def plain_finding(finding: Finding) -> dict[str, Any]:
    """Return a finding as plain JSON values that `FindingRecord` reads."""
    target = finding.target
    return _saved(
        FindingRecord,
        {
            "target": list(target.any_of),
            "grade": target.grade,
            "size": target.size,
            "steps": [list(step) for step in finding.steps],
            "ranks": list(finding.ranks),
            "evidence": [_saved(EvidenceRecord, item._asdict()) for item in finding.evidence],
            "verdict": finding.verdict,
            "agreement": finding.agreement,
            "judge": finding.judge,
            "unverified": finding.unverified,
            "contested": finding.contested,
            "parts": [
                _saved(PartRecord, {**part._asdict(), "evidence": list(part.evidence)})
                for part in finding.parts
            ],
        },
    )


def plain_result(result: Result, score: float | None) -> dict[str, Any]:
    """Return a result with its score as plain JSON values that `ResultRecord` reads."""
    if result.status is not Status.SCORED:
        return plain_found(result)
    return {"status": str(result.status), "score": score, **plain_found(result)}


def plain_found(result: Result) -> dict[str, Any]:
    """Return the same without the score."""
    findings = [plain_finding(finding) for finding in result.findings]
    retrieved = {"retrieved": result.retrieved} if result.retrieved or findings else {}
    return {
        "status": str(result.status),
        **retrieved,
        **_saved(
            ResultRecord,
            {
                "findings": findings,
                "note": result.note,
                "unmeasured": [list(item) for item in result.unmeasured],
                "usage": result.usage._asdict(),
                "ranks": None if result.ranks is None else list(result.ranks),
            },
        ),
    }


def plain_row(
    sample: Sample,
    results: Sequence[Result],
    *,
    default: Callable[[Any], Any] | None = None,
) -> dict[str, Any]:
    """Return a row as plain JSON values that `row_of` reads.

    Raises `ReportError` for values that JSON would change or cannot hold, such as sets and NaN in
    metadata, unless `default` makes plain ones of them.
    """
    fields = plain_sample(sample, default=default)
    return {"sample": fields, "results": [plain_result(result, result.score) for result in results]}


def plain_sample(sample: Sample, *, default: Callable[[Any], Any] | None = None) -> dict[str, Any]:
    """Return a sample as plain JSON values; raises what `plain_row` does."""
    fields = sample.to_dict()
    try:
        for where, holder in _with_metadata(fields, "sample"):
            metadata = holder["metadata"]
            if default is None:
                check_plain(metadata, f"{where}.metadata")
            else:
                holder["metadata"] = _converted(metadata, default, f"{where}.metadata")
    except RecursionError:
        raise ReportError("sample.metadata is nested too deeply to be saved") from None
    return fields


def _with_metadata(value: Any, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a sample, and all contexts in it, that have metadata: the only values of any type."""
    is_mapping = isinstance(value, dict)
    if is_mapping and "metadata" in value:
        yield where, value
    for key, item in value.items() if is_mapping else enumerate(value):
        if (type(item) is dict or type(item) is list) and key != "metadata":
            path = f"{where}.{key}" if is_mapping else f"{where}[{key}]"
            yield from _with_metadata(item, path)


_KEPT = frozenset({str, bool, type(None)})
"""Types that JSON keeps whatever their value."""


def check_plain(value: object, where: str) -> None:
    """Raise `ReportError` for a value that JSON would change or cannot hold, naming its place."""
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise ReportError(f"{where} must have keys that are str, got {_shown(key)}")
            if type(item) not in _KEPT and not _is_kept(item):
                check_plain(item, f"{where}.{key}" if where else key)
    elif isinstance(value, list):
        for position, item in enumerate(value):
            if type(item) not in _KEPT and not _is_kept(item):
                check_plain(item, f"{where}[{position}]")
    elif not _is_kept(value):
        raise ReportError(
            f"{where} must be a value that JSON keeps as it is, got {_shown(value)}: convert it, "
            "or pass default=str to save it as text"
        )


def _is_kept(value: object) -> bool:
    """Return whether JSON holds a single value, and gives back an equal one."""
    if isinstance(value, float):
        return isfinite(value)
    if isinstance(value, int):
        return abs(value) < _MOST
    return value is None or isinstance(value, str)


def _converted(value: object, default: Callable[[Any], Any], where: str) -> Any:
    """Return a value as JSON keeps it; what it would change or cannot hold is made by `default`."""
    if isinstance(value, Mapping):
        fields = {
            name: _converted(item, default, f"{where}.{name}")
            for name, item in (
                (key if isinstance(key, str) else _default_value(key, default, where), item)
                for key, item in value.items()
            )
        }
        if len(fields) < len(value):
            raise ReportError(f"{where} must have keys that differ as text, got {_shown(value)}")
        return fields
    if isinstance(value, (list, tuple)):
        return [_converted(item, default, where) for item in value]
    try:
        check_plain(value, where)
    except ReportError:
        return _default_value(value, default, where)
    return value


def _default_value(value: object, default: Callable[[Any], Any], where: str) -> Any:
    """Return what `default` makes of a value; raises `ReportError` unless that is plain."""
    try:
        converted = default(value)
    except Exception as error:
        raise ReportError(
            f"{where}: default must make a plain value of {_shown(value)}, it raised {error!r}"
        ) from error
    check_plain(converted, where)
    return converted


def _shown(value: object) -> str:
    """Return a value for a message, whatever its `repr` does."""
    try:
        return shown(value)
    except Exception:  # noqa: BLE001 - of a stranger's class, or an int of too many digits
        return f"a value of type {type(value).__name__}"


def check_retrieved(sample: Sample, result: Result) -> None:
    """Raise `ReportError` where more contexts are counted than a sample has."""
    ids = sample.retrieved_context_ids
    if ids is not None and result.retrieved > len(ids):
        raise ReportError(
            f"retrieved must be at most {len(ids)}, the contexts of the sample, "
            f"got {result.retrieved}"
        )
    if not sample.has_retrieval and result.retrieved:
        raise ReportError("retrieved must be 0: the sample has no retrieval")


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
    return f"{where or 'it'} {expected}, got {_shown(first['input'])}"
