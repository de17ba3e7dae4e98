"""Rows as plain JSON values, and as lines of a file: how they are written, and read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice, repeat
from math import isfinite
from pathlib import Path
from typing import Any

from fullrecall.errors import ReportError
from fullrecall.identifiers import shown
from fullrecall.records import Default, as_kept, plain_result, plain_sample
from fullrecall.result import Method
from fullrecall.table.part import SCORED, MemoryPart, Part


def plain_rows(
    part: Part, methods: Sequence[Method], default: Default = None
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a part as `fullrecall.records.plain_row` makes them one by one."""
    results = [plain_results(part, score, method) for score, method in enumerate(methods)]
    for sample, *row in zip(part.samples(), *results, strict=True):
        yield {"sample": plain_sample(sample, default=default), "results": row}


def plain_results(part: Part, score: int, method: Method) -> Iterator[dict[str, Any]]:
    """Yield the results of a score, with the values that its columns give."""
    columns = part.columns(score)
    outcomes = columns.outcomes
    values = method.headline.values(outcomes, lambda row: part.result(row, score).ranked).tolist()
    if not isinstance(part, MemoryPart) or not part.follows(score):
        yield from map(plain_result, part.results(score), values)
        return
    # The results of scored rows are not made: they follow from columns and reference IDs.
    grades = repeat(1.0) if outcomes.grade is None else outcomes.grade.tolist()
    findings = map(_plain_finding, part.target_names(), outcomes.first.values.tolist(), grades)
    counts = zip(outcomes.targets.tolist(), outcomes.retrieved.tolist(), strict=True)
    for row, (status, (count, retrieved)) in enumerate(zip(columns.status, counts, strict=True)):
        own = list(islice(findings, count))
        if status == SCORED:
            fields = {"retrieved": retrieved} if retrieved else {}
            yield {"status": "scored", "score": values[row], **fields, "findings": own}
        else:
            yield plain_result(part.result(row, score), None)


def _plain_finding(name: str, position: int, grade: float) -> dict[str, Any]:
    """Return the finding of one ID, as `fullrecall.records.plain_finding` makes it."""
    graded = {} if grade == 1.0 else {"grade": grade}
    ranks = {"steps": [[position, 1.0]], "ranks": [position]} if position else {}
    return {"target": [name], **graded, **ranks}


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def as_line(content: object) -> str:
    """Return plain values as one line of UTF-8."""
    line = _ENCODER.encode(content)
    try:
        line.encode()
    except UnicodeEncodeError:  # half an emoji is legal in JSON input, and no UTF-8
        line = json.dumps(content, allow_nan=False)
    return line


def changed(name: str | Path) -> ReportError:
    """Return the error of a file whose digest is not that of what it holds."""
    return ReportError(
        f"{name} was changed after it was written, as its digest tells: evaluate again, or take "
        "the file that was written"
    )


def parsed(text: str | bytes) -> Any:
    """Return the plain values of a text of JSON.

    Raises `ReportError` for what JSON does not have or names twice, and for numbers beyond all
    floats; `ValueError` for no JSON.
    """
    line = text if isinstance(text, str) else text.decode()
    try:
        return _DECODER.decode(line)
    except RecursionError:
        raise ReportError("it is nested too deeply") from None
    except OverflowError:  # found again without the hook, to name its place
        content = json.loads(line)
        as_kept(content, "")
        return content


def parsed_mapping(text: str | bytes) -> dict[str, Any]:
    """Return a JSON object; `ReportError` for anything else."""
    try:
        content = parsed(text)
    except ValueError as error:
        raise ReportError(f"expected a JSON object, got {shown(text)}: {error}") from None
    if type(content) is not dict:
        raise ReportError(f"expected a JSON object, got {shown(text)}")
    return content


def _finite(text: str) -> float:
    number = float(text)
    if isfinite(number):
        return number
    raise OverflowError


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ReportError(f"{twice} must occur once, and occurs {names.count(twice)} times")
    return content


def _refuse(constant: str) -> object:
    raise ReportError(f"{constant} is not a JSON value")


_DECODER = json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=_object, parse_float=_finite)
