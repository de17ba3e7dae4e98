"""Reports and gates in JUnit's XML, which every CI server shows.

Valid by the schema of Jenkins's xUnit plugin and by that of Ant's JUnit tasks, which asks for more:
each suite has its properties first and both outputs last, and each case one outcome at most. Times
are 0 and the timestamp is the epoch: a report keeps neither, and the same report is the same file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias
from xml.etree import ElementTree as ET

from fullrecall.result import Result, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fullrecall.measures import Measure
    from fullrecall.report.report import Report
    from fullrecall.results.gate import GateResult
    from fullrecall.table.row import Row

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 has no place for."""

_NAMED = 20
"""How many of the missed targets a failure names."""

_EPOCH = "1970-01-01T00:00:00"

_COUNTED = {"failure": "failures", "error": "errors", "skipped": "skipped"}


_Outcome: TypeAlias = tuple[str, str, str, str] | None
"""What became of a case: an element of JUnit's, its type, its message and its text."""


def of_report(report: Report, measures: Sequence[Measure] = ()) -> str:
    """Return one suite for each score and one case for each sample; see `Report.to_junit`."""
    root = ET.Element("testsuites")
    for nth, score in enumerate(report.summary(*measures)):
        figures = {name: str(getattr(score, name)) for name in ("scored", "undefined", "unscored")}
        for estimate in score.values():
            name = score.method.label(estimate.measure)
            if estimate.mean is not None and estimate.interval is not None:
                ends = estimate.mean, *estimate.interval[:2]
                for end, value in zip(("", ".low", ".high"), ends, strict=True):
                    figures[f"{name}{end}"] = f"{value:.6f}"
        if report.stopped is not None:
            figures["stopped"] = report.stopped
        cases = ((_named(row), _of_result(row.results[nth])) for row in report.rows)
        _suite(root, score.name, score.name, cases, figures)
    return _text(root)


def of_gate(result: GateResult) -> str:
    """Return one case for each check; see `GateResult.to_junit`."""
    root = ET.Element("testsuites")
    figures = {
        f"{check.rule}: {name}": str(value)
        for check in result.checks
        for name, value in check.to_dict().items()
        if name not in {"rule", "reason"} and value is not None
    }
    elements = {"fail": "failure", "cannot_tell": "error"}
    cases: list[tuple[str, _Outcome]] = []
    for check in result.checks:
        outcome: _Outcome = None
        if check.outcome in elements:
            outcome = elements[check.outcome], str(check.outcome), check.reason, ""
        cases.append((check.rule, outcome))
    _suite(root, "fullrecall gate", "fullrecall.gate", cases, figures)
    return _text(root)


def _suite(
    root: ET.Element,
    name: str,
    classname: str,
    cases: Iterable[tuple[str, _Outcome]],
    figures: Mapping[str, str],
) -> None:
    # The order of the attributes is that of the file: `package` says whose it is.
    suite = ET.SubElement(
        root, "testsuite", package="fullrecall", id=str(len(root)), name=_clean(name)
    )
    properties = ET.SubElement(suite, "properties")
    for label, value in figures.items():
        ET.SubElement(properties, "property", name=_clean(label), value=_clean(value))
    counts = dict.fromkeys(("tests", *_COUNTED.values()), 0)
    for title, outcome in cases:
        counts["tests"] += 1
        case = ET.SubElement(
            suite, "testcase", classname=_clean(classname), name=_clean(title), time="0"
        )
        if outcome is not None:
            element, kind, message, text = outcome
            counts[_COUNTED[element]] += 1
            child = ET.SubElement(case, element, message=_clean(message))
            if kind:
                child.set("type", kind)
            child.text = _clean(text) or None
    for kind, count in counts.items():
        suite.set(kind, str(count))
    suite.attrib |= {"time": "0", "timestamp": _EPOCH, "hostname": "localhost"}
    ET.SubElement(suite, "system-out")
    ET.SubElement(suite, "system-err")


def _of_result(result: Result) -> _Outcome:
    if result.status is Status.UNDEFINED:
        return "skipped", "", result.reason, ""
    if result.status is Status.UNSCORED:
        return "error", "unscored", result.reason, ""
    missed = result.missed
    if not missed:
        return None
    more = [f"… and {len(missed) - _NAMED:,} more"] if len(missed) > _NAMED else []
    return "failure", "missed", result.reason, "\n".join([*missed[:_NAMED], *more])


def _named(row: Row) -> str:
    question = row.sample.user_input
    return row.label if question is None else f"{row.label}: {question}"


def _text(root: ET.Element) -> str:
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _clean(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)
