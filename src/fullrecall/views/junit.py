"""Reports and gates in JUnit's XML, which every CI server shows.

Valid by the schema of Jenkins's xUnit plugin and by that of Ant's JUnit tasks, which asks for more:
each suite has its properties first and both outputs last, and each case one outcome at most. Times
are 0 and the timestamp is the epoch: a report keeps neither, and the same report is the same file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree as ET

from fullrecall.result import Result, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fullrecall.measures import Measure
    from fullrecall.report.report import Report
    from fullrecall.results.decision import Check
    from fullrecall.results.gate import GateResult
    from fullrecall.results.summary import ScoreSummary
    from fullrecall.table.row import Row

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 has no place for."""

_NAMED = 20
"""How many of the missed targets a failure names."""

_EPOCH = "1970-01-01T00:00:00"

_COUNTED = {"failure": "failures", "error": "errors", "skipped": "skipped"}


class _Outcome(NamedTuple):
    """What became of a case: an element of JUnit's, with its message and its text."""

    element: str
    type: str
    message: str
    text: str = ""


class _Case(NamedTuple):
    name: str
    outcome: _Outcome | None


def of_report(report: Report, measures: Sequence[Measure] = ()) -> str:
    """Return one suite for each score and one case for each sample; see `Report.to_junit`."""
    root = ET.Element("testsuites")
    partial = {} if report.stopped is None else {"stopped": report.stopped}
    for nth, score in enumerate(report.summary(*measures)):
        cases = [_Case(_named(row), _of_result(row.results[nth])) for row in report.rows]
        _suite(root, score.name, score.name, cases, {**_figures(score), **partial})
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
    cases = [_Case(check.rule, _of_check(check)) for check in result.checks]
    _suite(root, "fullrecall gate", "fullrecall.gate", cases, figures)
    return _text(root)


def _suite(
    root: ET.Element,
    name: str,
    classname: str,
    cases: Iterable[_Case],
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
    for case in cases:
        counts["tests"] += 1
        element = ET.SubElement(
            suite, "testcase", classname=_clean(classname), name=_clean(case.name), time="0"
        )
        if case.outcome is not None:
            counts[_COUNTED[case.outcome.element]] += 1
            _add(element, case.outcome)
    for kind, count in counts.items():
        suite.set(kind, str(count))
    suite.attrib |= {"time": "0", "timestamp": _EPOCH, "hostname": "localhost"}
    ET.SubElement(suite, "system-out")
    ET.SubElement(suite, "system-err")


def _add(case: ET.Element, outcome: _Outcome) -> None:
    child = ET.SubElement(case, outcome.element, message=_clean(outcome.message))
    if outcome.type:
        child.set("type", outcome.type)
    child.text = _clean(outcome.text) or None


def _of_result(result: Result) -> _Outcome | None:
    if result.status is Status.UNDEFINED:
        return _Outcome("skipped", "", result.reason)
    if result.status is Status.UNSCORED:
        return _Outcome("error", "unscored", result.reason)
    missed = result.missed
    if not missed:
        return None
    more = [f"… and {len(missed) - _NAMED:,} more"] if len(missed) > _NAMED else []
    return _Outcome("failure", "missed", result.reason, "\n".join([*missed[:_NAMED], *more]))


def _of_check(check: Check) -> _Outcome | None:
    if check.outcome == "fail":
        return _Outcome("failure", "fail", check.reason)
    if check.outcome == "cannot_tell":
        return _Outcome("error", "cannot_tell", check.reason)
    return None


def _named(row: Row) -> str:
    question = row.sample.user_input
    return row.label if question is None else f"{row.label}: {question}"


def _figures(score: ScoreSummary) -> dict[str, str]:
    return {
        "scored": str(score.scored),
        "undefined": str(score.undefined),
        "unscored": str(score.unscored),
        **dict(_means(score)),
    }


def _means(score: ScoreSummary) -> Iterator[tuple[str, str]]:
    for estimate in score.values():
        name = score.method.label(estimate.measure)
        if estimate.mean is not None and estimate.interval is not None:
            yield name, f"{estimate.mean:.6f}"
            yield f"{name}.low", f"{estimate.interval.low:.6f}"
            yield f"{name}.high", f"{estimate.interval.high:.6f}"


def _text(root: ET.Element) -> str:
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _clean(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)
