"""The saved form of samples' results, checked when it is read.

JSON Lines reports hold these records. Parquet reports and batches hold a record only for a result
that their other columns do not restore; the record of a score S is in the column `S_details`.
Values that no run can give, such as a credit above 1 or a score that does not follow from its
findings, raise `ReportError` with the field. This module loads pydantic, so it is imported only to
read or write records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import isclose, isfinite
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from fullrecall._util.values import shown
from fullrecall.errors import FullrecallError, InputError, ReportError
from fullrecall.judge.usage import Usage
from fullrecall.measures import parse
from fullrecall.measures.findings import CreditStep, Evidence, Finding, Target, VerdictPart
from fullrecall.samples.sample import Sample
from fullrecall.scorers.result import Method, Result, Status

RankField = Annotated[int, Field(ge=1)]
CountField = Annotated[int, Field(ge=0)]
ShareField = Annotated[float, Field(ge=0, le=1)]
PositiveField = Annotated[float, Field(gt=0)]
TextField = Annotated[str, Field(min_length=1)]
RiseField = Annotated[list[int | float], Field(min_length=2, max_length=2)]
UnmeasuredField = Annotated[list[str], Field(min_length=2, max_length=2)]

Default = Callable[[Any], Any] | None
"""A function that converts metadata that JSON would change, or cannot hold, to plain values."""

_MOST = 10**4_000
"""The least whole number that is refused: Python does not parse more than 4,300 digits."""

_STATUSES = frozenset(Status)

ROUNDING = 1e-9
"""The largest allowed difference between a saved score and the score that its findings give."""


class BaseRecord(BaseModel):
    """Base of all records: strict types, finite numbers, and no unknown fields."""

    original: ClassVar[Callable[..., Any]]
    """The class of the saved object, if its fields have the same names."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    @classmethod
    def read(cls, value: object) -> Self:
        """Parse plain JSON values as a record; raise `ReportError` with the field that is wrong."""
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            raise ReportError(_problem(error)) from None

    @property
    def value(self) -> Any:
        """The original object, created again from its saved form."""
        return self.original(**{name: _value(content) for name, content in self})


def _value(content: Any) -> Any:
    """Return the original value of a saved field: a tuple for a list."""
    if isinstance(content, list):
        return tuple(map(_value, content))
    return content.value if isinstance(content, BaseRecord) else content


class EvidenceRecord(BaseRecord):
    """The saved form of `Evidence`."""

    original = Evidence

    rank: RankField
    start: CountField | None = None
    end: CountField | None = None
    target_start: CountField | None = None
    target_end: CountField | None = None
    similarity: ShareField | None = None
    quote: str | None = None
    verified: bool | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        for start, end in ((self.start, self.end), (self.target_start, self.target_end)):
            if start is not None and end is not None and end < start:
                raise ValueError(f"an end must not lie before its start, got {start} to {end}")
        return self


class PartRecord(BaseRecord):
    """The saved form of `VerdictPart`."""

    original = VerdictPart

    label: str
    evidence: list[CountField] = Field(default_factory=list)
    together: bool = False
    vote: CountField = 0
    fact: str = ""


class FindingRecord(BaseRecord):
    """The saved form of `Finding`."""

    target: Annotated[list[str], Field(min_length=1)]
    grade: PositiveField = 1.0
    size: PositiveField = 1.0
    steps: list[RiseField] = Field(default_factory=list)
    ranks: list[RankField] = Field(default_factory=list)
    evidence: list[EvidenceRecord] = Field(default_factory=list)
    verdict: str = ""
    agreement: ShareField | None = None
    unverified: ShareField = 0.0
    contested: str = ""
    parts: list[PartRecord] = Field(default_factory=list)
    support: ShareField | None = None
    referred: bool = False

    @model_validator(mode="after")
    def _possible(self) -> Self:
        steps, ranks = self.steps, self.ranks
        for rank, credit in steps:
            # `RiseField` also accepts a float such as 2.0 as the rank: refuse it.
            if type(rank) is not int or rank not in ranks or not 0 < credit <= 1:
                raise ValueError(
                    "each step must have a rank among ranks and a credit above 0 and at most 1, "
                    f"got {[rank, credit]}"
                )
        rises = [
            rank < later and credit < more for (rank, credit), (later, more) in pairwise(steps)
        ]
        if not all(rises):
            raise ValueError(f"the ranks and credits of steps must rise, got {steps}")
        if any(before >= after for before, after in pairwise(ranks)):
            raise ValueError(f"ranks must rise, got {ranks}")
        return self

    @property
    def value(self) -> Finding:
        """The finding that was saved."""
        target = Target(tuple(self.target), self.grade, self.size)
        steps = tuple([CreditStep(int(rank), float(credit)) for rank, credit in self.steps])
        fields = {name: _value(getattr(self, name)) for name in Finding._fields[2:]}
        return Finding(target, steps, **fields)


class UsageRecord(BaseRecord):
    """The saved form of `Usage`."""

    original = Usage

    calls: CountField = 0
    prompt_tokens: CountField = 0
    completion_tokens: CountField = 0


class ResultRecord(BaseRecord):
    """The saved form of `Result`, without its method."""

    status: str
    score: ShareField | None = None
    retrieved: CountField = 0
    findings: list[FindingRecord] = Field(default_factory=list)
    note: str = ""
    unmeasured: list[UnmeasuredField] = Field(default_factory=list)
    usage: UsageRecord = UsageRecord()
    ranks: list[RankField] | None = None

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.status not in _STATUSES:
            raise ValueError(f"status must be one of {', '.join(Status)}, got {self.status!r}")
        if self.status == Status.SCORED and not self.findings:
            raise ValueError("a scored result must have findings")
        empty = self.status in (Status.UNDEFINED, Status.UNJUDGED)
        if empty and (self.findings or self.unmeasured):
            raise ValueError(f"an {self.status} result must have no targets")
        if self.status != Status.SCORED and not self.note:
            raise ValueError(f"an {self.status} result must have a note with the reason")
        ranks = [rank for finding in self.findings for rank in finding.ranks]
        ranks += [each.rank for finding in self.findings for each in finding.evidence]
        most = max(ranks, default=0)
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
        """Return the saved result; raise `ReportError` if its findings give another score."""
        result = self.as_found(method)
        score = result.score
        if self.score != score and (
            self.score is None or score is None or not isclose(self.score, score, abs_tol=ROUNDING)
        ):
            raise ReportError(f"score must be {score}, as its findings give, got {self.score}")
        return result

    def as_found(self, method: Method) -> Result:
        """Return the result with the score that the findings give; ignore the saved score."""
        names = ("findings", "retrieved", "note", "unmeasured", "usage", "ranks")
        fields = {name: _value(getattr(self, name)) for name in names}
        return Result(method, Status(self.status), **fields)


class MethodRecord(BaseRecord):
    """The saved form of `Method`."""

    name: TextField
    parameters: dict[str, Any] = {}
    headline: str = "recall"
    kind: str = ""
    quotes_by_rules: bool = False

    @property
    def method(self) -> Method:
        """The saved method; raises `ReportError` for an unknown measure."""
        try:
            headline = parse(self.headline)
            return Method(self.name, self.parameters, headline, self.kind, self.quotes_by_rules)
        except FullrecallError as error:
            raise ReportError(f"headline: {error}") from None


class RowRecord(BaseRecord):
    """The saved form of a sample with its results, which are not parsed yet."""

    sample: dict[str, Any]
    results: list[Any]


def check_row(value: object, methods: Sequence[Method]) -> RowRecord:
    """Parse a row; raise `ReportError` unless it has one result for each method."""
    row = RowRecord.read(value)
    if len(row.results) != len(methods):
        raise ReportError(f"results must be {len(methods)}, one per score, got {len(row.results)}")
    return row


def row_of(value: object, methods: Sequence[Method]) -> tuple[Sample, tuple[Result, ...]]:
    """Return a row's sample and results, without a check that the results follow from the sample.

    Raises `ReportError` for any value but a row of these methods.
    """
    row = check_row(value, methods)
    sample = sample_of(row.sample)
    results = []
    for index, (saved_result, method) in enumerate(zip(row.results, methods, strict=True)):
        try:
            results.append(ResultRecord.read(saved_result).result(method))
            check_retrieved(sample, results[-1])
        except ReportError as error:
            raise ReportError(f"results[{index}].{error}") from None
    return sample, tuple(results)


def sample_of(fields: dict[str, Any]) -> Sample:
    """Return the sample with these saved fields; raise `ReportError` for wrong fields."""
    try:
        return Sample(**fields)
    except InputError as error:
        raise ReportError(f"sample: {error}") from None


def plain_method(method: Method) -> dict[str, Any]:
    """Return a method as plain JSON values that `MethodRecord` reads.

    Raises `ReportError` for parameters that JSON would change or cannot hold.
    """
    as_kept(method.parameters, f"{method.name}.parameters")
    return {
        "name": method.name,
        "parameters": dict(method.parameters),
        "headline": method.headline.name,
        **({"kind": method.kind} if method.kind else {}),
        **({"quotes_by_rules": True} if method.quotes_by_rules else {}),
    }


def _plain(value: Any) -> Any:
    """Convert tuples to lists, named tuples to mappings; leave out fields with default values."""
    if isinstance(value, (Evidence, VerdictPart, Usage)):
        return _fields(value)
    return list(map(_plain, value)) if isinstance(value, tuple) else value


def _fields(value: Any, skipped: int = 0) -> dict[str, Any]:
    """Return the fields of a named tuple whose values are not the defaults.

    The first `skipped` fields are left out.
    """
    defaults = value._field_defaults
    return {
        name: _plain(item)
        for name, item in zip(value._fields[skipped:], value[skipped:], strict=True)
        if name not in defaults or item != defaults[name]
    }


def plain_finding(finding: Finding) -> dict[str, Any]:
    """Return a finding as plain JSON values that `FindingRecord` reads."""
    target = finding.target
    names = list(target.any_of)
    return {"target": names, **_fields(target, skipped=1), **_fields(finding, skipped=1)}


def plain_result(result: Result, score: float | None) -> dict[str, Any]:
    """Return a result with its score as plain JSON values that `ResultRecord` reads."""
    fields: dict[str, Any] = {"status": str(result.status)}
    if result.status is Status.SCORED:
        fields["score"] = score
    if result.retrieved:
        fields["retrieved"] = result.retrieved
    if len(result.findings):
        fields["findings"] = list(map(plain_finding, result.findings))
    for name in ("note", "unmeasured", "usage", "ranks"):
        value = getattr(result, name)
        if value != _DEFAULTS[name]:
            fields[name] = _plain(value)
    return fields


_DEFAULTS = {"note": "", "unmeasured": (), "usage": Usage(), "ranks": None}
"""Default values of a result's fields; the saved form omits a field that has its default value."""


def plain_row(
    sample: Sample,
    results: Sequence[Result],
    *,
    default: Default = None,
) -> dict[str, Any]:
    """Return a row as plain JSON values that `row_of` reads.

    Raises `ReportError` for values that JSON would change or cannot hold, such as sets and NaN in
    metadata, unless `default` makes plain values of them.
    """
    fields = plain_sample(sample, default=default)
    return {"sample": fields, "results": [plain_result(result, result.score) for result in results]}


def plain_sample(sample: Sample, *, default: Default = None) -> dict[str, Any]:
    """Return a sample as plain JSON values; raises the errors of `plain_row`."""
    fields = sample.to_dict()
    try:
        if "metadata" in fields:
            fields["metadata"] = as_kept(fields["metadata"], "sample.metadata", default)
        for where, context in _contexts_with_metadata(fields, "sample"):
            context["metadata"] = as_kept(context["metadata"], f"{where}.metadata", default)
    except RecursionError:
        raise ReportError("sample.metadata is nested too deeply to be saved") from None
    return fields


def _contexts_with_metadata(value: Any, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each context that has metadata, at any depth of a value, with its place."""
    is_mapping = isinstance(value, dict)
    for key, item in value.items() if is_mapping else enumerate(value):
        if (type(item) is dict or type(item) is list) and key != "metadata":
            path = f"{where}.{key}" if is_mapping else f"{where}[{key}]"
            if type(item) is dict and "metadata" in item:
                yield path, item
            else:
                yield from _contexts_with_metadata(item, path)


def as_kept(value: Any, where: str, default: Default = None) -> Any:
    """Return a value as plain values that JSON restores; `default` converts all other values.

    With `default`, tuples become lists, and other mappings become dicts. Raises `ReportError`, with
    the place, for a value that JSON would change, unless `default` returns a plain value for it.
    """
    is_readable = isinstance(value, int) and abs(value) < _MOST
    is_finite = isinstance(value, float) and isfinite(value)
    if value is None or isinstance(value, str) or is_readable or is_finite:
        return value
    if isinstance(value, dict) or (default is not None and isinstance(value, Mapping)):
        fields = {
            _kept_key(key, where, default): as_kept(field, f"{where}.{key}".lstrip("."), default)
            for key, field in value.items()
        }
        if len(fields) < len(value):
            raise ReportError(f"{where} must have keys that differ as text, got {shown(value)}")
        return fields
    if isinstance(value, list) or (default is not None and isinstance(value, tuple)):
        return [as_kept(each, f"{where}[{n}]", default) for n, each in enumerate(value)]
    if default is None:
        raise ReportError(
            f"{where} must be a value that JSON keeps as it is, got {shown(value)}: convert it, "
            "or pass default=str to save it as text"
        )
    return _made_by(default, value, where)


def _kept_key(key: object, where: str, default: Default) -> str:
    if isinstance(key, str):
        return key
    if default is None:
        raise ReportError(f"{where} must have keys that are str, got {shown(key)}")
    return str(_made_by(default, key, where))


def _made_by(default: Callable[[Any], Any], value: object, where: str) -> Any:
    try:
        made = default(value)
    except Exception as error:
        raise ReportError(
            f"{where}: default must make a plain value of {shown(value)}, it raised {error!r}"
        ) from error
    return as_kept(made, where)


def check_retrieved(sample: Sample, result: Result) -> None:
    """Raise `ReportError` if a result has more retrieved contexts than its sample."""
    ids = sample.retrieved_context_ids
    if ids is not None and result.retrieved > len(ids):
        raise ReportError(
            f"retrieved must be at most {len(ids)}, the contexts of the sample, "
            f"got {result.retrieved}"
        )
    if not sample.has_retrieval and result.retrieved:
        raise ReportError("retrieved must be 0: the sample has no retrieval")


def _problem(error: ValidationError) -> str:
    """Return the first problem that pydantic found, in the style of fullrecall's messages."""
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
