"""Reports and gates in JUnit's XML, which every CI server shows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from fullrecall.result import Result, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullrecall.measures import Measure
    from fullrecall.report.check import GateResult
    from fullrecall.report.report import Report
    from fullrecall.report.summary import ScoreSummary

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 has no place for."""

_NAMED = 20
"""How many of the missed targets a failure names."""


def of_report(report: Report, measures: Sequence[Measure] = ()) -> str:
    """Return one suite for each score and one case for each sample; see `Report.to_junit`."""
    root = ET.Element("testsuites", name="fullrecall")
    for place, score in enumerate(report.summary(*measures)):
        suite = ET.SubElement(root, "testsuite", name=_clean(score.name))
        counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
        partial = {} if report.stopped is None else {"stopped": report.stopped}
        _properties(suite, {**_figures(score), **partial})
        for row in report.rows:
            result = row.results[place]
            name = row.label if row.sample.user_input is None else (
                f"{row.label}: {row.sample.user_input}"
            )  # fmt: skip
            case = ET.SubElement(suite, "testcase", classname=_clean(score.name), name=_clean(name))
            counts["tests"] += 1
            kind = _outcome(case, result)
            if kind is not None:
                counts[kind] += 1
        for kind, count in counts.items():
            suite.set(kind, str(count))
    return _text(root)


def of_gate(result: GateResult) -> str:
    """Return one case for each check; see `GateResult.to_junit`."""
    root = ET.Element("testsuites", name="fullrecall")
    suite = ET.SubElement(root, "testsuite", name="fullrecall gate")
    failed = sum(check.outcome == "fail" for check in result.checks)
    unknown = sum(check.outcome == "cannot_tell" for check in result.checks)
    suite.set("tests", str(len(result.checks)))
    suite.set("failures", str(failed))
    suite.set("errors", str(unknown))
    for check in result.checks:
        case = ET.SubElement(
            suite, "testcase", classname="fullrecall.gate", name=_clean(check.rule)
        )
        figures = {
            name: value
            for name, value in check.to_dict().items()
            if name not in ("rule", "reason") and value is not None
        }
        _properties(case, {name: str(value) for name, value in figures.items()})
        if check.outcome == "fail":
            ET.SubElement(case, "failure", type="fail", message=_clean(check.reason))
        elif check.outcome == "cannot_tell":
            ET.SubElement(case, "error", type="cannot_tell", message=_clean(check.reason))
    return _text(root)


def _outcome(case: ET.Element, result: Result) -> str | None:
    """Add what became of a sample to its case; return the count that it enters."""
    if result.status is Status.UNDEFINED:
        ET.SubElement(case, "skipped", message=_clean(result.reason))
        return "skipped"
    if result.status is Status.UNSCORED:
        ET.SubElement(case, "error", type="unscored", message=_clean(result.reason))
        return "errors"
    missed = result.missed
    if not missed:
        return None
    failure = ET.SubElement(case, "failure", type="missed", message=_clean(result.reason))
    more = [f"… and {len(missed) - _NAMED:,} more"] if len(missed) > _NAMED else []
    failure.text = _clean("\n".join([*missed[:_NAMED], *more]))
    return "failures"


def _figures(score: ScoreSummary) -> dict[str, str]:
    figures = {
        "scored": str(score.scored),
        "undefined": str(score.undefined),
        "unscored": str(score.unscored),
    }
    for one in score.values():
        name = score.method.label(one.measure)
        if one.mean is not None and one.interval is not None:
            figures[name] = f"{one.mean:.6f}"
            figures[f"{name}.low"] = f"{one.interval.low:.6f}"
            figures[f"{name}.high"] = f"{one.interval.high:.6f}"
    return figures


def _properties(parent: ET.Element, figures: dict[str, str]) -> None:
    properties = ET.SubElement(parent, "properties")
    for name, value in figures.items():
        ET.SubElement(properties, "property", name=name, value=_clean(value))


def _text(root: ET.Element) -> str:
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _clean(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)
