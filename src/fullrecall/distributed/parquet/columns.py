"""The columns of a report's part: what a sample has, and of each score what its measures need.

A row of a part is one sample with its results. The text in `…_found` is a result without the names
of its targets: how many contexts were retrieved, and for each target at which ranks it was found.
All measures are computed from that, and few rows have one of their own, so that a part of many rows
is read as a list of few results and one small number for each row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from fullrecall.errors import ReportError
from fullrecall.extras import pyarrow
from fullrecall.records import plain_method, plain_row
from fullrecall.report.file import as_line, parsed
from fullrecall.retrieval import failures

if TYPE_CHECKING:
    import pyarrow as pa

    from fullrecall.result import Method
    from fullrecall.table.row import Row

PURPOSE = "a report as a directory"
"""What needs pyarrow."""

_LISTS = ("retrieved_context_ids", "reference_context_ids")
_TEXTS = ("id", "group", "user_input")

SAMPLE = (*_TEXTS, *_LISTS, "united", "failed", "metadata", "rest")
"""The columns of a sample: three texts, two lists of IDs, two flags, and two JSON objects, the
second with all fields that have no column or do not fit into theirs."""

_LATE = ("target", "evidence", "contested")
"""Fields of a finding that no measure reads: they stand in `…_details`."""


class Score(NamedTuple):
    """The names of the columns of one score."""

    status: str
    score: str
    found: str
    reason: str
    targets: str
    details: str

    @classmethod
    def of(cls, name: str) -> Score:
        """Return the columns of the score of this name."""
        return cls(*(f"{name}_{field}" for field in cls._fields))


def schema(methods: Sequence[Method]) -> Any:
    """Return the columns of a part with results of these methods."""
    pa = pyarrow(PURPOSE)
    fields: list[tuple[str, Any]] = [(name, pa.string()) for name in _TEXTS]
    fields += [(name, pa.list_(pa.string())) for name in _LISTS]
    fields += [(name, pa.bool_()) for name in ("united", "failed")]
    fields += [(name, pa.string()) for name in ("metadata", "rest")]
    for method in methods:
        types = (pa.string(), pa.float64(), pa.string(), pa.string(), pa.uint64(), pa.string())
        fields += zip(Score.of(method.name), types, strict=True)
    return pa.schema(fields)


def repeated(methods: Sequence[Method]) -> list[str]:
    """Return the columns whose values stand in many rows: their dictionaries are worth it."""
    scores = [Score.of(method.name) for method in methods]
    return ["group", "metadata", *(name for s in scores for name in (s.status, s.found, s.reason))]


def identity(methods: Sequence[Method]) -> str:
    """Return a digest of how a part was scored: parts of one report have the same."""
    text = json.dumps([plain_method(method) for method in methods], sort_keys=True)
    return blake2b(text.encode(), digest_size=16).hexdigest()


def content(table: pa.Table) -> str:
    """Return a digest of the samples of a part, whatever they scored."""
    pa = pyarrow(PURPOSE)
    written = pa.BufferOutputStream()
    samples = table.select(SAMPLE).combine_chunks()
    with pa.ipc.new_stream(written, samples.schema) as stream:
        stream.write_table(samples)
    return blake2b(written.getvalue(), digest_size=16).hexdigest()


def cells(row: Row, default: Callable[[Any], Any] | None = None) -> tuple[list[Any], int]:
    """Return the cells of a row in the order of `schema`, and about how many characters they have.

    Raises `ReportError` for metadata that JSON would change or cannot hold, unless `default` makes
    plain values of it.
    """
    plain = plain_row(row.sample, row.results, default=default)
    sample: dict[str, Any] = plain["sample"]
    values: list[Any] = [_text(sample, name, row.label) for name in _TEXTS]
    values += [_list(sample, name) for name in _LISTS]
    retrieval = row.sample.retrieval
    values.append(None if retrieval is None else retrieval.ranks is not None)
    values.append(None if retrieval is None else bool(failures(retrieval.calls)))
    metadata = sample.pop("metadata", None)
    values.append(as_line(metadata) if metadata else None)
    values.append(as_line(sample) if sample else None)
    references = plain_references(values[_REFERENCES])
    for result in plain["results"]:
        values += _of_result(result, references)
    return values, sum(len(value) for value in values if isinstance(value, (str, list)))


_REFERENCES = SAMPLE.index("reference_context_ids")


def plain_references(ids: Sequence[str] | None) -> list[list[str]] | None:
    """Return the targets that a list of reference IDs makes: each ID once, empty ones left out."""
    return None if ids is None else [[one] for one in dict.fromkeys(ids) if one]


def _text(sample: dict[str, Any], name: str, label: str) -> str | None:
    text = sample.get(name)
    if text is None or _is_utf8(text):
        sample.pop(name, None)
        return text
    if name != "user_input":
        raise ReportError(
            f"sample {label!r}: {name} must be text that UTF-8 can hold, got {text!r}: save the "
            "report as one .jsonl file"
        )
    return None


def _list(sample: dict[str, Any], name: str) -> list[str | None] | None:
    items = sample.get(name)
    if isinstance(items, list) and all(
        item is None or (isinstance(item, str) and _is_utf8(item)) for item in items
    ):
        del sample[name]
        return items
    return None


def _is_utf8(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _of_result(result: dict[str, Any], references: list[list[str]] | None) -> list[Any]:
    """Return the cells of one result, in the order of `Score`."""
    findings = result.get("findings", [])
    found: list[Any] = [result.get("retrieved", 0), result.get("ranks")]
    found.append([_found(finding) for finding in findings])
    unmeasured = result.get("unmeasured", [])
    if unmeasured:
        found.append(len(unmeasured))
    details: dict[str, Any] = {}
    targets = [finding["target"] for finding in findings]
    if targets and targets != references:
        details["targets"] = targets
    for field in ("evidence", "contested"):
        there = {str(n): one[field] for n, one in enumerate(findings) if field in one}
        if there:
            details[field] = there
    details |= {name: result[name] for name in ("unmeasured", "usage") if name in result}
    note = result.get("note")
    if note is not None and not _is_utf8(note):
        details["note"], note = note, note.encode("utf-8", "backslashreplace").decode()
    digest = result.get("targets")
    return [
        result["status"],
        result.get("score"),
        json.dumps(found, separators=(",", ":")),
        note,
        None if digest is None else int(digest, 16),
        as_line(details) if details else None,
    ]


def _found(finding: dict[str, Any]) -> Any:
    """Return a finding without its names: its ranks where the first of them finds it whole."""
    ranks, steps = finding["ranks"], finding["steps"]
    plain = {name: value for name, value in finding.items() if name not in _LATE}
    if len(plain) == 2 and steps == ([[ranks[0], 1.0]] if ranks else []):  # noqa: PLR2004 - ranks and steps alone
        return ranks
    return plain


def plain_findings(found: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the findings of a text of `…_found`, as a saved report has them, without targets."""
    return [
        {"ranks": one, "steps": [[one[0], 1.0]] if one else []}
        if isinstance(one, list)
        else dict(one)
        for one in found
    ]


def read_found(text: str | None) -> tuple[Any, Any, list[dict[str, Any]], int]:
    """Return what a text of `…_found` says: retrieved, ranks, findings, unmeasured targets.

    Raises `ReportError` for a text that is none.
    """
    if text is None:
        raise ReportError("is missing")
    try:
        retrieved, ranks, findings, *unmeasured = parsed(text)
        return retrieved, ranks, plain_findings(findings), unmeasured[0] if unmeasured else 0
    except (ValueError, TypeError) as error:
        raise ReportError(f"must be what was found, as JSON, got {text[:80]!r}") from error


def plain_rows(batch: pa.RecordBatch, methods: Sequence[Method]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a batch with all columns as plain JSON values that `RowRecord` reads.

    Raises `ReportError` naming the column, for a cell that is no JSON; what its values may be is
    for `RowRecord` to say.
    """
    columns = {name: batch.column(name).to_pylist() for name in batch.schema.names}
    scores = [Score.of(method.name) for method in methods]
    for n in range(batch.num_rows):
        yield _plain_row({name: column[n] for name, column in columns.items()}, scores)


def _plain_row(row: Mapping[str, Any], scores: Sequence[Score]) -> dict[str, Any]:
    sample = {name: row[name] for name in (*_TEXTS, *_LISTS) if row[name] is not None}
    if row["metadata"] is not None:
        sample["metadata"] = _object(row, "metadata")
    if row["rest"] is not None:
        sample |= _object(row, "rest")
    references = plain_references(row["reference_context_ids"])
    return {"sample": sample, "results": [plain_result(row, score, references) for score in scores]}


def plain_result(
    row: Mapping[str, Any], score: Score, references: list[list[str]] | None
) -> dict[str, Any]:
    """Return one result of a row as plain JSON values that `ResultRecord` reads."""
    try:
        retrieved, ranks, findings, unmeasured = read_found(row[score.found])
    except ReportError as error:
        raise ReportError(f"{score.found} {error}") from None
    plain: dict[str, Any] = {"status": row[score.status], "retrieved": retrieved}
    details = {} if row[score.details] is None else _object(row, score.details)
    targets = details.pop("targets", references)
    if findings and (not isinstance(targets, list) or len(targets) != len(findings)):
        raise ReportError(
            f"{score.found} must have as many findings as there are targets, got {len(findings)}"
        )
    for nth, finding in enumerate(findings):
        finding["target"] = targets[nth]
    _put_details(findings, details)
    if len(details.get("unmeasured", ())) != unmeasured:
        raise ReportError(f"{score.details} must name {unmeasured} unmeasured targets")
    if findings:
        plain["findings"] = findings
    digest = row[score.targets]
    given = {
        "score": row[score.score],
        "note": row[score.reason],
        "targets": None if digest is None else f"{digest:016x}",
        "ranks": ranks,
    }
    return plain | {name: value for name, value in given.items() if value is not None} | details


def _put_details(findings: Sequence[dict[str, Any]], details: dict[str, Any]) -> None:
    """Move what is said of single findings to them."""
    for field in ("evidence", "contested"):
        for nth, value in details.pop(field, {}).items():
            if not nth.isdecimal() or int(nth) >= len(findings):
                raise ReportError(f"{field} must be of a finding, got {nth!r}")
            findings[int(nth)][field] = value


def _object(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    try:
        plain = parsed(row[name])
    except ValueError as error:
        raise ReportError(f"{name} must be a JSON object: {error}") from None
    if not isinstance(plain, dict):
        raise ReportError(f"{name} must be a JSON object, got {row[name][:80]!r}")
    return plain
